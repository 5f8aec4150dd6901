"""Which settings are in force, where each came from, and what the configuration file would still change."""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.core.polling import LOOKS_PER_SECOND
from inturn.service import configure
from inturn.store import settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Literal, NamedTuple

    from inturn.config import Config
    from inturn.service.configure import Change, Retuned, Rules
    from inturn.service.context import Context
    from inturn.store.settings import Applied, Pool

    Standing = Literal["absent", "new", "applied", "changed", "other"]
else:
    from inturn.core.records import NamedTuple


class Setting(NamedTuple):
    """One setting, named by its path in the configuration file if it can stand there.

    `value` is text, an integer, a boolean, a list of texts, or the Pool that a capacity is. `origin` is
    `default`, an option, an environment variable, `command`, or the path of a file.
    """

    name: str
    value: object
    origin: str


class Effective(NamedTuple):
    """All settings, and how the configuration file stands to the store.

    `standing` is `absent` without a file; `new` if none was ever applied; `applied` if the store goes by this
    one as it is, `changed` as it was before; `other` if the store goes by another file. `pending` is what the
    file says of all processes and the store does not.
    """

    settings: tuple[Setting, ...]
    standing: Standing
    pending: tuple[Change | Retuned, ...]


def effective(context: Context, rules: Rules, option: str | None, environ: Mapping[str, str]) -> Effective:
    """What is in force for the next submission; nothing is written. `option` is what --dir gave.

    Raises InturnError `config_invalid`.
    """
    store = context.store
    known = None if store is None else settings.applied(store)
    pools = [] if store is None else settings.pools(store)
    read = configure.load_if_any(context, rules)
    found = (
        Setting("store", context.directory, _origin_of_store(option, environ)),
        Setting("configuration", context.config_path, context.config_origin),
        *_capacities(pools, known),
        _polling(known),
        *_defaults(read),
    )
    pending: list[Change | Retuned] = []
    if read is not None:
        pending += configure.plan(pools, read)
        pending += configure.retuning(known, read)
    return Effective(found, _standing(known, read), tuple(pending))


def _origin_of_store(option: str | None, environ: Mapping[str, str]) -> str:
    if option is not None:
        return "--dir"
    return "INTURN_DIR" if environ.get("INTURN_DIR") else "default"


def _capacities(pools: list[Pool], known: Applied | None) -> Iterator[Setting]:
    if not any(pool.name == STORE for pool in pools):
        yield Setting("concurrency.max_active_slots", "unlimited", "default")
    for pool in pools:
        name = f"concurrency.pools.{pool.name}" if pool.name else "concurrency.max_active_slots"
        yield Setting(name, pool, known.path if pool.declared and known is not None else "command")


def _polling(known: Applied | None) -> Setting:
    name = "polling.looks_per_second"
    if known is None or known.looks_per_second is None:
        return Setting(name, LOOKS_PER_SECOND, "default")
    return Setting(name, known.looks_per_second, known.path)


def _defaults(read: Config | None) -> Iterator[Setting]:
    if read is not None:
        for name, value in read.defaults:
            yield Setting(f"defaults.{name}", value, read.path)


def _standing(known: Applied | None, read: Config | None) -> Standing:
    if read is None:
        return "absent"
    if known is None:
        return "new"
    if known.path != read.path:
        return "other"
    return "applied" if known.digest == read.digest else "changed"
