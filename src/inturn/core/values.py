"""The values of submission options: each kind's grammar, and what it must not be.

Whatever depends neither on other options nor on the store is checked here. The messages quote the value;
which option it came from is for the caller to say.
"""

from __future__ import annotations

from inturn.core.duration import (
    MAX_LIMIT,
    clamp_to_now,
    format_duration,
    parse_codes,
    parse_duration,
    parse_integer,
    parse_limit,
    parse_signal,
    parse_time,
    quoted,
)
from inturn.core.job import LATEST, OUTCOMES
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from inturn.core.moment import Now
    from inturn.core.options import Option

    Reader = Callable[[Option, str, Now], Any]

MAX_NAME = 255
"""Characters of a name, a key, or a tag."""


def meaning(option: Option, value: object, now: Now) -> Any:
    """What one value of `option` stands for. Raises InturnError `invalid_value`."""
    if option.kind == "flag":
        return _flag(value)
    return _READERS[option.kind](option, _text(value), now)


def encode(text: str) -> bytes:
    """The bytes that `text` was decoded from; they need not be UTF-8. Raises InturnError `invalid_value`."""
    try:
        encoded = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise invalid(f"{quoted(text)} is no text: it holds half a character") from None
    if b"\0" in encoded:
        raise invalid(f"{quoted(text)} holds a NUL character", "The system cannot pass one on.")
    return encoded


def is_lane_name(text: str) -> bool:
    """Whether it may name a queue or a pool: 1 to 64 letters, digits, `.`, `_`, `-`, the first no sign."""
    rest = text.replace(".", "").replace("_", "").replace("-", "")
    return text.isascii() and 1 <= len(text) <= 64 and text[0].isalnum() and (not rest or rest.isalnum())


def invalid(message: str, hint: str = "") -> InturnError:
    """The error for a value that is nonsense; whoever knows the option puts its name in front."""
    return InturnError("invalid_value", message, hint)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise invalid("it must be true or false", "It is a switch, which takes no other value.")
    return value


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    # JSON and YAML have numbers of their own; true is one to Python, but to nobody else.
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise invalid(f"it must be a text or a number, not {_json_kind(value)}")


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a list" if isinstance(value, list) else "a mapping"


def _note(_option: Option, text: str, _now: Now) -> str:
    _require_unicode(text)
    encode(text)
    return text


def _word(option: Option, text: str, now: Now) -> str:
    if len(text) > MAX_NAME:
        raise invalid(f"{quoted(text)} is longer than {MAX_NAME} characters")
    return _line(option, text, now)


