"""`inturn config`: the settings in force, a check of the file, what it says into the store, its path."""

from __future__ import annotations

import os

from inturn.cli.result import Result
from inturn.cli.text import printable
from inturn.errors import InturnError
from inturn.service import configure as service
from inturn.service.defaults import submission_rules
from inturn.store.settings import Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from inturn.config import Config
    from inturn.core.schema import Schema
    from inturn.service.configure import Change, Retuned
    from inturn.service.context import Context
    from inturn.service.effective import Effective, Setting


HELP = "show, check and apply the configuration file"
EXAMPLES = (
    "inturn config show",
    "inturn config validate inturn.yml",
    "inturn --config inturn.yml config apply",
)
CREATES = False

_PENDING = {
    "new": "has not been applied yet: the next submission does it, or: inturn config apply",
    "changed": "has changed since it was applied: the next submission applies it, or: inturn config apply",
    "applied": "is not in force as a whole: see inturn config apply",
    "other": "is not the file last applied; to use its limits, pools and polling: inturn config apply",
}


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "action",
        choices=("show", "validate", "apply", "path"),
        help="show: the settings in force and where each came from; validate: check the file and change"
        " nothing; apply: write its limits, pools and polling to the store; path: print which file it is",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="what to validate (default: the file in use)")


def execute(args: Namespace, context: Context) -> Result:
    """Do what was asked for. Raises InturnError `config_invalid`, or `conflict` if it cannot be applied."""
    if args.file is not None and args.action != "validate":
        raise InturnError(
            "usage",
            f"config {args.action} takes no file",
            f"Name it with --config: inturn --config FILE config {args.action}",
        )
    if args.action == "path":
        path = context.config_path
        return Result({"path": path, "origin": context.config_origin}, lambda: [printable(path)])
    if args.action == "validate":
        return _validated(service.load(_absolute(args.file, context), submission_rules(context)))
    if args.action == "apply":
        return _apply(args, context)
    return _show(args, context)


def _absolute(file: str | None, context: Context) -> str:
    if file == "":
        raise InturnError("invalid_value", "the name of the file is empty", "Name one, or none at all.")
    return context.config_path if file is None else os.path.abspath(file)


def _validated(read: Config) -> Result:
    data = {
        "path": read.path,
        "valid": True,
        "max_active_slots": read.max_active_slots,
        "pools": [_pool(pool) for pool in service.declared(read) if pool.name],
        "looks_per_second": read.looks_per_second,
        "defaults": dict(read.defaults),
    }
    return Result(data, lambda: [f"{printable(read.path)}\tvalid"])


def _apply(args: Namespace, context: Context) -> Result:
    if context.store is None:
        from inturn.app import open_context

        # A file that is wrong creates no store.
        service.load(context.config_path, submission_rules(context))
        context = open_context(args.dir, args.config, True, context.notice)
    changes = service.apply(context, submission_rules(context))
    data = {"path": context.config_path, "changes": [_change(change) for change in changes]}
    return Result(data, lambda: [_told(change) for change in changes] or ["nothing had to be changed"])


def _show(args: Namespace, context: Context) -> Result:
    from inturn.service.effective import effective

    found = effective(context, submission_rules(context), args.dir, os.environ)
    if found.pending:
        context.notice(f"{context.config_path} {_PENDING[found.standing]}")
    data = {
        "standing": found.standing,
        "settings": [
            {"name": it.name, "value": _json_value(it.value), "origin": it.origin} for it in found.settings
        ],
        "pending": [_change(change) for change in found.pending],
    }
    return Result(data, lambda: _show_lines(found), lambda console: _draw(console, found))


def _show_lines(found: Effective) -> Iterable[str]:
    for setting in found.settings:
        yield "\t".join(_columns(setting, found))
    for change in found.pending:
        yield f"pending\t{_told(change)}\t"


