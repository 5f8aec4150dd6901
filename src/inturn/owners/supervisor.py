"""The owner of one supervised job: takes it over from the submitting process, and ends with it."""

from __future__ import annotations

from inturn.owners.task import Task
from inturn.store import jobs, owners
from inturn.store.transaction import CommitUnknown, Stale

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.owners.owner import Owner
    from inturn.owners.tools import Tools


def take_over(tools: Tools, owner: Owner) -> bool:
    """Accept the job that was submitted in our name; False if it was given up before we came."""
    for job in jobs.owned_by(tools.store, tools.owner):
        task = Task(tools, job)
        if job.phase == "submitting":
            try:
                task.accept()
            except Stale:
                return False
            except CommitUnknown:
                task.reload()
                if task.job.phase == "submitting":
                    raise
        owner.tasks.append(task)
    return bool(owner.tasks)


def supervise(owner: Owner) -> None:
    """Run the job to its end."""
    while owner.tasks:
        owner.turn()


def say_goodbye(tools: Tools) -> None:
    """Leave the registry."""
    # Whoever completes its own job has retired in the same transaction.
    if owners.load(tools.store, tools.owner) is not None:
        with tools.store.writing(durable=False):
            owners.retire(tools.store, tools.owner)
