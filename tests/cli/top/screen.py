"""The screen of an application that runs in memory, as text."""

from __future__ import annotations

from textual.app import App


def text_of(app: App[None]) -> str:
    """What stands on the screen now, line by line, without colours and without blanks at the ends."""
    lines = app.screen._compositor.render_strips()
    return "".join("".join(segment.text for segment in line).rstrip() + "\n" for line in lines)
