"""`inturn recover --at-boot`."""

from __future__ import annotations

from inturn.cli.result import Result
from inturn.cli.text import printable
from inturn.service import at_boot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from inturn.core.schema import Schema
    from inturn.service.at_boot import Standing
    from inturn.service.context import Context


def do(action: str, context: Context) -> Result:
    """Install, remove, or tell how it stands."""
    if action == "remove":
        found = at_boot.remove(context)
        told = f"removed from {_place(found)}" if found.how else "there was nothing to remove"
        return Result({**_document(found, context), "installed": False}, lambda: [told])
    found = at_boot.install(context) if action == "install" else at_boot.standing(context)
    if found.lingers is False:
        context.notice("it runs at your first login; to have it run at boot: loginctl enable-linger")
    return Result({**_document(found, context), "installed": bool(found.how)}, lambda: _lines(found))


def _document(found: Standing, context: Context) -> dict[str, object]:
    return {
        "directory": context.directory,
        "how": found.how or None,
        "path": found.path or None,
        "text": found.text or None,
        "lingers": found.lingers,
    }


def schema() -> Schema:
    """Of how it stands."""
    from inturn.core.schema import FLAG, TEXT, maybe, one_of, record

    return record(
        {
            "directory": TEXT,
            "how": maybe(one_of((at_boot.SYSTEMD, at_boot.CRON))),
            "path": maybe(TEXT),
            "text": maybe(TEXT),
            "lingers": maybe(FLAG),
            "installed": FLAG,
        }
    )


def _lines(found: Standing) -> Iterator[str]:
    if not found.how:
        yield "not installed; after a restart: inturn recover"
        return
    yield f"installed in {_place(found)}:"
    yield from (printable(line) for line in found.text.splitlines())


def _place(found: Standing) -> str:
    return printable(found.path) if found.path else "your crontab"
