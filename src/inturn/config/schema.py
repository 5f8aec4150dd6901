"""What the configuration file may say: its version, capacities, polling and defaults, strictly."""

from __future__ import annotations

from inturn.config import PoolConfig
from inturn.core.duration import MAX_LIMIT, parse_integer, parse_limit
from inturn.core.polling import MOST_LOOKS_PER_SECOND
from inturn.core.values import is_lane_name
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from inturn.config.tree import Node

SCHEMA_VERSION = "1"

DEFAULT_VARIABLE = "CUDA_VISIBLE_DEVICES"

_Defaults = tuple[tuple[str, object], ...]


def check(
    root: Node,
    allowed_defaults: Collection[str] | None,
    check_default: Callable[[str, object], object] | None,
) -> tuple[int | None, tuple[PoolConfig, ...], _Defaults, bool, int | None]:
    """What a file declares, in the order of `Config`, from the limit on."""
    _check_version(root)
    top = _mapping(root, ("schema_version", "concurrency", "polling", "defaults"))
    concurrency: Mapping[str, Node] = {}
    if "concurrency" in top:
        concurrency = _mapping(top["concurrency"], ("max_active_slots", "pools"))
    limit = _limit(concurrency["max_active_slots"]) if "max_active_slots" in concurrency else None
    pools = _mapping(concurrency["pools"]) if "pools" in concurrency else {}
    polling = _mapping(top["polling"], ("looks_per_second",)) if "polling" in top else {}
    defaults = _mapping(top["defaults"]) if "defaults" in top else {}
    return (
        limit,
        tuple(_pool(name, node) for name, node in pools.items()),
        _defaults(defaults, allowed_defaults, check_default),
        "max_active_slots" in concurrency,
        _looks(polling["looks_per_second"]) if polling else None,
    )


def _check_version(root: Node) -> None:
    """Before anything else, so that a file for another version is not blamed for its keys."""
    hint = f"This inturn reads files that begin with: schema_version: {SCHEMA_VERSION}"
    if root.entries is None:
        raise root.wrong("the file must be a mapping of keys to values", hint)
    version = root.entries.get("schema_version")
    if version is None:
        raise root.wrong("schema_version is missing", hint)
    if not version.plain or version.text != SCHEMA_VERSION:
        raise version.wrong("this version is not known", hint)


def _mapping(node: Node, known: tuple[str, ...] | None = None) -> Mapping[str, Node]:
    """The entries of a mapping whose keys are all `known`; None: any."""
    if node.entries is None:
        raise node.wrong("it must be a mapping of keys to values", "Remove it if there is nothing to say.")
    for key, entry in node.entries.items():
        if known is not None and key not in known:
            raise _unknown(entry, key, known)
    return node.entries


def _unknown(node: Node, key: str, known: Collection[str]) -> InturnError:
    from difflib import get_close_matches

    close = get_close_matches(key, known, n=1)
    hint = f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(sorted(known))}."
    return node.wrong("unknown key", hint)


def _limit(node: Node) -> int | None:
    if node.text is None or not (node.plain or node.text == "unlimited"):
        raise node.wrong("it must be a positive integer without quotes, or unlimited")
    try:
        return parse_limit(node.text)
    except InturnError as problem:
        raise node.wrong(problem.message, problem.hint) from None


def _looks(node: Node) -> int:
    if node.text is None or not node.plain:
        raise node.wrong("it must be a whole number without quotes")
    try:
        return parse_integer(node.text, 1, MOST_LOOKS_PER_SECOND)
    except InturnError as problem:
        raise node.wrong(problem.message, problem.hint) from None


def _pool(name: str, node: Node) -> PoolConfig:
    if not is_lane_name(name):
        raise node.wrong("a pool's name is 1 to 64 letters, digits, '.', '_' or '-', the first no sign")
    if node.items is not None:
        raise node.wrong("it must be a limit or a mapping", "For named slots write {devices: [0, 1]}.")
    if node.entries is None:
        return PoolConfig(name, _limit(node))
    entries = _mapping(node, ("slots", "devices", "per_device", "variable", "others"))
    if "devices" in entries:
        return _device_pool(name, entries)
    if tuple(entries) != ("slots",):
        raise node.wrong("it needs either slots, alone, or devices")
    return PoolConfig(name, _limit(entries["slots"]))


def _device_pool(name: str, entries: Mapping[str, Node]) -> PoolConfig:
    if "slots" in entries:
        raise entries["slots"].wrong("the slots of a pool with devices follow from its devices", "Remove it.")
    devices = _devices(entries["devices"])
    per_device = _limit(entries["per_device"]) if "per_device" in entries else 1
    if per_device is None or per_device * len(devices) > MAX_LIMIT:
        raise entries["per_device"].wrong(f"it must be finite, and at most {MAX_LIMIT} over all devices")
    variable = _word(entries["variable"]) if "variable" in entries else DEFAULT_VARIABLE
    if not (variable.isascii() and variable.isidentifier()):
        raise entries["variable"].wrong("a variable's name has letters, digits and '_', and no digit first")
    others = _word(entries["others"]) if "others" in entries else "none"
    if others not in ("none", "all"):
        raise entries["others"].wrong("it must be none or all")
    return PoolConfig(name, per_device * len(devices), devices, per_device, variable, others)


def _devices(node: Node) -> tuple[str, ...]:
    if not node.items:
        raise node.wrong("it must be a list of devices, at least one", "Write it like [0, 1].")
    devices: list[str] = []
    for item in node.items:
        device = _word(item)
        if item.plain and device.isascii() and device.isdigit():
            device = device.lstrip("0") or "0"
        if not device or device[0] == "-" or any(c in ", " or not c.isprintable() for c in device):
            raise item.wrong("a device is a number from 0, or a name without spaces and commas")
        if device in devices:
            raise item.wrong(f"device {device} is listed twice")
        devices.append(device)
    return tuple(devices)


def _word(node: Node) -> str:
    if node.text is None or node.is_null() or node.boolean() is not None:
        raise node.wrong("it must be a word or a number", "Put it in quotes if that is meant to be its name.")
    return node.text


def _defaults(
    entries: Mapping[str, Node],
    allowed: Collection[str] | None,
    check: Callable[[str, object], object] | None,
) -> _Defaults:
    found: dict[str, object] = {}
    for key, node in entries.items():
        name = key.replace("-", "_")
        if allowed is not None and name not in allowed:
            raise _unknown(node, name, allowed)
        if name in found:
            raise node.wrong(f"repeated key: {name} is there in another spelling")
        found[name] = _default(node)
        if check is not None:
            try:
                check(name, found[name])
            except InturnError as problem:
                raise node.wrong(problem.message, problem.hint) from None
    return tuple(found.items())


def _default(node: Node) -> object:
    if node.entries is not None:
        raise node.wrong("it must be a value or a list of values")
    if node.items is not None:
        return [_text(item) for item in node.items]
    text = _text(node)
    boolean = node.boolean()
    if boolean is not None:
        return boolean
    # Only what an integer would be written as: 007 and 1_000 stay text.
    digits = text.removeprefix("-")
    if node.plain and len(digits) < 20 and digits.isascii() and digits.isdigit() and str(int(text)) == text:
        return int(text)
    return text


def _text(node: Node) -> str:
    if node.text is None or node.is_null():
        raise node.wrong("it has no value", 'Write "" for an empty text.')
    return node.text
