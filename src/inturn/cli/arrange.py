"""Words of the command line in an order in which argparse understands them, wherever the options stand."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Mapping, Sequence


def options_first(words: Sequence[str], known: Mapping[str, Action]) -> list[str]:
    """The options with their values, then the positional arguments, behind `--` if need be.

    argparse hands out all positional arguments when it meets the first of them: an optional one behind an
    option would find that its turn is over. `known` are the options of the verb, as they are written.
    """
    options: list[str] = []
    others: list[str] = []
    unfinished = False
    left = iter(words)
    for word in left:
        if word == "--":
            others += left
        elif word.startswith("--") or word[:2] in known:
            options.append(word)
            if _wants_a_word(word, known):
                value = list(islice(left, 1))
                options += value
                unfinished = not value
        else:
            others.append(word)
    # Not without need: argparse would repeat it when it complains of an argument that is too many.
    dashes = ["--"] if unfinished or any(word.startswith("-") for word in others) else []
    return [*options, *dashes, *others]


def _wants_a_word(word: str, known: Mapping[str, Action]) -> bool:
    """Whether the value of an option is the next word: that of `-n`, or of `-fn`, and not that of `-n5`."""
    if word.startswith("--"):
        return _has_value(known.get(word))
    for place, letter in enumerate(word[1:], start=2):
        if _has_value(known.get("-" + letter)):
            return place == len(word)
    return False


def _has_value(action: Action | None) -> bool:
    return action is not None and action.nargs != 0
