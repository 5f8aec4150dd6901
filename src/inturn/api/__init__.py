"""The Python API: what `import inturn` offers, loaded when the first name is asked for."""

from __future__ import annotations

from inturn.api.job import Array, Job
from inturn.api.options import AddLine, AddOptions, RunLine, RunOptions
from inturn.api.results import Result, Run
from inturn.api.store import Store, open  # noqa: A004 - as with gzip.open
from inturn.api.waiting import WaitTimeout, finished, wait
from inturn.core.reasons import Reason

__all__ = [
    "AddLine",
    "AddOptions",
    "Array",
    "Job",
    "Reason",
    "Result",
    "Run",
    "RunLine",
    "RunOptions",
    "Store",
    "WaitTimeout",
    "finished",
    "open",
    "wait",
]
