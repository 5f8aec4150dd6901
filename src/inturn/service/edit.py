"""Changing what was asked for, as long as it has not been started."""

from __future__ import annotations

from inturn.core import edit as core
from inturn.service import intake
from inturn.service.acting import act, standing
from inturn.store import specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from inturn.core.edit import Changes
    from inturn.core.job import Job
    from inturn.core.moment import Now
    from inturn.core.transitions import Transition
    from inturn.service.acting import Acted
    from inturn.service.context import Context
    from inturn.store.db import Store


def edit(context: Context, job_ids: Iterable[int], changes: Changes) -> list[Acted]:
    """Change jobs that have not been started, all in one transaction; what became of each.

    What is to be different is checked as in a submission. Raises InturnError `not_found`, `unknown_pool`,
    `impossible`, `invalid_value` or `usage`; then nothing is changed at all.
    """

    def choose(store: Store, job: Job, now: Now) -> Transition | str:
        if not core.editable(job):
            return standing(job)
        core.check(job, specs.load(store, job.id), changes, now)
        transition = core.edit(job, changes, now)
        if changes.pool is not None or changes.slots is not None:
            intake.check_capacity(store, transition.after.pool, transition.after.slots)
        specs.change(store, job.id, changes.argv, changes.note)
        return transition

    return act(context, job_ids, choose)
