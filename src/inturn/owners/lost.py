"""What becomes of a job whose run is proven to be over, or never to have begun, without its owner's word."""

from __future__ import annotations

from inturn.core import decide

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.job import Job, Run
    from inturn.core.moment import Now
    from inturn.core.spec import Spec
    from inturn.core.transitions import Event
    from inturn.engines.base import Found


def resolve(job: Job, spec: Spec, run: Run, found: Found, now: Now, draw: float) -> Event:
    """The event for a run that was found to be `gone`, or that was `never` started.

    After a reboot a log that is missing proves nothing: it may have been created and not have reached the
    disk when the power failed.
    """
    if found.state == "never" and run.outcome is None and not found.rebooted:
        return decide.withdraw(job, run, now)
    return decide.lose(job, spec, run, found.rebooted, now, draw)
