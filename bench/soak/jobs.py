"""The jobs of a soak: what the job of a number does, and how often it is to run.

Each run writes the job's number and its own into the record, which tells that no job was lost or run twice.
"""

from __future__ import annotations

from typing import NamedTuple

from inturn.api.options import RunOptions

# What the job writes into the record that must never run: it is aborted.
NEVER = "never"

_ENTRY = 'echo "$0 $INTURN_RUN" >>"$1"; '


class Kind(NamedTuple):
    """What jobs have in common: what they do after their entry, and how many runs that makes.

    `after`: the outcome of the job before it on which this one depends.
    """

    script: str
    options: RunOptions
    runs: int = 1
    after: str = ""


_TALKS = 'echo "job $0 was here"'

LINE = Kind(_TALKS, {})
QUIET = Kind("true", {})
LONG = Kind("seq 3000", {})
SLOW = Kind("echo begun; sleep 0.3; echo done", {})
RETRIED = Kind('echo one more; test "$INTURN_ATTEMPT" -ge 2', {"retries": 1, "retry_delay": "2s"}, 2)
HOPELESS = Kind("echo no >&2; exit 1", {"retries": 1, "retry_delay": "500ms"}, 2)
OVERDUE = Kind("exec sleep 60", {"run_timeout": "500ms"})
AFTER_SUCCESS = Kind(_TALKS, {}, after="success")
AFTER_FAILED = Kind(_TALKS, {}, after="failed")

# By the last two digits of the number; all others print a line. What depends follows what it depends on.
_BY_DIGITS: dict[int, Kind] = {
    **dict.fromkeys(range(5, 100, 10), QUIET),
    **dict.fromkeys(range(3, 100, 20), RETRIED),
    **dict.fromkeys(range(4, 100, 20), AFTER_SUCCESS),
    **dict.fromkeys(range(11, 100, 20), AFTER_SUCCESS),
    37: HOPELESS,
    38: AFTER_FAILED,
    50: SLOW,
    70: LONG,
}

# So rarely that it does not take up the places of the worker.
_OVERDUE_EVERY = 500

# Within so many seconds two jobs are supervised, the second of which depends on a queued one.
_SUPERVISED_WITHIN = 20
_SUPERVISED = (0, 11)


def kind_of(number: int) -> Kind:
    """The kind of the job with this number; numbers begin with 0."""
    if number % _OVERDUE_EVERY == _OVERDUE_EVERY - 1:
        return OVERDUE
    return _BY_DIGITS.get(number % 100, LINE)


def is_supervised(number: int, rate: int) -> bool:
    """Whether it has a supervisor of its own, at so many jobs a second."""
    return number > 0 and number % (rate * _SUPERVISED_WITHIN) in _SUPERVISED


def command_of(number: int, record: str) -> list[str]:
    """What the job of this number runs."""
    return ["sh", "-c", _ENTRY + kind_of(number).script, str(number), record]


def never(record: str) -> list[str]:
    """The command of a job that is aborted: its entry would tell that it ran."""
    return ["sh", "-c", _ENTRY, NEVER, record]
