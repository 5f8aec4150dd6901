"""Every option of a submission: what it takes, what it is for, and how its value is read.

The command line, the lines of a submitted file, the defaults of the configuration file and the Python API all
go by this one table.
"""

from __future__ import annotations

from inturn.core.duration import MAX_DURATION, MAX_LIMIT
from inturn.core.moment import MILLISECOND
from inturn.core.retry import BACKOFFS
from inturn.core.values import meaning
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    from inturn.core.moment import Now
else:
    from inturn.core.records import NamedTuple

LOWEST_PRIORITY, HIGHEST_PRIORITY = -(2**31), 2**31 - 1


class Option(NamedTuple):
    """One option. `kind` says how its value is written; a `flag` has none, and no `metavar` either.

    `only` is the one verb that has it, if not all have it. `low` and `high` are the bounds of an integer, or
    of a duration in microseconds.
    """

    kind: str
    group: str
    metavar: str
    help: str
    repeatable: bool = False
    only: str = ""
    low: int = 0
    high: int = MAX_DURATION
    choices: tuple[str, ...] = ()


GROUPS = (
    ("identity", "what it is"),
    ("command", "what it runs"),
    ("dependencies", "which jobs it waits for"),
    ("waits", "what else it waits for"),
    ("delay", "when it is eligible (one of the two)"),
    ("order", "its place in line"),
    ("capacity", "what it takes"),
    ("repetition", "when it is repeated"),
    ("time", "how long it may take"),
    ("process", "how it is run"),
)

_RANGE = "CODE|LOW-HIGH"

