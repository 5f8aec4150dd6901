"""Submitting many supervised jobs at once: their supervisors are forked from one and share its memory."""

from __future__ import annotations

import os

from inturn.errors import InturnError
from inturn.host import brood, locks, wake
from inturn.host.paths import discard, owner_files
from inturn.service import intake, submit
from inturn.service.owned import NO_PROCESS, Newcomer, start_supervisor, store_owned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from inturn.core.spec import Submission
    from inturn.host.brood import Hatched
    from inturn.service.context import Context

    T = TypeVar("T")


def run_many(context: Context, submissions: Sequence[Submission]) -> list[int]:
    """Submit supervised jobs in one transaction; returns their ids. Raises as `submit.run`."""
    try:
        stored, answered = hatch(
            context, len(submissions), lambda newcomers: store_owned(context, submissions, newcomers)
        )
    except intake.AlreadyThere as found:
        return [found.job_id]
    silent = [job_id for number, job_id in enumerate(stored) if number not in answered]
    ended = [job_id for job_id in silent if submit.give_up(context, job_id)]
    if ended:
        raise InturnError(
            "submission_failed",
            f"no supervisor has taken over {len(ended)} of the {len(stored)} jobs, such as job {ended[0]}",
            f"These were not started; the others go on. See: inturn show {ended[0]}",
        )
    return stored


def hatch(context: Context, count: int, store_them: Callable[[list[Newcomer]], T]) -> tuple[T, set[int]]:
    """Start supervisors, have `store_them` write jobs that belong to them, and wait until they answer.

    Returns what `store_them` gave, and the numbers of those that have taken their job over; one that finds
    no job in its name ends. Raises InturnError `submission_failed` if not all of them could be started.
    """
    token = os.urandom(8).hex()
    lock_path, _ = owner_files(context.directory, token)
    lock = locks.create(lock_path)
    try:
        child = start_supervisor(context, lock, token, str(count))
    finally:
        os.close(lock)
        discard(lock_path)
    try:
        try:
            hatched = _await_all(child.answer, brood.HATCHED, count)
            stored = store_them(
                [Newcomer(brood.token_of(token, one.number), one.identity, one.lock) for one in hatched]
            )
        finally:
            os.close(child.go)
        answered = _read_all(child.answer, brood.ACCEPTED, count)
    finally:
        os.close(child.answer)
    return stored, {one.number for one in answered}


def _await_all(fd: int, kind: int, count: int) -> list[Hatched]:
    """The reports of all supervisors, in the order of their numbers."""
    reports = _read_all(fd, kind, count)
    if len(reports) < count:
        raise InturnError(
            "submission_failed", f"only {len(reports)} of {count} supervisors could be started", NO_PROCESS
        )
    return sorted(reports, key=lambda report: report.number)


def _read_all(fd: int, kind: int, count: int) -> list[Hatched]:
    """Reports until there are `count` of this kind, until no more can be expected, or for too long."""
    reports: list[Hatched] = []
    while len(reports) < count and wake.wait([fd], submit.ANSWER_TIMEOUT):
        data = brood.read(fd)
        if not data:
            break
        reports += [report for report in data if report.kind == kind]
        # Those that there are come to at most so many.
        count = min([count, *(report.number for report in data if report.kind == brood.REFUSED)])
    return reports
