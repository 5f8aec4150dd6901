"""What a verb has to say, apart from how it is printed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

    from rich.console import Console
else:
    from inturn.core.records import NamedTuple


class Result(NamedTuple):
    """The answer of a verb in up to three forms, and its exit code.

    `data` is for programs: what --json prints in its envelope; None is nothing to print. `lines` are plain,
    with tabs between the columns and no heading, for a pipe. `rich` draws on a terminal; without it, the
    lines are printed there too. `unsaid` begins the sentence that is said instead if nothing can be printed,
    for what nobody could find out otherwise: "job 7 was submitted, but its id".
    """

    data: object = None
    lines: Callable[[], Iterable[str]] | None = None
    rich: Callable[[Console], None] | None = None
    code: int = 0
    unsaid: str = ""
