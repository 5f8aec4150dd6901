"""From what somebody asked for, option by option, to a Submission, or to the error that says what is wrong.

Everything is checked here that can be without the store. Values are as they were given; see
`inturn.core.options` for what each option takes.
"""

from __future__ import annotations

from inturn.core.duration import format_duration, quoted
from inturn.core.options import OPTIONS, read
from inturn.core.retry import Policy
from inturn.core.spec import PREDICATES, Spec, Submission, WantedCondition, WantedEdge
from inturn.core.values import invalid
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NamedTuple

    from inturn.core.moment import Now

    Label = Callable[[str], str]
    Meanings = Mapping[str, Any]
else:
    from inturn.core.records import NamedTuple

DEFAULT_QUEUE = "default"

# At-least-once for what workers run; a supervised job is never run again without being asked (the manual's
# "Repetition").
QUEUED_MAX_CRASHES = 3

# Pairs of which only one may be given.
EXCLUSIONS = (
    ("after", "at"),
    ("retries", "success_target"),
    ("retries", "max_runs"),
    ("retries", "failure_limit"),
)

# Options whose meaning goes into the specification, or into its policy, as it is.
_SPEC_FIELDS = (
    *("stdin_file", "merge_output", "leave_children", "nice", "run_timeout", "job_timeout", "stop_grace"),
    *("max_crashes", "wait_mode", "wait_poll", "probe_timeout", "wait_abort_at", "note"),
)
_POLICY_FIELDS = {
    "retry_timeouts": "retry_timeouts",
    "retry_start_failures": "retry_start_failures",
    "retry_delay": "delay",
    "retry_backoff": "backoff",
    "retry_max_delay": "max_delay",
    "retry_jitter": "jitter",
    "retry_abort_at": "abort_at",
}
_POLICY_OPTIONS = (
    *_POLICY_FIELDS,
    *("retryable_exit_code", "retry_signal", "success_exit_code"),
    *("retries", "max_runs", "success_target", "failure_limit"),
)
_ONE_RUN = Policy()
_PREDICATE_OPTIONS = {"after_success": "success", "after_failed": "failed", "after_finish": "finish"}
_CONDITION_OPTIONS = {
    "wait_until": "until",
    "wait_delay": "delay",
    "wait_file": "file",
    "wait_probe": "probe",
}


class Surroundings(NamedTuple):
    """Where a submission comes from: what no option says.

    `argv` is the command, None if there was none; `cwd` is absolute; `environment` holds NAME=VALUE;
    `supervised` tells a job with a supervisor of its own from one that stands in a queue.
    """

    argv: tuple[bytes, ...] | None
    cwd: bytes
    environment: tuple[bytes, ...]
    umask: int
    supervised: bool


def build(values: Mapping[str, object], surroundings: Surroundings, now: Now, label: Label) -> Submission:
    """Check everything that can be checked without the store, and put the submission together.

    `values` holds what was set explicitly, by the names of OPTIONS: raw text, lists of it for repeatable
    options, True for switches. The files of `env_file` have been read into `env` by then. `label` says how
    whoever reads the message wrote an option. Raises InturnError `usage` for options that are unknown or
    exclude each other and for a missing command, `invalid_value` for values that are nonsense.
    """
    assert "env_file" not in values
    _check_names(values, surroundings.supervised, label)
    found = {name: read(name, value, now, label) for name, value in values.items()}
    _check_exclusions(found, label)
    argv = _command(found, surroundings, label)
    delay, at = found.get("after", 0), found.get("at")
    _check_job_timeout(found, delay if at is None else at - now.wall, label)
    return Submission(
        spec=_spec(found, argv, surroundings, label),
        name=found.get("name"),
        queue="" if surroundings.supervised else found.get("queue", DEFAULT_QUEUE),
        pool=found.get("pool", ""),
        slots=found.get("slots", 1),
        priority=found.get("priority", 0),
        delay=delay,
        at=at,
        key=found.get("key"),
        tags=tuple(dict(found.get("tag", ())).items()),
        edges=_edges(found),
        conditions=_conditions(found),
    )


def apply_defaults(
    values: Mapping[str, object], defaults: Mapping[str, object], supervised: bool
) -> dict[str, object]:
    """`values`, and of the configuration's `defaults` what fills a gap.

    An option that was given replaces its default, lists included. A default is passed over if an option that
    was given excludes it, or if this kind of job does not have it.
    """
    filled = dict(values)
    for name, value in defaults.items():
        rivals = [one for pair in EXCLUSIONS if name in pair for one in pair if one != name]
        known = name in OPTIONS and _has(name, supervised)
        if known and name not in values and not any(rival in values for rival in rivals):
            filled[name] = value
    return filled