def _line(_option: Option, text: str, _now: Now) -> str:
    if not text:
        raise invalid("it is empty")
    _require_unicode(text)
    if any(c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u2029" for c in text):
        raise invalid(f"{quoted(text)} holds a control character or a line break")
    return text


def _require_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise invalid(f"{quoted(text)} is not valid UTF-8") from None


def _name(option: Option, text: str, now: Now) -> str:
    digits = text.strip()
    if digits[:1] in ("+", "-"):
        digits = digits[1:]
    if digits.isdigit():
        raise invalid(f"{quoted(text)} is an integer", "Integers are the ids of jobs; add a letter.")
    if text.endswith(LATEST):
        # The job called so would be meant where the newest of another name is.
        raise invalid(
            f"{quoted(text)} ends in {LATEST}", "NAME@latest is how the newest job of a name is called."
        )
    return _word(option, text, now)


def _tag(option: Option, text: str, now: Now) -> tuple[str, str | None]:
    key, separator, value = text.partition("=")
    if not key:
        raise invalid(f"{quoted(text)} has no key", "Write KEY or KEY=VALUE.")
    return _word(option, key, now), (value and _word(option, value, now)) if separator else None


def _lane(_option: Option, text: str, _now: Now) -> str:
    if not is_lane_name(text):
        hint = "Use 1 to 64 letters, digits, '.', '_' and '-'; the first must be a letter or digit."
        raise invalid(f"{quoted(text)} is not a name for it", hint)
    return text


def _job_outcomes(option: Option, text: str, now: Now) -> tuple[str, tuple[str, ...]]:
    # From the right: a job's name may hold an equals sign, an outcome does not.
    selector, separator, listed = text.rpartition("=")
    hint = f"Write JOB=OUTCOME[,OUTCOME…] with {', '.join(OUTCOMES)}."
    if not separator or not selector:
        raise invalid(f"{quoted(text)} does not name a job and outcomes", hint)
    outcomes = listed.split(",")
    for outcome in outcomes:
        if outcome not in OUTCOMES:
            raise invalid(f"{quoted(outcome)} is not an outcome", hint)
    return _line(option, selector, now), tuple(one for one in OUTCOMES if one in outcomes)


def _duration(option: Option, text: str, _now: Now) -> int:
    duration = parse_duration(text)
    if duration < option.low:
        raise invalid(f"{quoted(text)} is too short", f"It must be at least {format_duration(option.low)}.")
    return duration


def _time(_option: Option, text: str, now: Now) -> int:
    return clamp_to_now(parse_time(text, now.wall), now.wall)


def _integer(option: Option, text: str, _now: Now) -> int:
    return parse_integer(text, option.low, option.high)


def _limit(_option: Option, text: str, _now: Now) -> int | None:
    return parse_limit(text)


def _count(_option: Option, text: str, _now: Now) -> int | None:
    if text == "unlimited":
        return None
    try:
        return parse_integer(text, 0, MAX_LIMIT)
    except InturnError as problem:
        raise invalid(problem.message, "Write a whole number from 0, or unlimited.") from None


def _codes(_option: Option, text: str, _now: Now) -> tuple[int, int]:
    return parse_codes(text)[0]


def _signal(_option: Option, text: str, _now: Now) -> tuple[int, int]:
    number = parse_signal(text)
    return number, number


def _choice(option: Option, text: str, _now: Now) -> str:
    if text not in option.choices:
        raise invalid(f"{quoted(text)} is not one of its values", f"Write {' or '.join(option.choices)}.")
    return text


def _shell(_option: Option, text: str, _now: Now) -> bytes:
    return encode(text)


def _path(_option: Option, text: str, _now: Now) -> bytes:
    if not text:
        raise invalid("the path is empty")
    return encode(text)


def _assignment(_option: Option, text: str, _now: Now) -> bytes:
    name, separator, _ = text.partition("=")
    if not separator or not name:
        raise invalid(f"{quoted(text)} is not NAME=VALUE", "To remove a variable: --unset-env NAME.")
    return encode(text)


def _variable(_option: Option, text: str, _now: Now) -> bytes:
    if not text or "=" in text:
        raise invalid(f"{quoted(text)} is not the name of a variable", "Write the name alone.")
    return encode(text)


def _probe(_option: Option, text: str, _now: Now) -> bytes:
    """The words of the probe, joined by NUL."""
    import shlex  # brings `re` along

    try:
        words = shlex.split(text)
    except ValueError as problem:
        reason = str(problem)[:1].lower() + str(problem)[1:]
        hint = "Quote it as for a POSIX shell: 'test -s \"my file\"'."
        raise invalid(f"{quoted(text)} cannot be split into words: {reason}", hint) from None
    if not words:
        raise invalid("the command is empty", "Write a command with its arguments, like 'test -s data'.")
    return b"\0".join(encode(word) for word in words)


_READERS: dict[str, Reader] = {
    "text": _note,
    "word": _word,
    "name": _name,
    "tag": _tag,
    "lane": _lane,
    "job": _line,
    "job outcomes": _job_outcomes,
    "duration": _duration,
    "time": _time,
    "integer": _integer,
    "limit": _limit,
    "count": _count,
    "codes": _codes,
    "signal": _signal,
    "choice": _choice,
    "shell": _shell,
    "path": _path,
    "assignment": _assignment,
    "variable": _variable,
    "probe": _probe,
}
