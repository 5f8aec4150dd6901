"""Submitting many supervised jobs at once: their supervisors are forked from one and share its memory."""

from __future__ import annotations

import os

from inturn.errors import InturnError
from inturn.host import brood, faults, locks, wake
from inturn.host.paths import discard, owner_files
from inturn.service import submit
from inturn.service.owned import Newcomer, store_owned
from inturn.service.standby import NO_PROCESS, start_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from inturn.core.spec import Submission
    from inturn.host.brood import Hatched
    from inturn.host.detach import Detached
    from inturn.service.context import Context

    T = TypeVar("T")


def run_many(context: Context, submissions: Sequence[Submission]) -> list[int]:
    """Submit supervised jobs in one transaction; returns their ids. Raises as `submit.run`."""
    (ids, twins), answered = hatch(
        context, len(submissions), lambda newcomers: store_owned(context, submissions, newcomers)
    )
    silent = [job_id for number, job_id in enumerate(ids) if number not in answered and number not in twins]
    ended = [job_id for job_id in silent if submit.give_up(context, job_id)]
    if ended:
        raise InturnError(
            "submission_failed",
            f"no supervisor has taken over {len(ended)} of the {len(ids)} jobs, such as job {ended[0]}",
            f"These were not started; the others go on. See: inturn show {ended[0]}",
        )
    return ids


def hatch(context: Context, count: int, store_them: Callable[[list[Newcomer]], T]) -> tuple[T, set[int]]:
    """Start supervisors, have `store_them` write jobs that belong to them, and wait until they answer.

    Returns what `store_them` gave, and the numbers of those that have taken their job over; one that finds
    no job in its name ends. Raises InturnError `submission_failed` if not all of them could be started.
    """
    token = os.urandom(8).hex()
    lock_path, _ = owner_files(context.directory, token)
    lock = locks.create(lock_path)
    faults.point("nursery.locked")
    try:
        child = start_process(context.directory, context.supervisor, lock, token, str(count))
    finally:
        os.close(lock)
        discard(lock_path)
    faults.point("nursery.spawned")
    try:
        try:
            hatched = _await_all(child, count)
            faults.point("nursery.hatched")
            stored = store_them(
                [Newcomer(brood.token_of(token, one.number), one.identity, one.lock) for one in hatched]
            )
        finally:
            os.close(child.go)
        faults.point("nursery.told")
        answered = _read_all([child.answer], brood.ACCEPTED, count)
        faults.point("nursery.answered")
    finally:
        os.close(child.answer)
        _reap(child.pid)
    return stored, {one.number for one in answered}


def _await_all(child: Detached, count: int) -> list[Hatched]:
    """The reports of all supervisors, in the order of their numbers."""
    nursery = _pidfd(child.pid)
    try:
        # It ends after all have hatched: if it has gone, no more can be expected.
        reports = _read_all([child.answer, *nursery], brood.HATCHED, count)
    finally:
        for fd in nursery:
            os.close(fd)
    if len(reports) < count:
        raise InturnError(
            "submission_failed", f"only {len(reports)} of {count} supervisors could be started", NO_PROCESS
        )
    return sorted(reports, key=lambda report: report.number)


def _pidfd(pid: int) -> list[int]:
    try:
        return [os.pidfd_open(pid)]
    except OSError:  # Where we ignore the ends of our children it may have gone without a trace.
        return []


def _reap(pid: int) -> None:
    """Leave no zombie of the process that has forked them, for it ends when it has accepted their jobs.

    The supervisors are then no children of ours either.
    """
    for nursery in _pidfd(pid):
        wake.wait([nursery], submit.ANSWER_TIMEOUT)
        os.close(nursery)
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # Where we ignore the ends of our children it has gone without a trace.


def _read_all(fds: list[int], kind: int, count: int) -> list[Hatched]:
    """Reports until there are `count` of this kind, until no more can be expected, or for too long.

    Of one process there is one, however often it reports. They come through the first descriptor; once
    another one has something to tell, no more are written.
    """
    reports: dict[int, Hatched] = {}
    while len(reports) < count and fds[0] in wake.wait(fds, submit.ANSWER_TIMEOUT):
        data = brood.read(fds[0])
        if not data:
            break
        reports |= {report.number: report for report in data if report.kind == kind}
        # Those that there are come to at most so many.
        count = min([count, *(report.number for report in data if report.kind == brood.REFUSED)])
    return list(reports.values())
