"""What users write as values, and how durations and times are shown: `1h30m`, `2027-03-28 02:30`, `64KiB`.

The grammar is the one of the manual's "Values". Every parser takes the text alone and raises
InturnError("invalid_value") that quotes it; which option it came from is for the caller to say. Durations and
times are integer microseconds and never pass through a float, so nothing is lost or rounded on the way.
"""

from __future__ import annotations

# Two conversions of a given instant, not clocks. `localtime` follows the process's TZ.
from time import gmtime, localtime

from inturn.core.moment import HOUR, MILLISECOND, MINUTE, SECOND
from inturn.errors import InturnError

DAY = 24 * HOUR
WEEK = 7 * DAY

MAX_DURATION = 36_525 * DAY
"""A hundred years, in microseconds: with any time of this century it stays below 2**53."""

MAX_LIMIT = 2**31 - 1
"""The largest finite limit. Small enough that sums of limits cannot overflow SQLite's integers."""

_UNITS = {"w": WEEK, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND}  # large to small
_DIGITS = "0123456789"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"

_LONGEST_TEXT = 100  # characters; int() gets slow on thousands of digits, and then refuses
_LARGEST_UTC_OFFSET = 26 * 3600  # seconds; POSIX TZ strings go up to 24:59:59 and one hour of summer time
_EPOCH_ORDINAL = 719_163  # date(1970, 1, 1).toordinal()

_DURATION_HINT = "Write it like 90, 90s, 5m, 1h30m, 1.5h, 500ms, 2d or 1w; a bare number is seconds."
_TIME_HINT = (
    "Write epoch seconds or ISO 8601, like 2027-03-28, '2027-03-28 02:30', 2027-03-28T02:30:00+01:00 or "
    "2027-03-28T00:30:00Z; without an offset it is local time."
)
_LIMIT_HINT = "Write a whole number from 1, or unlimited."
_CODES_HINT = "Write one code or a range, from 0 to 255, like 75 or 64-78."
_SIGNAL_HINT = "Write a name or a number, like TERM, SIGTERM or 15."


def quoted(text: str) -> str:
    """`text` in double quotes for a message: shortened, and with what cannot be printed escaped."""
    shown = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "…"
    return '"' + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown) + '"'


def parse_duration(text: str) -> int:
    """The microseconds that `text` stands for, from 0 to MAX_DURATION; a bare number is seconds.

    Units go from large to small, each at most once. What lies below a microsecond is rounded half up.
    """
    try:
        total = _scaled(text, SECOND) if _is_decimal(text) else _sum_of_parts(text)
        if total > MAX_DURATION:
            raise ValueError("the longest duration is 100 years (36525d)")
    except ValueError as problem:
        raise _invalid(text, "duration", problem, _DURATION_HINT) from None
    return total


def format_duration(us: int) -> str:
    """A duration in microseconds, in short: `1h30m`, `1.5s`, `90ms`. It is exact: parsing gives `us` back."""
    if us < 0:
        return "-" + format_duration(-us)
    if 0 < us < SECOND:
        return _decimal(us, MILLISECOND) + "ms"
    parts = []
    rest = us
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    if rest or not parts:
        parts.append(_decimal(rest, SECOND) + "s")
    return "".join(parts)


def parse_time(text: str, now_wall: int) -> int:
    """The instant that `text` names, in microseconds since the epoch; the past is allowed (see clamp_to_now).

    Epoch seconds, or ISO 8601: a date, or a date and a time of day, which may have an offset. Without one
    it is local time: one that does not exist becomes the first one that does, one that exists twice is the
    first. A bare date is its local midnight. What lies below a microsecond is rounded half up. `now_wall` is
    the wall clock in microseconds; an instant more than MAX_DURATION after it is refused.
    """
    try:
        instant = _scaled(text, SECOND) if _is_decimal(text) else _iso_instant(text)
        if instant > now_wall + MAX_DURATION:
            raise ValueError("it is more than 100 years ahead (epoch times are in seconds)")
    except ValueError as problem:
        raise _invalid(text, "time", problem, _TIME_HINT) from None
    return instant


def clamp_to_now(instant: int, now_wall: int) -> int:
    """`instant`, or `now_wall` if it has passed: a past time means now. Both in microseconds, wall clock."""
    return max(instant, now_wall)


