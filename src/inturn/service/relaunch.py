"""New supervisors for jobs whose owner died, or that begin another round."""

from __future__ import annotations

from inturn import __version__
from inturn.host import faults
from inturn.service import nursery
from inturn.store import owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.job import Job
    from inturn.service.context import Context
    from inturn.service.owned import Newcomer

# Supervisors that are forked from one process.
AT_ONCE = 200


def relaunch(context: Context, orphans: Sequence[Job]) -> set[int]:
    """Hand jobs, as they were read, to new supervisors; each is owned by somebody at every moment.

    A job that has changed since is left alone: somebody else was first. Returns the ids of the others.
    """
    taken: set[int] = set()
    for start in range(0, len(orphans), AT_ONCE):
        some = orphans[start : start + AT_ONCE]
        handed_over, _ = nursery.hatch(context, len(some), _Heirs(context, some).take_over)
        taken |= handed_over
    return taken


class _Heirs:
    """Writes new supervisors into the registry, as the owners of their jobs."""

    def __init__(self, context: Context, orphans: Sequence[Job]) -> None:
        self._context = context
        self._orphans = orphans

    def take_over(self, newcomers: list[Newcomer]) -> set[int]:
        store = self._context.store
        assert store is not None
        now = self._context.now()
        taken = set()
        with faults.commit("relaunch", store.writing()):
            for job, heir in zip(self._orphans, newcomers, strict=True):
                owner = owners.register(
                    store, "supervisor", heir.token, heir.identity, heir.lock, __version__, now
                )
                if owners.hand_over(store, job, owner):
                    taken.add(job.id)
                else:
                    owners.retire(store, owner)
        return taken