def parse_env_file(text: bytes, path: str) -> list[bytes]:
    """The NAME=VALUE entries of a file of variables; `path` names it in messages.

    One variable a line, after an optional `export `. Lines that are empty or begin with `#` say nothing. The
    value is the rest of the line as it stands: nothing is expanded, and quotes are part of it. Raises
    InturnError `invalid_value` with the number of the line.
    """
    entries = []
    for number, line in enumerate(text.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        entry = line.removesuffix(b"\r").lstrip(b" \t")
        if not entry or entry.startswith(b"#"):
            continue
        entry = entry.removeprefix(b"export ").lstrip(b" \t")
        name, separator, _ = entry.partition(b"=")
        if not separator or not name or name.split() != [name] or b"\0" in entry:
            shown = quoted(entry.decode("utf-8", "surrogateescape"))
            raise invalid(f"{path}:{number}: {shown} is not NAME=VALUE", "Put no space around the sign.")
        entries.append(entry)
    return entries


def _has(name: str, supervised: bool) -> bool:
    return OPTIONS[name].only in ("", "run" if supervised else "add")


def _check_names(values: Mapping[str, object], supervised: bool, label: Label) -> None:
    for name in values:
        if name not in OPTIONS:
            raise InturnError("usage", f"{label(name)}: there is no such option")
        if not _has(name, supervised):
            kind = "a supervised job" if supervised else "a queued job"
            raise InturnError("usage", f"{label(name)}: {kind} has none", "Leave the option out.")


def _check_exclusions(found: Meanings, label: Label) -> None:
    for one, other in EXCLUSIONS:
        if one in found and other in found:
            raise InturnError(
                "usage", f"{label(one)}: it excludes {label(other)}", "Leave one of the two out."
            )


def _command(found: Meanings, surroundings: Surroundings, label: Label) -> tuple[bytes, ...]:
    if "c" not in found:
        if not surroundings.argv:
            raise InturnError(
                "usage", "the command is missing", "Write it behind the options: -- COMMAND ARG…"
            )
        if any(b"\0" in word for word in surroundings.argv):
            raise invalid("the command holds a NUL character", "The system cannot pass one on.")
        return surroundings.argv
    if surroundings.argv:
        raise InturnError(
            "usage", f"{label('c')}: it excludes a command of its own", "Leave one of the two out."
        )
    return b"sh", b"-c", found["c"]


def _check_job_timeout(found: Meanings, delay: int, label: Label) -> None:
    timeout = found.get("job_timeout")
    if timeout is not None and timeout < delay:
        raise invalid(
            f"{label('job_timeout')}: {format_duration(timeout)} would be over before the delay is",
            "It runs from the submission on: make it longer, or the delay shorter.",
        )


def _spec(found: Meanings, argv: tuple[bytes, ...], surroundings: Surroundings, label: Label) -> Spec:
    chosen: dict[str, Any] = {"max_crashes": 0 if surroundings.supervised else QUEUED_MAX_CRASHES}
    chosen.update((name, found[name]) for name in _SPEC_FIELDS if name in found)
    return Spec(
        argv=argv,
        cwd=_absolute(found["cwd"], surroundings.cwd) if "cwd" in found else surroundings.cwd,
        environment=surroundings.environment,
        umask=surroundings.umask,
        # A variable that is both removed and set is set, as with env(1).
        env_changes=(*found.get("unset_env", ()), *found.get("env", ())),
        policy=_policy(found, label),
        **chosen,
    )


def _absolute(path: bytes, base: bytes) -> bytes:
    """`path` from `base` on. Dots are dropped, but `..` is left to the system: it may follow a link."""
    whole = path if path.startswith(b"/") else base + b"/" + path
    return b"/" + b"/".join(part for part in whole.split(b"/") if part not in (b"", b"."))


def _policy(found: Meanings, label: Label) -> Policy:
    if found.keys().isdisjoint(_POLICY_OPTIONS):
        return _ONE_RUN  # A file may have very many lines without a word on it.
    target, runs, failures = _limits(found)
    policy = Policy(
        retry_codes=tuple(found.get("retryable_exit_code", ())),
        retry_signals=tuple(found.get("retry_signal", ())),
        success_target=target,
        run_limit=runs,
        failure_limit=failures,
    )
    if found.get("success_exit_code"):
        policy = policy._replace(success_codes=tuple(found["success_exit_code"]))
    _check_codes(policy, label)
    return policy._replace(**{field: found[name] for name, field in _POLICY_FIELDS.items() if name in found})


def _limits(found: Meanings) -> tuple[int | None, int | None, int | None]:
    """How many successes, runs and failures end the job; None is unlimited.

    `retries` stands for all three. Else a limit that was given lifts the defaults that would forestall it:
    several successes or failures need several runs, and whoever limits the runs alone does not mean the
    failures. A success target alone still ends with the first failure.
    """
    if "retries" in found:
        runs = found["retries"] + 1
        return 1, runs, runs
    several = "success_target" in found or "failure_limit" in found
    run_limit = found.get("max_runs", None if several else 1)
    failure_limit = found.get("failure_limit", None if "max_runs" in found else 1)
    return found.get("success_target", 1), run_limit, failure_limit


def _check_codes(policy: Policy, label: Label) -> None:
    for low, high in policy.retry_codes:
        for good, best in policy.success_codes:
            if low <= best and good <= high:
                raise InturnError(
                    "usage",
                    f"{label('retryable_exit_code')}: {max(low, good)} is a success already",
                    f"Codes of success are those of {label('success_exit_code')}, without it 0.",
                )


def _edges(found: Meanings) -> tuple[WantedEdge, ...]:
    edges = [
        WantedEdge(selector, PREDICATES[predicate])
        for option, predicate in _PREDICATE_OPTIONS.items()
        for selector in found.get(option, ())
    ]
    edges.extend(WantedEdge(*chosen) for chosen in found.get("after_outcome", ()))
    return tuple(edges)


def _conditions(found: Meanings) -> tuple[WantedCondition, ...]:
    conditions = []
    for option, kind in _CONDITION_OPTIONS.items():
        for value in found.get(option, ()):
            timed = kind in ("until", "delay")
            conditions.append(
                WantedCondition(kind, time=value) if timed else WantedCondition(kind, argument=value)
            )
    return tuple(conditions)