def format_time_local(us: int) -> str:
    """Microseconds since the epoch as local time with its offset: `2027-03-28 03:00:00+02:00`."""
    fields = localtime(us // SECOND)
    sign = "-" if fields.tm_gmtoff < 0 else "+"
    hours, rest = divmod(abs(fields.tm_gmtoff), 3600)
    minutes, seconds = divmod(rest, 60)
    offset = f"{sign}{hours:02}:{minutes:02}" + (f":{seconds:02}" if seconds else "")
    return _calendar_text(fields[:6], " ", us % SECOND) + offset


def format_time_utc(us: int) -> str:
    """Microseconds since the epoch as RFC 3339 in UTC, a fraction only if not 0: `2027-03-28T01:00:00Z`."""
    return _calendar_text(gmtime(us // SECOND)[:6], "T", us % SECOND) + "Z"


def parse_limit(text: str) -> int | None:
    """A whole number from 1 to MAX_LIMIT, or None for `unlimited`."""
    if text == "unlimited":
        return None
    try:
        limit = _whole(text)
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"it must be from 1 to {MAX_LIMIT}")
    except ValueError as problem:
        raise _invalid(text, "limit", problem, _LIMIT_HINT) from None
    return limit


def parse_integer(text: str, low: int, high: int) -> int:
    """A decimal integer from `low` to `high`, both included: ASCII digits, and `-` before a negative one."""
    hint = f"Write a whole number from {low} to {high}."
    try:
        value = -_whole(text[1:]) if text.startswith("-") else _whole(text)
        if not low <= value <= high:
            raise ValueError(f"it must be from {low} to {high}")
    except ValueError as problem:
        raise _invalid(text, "valid number", problem, hint) from None
    return value


def parse_codes(text: str) -> tuple[tuple[int, int], ...]:
    """Exit codes as ranges with both ends included: `75` is ((75, 75),), `64-78` is ((64, 78),)."""
    first, dash, last = text.partition("-")
    try:
        low = _whole(first)
        high = _whole(last) if dash else low
        if high > 255 or low > high:
            raise ValueError("codes go from 0 to 255, and a range from its smaller to its larger end")
    except ValueError as problem:
        raise _invalid(text, "exit code or range", problem, _CODES_HINT) from None
    return ((low, high),)


def parse_signal(text: str) -> int:
    """The number of a signal of this system, given as `TERM`, `SIGTERM` (in any case) or `15`."""
    import signal  # brings enum along

    numbers = {entry.name: int(entry) for entry in signal.Signals}
    name = text.upper() if text.isascii() else ""  # some other letters have S as their upper case
    for spelling in (name, "SIG" + name):
        if spelling in numbers:
            return numbers[spelling]
    if _are_digits(text) and len(text) <= 3 and int(text) in signal.valid_signals():
        return int(text)
    raise _invalid(text, "signal", "this system has none of that name or number", _SIGNAL_HINT)


def _invalid(text: str, kind: str, problem: object, hint: str) -> InturnError:
    article = "an" if kind[0] in "aeiou" else "a"
    return InturnError("invalid_value", f"{quoted(text)} is not {article} {kind}: {problem}", hint)


def _are_digits(text: str) -> bool:
    # str.isdigit alone is true for superscripts and for the digits of other scripts.
    return text.isascii() and text.isdigit()


def _is_decimal(text: str) -> bool:
    whole, point, fraction = text.partition(".")
    return _are_digits(whole) and (not point or _are_digits(fraction))


def _whole(text: str) -> int:
    if not _are_digits(text):
        raise ValueError(
            "only the digits 0 to 9 make a whole number" if text else "a whole number is missing"
        )
    if len(text) > _LONGEST_TEXT:
        raise ValueError("it has too many digits")
    return int(text)


def _scaled(number: str, unit: int) -> int:
    """A decimal such as `1.5` times `unit`, rounded half up."""
    whole, _, fraction = number.partition(".")
    numerator = _whole(whole + fraction) * unit
    denominator: int = 10 ** len(fraction)
    return (2 * numerator + denominator) // (2 * denominator)


def _decimal(us: int, unit: int) -> str:
    """The inverse of _scaled, for a unit that is a power of ten: no zeros at the end, no point if whole."""
    whole, rest = divmod(us, unit)
    fraction = str(unit + rest)[1:].rstrip("0")
    return f"{whole}.{fraction}" if fraction else str(whole)


def _sum_of_parts(text: str) -> int:
    names = tuple(_UNITS)
    total, place, next_rank = 0, 0, 0
    while place < len(text) or not text:
        number, place = _run(text, place, _DIGITS + ".")
        unit, place = _run(text, place, _LETTERS)
        if not _is_decimal(number):
            raise ValueError("it must be a number, or numbers each followed by a unit, and nothing else")
        if unit not in names:
            raise ValueError(f"the units are {', '.join(names)}; only a number alone may have none")
        if names.index(unit) < next_rank:
            raise ValueError("units go from large to small, each at most once")
        next_rank = names.index(unit) + 1
        total += _scaled(number, _UNITS[unit])
    return total


def _run(text: str, start: int, allowed: str) -> tuple[str, int]:
    end = start
    while end < len(text) and text[end] in allowed:
        end += 1
    return text[start:end], end


def _iso_instant(text: str) -> int:
    day, separator, clock = text[:10], text[10:11], text[11:]
    wall = _day_number(day) * DAY
    if not separator:
        return _instant_of_local(wall)
    if separator not in "Tt ":
        raise ValueError("a T or one space belongs between the date and the time of day")
    time_of_day, offset = _split_offset(clock)
    wall += _time_of_day(time_of_day)
    return _instant_of_local(wall) if offset is None else wall - offset


def _day_number(text: str) -> int:
    """Days from the epoch to the date `text`."""
    from datetime import date

    year, month, day = _fields(text, "-", (4, 2, 2), "a date is YYYY-MM-DD")
    return date(year, month, day).toordinal() - _EPOCH_ORDINAL


def _time_of_day(text: str) -> int:
    """Microseconds since midnight. A comma may stand for the point, as `date --iso-8601=ns` writes it."""
    clock, point, fraction = text.replace(",", ".").partition(".")
    widths = (2, 2, 2) if point or clock.count(":") == 2 else (2, 2)
    hour, minute, *seconds = _fields(clock, ":", widths, "a time of day is HH:MM, HH:MM:SS or HH:MM:SS.FFF")
    if hour > 23 or minute > 59 or any(second > 59 for second in seconds):
        raise ValueError("a time of day goes from 00:00:00 to 23:59:59")
    whole = hour * HOUR + minute * MINUTE + sum(seconds) * SECOND
    if point and not _are_digits(fraction):
        raise ValueError("the fraction of a second must be digits")
    return whole + _scaled(f"0.{fraction}", SECOND) if point else whole


def _split_offset(clock: str) -> tuple[str, int | None]:
    """The time of day, and the offset from UTC in microseconds behind it, None if there is none."""
    if clock[-1:] in ("Z", "z"):
        return clock[:-1], 0
    for sign, direction in (("+", 1), ("-", -1)):
        time_of_day, found, offset = clock.partition(sign)
        if found:
            return time_of_day, direction * _offset(offset)
    return clock, None


def _offset(text: str) -> int:
    spelled = text if ":" in text else f"{text[:2]}:{text[2:]}"
    hour, minute = _fields(spelled, ":", (2, 2), "an offset is Z, +HH:MM or +HHMM")
    if hour > 23 or minute > 59:
        raise ValueError("an offset goes from -23:59 to +23:59")
    return hour * HOUR + minute * MINUTE


def _fields(text: str, separator: str, widths: tuple[int, ...], rule: str) -> list[int]:
    parts = text.split(separator)
    if tuple(map(len, parts)) != widths or not all(map(_are_digits, parts)):
        raise ValueError(rule)
    return [int(part) for part in parts]


def _instant_of_local(wall: int) -> int:
    """The first instant whose local time is `wall`; if there is none, the one at which the gap ends.

    `wall` is the local time in microseconds, counted as if it were UTC. The offsets in force around it are
    tried one by one, because local time runs backwards now and then and a plain search could miss the first.
    """
    second, fraction = divmod(wall, SECOND)
    around = range(second - _LARGEST_UTC_OFFSET, second + _LARGEST_UTC_OFFSET + 1)
    offsets = {_utc_offset(instant) for instant in around[:: 30 * 60]}
    exact = [second - offset for offset in offsets if _utc_offset(second - offset) == offset]
    if exact:
        return min(exact) * SECOND + fraction
    from bisect import bisect_left

    # In a gap local time jumps over `wall`, once, so that a search by halving finds the jump.
    gap_end = bisect_left(around, second, key=lambda instant: instant + _utc_offset(instant))
    return around[gap_end] * SECOND


def _utc_offset(instant: int) -> int:
    return localtime(instant).tm_gmtoff


def _calendar_text(fields: tuple[int, ...], separator: str, fraction: int) -> str:
    year, month, day, hour, minute, second = fields
    text = f"{year:04}-{month:02}-{day:02}{separator}{hour:02}:{minute:02}:{second:02}"
    return f"{text}.{fraction:06}" if fraction else text
