"""Draws the pictures in docs/img from a store that is always the same: `make screenshots`."""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from textual.widgets import Footer

from inturn.cli import progress, render
from inturn.cli.top.app import Top
from inturn.core.views import Filters, View
from inturn.service import query
from inturn.service.estimate import History
from tools.showcase import Showcase, showcase

IMAGES = Path(__file__).parents[1] / "docs" / "img"

# What the store is called there.
_SHOWN = "~/.local/state/inturn"

_WIDTH = 92
_SCREEN = (120, 34)
_PATIENCE = 30.0  # seconds until the view must have shown something

# The elapsed time of the wait that is shown, in microseconds.
_WAITED = 95_000_000

# A fixed name instead of one made of the content, and no letters from elsewhere.
_NAME = re.compile(r"terminal-\d+")
_LETTERS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main() -> None:
    """Draw them all."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as parent, showcase(Path(parent)) as scene:
        pictures = {
            "list": _drawn("inturn list", lambda console: _list(scene, console)),
            "why": _drawn("inturn why shard-3", lambda console: _why(scene, console)),
            "wait": _drawn("inturn wait --status live", lambda console: _wait(scene, console)),
            "top": asyncio.run(_top(scene)),
        }
        for name, svg in pictures.items():
            (IMAGES / f"{name}.svg").write_text(_normal(svg), encoding="utf-8")


def _normal(svg: str) -> str:
    svg = _LETTERS.sub("", _NAME.sub("terminal", svg))
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _drawn(title: str, draw: Callable[[Console], None]) -> str:
    console = Console(
        record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor",
        highlight=False,
    )  # fmt: skip
    draw(console)
    return console.export_svg(title=title, unique_id="terminal-0")


def _views(scene: Showcase, *statuses: str) -> list[View]:
    return query.listing(scene.context, Filters(statuses=statuses), None, False, lambda view: view)


def _list(scene: Showcase, console: Console) -> None:
    render.jobs(console, _views(scene), scene.now().wall)


def _why(scene: Showcase, console: Console) -> None:
    render.reasons(console, *query.why(scene.context, "shard-3"))


def _wait(scene: Showcase, console: Console) -> None:
    jobs = [view.job for view in _views(scene) if view.job.name is not None]
    known = History(scene.context).look(jobs)[1]
    console.print(progress.drawing(jobs, scene.now(), _WAITED, known))


async def _top(scene: Showcase) -> str:
    view = Top(_SHOWN, scene.reopen, scene.now)
    async with view.run_test(size=_SCREEN) as pilot:
        end = time.monotonic() + _PATIENCE
        while not _is_complete(view):
            if time.monotonic() > end:
                raise TimeoutError("the view has not shown the job that was selected")
            await pilot.pause(0.05)
        await pilot.pause()
        return view.export_screenshot(title="inturn top")


def _is_complete(view: Top) -> bool:
    """Whether the job under the cursor is shown with all about it, and so are the keys."""
    detail = None if view.snapshot is None else view.snapshot.detail
    return detail is not None and detail.job.name == "shard-2" and bool(view.query_one(Footer).children)


if __name__ == "__main__":
    main()
