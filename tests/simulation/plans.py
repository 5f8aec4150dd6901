"""What users of a simulated machine ask for, at random but legal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inturn.core.edit import Changes
from inturn.core.held import Lane
from inturn.core.job import OUTCOMES
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.retry import BACKOFFS, Policy
from inturn.core.spec import PREDICATES, Spec, Submission, WantedCondition, WantedEdge
from inturn.owners.worker import Orders
from tests.simulation.faults import KINDS, Fault
from tests.simulation.targets import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from inturn.core.moment import Now

QUEUES = ("default", "other")
POOLS = ("disk", "gpu")
GATES = ("gate-0", "gate-1")

# What a job may ask at most, so that it fits what the machine begins with.
_MOST = {"": 3, "disk": 3, "gpu": 2}


def crowd(rng: Random, now: Now, supervised: bool) -> list[Submission]:
    """Several jobs of different sizes that wait for nothing but slots."""
    plain = [submission(rng, now, (), supervised) for _ in range(rng.randint(2, 5))]
    return [one._replace(delay=0, at=None, key=None, conditions=(), pool="") for one in plain]


def submissions(rng: Random, now: Now, known: Sequence[int], supervised: bool) -> list[Submission]:
    """One job, an array, or a small graph."""
    shape = rng.choices(("one", "array", "graph"), (7, 1, 2))[0]
    if shape == "array":
        size = rng.randint(2, 4)
        first = submission(rng, now, known, supervised)._replace(key=None)
        at_once = rng.choice((None, 1, 2))
        return [first._replace(array_index=index, array_size=size, at_once=at_once) for index in range(size)]
    if shape == "graph":
        jobs = [
            submission(rng, now, known, supervised)._replace(ref=f"r{number}", key=None)
            for number in range(rng.randint(2, 4))
        ]
        return [job._replace(edges=job.edges + _to_earlier(rng, number)) for number, job in enumerate(jobs)]
    return [submission(rng, now, known, supervised)]


def _to_earlier(rng: Random, number: int) -> tuple[WantedEdge, ...]:
    return tuple(WantedEdge(f"@r{other}", _outcomes(rng)) for other in range(number) if rng.random() < 0.6)


def submission(rng: Random, now: Now, known: Sequence[int], supervised: bool) -> Submission:
    """One job."""
    pool = rng.choice(("", "", *POOLS))
    delay, at = rng.choices(((0, None), (rng.randint(1, 8) * SECOND, None), (0, _near(rng, now))), (8, 1, 1))[
        0
    ]
    return Submission(
        spec(rng, now),
        queue="" if supervised else rng.choice(QUEUES),
        pool=pool,
        slots=rng.choice((1, 1, 2, 3)) if pool != "gpu" else rng.choice((1, 1, 2)),
        priority=rng.choice((0, 0, 0, 0, 1, -1)),
        delay=delay,
        at=at,
        key=rng.choice((*[None] * 9, "key")),
        edges=tuple(
            WantedEdge(str(parent), _outcomes(rng)) for parent in _some(rng, known) if rng.random() < 0.5
        ),
        conditions=_conditions(rng, now) if rng.random() < 0.15 else (),
    )


def _some(rng: Random, known: Sequence[int]) -> list[int]:
    return rng.sample(list(known)[-6:], min(len(known), 2)) if rng.random() < 0.4 else []


def _outcomes(rng: Random) -> tuple[str, ...]:
    return rng.choice((*PREDICATES.values(), ("success", "failure"), ("cancelled", "lost"), OUTCOMES))


def _near(rng: Random, now: Now) -> int:
    return now.wall + rng.randint(-2, 8) * SECOND


def _conditions(rng: Random, now: Now) -> tuple[WantedCondition, ...]:
    kinds = rng.choices(("delay", "until", "file"), k=rng.randint(1, 2))
    return tuple(
        WantedCondition(
            kind,
            rng.choice(GATES).encode() if kind == "file" else b"",
            {"delay": rng.randint(0, 6) * SECOND, "until": _near(rng, now), "file": 0}[kind],
        )
        for kind in kinds
    )


def spec(rng: Random, now: Now) -> Spec:
    """What is to be run, and the limits that it has."""
    return Spec(
        argv=(b"command",),
        cwd=b"/",
        environment=(),
        umask=0o77,
        leave_children=rng.random() < 0.1,
        policy=policy(rng, now),
        run_timeout=_rarely(rng, rng.randint(1, 8) * SECOND),
        job_timeout=_rarely(rng, rng.randint(2, 30) * SECOND),
        stop_grace=rng.randint(0, 2) * SECOND,
        max_crashes=rng.choice((0, 1, 3, None)),
        wait_mode=rng.choice(("all", "any")),
        wait_abort_at=_rarely(rng, now.wall + rng.randint(1, 20) * SECOND),
    )


def _rarely(rng: Random, value: int) -> int | None:
    return value if rng.random() < 0.1 else None


def policy(rng: Random, now: Now) -> Policy:
    """How often; every one comes to an end if all runs succeed from some time on."""
    kind = rng.choices(("once", "retries", "target", "failures"), (5, 4, 1, 1))[0]
    retries = rng.randint(1, 3)
    limits: dict[str, tuple[int | None, int | None, int | None]] = {
        "once": (1, 1, 1),
        "retries": (1, retries + 1, retries + 1),
        "target": (2, rng.choice((None, 4)), None),
        "failures": (1, None, retries),
    }
    target, runs, failures = limits[kind]
    return Policy(
        retry_codes=rng.choice(((), (), ((1, 1),))),
        retry_timeouts=rng.random() < 0.3,
        retry_start_failures=rng.random() < 0.3,
        success_target=target,
        run_limit=runs,
        failure_limit=failures,
        delay=rng.choice((0, 0, 500 * MILLISECOND, 3 * SECOND)),
        backoff=rng.choice(BACKOFFS),
        max_delay=rng.choice((None, 4 * SECOND)),
        jitter=rng.choice((0, 0, SECOND)),
        abort_at=now.wall + rng.randint(3, 40) * SECOND if rng.random() < 0.08 else None,
    )


def plan(rng: Random, crowded: bool) -> Plan:
    """How a command behaves: mostly short, unless others are to wait for it, and mostly well."""
    short = (0, 20 * MILLISECOND, 300 * MILLISECOND)
    return Plan(
        lasts=rng.choice((*(() if crowded else short), 2 * SECOND, 9 * SECOND)),
        code=rng.choice((0, 0, 0, 1, 2)),
        children=rng.choice((0, 0, 0, 0, 500 * MILLISECOND, 8 * SECOND)),
        deaf=rng.random() < 0.15,
        refused=rng.random() < 0.06,
    )


def good_plan(rng: Random) -> Plan:
    """A command that is over soon, and well."""
    return Plan(lasts=rng.choice((0, 20 * MILLISECOND, SECOND)))


def fault(rng: Random) -> Fault:
    """Something that goes wrong, sooner or later."""
    kind = rng.choice(KINDS)
    return Fault(kind, rng.choice((0, 1, 2, 5, 20)) if kind == "crash" else rng.randint(0, 3))


def changes(rng: Random, now: Now) -> Changes:
    """What is to be different about a job."""
    what = rng.choice(("priority", "pool", "slots", "delay", "at"))
    if what == "priority":
        return Changes(priority=rng.randint(-1, 2))
    if what == "pool":
        return Changes(pool=rng.choice(("", *POOLS)))
    if what == "slots":
        return Changes(slots=rng.randint(1, 3))
    return Changes(delay=rng.randint(0, 5) * SECOND) if what == "delay" else Changes(at=_near(rng, now))


def lane(rng: Random) -> Lane:
    """A queue or a pool."""
    kind = rng.choice(("queue", "pool"))
    return Lane(kind, rng.choice(QUEUES if kind == "queue" else POOLS))


def orders(rng: Random) -> Orders:
    """What a worker is to do."""
    queues = rng.choice((QUEUES[:1], QUEUES[1:], QUEUES))
    until = rng.choices(("stopped", "drained", "once"), (7, 2, 1))[0]
    return Orders(
        {queue: rng.choice((None, None, 1, 2)) for queue in queues},
        places=rng.randint(1, 3),
        drain=until == "drained",
        once=until == "once",
    )
