"""`inturn pools`: the capacities and who uses them; changing those of pools, and proposing one of devices."""

from __future__ import annotations

import os

from inturn.cli import lines
from inturn.cli.result import Result
from inturn.core import wire
from inturn.core.duration import parse_limit, quoted
from inturn.errors import InturnError
from inturn.service import capacity, query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from rich.console import Console

    from inturn.core.gpus import Card
    from inturn.core.schema import Schema
    from inturn.core.views import Scope
    from inturn.service.context import Context


HELP = "show capacities and who uses them, change a pool, or propose one of the GPUs that are there"
EXAMPLES = (
    "inturn pools",
    "inturn pools set analysis 3",
    "inturn pools set analysis unlimited",
    "inturn pools remove analysis",
    "inturn pools detect",
)
CREATES = False

_DETECT = "inturn pools detect [NAME]"
_USAGE = f"Write: inturn pools, inturn pools set NAME N|unlimited, inturn pools remove NAME, or {_DETECT}"

# What a detected pool is called unless it is named.
_DETECTED = "gpu"


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.usage = "\n".join(
        ("inturn pools", "inturn pools set NAME N|unlimited", "inturn pools remove NAME", _DETECT)
    )
    parser.add_argument(
        "action",
        nargs="?",
        choices=("set", "remove", "detect"),
        metavar="set|remove|detect",
        help="set, remove: a pool that the configuration file does not declare; detect: print the lines of"
        " that file for a pool of all GPUs that nvidia-smi reports; without a word: show all",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"the pool (detect: {_DETECTED})")
    parser.add_argument(
        "slots", nargs="?", metavar="N|unlimited", help="its slots: a positive integer, or unlimited"
    )
    parser.epilog = f"{parser.epilog}\n\nThe columns in a pipe: {', '.join(lines.SCOPE_COLUMNS)}."


def execute(args: Namespace, context: Context) -> Result:
    """Show the capacities, after a change if one was asked for.

    Raises InturnError `usage`, `invalid_value`, `unknown_pool` or `conflict`; for `detect`, `failed` if
    nothing can be detected.
    """
    if args.action == "detect":
        return _detect(args, context)
    if args.action == "set":
        if args.name is None or args.slots is None:
            raise InturnError("usage", "pools set needs a name and a number of slots", _USAGE)
        slots = parse_limit(args.slots)
        context = with_store(context)
        capacity.set_pool(context, args.name, slots)
    elif args.action == "remove":
        if args.name is None or args.slots is not None:
            raise InturnError("usage", "pools remove needs a name and nothing else", _USAGE)
        context = with_store(context)
        capacity.remove_pool(context, args.name)
    return _shown(context)


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import COUNT, TEXT, either, many, maybe, record, told
    from inturn.core.wire_schema import scopes

    card = {
        "index": COUNT,
        "uuid": TEXT,
        "name": TEXT,
        "memory": told("bytes", maybe(COUNT)),
        "parts": told("its MIG instances", many(record({"uuid": TEXT, "profile": TEXT}))),
    }
    proposal = {
        "pool": TEXT,
        "devices": told("as the pool would name them", many(TEXT)),
        "cards": many(record(card)),
        "yaml": told("a configuration file that declares the pool", TEXT),
    }
    return either(scopes(), record(proposal))


def with_store(context: Context) -> Context:
    """The context with a store, created if there is none: capacities may be set before the first job."""
    if context.store is not None:
        return context
    from inturn.app import open_context

    return open_context(context.directory, context.config_path, True, context.notice)


def _detect(args: Namespace, context: Context) -> Result:
    """Propose a pool; nothing is changed."""
    from inturn.core import gpus
    from inturn.core.values import is_lane_name
    from inturn.service import detect

    if args.slots is not None:
        raise InturnError("usage", "pools detect needs a name or nothing", _USAGE)
    name = _DETECTED if args.name is None else args.name
    if not is_lane_name(name):
        raise InturnError("invalid_value", f"{quoted(name)} cannot be the name of a pool", _USAGE)
    cards = detect.cards()
    yaml = gpus.yaml(name, cards)
    if not args.json:
        what = "add this pool to" if os.path.exists(context.config_path) else "write this into"
        context.notice(f"nothing is changed: {what} {context.config_path}, then: inturn config apply")
    data = {
        "pool": name,
        "devices": gpus.devices(cards),
        "cards": [_card(card) for card in cards],
        "yaml": yaml,
    }
    return Result(data, lambda: yaml.split("\n"))


def _card(card: Card) -> dict[str, object]:
    return {
        "index": card.number,
        "uuid": card.uuid,
        "name": card.name,
        "memory": card.memory,
        "parts": [{"uuid": uuid, "profile": profile} for uuid, profile in card.parts],
    }


def _shown(context: Context) -> Result:
    found = query.capacities(context)
    return Result(
        wire.scopes(found),
        lambda: map(lines.scope, found),
        lambda console: _draw(console, found, context.now().wall),
    )


def _draw(console: Console, found: Sequence[Scope], wall: int) -> None:
    from inturn.cli import render

    render.scopes(console, found, wall)
