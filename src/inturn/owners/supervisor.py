"""The owner of one supervised job: takes it over from the submitting process, and ends with it."""

from __future__ import annotations

from inturn.host import faults
from inturn.owners import acceptance
from inturn.owners.task import Task
from inturn.store import jobs, owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.owners.owner import Owner
    from inturn.owners.tools import Tools


def take_over(tools: Tools, owner: Owner) -> bool:
    """Take care of the job that was submitted in our name; False if it was given up before we came."""
    acceptance.accept(tools.store, tools.owner, tools.now())
    owner.tasks += [Task(tools, job) for job in jobs.owned_by(tools.store, tools.owner)]
    return bool(owner.tasks)


def supervise(owner: Owner) -> None:
    """Run the job to its end."""
    while owner.tasks:
        owner.turn()


def say_goodbye(tools: Tools) -> None:
    """Leave the registry."""
    # Whoever completes its own job has retired in the same transaction.
    if owners.load(tools.store, tools.owner) is not None:
        with faults.commit("retire", tools.store.writing(durable=False)):
            owners.retire(tools.store, tools.owner)
