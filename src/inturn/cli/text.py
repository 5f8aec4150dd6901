"""Text for people: what could steer a terminal is shown as text, and near misses are recognised."""

from __future__ import annotations

from inturn.core.text import printable as printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean X?)` for what `word` may have been meant to be, or an empty text."""
    words = sorted(known)
    begun = [one for one in words if one.startswith(word)] if word.strip("-") else []
    if not begun:
        from difflib import get_close_matches

        begun = get_close_matches(word, words, n=1)
    return f" (did you mean {begun[0]}?)" if begun else ""
