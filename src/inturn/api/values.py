"""From Python's values to those that a line of a submitted file may have: texts, numbers, booleans, lists.

What they mean, and whether they are right, is for `inturn.core` to say, as for everybody else.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from inturn.core.duration import format_duration, parse_duration
from inturn.core.options import OPTIONS
from inturn.errors import InturnError

if TYPE_CHECKING:
    from inturn.core.options import Option

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SECOND = 1_000_000


class Reference(ABC):
    """A handle that may stand where a submission names a job."""

    __slots__ = ()

    @abstractmethod
    def _selector(self, directory: str) -> str:
        """How a submission in the store in `directory` names it."""


def line(options: Mapping[str, object], directory: str) -> dict[str, object]:
    """The options as a line of a file has them; those that are None are left out.

    `directory` is that of the store, in which handles must be. Raises InturnError `invalid_value`, or `usage`
    for a handle of another store.
    """
    given = {name: value for name, value in options.items() if value is not None}
    return {name: _plain(name, value, directory) for name, value in given.items()}


def microseconds(name: str, value: object) -> int | None:
    """A duration that is no option of a job; None stays None. Raises InturnError `invalid_value`."""
    if value is None:
        return None
    try:
        return parse_duration(str(_duration(value)))
    except InturnError as problem:
        raise InturnError(problem.code, f"{name}: {problem.message}", problem.hint) from None


def listed(value: object) -> list[object]:
    """One value, or what an iterable holds; nothing for None."""
    if value is None:
        return []
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Reference):
        return list(value)
    return [value]


def _plain(name: str, value: object, directory: str) -> object:
    if name == "command":
        return _words(value)
    if name == "array":
        return _indices(value)
    option = OPTIONS.get(name)
    if option is None:
        return value  # Whoever reads the line knows it, or says that there is no such key.
    if not option.repeatable:
        return _one(name, option, value, directory)
    if isinstance(value, Mapping):
        value = _pairs(option, value, directory)
    return [_one(name, option, one, directory) for one in listed(value)]


def _one(name: str, option: Option, value: object, directory: str) -> object:
    if option.kind in _READERS:
        return _READERS[option.kind](value)
    if isinstance(value, Reference):
        if option.kind == "job":
            return value._selector(directory)
        raise InturnError("invalid_value", f"{name}: it takes no job")
    if isinstance(value, bytes | os.PathLike):
        return _text(name, value)
    if not isinstance(value, str | int | float):  # nor a boolean, which is an integer
        raise InturnError("invalid_value", f"{name}: {value!r} is neither a text nor a number")
    return value


def _pairs(option: Option, mapping: Mapping[object, object], directory: str) -> list[object]:
    """A mapping as `KEY=VALUE`; a value of None is the key alone."""
    if option.kind == "job outcomes":
        return [
            f"{job._selector(directory) if isinstance(job, Reference) else job}="
            + ",".join(map(str, listed(outcomes)))
            for job, outcomes in mapping.items()
        ]
    return [str(key) if value is None else f"{key}={value}" for key, value in mapping.items()]


def _duration(value: object) -> object:
    if isinstance(value, timedelta):
        return format_duration(value // _MICROSECOND)
    return _number(value)


def _time(value: object) -> object:
    if isinstance(value, datetime) and value.tzinfo is not None:
        # Before the epoch is as past as any other past, which means now.
        us = max((value - _EPOCH) // _MICROSECOND, 0)
        return f"{us // _SECOND}.{us % _SECOND:06}"
    if isinstance(value, date):
        return value.isoformat()
    return _number(value)


def _number(value: object) -> object:
    # Not as Python writes it, which may be 1e-05.
    return f"{value:.6f}" if isinstance(value, float) and math.isfinite(value) else value


_READERS: dict[str, Callable[[object], object]] = {"duration": _duration, "time": _time}


def _words(command: object) -> list[str]:
    if isinstance(command, str | bytes) or not isinstance(command, Iterable):
        raise InturnError(
            "invalid_value",
            "command: it is not a list of words",
            'Write ["make", "test"], or c="make test" for a shell.',
        )
    return [_text("command", word) for word in command]


def _text(name: str, value: object) -> str:
    """A text, a path or bytes as the text that stands for the same bytes."""
    try:
        return os.fsencode(value).decode("utf-8", "surrogateescape")  # type: ignore[arg-type]
    except (TypeError, ValueError) as problem:
        raise InturnError("invalid_value", f"{name}: {value!r} is not a text: {problem}") from None


def _indices(value: object) -> str:
    if isinstance(value, range) and value.step == 1 and len(value):
        return f"{value[0]}-{value[-1]}"
    return value if isinstance(value, str) else ",".join(map(str, listed(value)))
