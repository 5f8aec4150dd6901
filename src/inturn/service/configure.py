"""The configuration file and the capacities in the store: when the one is written into the other."""

from __future__ import annotations

from inturn import config
from inturn.core.admission import STORE
from inturn.errors import InturnError
from inturn.store import admissions, settings
from inturn.store.settings import Applied, Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import NamedTuple

    from inturn.config import Config
    from inturn.service.context import Context
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple


class Rules(NamedTuple):
    """Which options `defaults` may name, and the check of a value, which raises InturnError."""

    names: Collection[str]
    check: Callable[[str, object], object]


class Change(NamedTuple):
    """One capacity that `config apply` changed. An empty `name` is the store-wide limit.

    None stands for unlimited, `absent` for a pool that is not there.
    """

    name: str
    before: int | str | None
    after: int | str | None


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
        _must_not_be_named(context)
        return {}
    known = settings.applied(store)
    if known is not None and known.path == context.config_path and known.signature == signature:
        return _parse(known.defaults)
    read = config.load(context.config_path, rules.names, rules.check)
    if known is not None and known.path != context.config_path:
        context.notice(
            f"capacities are those of {known.path}; to use those of {context.config_path}:"
            " inturn config apply"
        )
    else:
        _apply(context, store, read, signature, strict=False)
    return dict(read.defaults)


def apply(context: Context, rules: Rules) -> list[Change]:
    """Write the file's capacities into the store, whichever file was applied before; returns the changes.

    Raises InturnError `config_invalid`, or `conflict` if it would remove a pool that live jobs name.
    """
    store = context.store
    assert store is not None
    signature = config.signature(context.config_path)
    if signature is None:
        raise _no_file(context)
    return _apply(
        context, store, config.load(context.config_path, rules.names, rules.check), signature, strict=True
    )


def _apply(
    context: Context, store: Store, read: Config, signature: tuple[int, int, int], strict: bool
) -> list[Change]:
    now = context.now()
    wanted = {pool.name: Pool(pool.name, pool.slots, True, *pool[2:]) for pool in read.pools}
    if read.max_active_slots is not None:
        wanted[STORE] = Pool(STORE, read.max_active_slots, True)
    with store.writing():
        changes = []
        current = {pool.name: pool for pool in settings.pools(store)}
        for name, pool in current.items():
            if pool.declared and name not in wanted and _may_remove(context, store, name, strict):
                settings.remove_pool(store, name)
                changes.append(Change(name, pool.slots, "absent" if name else None))
        for name, pool in wanted.items():
            if pool != current.get(name):
                settings.set_pool(store, pool)
                before = current.get(name)
                changes.append(
                    Change(name, before.slots if before else "absent" if name else None, pool.slots)
                )
        fresh = Applied(read.path, read.digest, signature, _format(dict(read.defaults)), now.wall)
        settings.note_applied(store, fresh)
        admissions.wake_admissible(store, now)
    return changes


def _may_remove(context: Context, store: Store, name: str, strict: bool) -> bool:
    live = settings.live_jobs_in(store, name) if name != STORE else 0
    if not live:
        return True
    problem = f"{context.config_path} no longer declares pool {name!r}, but {live} live jobs name it"
    if strict:
        raise InturnError(
            "conflict", problem, f"Let them end or cancel them first: inturn list --pool {name}"
        )
    context.notice(problem + "; it is kept as it was")
    return False


def _must_not_be_named(context: Context) -> None:
    """No file changes nothing, unless somebody asked for it by name."""
    if context.config_origin != "default":
        raise _no_file(context)


def _no_file(context: Context) -> InturnError:
    return InturnError(
        "config_invalid",
        f"{context.config_path}: there is no such file (named by {context.config_origin})",
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
