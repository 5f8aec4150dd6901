"""The environment of a run: the submitter's, what was asked to be changed, and what the run should know."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from inturn.core.job import Job, Run
    from inturn.core.spec import Spec

# Set for each run. A job that submits jobs hands none of them on.
OWN_VARIABLES = (
    b"INTURN_JOB_ID",
    b"INTURN_RUN",
    b"INTURN_ATTEMPT",
    b"INTURN_JOB_NAME",
    b"INTURN_QUEUE",
    b"INTURN_POOL",
    b"INTURN_SLOTS",
    b"INTURN_COOKIE",
    b"INTURN_ARRAY_INDEX",
)


# The entries that were looked at last, and what they say: jobs that follow each other often share them.
_last: tuple[tuple[bytes, ...], dict[bytes, bytes]] = ((), {})


def _variables(entries: tuple[bytes, ...]) -> dict[bytes, bytes]:
    global _last
    if _last[0] is not entries:
        pairs = (entry.partition(b"=") for entry in entries)
        _last = (entries, {name: value for name, separator, value in pairs if separator})
    return _last[1]


def job_environment(spec: Spec) -> dict[bytes, bytes]:
    """The submitter's environment with the changes that were asked for: what probes see."""
    environment = _variables(spec.environment).copy()
    for change in spec.env_changes:
        name, separator, value = change.partition(b"=")
        if separator:
            environment[name] = value
        else:
            environment.pop(name, None)
    return environment


def device_variables(
    job: Job, spec: Spec, run: Run, pools: Iterable[tuple[str, str, str]]
) -> dict[bytes, bytes]:
    """Which devices a run may use, as the variables of the pools that have devices say it.

    `pools` gives the name, the variable and the `others` of each. A run in the pool sees those that it was
    given. One outside sees none, unless the pool leaves them to all or the job's own --env names the
    variable.
    """
    asked = {change.partition(b"=")[0] for change in spec.env_changes if b"=" in change}
    variables = {}
    for name, variable, others in pools:
        key = variable.encode()
        if job.pool == name:
            variables[key] = run.devices.encode()
        elif others == "none" and key not in asked:
            variables.setdefault(key, b"")
    return variables


def run_environment(
    job: Job, spec: Spec, run: Run, directory: bytes, variables: Mapping[bytes, bytes] = {}
) -> dict[bytes, bytes]:
    """The job's environment with INTURN_JOB_ID, INTURN_RUN and so on; `directory` is the store's.

    `variables` are those of `device_variables`.
    """
    environment = {**job_environment(spec), **variables}
    for name in OWN_VARIABLES:
        environment.pop(name, None)
    environment[b"INTURN_JOB_ID"] = b"%d" % job.id
    environment[b"INTURN_RUN"] = b"%d" % run.number
    environment[b"INTURN_ATTEMPT"] = b"%d" % run.attempt
    environment[b"INTURN_SLOTS"] = b"%d" % job.slots
    environment[b"INTURN_DIR"] = directory
    if job.array_index is not None:
        environment[b"INTURN_ARRAY_INDEX"] = b"%d" % job.array_index
    for name, value in (
        (b"INTURN_JOB_NAME", job.name),
        (b"INTURN_QUEUE", job.queue),
        (b"INTURN_POOL", job.pool),
    ):
        if value:
            environment[name] = value.encode("utf-8", "surrogateescape")
    return environment
