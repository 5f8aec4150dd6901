"""Whether systemd-logind ends a user's processes when they log out, as far as its configuration tells."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

# From the weakest to the strongest; a drop-in hides others of the same name in weaker places.
_PLACES = ("usr/lib", "usr/local/lib", "run", "etc")


class Logout(NamedTuple):
    """What happens when the user logs out.

    `systemd`: whether it runs here at all. `kills`: whether what they have started is ended; None if nothing
    says so. `lingers`: whether a systemd of their own runs from boot on, None if it cannot be told.
    """

    systemd: bool
    kills: bool | None
    lingers: bool | None


def look(user: str, root: str = "/") -> Logout:
    """What applies to `user`. `root` is where the directories of the system are."""
    if not os.path.isdir(os.path.join(root, "run/systemd/system")):
        return Logout(False, False, None)
    settings = _settings(root)
    return Logout(True, _kills(user, settings), lingers(user, root))


def lingers(user: str, root: str = "/") -> bool | None:
    """Whether the user's systemd runs without a login; None if it cannot be told."""
    if os.path.exists(os.path.join(root, "var/lib/systemd/linger", user)):
        return True
    import subprocess

    try:
        done = subprocess.run(
            ["loginctl", "show-user", user, "--property=Linger"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    answer = done.stdout.decode("utf-8", "replace").strip()
    return {"Linger=yes": True, "Linger=no": False}.get(answer)


def _kills(user: str, settings: Mapping[str, str]) -> bool | None:
    wanted = settings.get("KillUserProcesses")
    if wanted is None:
        return None
    if wanted.lower() not in ("1", "yes", "y", "true", "t", "on"):
        return False
    only = settings.get("KillOnlyUsers", "").split()
    return user not in settings.get("KillExcludeUsers", "root").split() and (not only or user in only)


def _settings(root: str) -> dict[str, str]:
    """What is set, the last word counting. What is only mentioned in a comment is what was built in."""
    found: dict[str, str] = {}
    mentioned: dict[str, str] = {}
    for path in _files(root):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            name, equals, value = line.strip().partition("=")
            if equals and name.startswith("#Kill"):
                mentioned[name[1:]] = value.strip()
            elif equals:
                found[name.strip()] = value.strip()
    return {**mentioned, **found}


def _files(root: str) -> Iterator[str]:
    yield from (os.path.join(root, place, "systemd/logind.conf") for place in _PLACES)
    drop_ins: dict[str, str] = {}
    for place in _PLACES:
        directory = os.path.join(root, place, "systemd/logind.conf.d")
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        drop_ins |= {name: os.path.join(directory, name) for name in names if name.endswith(".conf")}
    yield from (drop_ins[name] for name in sorted(drop_ins))
