"""Values of options that argparse has taken as text."""

from __future__ import annotations

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

# The largest that SQLite's integers can hold.
LARGEST_INTEGER = 2**63 - 1


def value_of(option: str, parse: Callable[[str], T], text: str) -> T:
    """What `parse` makes of a value; its complaint begins with the option's name. Raises InturnError."""
    try:
        return parse(text)
    except InturnError as problem:
        raise InturnError(problem.code, f"{option}: {problem.message}", problem.hint) from None
