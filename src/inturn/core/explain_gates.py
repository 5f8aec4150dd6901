"""What a job waits for besides others: its conditions and its time."""

from __future__ import annotations

from inturn.core.duration import quoted
from inturn.core.phrases import ago, instant, rough
from inturn.core.reasons import Reason
from inturn.core.text import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from inturn.core.job import Condition, Job
    from inturn.core.moment import Deadline, Now
    from inturn.core.spec import Spec


def conditions(job: Job, spec: Spec, found: tuple[Condition, ...], now: Now) -> Iterator[Reason]:
    """The wait conditions that are in the way."""
    any_will_do = spec.wait_mode == "any" and len(found) > 1
    open_ones = [each for each in found if each.satisfied_at is None]
    if any_will_do and len(open_ones) < len(found):
        return
    for condition in open_ones:
        message = _condition(condition, now)
        if any_will_do:
            message += "; any one of the wait conditions will do"
        yield Reason("condition", message, _look(condition, spec), job.id)


def _condition(condition: Condition, now: Now) -> str:
    if condition.kind in ("until", "delay"):
        return f"it waits until {when(condition.due, now)}"
    if condition.kind == "file":
        message = f"it waits for {quoted(_text(condition.argument))} to exist"
    else:
        message = f"it waits for {quoted(_words(condition.argument))} to exit with 0"
    if condition.observed_at is None:
        return message + "; nobody has looked yet"
    seen = printable(condition.diagnostic or "not so")
    return f"{message}; last looked {ago(condition.observed_at, now.wall)}: {seen}"


def _look(condition: Condition, spec: Spec) -> str:
    """The command that shows by hand what the condition sees."""
    if condition.kind == "file":
        path = condition.argument
        absolute = path if path.startswith(b"/") else spec.cwd.rstrip(b"/") + b"/" + path
        return printable("ls -ld " + _words(absolute))
    if condition.kind == "probe":
        return printable(f"cd {_words(spec.cwd)} && {_words(condition.argument)}")
    return ""


def _words(arguments: bytes) -> str:
    """Arguments, separated by NUL, as a shell would take them."""
    from shlex import join  # brings re along

    return join(map(_text, arguments.split(b"\0")))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def delay(job: Job, now: Now) -> Reason:
    """That the time for which the user has asked has not come."""
    message = f"it is not to start before {when(job.due, now)}"
    return Reason("delay", message, f"inturn edit {job.id} --after 0s", job.id)


def when(due: Deadline, now: Now) -> str:
    """An instant to come, by the clock that decides on it."""
    left = due.remaining(now)
    return f"{instant(now.wall + left)} (in {rough(left)})"
