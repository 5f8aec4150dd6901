"""Changing capacities live, where the configuration file does not declare them.

Lowering one below what is in use stops nothing; it admits nothing more until there is room.
"""

from __future__ import annotations

from inturn.core.admission import STORE
from inturn.core.duration import quoted
from inturn.core.values import is_lane_name
from inturn.errors import InturnError
from inturn.host import faults
from inturn.store import admissions, settings
from inturn.store.settings import Pool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.service.context import Context
    from inturn.store.db import Store


def set_pool(context: Context, name: str, slots: int | None) -> None:
    """Give a pool so many slots (None: unlimited); it is created if it does not exist.

    Raises InturnError `invalid_value` for what cannot name a pool, and `conflict` if the file declares it.
    """
    if not is_lane_name(name):
        raise InturnError(
            "invalid_value",
            f"{quoted(name)} cannot name a pool",
            "Write 1 to 64 letters, digits, '.', '_' or '-', the first no sign.",
        )
    _change(context, name, Pool(name, slots, False))


def set_limit(context: Context, slots: int | None) -> None:
    """Let so many slots be in use in the whole store (None: unlimited).

    Raises InturnError `conflict` if the file declares it.
    """
    _change(context, STORE, None if slots is None else Pool(STORE, slots, False))


def remove_pool(context: Context, name: str) -> None:
    """Forget a pool.

    Raises InturnError `unknown_pool` if there is none, and `conflict` if the file declares it or jobs that
    have not ended name it.
    """
    _change(context, name, None)


def _change(context: Context, name: str, wanted: Pool | None) -> None:
    """Write a capacity, or forget it, and have those woken that fit now."""
    store = context.store
    assert store is not None
    with faults.commit("limit", store.writing()):
        present = next((pool for pool in settings.pools(store) if pool.name == name), None)
        if present is not None and present.declared:
            raise _declared(context, store, name)
        if wanted is not None:
            settings.set_pool(store, wanted)
        else:
            if name != STORE:
                _check_removable(store, name, present)
            settings.remove_pool(store, name)
        admissions.wake_admissible(store, context.now())


def _check_removable(store: Store, name: str, present: Pool | None) -> None:
    if present is None:
        raise InturnError(
            "unknown_pool", f"there is no pool {quoted(name)}", "See which there are: inturn pools"
        )
    live = settings.live_jobs_in(store, name)
    if live:
        raise InturnError(
            "conflict",
            f"pool {quoted(name)} cannot be removed: {live} live jobs name it",
            f"Let them end or cancel them first: inturn list --status live --pool {name}",
        )


def _declared(context: Context, store: Store, name: str) -> InturnError:
    applied = settings.applied(store)
    path = context.config_path if applied is None else applied.path
    what = f"pool {quoted(name)}" if name else "the store-wide limit"
    return InturnError(
        "conflict",
        f"{what} is declared in {path}",
        "Change it there, and then: inturn config apply",
    )