def _draw(console: Console, found: Effective) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for setting in found.settings:
        table.add_row(*(Text(cell) for cell in _columns(setting, found)))
    console.print(table)
    for change in found.pending:
        console.print(Text(f"pending: {_told(change)}"))


def _columns(setting: Setting, found: Effective) -> Sequence[str]:
    value = printable(_value(setting.value))
    if setting.name == "configuration" and found.standing == "absent":
        value += " (not there)"
    return setting.name, value, printable(setting.origin)


def _value(value: object) -> str:
    if isinstance(value, Pool):
        return _capacity(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(value) if isinstance(value, list) else str(value)


def _json_value(value: object) -> object:
    if not isinstance(value, Pool):
        return value
    return _pool(value) if value.devices else ("unlimited" if value.slots is None else value.slots)


def _capacity(pool: Pool | None) -> str:
    """A capacity in words: `2`, `unlimited`, `2 (devices 0, 1; …)`; '' for one that is not there."""
    if pool is None:
        return ""
    slots = "unlimited" if pool.slots is None else str(pool.slots)
    if not pool.devices:
        return slots
    each = f", {pool.per_device} slots each" if pool.per_device > 1 else ""
    return f"{slots} (devices {', '.join(pool.devices)}{each}; {pool.variable}; others: {pool.others})"


def _told(change: Change | Retuned) -> str:
    if isinstance(change, service.Retuned):
        return f"looks per second: {change.before} -> {change.after}"
    what, nothing = (f"pool {change.name}", "none") if change.name else ("limit", "unlimited")
    before, after = _capacity(change.before) or nothing, _capacity(change.after) or nothing
    if before == after:
        return f"{what}: {after}, {'no longer' if change.after is None else 'now'} declared by the file"
    return f"{what}: {before} -> {after}"


def _change(change: Change | Retuned) -> dict[str, object]:
    if isinstance(change, service.Retuned):
        return {"setting": "polling.looks_per_second", "before": change.before, "after": change.after}
    before, after = change.before, change.after
    return {
        "pool": change.name or None,
        "before": None if before is None else _pool(before),
        "after": None if after is None else _pool(after),
    }


def _pool(pool: Pool) -> dict[str, object]:
    document: dict[str, object] = {"name": pool.name or None, "slots": pool.slots}
    if pool.devices:
        document |= {
            "devices": list(pool.devices),
            "per_device": pool.per_device,
            "variable": pool.variable,
            "others": pool.others,
        }
    return document


def schema() -> Schema:
    """Of the answer with --json: of `path`, `validate`, `apply` and `show`, in this order."""
    from inturn.core.schema import ID, TEXT, always, either, many, mapping, maybe, one_of, record
    from inturn.core.wire_schema import LIMIT

    devices: dict[str, Schema] = {
        "devices": many(TEXT),
        "per_device": ID,
        "variable": TEXT,
        "others": one_of(("none", "all")),
    }
    plain: dict[str, Schema] = {"name": maybe(TEXT), "slots": LIMIT}
    pool = either(record(plain), record({**plain, **devices}))
    value: Schema = {"type": ["string", "integer", "boolean", "array"], "items": TEXT}
    capacity = record({"pool": maybe(TEXT), "before": maybe(pool), "after": maybe(pool)})
    retuned = record({"setting": always("polling.looks_per_second"), "before": ID, "after": ID})
    changes = many(either(capacity, retuned))
    setting = record({"name": TEXT, "value": either(value, pool), "origin": TEXT})
    return either(
        record({"path": TEXT, "origin": TEXT}),
        record(
            {
                "path": TEXT,
                "valid": always(True),
                "max_active_slots": LIMIT,
                "pools": many(pool),
                "looks_per_second": maybe(ID),
                "defaults": mapping(value),
            }
        ),
        record({"path": TEXT, "changes": changes}),
        record({"standing": one_of(("absent", *_PENDING)), "settings": many(setting), "pending": changes}),
    )
