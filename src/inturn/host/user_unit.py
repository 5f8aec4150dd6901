"""A command that systemd runs for the user when the machine has started: a unit file of the user's own."""

from __future__ import annotations

import os

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What is started by the command must outlive it: systemd would end all of the unit's processes with it.
_TEXT = """\
[Unit]
Description={description}

[Service]
Type=oneshot
RemainAfterExit=yes
KillMode=process
ExecStart={command}

[Install]
WantedBy=default.target
"""


def works() -> bool:
    """Whether the user has a systemd of their own that answers."""
    return _systemctl("show-environment") == 0


def path(name: str, environ: Mapping[str, str]) -> str:
    """Where the unit file belongs. An XDG_CONFIG_HOME that is empty or relative is ignored."""
    config = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config):
        config = os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(config, "systemd", "user", name)


def text(description: str, command: Sequence[str]) -> str:
    """The unit file."""
    words = " ".join(_quoted(word) for word in command)
    return _TEXT.format(description=description.replace("%", "%%"), command=words)


def read(name: str, environ: Mapping[str, str]) -> str | None:
    """The unit file as it lies there, None if it does not."""
    try:
        with open(path(name, environ), encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return None


def install(name: str, content: str, environ: Mapping[str, str]) -> str:
    """Write the unit file and enable it; returns its path. Raises InturnError `failed`."""
    target = path(name, environ)
    unfinished = f"{target}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(unfinished, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)
        os.replace(unfinished, target)
    except OSError as error:
        raise InturnError("failed", f"{target} cannot be written: {error.strerror}") from error
    for words in (("daemon-reload",), ("enable", name)):
        if _systemctl(*words):
            raise InturnError(
                "failed",
                f"systemctl --user {' '.join(words)} has failed; {target} is written",
                f"See what it says: systemctl --user {' '.join(words)}",
            )
    return target


def remove(name: str, environ: Mapping[str, str]) -> bool:
    """Disable the unit and remove its file; False if there is none. Raises InturnError `failed`."""
    target = path(name, environ)
    if not os.path.lexists(target):
        return False
    _systemctl("disable", name)
    try:
        os.unlink(target)
    except OSError as error:
        raise InturnError("failed", f"{target} cannot be removed: {error.strerror}") from error
    _systemctl("daemon-reload")
    return True


def _systemctl(*words: str) -> int:
    """The exit status of `systemctl --user`; 127 if there is none."""
    import subprocess

    try:
        return subprocess.run(
            ["systemctl", "--user", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=60,
            check=False,
        ).returncode
    except (OSError, subprocess.TimeoutExpired):
        return 127


def _quoted(word: str) -> str:
    r"""A word as systemd.service(5) wants it: `%` and `$` are special even within quotes."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
