"""The configuration file and what the store has of it: when the one is written into the other."""

from __future__ import annotations

from inturn import config
from inturn.core.admission import STORE
from inturn.errors import InturnError
from inturn.host import faults
from inturn.store import admissions, settings
from inturn.store.settings import Applied, Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import NamedTuple

    from inturn.config import Config
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple


class Rules(NamedTuple):
    """Which options `defaults` may name, the check of one value, and that of all of them together.

    The checks raise InturnError.
    """

    names: Collection[str]
    check: Callable[[str, object], object]
    check_together: Callable[[Mapping[str, object]], object]


class Change(NamedTuple):
    """One capacity as it was and as it is to be. An empty `name` is the store-wide limit.

    None is a pool that does not exist, or no store-wide limit.
    """

    name: str
    before: Pool | None
    after: Pool | None


class Retuned(NamedTuple):
    """How often a second all who wait look at the store, as it was and as it is to be."""

    before: int
    after: int


def defaults(context: Context, rules: Rules) -> dict[str, object]:
    """The defaults for a submission, after the file has been applied if it has changed.

    The first file is applied of itself, and so is a change of the file last applied; another file gives its
    defaults, but its capacities need `config apply`. Removing a pool that live jobs name is put off with a
    notice. Raises InturnError `config_invalid`.
    """
    store = context.store
    assert store is not None
    signature = config.signature(context.config_path)
    if signature is None:
        require_if_named(context)
        return {}
    known = settings.applied(store)
    if known is not None and known.path == context.config_path and known.signature == signature:
        return _parse(known.defaults)
    read = load(context.config_path, rules)
    if known is not None and known.path != context.config_path:
        context.notice(
            f"limits, pools and polling are those of {known.path}; to use those of {context.config_path}:"
            " inturn config apply"
        )
    else:
        _apply(context, store, read, signature, strict=False)
    return dict(read.defaults)


def apply(context: Context, rules: Rules) -> list[Change | Retuned]:
    """Write what the file says of all processes into the store; returns the changes.

    It does not matter which file was applied before.

    Raises InturnError `config_invalid`, or `conflict` if it would remove a pool that live jobs name.
    """
    store = context.store
    assert store is not None
    signature = config.signature(context.config_path)
    if signature is None:
        raise _no_file(context.config_path, context.config_origin)
    return _apply(context, store, load(context.config_path, rules), signature, strict=True)


def load(path: str, rules: Rules) -> Config:
    """Read and check a file, without looking at any store. Raises InturnError `config_invalid`."""
    if config.signature(path) is None:
        raise _no_file(path)
    read = config.load(path, rules.names, rules.check)
    try:
        rules.check_together(dict(read.defaults))
    except InturnError as problem:
        raise InturnError("config_invalid", f"{path}: {problem.message}", problem.hint) from None
    return read


def load_if_any(context: Context, rules: Rules) -> Config | None:
    """What the configuration file says now, or None without one. Raises InturnError `config_invalid`."""
    if config.signature(context.config_path) is None:
        require_if_named(context)
        return None
    return load(context.config_path, rules)


def declared(read: Config) -> list[Pool]:
    """The capacities that a file declares, as the store would have them."""
    found = [Pool(pool.name, pool.slots, True, *pool[2:]) for pool in read.pools]
    if read.declares_limit:
        found.append(Pool(STORE, read.max_active_slots, True))
    return found


def plan(current: Iterable[Pool], read: Config) -> list[Change]:
    """What would have to change for these capacities to be those of the file.

    What a command has set stays unless the file declares it; what the file declared before and no longer does
    is removed.
    """
    before = {pool.name: pool for pool in current}
    wanted = {pool.name: pool for pool in declared(read)}
    removed = [
        Change(name, pool, None) for name, pool in before.items() if pool.declared and name not in wanted
    ]
    return removed + [
        Change(name, before.get(name), pool) for name, pool in wanted.items() if pool != before.get(name)
    ]


def retuning(known: Applied | None, read: Config) -> list[Retuned]:
    """What would have to change for all who wait to look at the store as often as the file says."""
    from inturn.core.polling import LOOKS_PER_SECOND  # every submission loads this module

    before = (known and known.looks_per_second) or LOOKS_PER_SECOND
    after = read.looks_per_second or LOOKS_PER_SECOND
    return [Retuned(before, after)] if before != after else []


def _apply(
    context: Context, store: Store, read: Config, signature: tuple[int, int, int], strict: bool
) -> list[Change | Retuned]:
    now = context.now()
    changes: list[Change] = []
    kept: list[str] = []
    with faults.commit("configure", store.writing()):
        for change in plan(settings.pools(store), read):
            objection = _objection(context, store, change)
            if not objection:
                changes.append(change)
            elif strict:
                raise InturnError(
                    "conflict",
                    objection,
                    f"Let them end or cancel them first: inturn list --pool {change.name}",
                )
            else:
                kept.append(objection)
        for change in changes:
            if change.after is None:
                settings.remove_pool(store, change.name)
            else:
                settings.set_pool(store, change.after)
        retuned = retuning(settings.applied(store), read)
        defaults = _format(dict(read.defaults))
        fresh = Applied(read.path, read.digest, signature, defaults, now.wall, read.looks_per_second)
        settings.note_applied(store, fresh)
        admissions.wake_admissible(store, now)
    # Only now: whoever does not read what we say must not hold up all who want to write.
    for objection in kept:
        context.notice(f"{objection}; it is kept as it was")
    return [*changes, *retuned]


def _objection(context: Context, store: Store, change: Change) -> str:
    """Why a change cannot be made, or an empty text: no pool is removed that live jobs name."""
    if change.after is not None or change.name == STORE:
        return ""
    live = settings.live_jobs_in(store, change.name)
    gone = f"{context.config_path} no longer declares pool {change.name!r}"
    return f"{gone}, but {live} live jobs name it" if live else ""


def require_if_named(context: Context) -> None:
    """Raise InturnError `config_invalid` if the file, which does not exist, was asked for by name.

    No file changes nothing otherwise.
    """
    if context.config_origin != "default":
        raise _no_file(context.config_path, context.config_origin)


def _no_file(path: str, origin: str = "default") -> InturnError:
    named = "" if origin == "default" else f" (named by {origin})"
    return InturnError(
        "config_invalid",
        f"{path}: there is no such file{named}",
        "Write one as the documentation shows, or name another with --config.",
    )


def _format(values: dict[str, object]) -> str:
    if not values:
        return ""
    import json

    return json.dumps(values)


def _parse(text: str) -> dict[str, object]:
    if not text:
        return {}
    import json

    parsed: dict[str, object] = json.loads(text)
    return parsed
