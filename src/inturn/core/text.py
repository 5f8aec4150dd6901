"""What users and programs wrote, made fit to be shown: nothing in it steers a terminal."""

from __future__ import annotations

# Formatting characters that turn the direction of what follows, so that a text can look like another one.
_TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_LINE_BREAKS = "\u2028\u2029"


def printable(text: str) -> str:
    r"""`text` with everything escaped that a terminal would obey instead of showing it.

    Control characters (tabs and newlines among them), changes of direction, and bytes that are not UTF-8
    become `\n`, `\x1b`, `\u202e` or `\xff`. Whatever else cannot be printed is harmless and stays.
    """
    if text.isprintable():
        return text
    return "".join(_escaped(c) for c in text)


def _escaped(c: str) -> str:
    if c < " " or "\x7f" <= c <= "\x9f" or c in _TURNING or c in _LINE_BREAKS:
        return ascii(c)[1:-1]
    if "\udc80" <= c <= "\udcff":  # how Python carries a byte that is not UTF-8
        return f"\\x{ord(c) - 0xDC00:02x}"
    if "\ud800" <= c <= "\udfff":
        return ascii(c)[1:-1]
    return c
