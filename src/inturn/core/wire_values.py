"""How single values are written in JSON: times, durations, and bytes that need not be UTF-8."""

from __future__ import annotations

from binascii import b2a_base64

from inturn.core.duration import format_time_utc
from inturn.core.moment import SECOND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Json = dict[str, Any]


def text(value: bytes) -> str:
    """Bytes as text, with U+FFFD for what is not UTF-8."""
    return value.decode("utf-8", "replace")


def timestamp(wall: int | None) -> str | None:
    """Wall microseconds as RFC 3339 in UTC."""
    return None if wall is None else format_time_utc(wall)


def seconds(us: int | None) -> int | float | None:
    """Microseconds as seconds, whole ones as an integer."""
    if us is None:
        return None
    return us / SECOND if us % SECOND else us // SECOND


def words(key: str, values: Iterable[bytes]) -> Json:
    """A list of texts under `key`; if one is not UTF-8, all of them in base64 as well."""
    values = list(values)
    document: Json = {key: [text(value) for value in values]}
    if not all(map(is_text, values)):
        document[f"{key}_base64"] = [base64(value) for value in values]
    return document


def raw(key: str, value: bytes) -> Json:
    """A text under `key`, and in base64 as well if it is not UTF-8."""
    return {key: text(value)} if is_text(value) else {key: text(value), f"{key}_base64": base64(value)}


def is_text(value: bytes) -> bool:
    """Whether it is UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def base64(value: bytes) -> str:
    """The bytes in base64, on one line."""
    return b2a_base64(value, newline=False).decode("ascii")
