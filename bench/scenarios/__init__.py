"""What is measured: one module a scenario."""

from __future__ import annotations

from bench.scenarios import (
    bulk,
    chain,
    claims,
    dispatch,
    drain,
    limit,
    logs,
    look,
    memory,
    submit,
    waiting,
)
from bench.scenarios.base import Scenario

SCENARIOS: tuple[Scenario, ...] = (
    submit.SCENARIO,
    bulk.SCENARIO,
    drain.SCENARIO,
    dispatch.SCENARIO,
    chain.SCENARIO,
    limit.SCENARIO,
    waiting.SCENARIO,
    claims.SCENARIO,
    look.SCENARIO,
    memory.SCENARIO,
    logs.SCENARIO,
)
