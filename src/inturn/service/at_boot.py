"""Having `inturn recover` run whenever the machine has started: by systemd where it answers, else by cron."""

from __future__ import annotations

import os
import sys
from binascii import crc32

from inturn.errors import InturnError
from inturn.host import crontab, logind, user_unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

SYSTEMD, CRON = "systemd", "crontab"


class Standing(NamedTuple):
    """How a store is recovered at boot.

    `how` is SYSTEMD, CRON, or empty if it is not; `path` is the unit file, empty for cron; `text` is what
    stands there. `lingers`: whether the user's systemd is started at boot, and not only by their first login;
    None if that does not matter or cannot be told.
    """

    how: str
    path: str = ""
    text: str = ""
    lingers: bool | None = None


def install(context: Context) -> Standing:
    """Have the store of the context recovered at boot. Raises InturnError `failed` or `invalid_value`."""
    directory = context.directory
    if not directory.isprintable():
        raise InturnError(
            "invalid_value",
            "the name of the store has characters that no unit file and no crontab can hold",
            "Rename the directory, or have inturn recover run by other means.",
        )
    if user_unit.works():
        content = user_unit.text(f"Recover the jobs of inturn in {directory}", _command(directory))
        user_unit.install(_unit(directory), content, os.environ)
    else:
        crontab.install(_marker(directory), crontab.text(_marker(directory), _command(directory)))
    return standing(context)


def remove(context: Context) -> Standing:
    """Undo `install`; returns what was there. Raises InturnError `failed`."""
    before = standing(context)
    if before.how == SYSTEMD:
        user_unit.remove(_unit(context.directory), os.environ)
    elif before.how == CRON:
        crontab.remove(_marker(context.directory))
    return before


def standing(context: Context) -> Standing:
    """How the store is recovered at boot."""
    unit = _unit(context.directory)
    text = user_unit.read(unit, os.environ)
    if text is not None:
        return Standing(SYSTEMD, user_unit.path(unit, os.environ), text, logind.lingers(user()))
    try:
        lines = crontab.read(_marker(context.directory))
    except InturnError:  # no cron here
        lines = None
    return Standing("") if lines is None else Standing(CRON, "", lines + "\n")


def user() -> str:
    """The name of the user, or the number if it has none."""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _command(directory: str) -> tuple[str, ...]:
    # -P: the directory in which it is started must not be searched for modules.
    return (sys.executable, "-P", "-m", "inturn", "--dir", directory, "recover")


def _unit(directory: str) -> str:
    """Each store has its own."""
    return f"inturn-recover-{crc32(os.fsencode(directory)):08x}.service"


def _marker(directory: str) -> str:
    return f"inturn recover --at-boot: {directory}"
