"""A command that cron runs for the user when the machine has started: a line in their crontab.

All other lines are the user's, and stay as they are. Ours stands below a comment that it is known by.
"""

from __future__ import annotations

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def text(marker: str, command: Sequence[str]) -> str:
    """Our two lines; cron takes a `%` for the end of the command unless it is escaped."""
    from shlex import join

    line = join(command).replace("%", "\\%")
    return f"# {marker}\n@reboot {line}"


def read(marker: str) -> str | None:
    """Our lines, None if they are not there. Raises InturnError `failed`."""
    lines = _list()
    ours = _places(lines, marker)
    return "\n".join(lines[place] for place in ours) if ours else None


def install(marker: str, content: str) -> None:
    """Put our lines at the end, in the place of earlier ones. Raises InturnError `failed`."""
    lines = _list()
    _write([*_without(lines, marker), *content.split("\n")])


def remove(marker: str) -> bool:
    """Take our lines out; False if they are not there. Raises InturnError `failed`."""
    lines = _list()
    if not _places(lines, marker):
        return False
    _write(_without(lines, marker))
    return True


def _places(lines: Sequence[str], marker: str) -> list[int]:
    """Where our comment stands, and the command right below it."""
    found = []
    for place, line in enumerate(lines):
        if line == f"# {marker}":
            found.append(place)
            if place + 1 < len(lines) and lines[place + 1].startswith("@reboot "):
                found.append(place + 1)
    return found


def _without(lines: Sequence[str], marker: str) -> list[str]:
    ours = _places(lines, marker)
    return [line for place, line in enumerate(lines) if place not in ours]


def _list() -> list[str]:
    """The user's crontab; that there is none yet is no error, anything else might cost them theirs."""
    code, out, err = _crontab("-l")
    if code and "no crontab" not in err.lower():
        raise InturnError(
            "failed", f"crontab -l has failed: {err.strip() or f'exit {code}'}", "Nothing was changed."
        )
    return out.splitlines() if not code else []


def _write(lines: Sequence[str]) -> None:
    code, _, err = _crontab("-", "".join(line + "\n" for line in lines))
    if code:
        raise InturnError("failed", f"crontab has refused the lines: {err.strip() or f'exit {code}'}")


def _crontab(word: str, lines: str = "") -> tuple[int, str, str]:
    import subprocess

    try:
        done = subprocess.run(
            ["crontab", word],
            input=lines.encode("utf-8", "surrogateescape"),
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InturnError(
            "failed",
            f"neither systemctl --user nor crontab can be used here: {error}",
            "Have whatever starts programs here at boot run: inturn recover",
        ) from error
    return (
        done.returncode,
        done.stdout.decode("utf-8", "surrogateescape"),
        done.stderr.decode("utf-8", "replace"),
    )
