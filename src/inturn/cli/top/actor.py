"""Does what the keys ask for, in a thread of its own: a store that is busy keeps only the answer waiting."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Thread

from inturn.cli.unexpected import described
from inturn.core.edit import Changes
from inturn.core.options import HIGHEST_PRIORITY, LOWEST_PRIORITY
from inturn.core.phrases import label
from inturn.host.trouble import explaining
from inturn.service import control, edit, pausing, retry
from inturn.service.output import load_job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from inturn.cli.top.model import Deed
    from inturn.service.acting import Acted
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple


class Done(NamedTuple):
    """What became of a deed, in a sentence; not `well`: nothing was done."""

    sentence: str
    well: bool = True


class Actor(Thread):
    """Does one deed after the other. `tell` is called in this thread with what became of each."""

    def __init__(self, reopen: Callable[[], Context], tell: Callable[[Done], None]) -> None:
        super().__init__(name="actor", daemon=True)
        self._reopen = reopen
        self._tell = tell
        self._deeds: SimpleQueue[Deed | None] = SimpleQueue()

    def do(self, deed: Deed) -> None:
        """Have something done."""
        self._deeds.put(deed)

    def stop(self) -> None:
        """Have it end after what it has been given."""
        self._deeds.put(None)

    def run(self) -> None:
        """Do what it is given, until it is stopped."""
        while (deed := self._deeds.get()) is not None:
            self._tell(self._try(deed))

    def _try(self, deed: Deed) -> Done:
        try:
            context = self._reopen()
            try:
                with explaining(context.directory):
                    return perform(context, deed)
            finally:
                if context.store is not None:
                    context.store.close()
        except Exception as error:
            # Whatever it was: without an answer, the deed would seem to be under way for ever.
            problem = described(error)
            return Done(f"{problem.message}. {problem.hint}" if problem.hint else problem.message, False)


def perform(context: Context, deed: Deed) -> Done:
    """Do it; what became of it. Raises InturnError as the use cases do."""
    from inturn.app import tidy

    tidy(context)
    return _DEEDS[deed.verb](context, deed)


def _cancel(context: Context, deed: Deed) -> Done:
    (result,) = control.cancel(context, [deed.job_id])
    told = {"cancelled": "cancelled", "stopping": "is being stopped", "ended": "had ended before"}
    sentence = f"{label(result.job.id, result.job.name)}: {told[result.verdict]}"
    return Done(sentence, result.verdict != "ended")


def _pause(context: Context, deed: Deed) -> Done:
    return _told(pausing.pause(context, [deed.job_id]), "paused")


def _resume(context: Context, deed: Deed) -> Done:
    return _told(pausing.resume(context, [deed.job_id]), "resumed")


def _retry(context: Context, deed: Deed) -> Done:
    return _told(retry.retry(context, [deed.job_id], deed.verb == "revive"), "retried")


def _prioritise(context: Context, deed: Deed) -> Done:
    """One step from what the store has now: keys may be quicker than the screen."""
    wanted = load_job(context, deed.job_id).priority + deed.step
    priority = min(max(wanted, LOWEST_PRIORITY), HIGHEST_PRIORITY)
    acted = edit.edit(context, [deed.job_id], Changes(priority=priority))
    return _told(acted, f"priority {acted[0].job.priority}")


_DEEDS: dict[str, Callable[[Context, Deed], Done]] = {
    "cancel": _cancel,
    "pause": _pause,
    "resume": _resume,
    "retry": _retry,
    "revive": _retry,
    "priority": _prioritise,
}


def _told(acted: list[Acted], participle: str) -> Done:
    first, *others = acted
    done = sum(not one.refusal for one in others)
    sentence = f"{label(first.job.id, first.job.name)}: {first.refusal or participle}"
    return Done(sentence + (f", and {done} more" if done else ""), not first.refusal)