OPTIONS: dict[str, Option] = {
    "name": Option("name", "identity", "NAME", "a name by which other commands may call it"),
    "tag": Option("tag", "identity", "KEY[=VALUE]", "a tag", repeatable=True),
    "note": Option("text", "identity", "TEXT", "a remark for people"),
    "key": Option(
        "word", "identity", "KEY", "while a job with this key is not completed, answer its id and add nothing"
    ),
    "c": Option("shell", "command", "STRING", "instead of COMMAND: a command for sh -c"),
    "cwd": Option("path", "command", "DIR", "the directory to run in (default: the present one)"),
    "env": Option("assignment", "command", "NAME=VALUE", "set a variable", repeatable=True),
    "env_file": Option("path", "command", "FILE", "set the variables of a file", repeatable=True),
    "unset_env": Option("variable", "command", "NAME", "remove a variable", repeatable=True),
    "stdin_file": Option("path", "command", "FILE", "standard input (default: /dev/null)"),
    "after_success": Option("job", "dependencies", "JOB", "after its success", repeatable=True),
    "after_failed": Option("job", "dependencies", "JOB", "after its failure, no other end", repeatable=True),
    "after_finish": Option("job", "dependencies", "JOB", "after its end, whatever it was", repeatable=True),
    "after_outcome": Option(
        "job outcomes", "dependencies", "JOB=OUTCOME[,OUTCOME…]", "after one of these ends", repeatable=True
    ),
    "wait_until": Option("time", "waits", "TIME", "until the time has come", repeatable=True),
    "wait_delay": Option("duration", "waits", "DURATION", "so long from the submission", repeatable=True),
    "wait_file": Option("path", "waits", "PATH", "until something exists there", repeatable=True),
    "wait_probe": Option(
        "probe",
        "waits",
        "'CMD ARG…'",
        "until the command (no shell sees it) exits with 0",
        repeatable=True,
    ),
    "wait_mode": Option(
        "choice",
        "waits",
        "all|any",
        "whether all of these must hold, or any (default all)",
        choices=("all", "any"),
    ),
    "wait_poll": Option(
        "duration",
        "waits",
        "DURATION",
        "how often to look at files and probes (default 1s)",
        low=MILLISECOND,
    ),
    "wait_abort_at": Option("time", "waits", "TIME", "abort if it has not started by then"),
    "probe_timeout": Option(
        "duration", "waits", "DURATION", "how long a probe may take (default 10s)", low=MILLISECOND
    ),
    "after": Option("duration", "delay", "DURATION", "so long from now"),
    "at": Option("time", "delay", "TIME", "from this time on"),
    "priority": Option(
        "integer", "order", "N", "higher first (default 0)", low=LOWEST_PRIORITY, high=HIGHEST_PRIORITY
    ),
    "queue": Option("lane", "order", "NAME", "the queue to stand in (default: default)", only="add"),
    "pool": Option("lane", "capacity", "NAME", "the pool to take slots from, besides the store-wide limit"),
    "slots": Option("integer", "capacity", "N", "how many slots (default 1)", low=1, high=MAX_LIMIT),
    "retries": Option(
        "integer", "repetition", "N", "up to N further runs after an unsuccessful one", high=MAX_LIMIT - 1
    ),
    "retryable_exit_code": Option("codes", "repetition", _RANGE, "retry only after these", repeatable=True),
    "retry_signal": Option("signal", "repetition", "SIGNAL", "retry a run ended by it", repeatable=True),
    "retry_timeouts": Option("flag", "repetition", "", "retry a run that timed out"),
    "retry_start_failures": Option("flag", "repetition", "", "retry a run that could not be started"),
    "retry_delay": Option("duration", "repetition", "DURATION", "pause before the next run (default none)"),
    "retry_backoff": Option(
        "choice", "repetition", "|".join(BACKOFFS), "how the pause grows (default constant)", choices=BACKOFFS
    ),
    "retry_max_delay": Option("duration", "repetition", "DURATION", "the longest pause"),
    "retry_jitter": Option(
        "duration", "repetition", "DURATION", "shift it at random, by half of this at most"
    ),
    "retry_abort_at": Option("time", "repetition", "TIME", "no further run starts later"),
    "success_exit_code": Option(
        "codes", "repetition", _RANGE, "these are success (default 0)", repeatable=True
    ),
    "max_runs": Option("limit", "repetition", "N|unlimited", "how many runs there may be"),
    "success_target": Option(
        "limit", "repetition", "N|unlimited", "how many successes end it well (default 1)"
    ),
    "failure_limit": Option("limit", "repetition", "N|unlimited", "how many unsuccessful runs end the job"),
    "max_crashes": Option(
        "count", "repetition", "N|unlimited", "how many runs lost with their owner are repeated"
    ),
    "run_timeout": Option("duration", "time", "DURATION", "of one run", low=MILLISECOND),
    "job_timeout": Option(
        "duration", "time", "DURATION", "of it all, from the submission, waiting included", low=MILLISECOND
    ),
    "stop_grace": Option("duration", "time", "DURATION", "from TERM to KILL (default 10s)"),
    "merge_output": Option("flag", "process", "", "both streams into one file, in their exact order"),
    "leave_children": Option("flag", "process", "", "do not end what the command leaves running"),
    "nice": Option("integer", "process", "N", "added to the niceness, -20 to 19", low=-20, high=19),
}


def switch(name: str) -> str:
    """How the command line writes an option: `--retry-delay` for retry_delay, `-c` for c."""
    return "--" + name.replace("_", "-") if len(name) > 1 else "-" + name


def read(name: str, value: object, now: Now, label: Callable[[str], str]) -> Any:
    """The meaning of the value of one option of the table, a list of meanings if it is repeatable.

    `value` is text, or a number or boolean where JSON or YAML gives one, or a list of these for a repeatable
    option. Times are wall microseconds, and a past one is now; other units are those of Spec. Raises
    InturnError `invalid_value`, which begins with `label(name)`.
    """
    option = OPTIONS[name]
    try:
        if option.repeatable:
            return [meaning(option, one, now) for one in (value if isinstance(value, list) else [value])]
        return meaning(option, value, now)
    except InturnError as problem:
        raise InturnError(problem.code, f"{label(name)}: {problem.message}", problem.hint) from None
