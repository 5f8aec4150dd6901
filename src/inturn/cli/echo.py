"""Telling the user at which instant a time that was written without an offset really is."""

from __future__ import annotations

import sys

from inturn.core.duration import format_time_local, parse_time
from inturn.core.options import OPTIONS, switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from inturn.core.moment import Now


def echo_times(values: Mapping[str, object], now: Now, notice: Callable[[str], None]) -> None:
    """Tell the effective times, with their offsets, to a terminal, and to anyone who wrote local times.

    `values` are the options of a submission as they were written; they have been found right.
    """
    at_terminal = sys.stderr is not None and sys.stderr.isatty()
    for name, value in values.items():
        option = OPTIONS[name]
        if option.kind == "time":
            for text in value if isinstance(value, list) else [value]:
                if at_terminal or not _has_offset(str(text)):
                    notice(f"{switch(name)}: {_told(str(text), now)}")


def _told(text: str, now: Now) -> str:
    """The instant as it was written, even if it is past and means now: that may be a slip."""
    instant = parse_time(text, now.wall)
    return format_time_local(instant) + (" is past" if instant < now.wall else "")


def _has_offset(text: str) -> bool:
    """Whether the text names one instant everywhere: epoch seconds do, and so does a time with an offset."""
    clock = text[10:]  # a date has as many characters, and dashes of its own
    return text.replace(".", "", 1).isdigit() or any(sign in clock for sign in "Zz+-")
