"""inturn: a durable job scheduler for one machine, with no daemon and no central scheduler.

This is its Python API; docs/python.md shows it at work. The names are loaded when they are asked for, since
every command and every waiting supervisor imports this package, too.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "AddLine",
    "AddOptions",
    "Array",
    "InturnError",
    "Job",
    "Reason",
    "Result",
    "Run",
    "RunLine",
    "RunOptions",
    "Store",
    "WaitTimeout",
    "__version__",
    "finished",
    "open",
    "wait",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.api import (
        AddLine,
        AddOptions,
        Array,
        Job,
        Reason,
        Result,
        Run,
        RunLine,
        RunOptions,
        Store,
        WaitTimeout,
        finished,
        open,  # noqa: A004 - as gzip.open
        wait,
    )
    from inturn.errors import InturnError
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "InturnError":
            from inturn import errors as home
        else:
            from inturn import api as home
        found = globals()[name] = getattr(home, name)
        return found

    def __dir__() -> list[str]:
        return __all__
