"""`list --watch`: the table of jobs, drawn again as the store changes."""

from __future__ import annotations

import signal
import time

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from inturn.cli import render
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.views import as_of
from inturn.errors import InturnError
from inturn.service import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from rich.console import RenderableType

    from inturn.core.views import Filters, View
    from inturn.service.context import Context

# What is asked for more often than this only heats the machine (µs).
_OFTEN = 50 * MILLISECOND

# Besides the jobs there are the heading, a remark, and the line below, on which the cursor stands.
_OTHER_LINES = 3


def watch(context: Context, filters: Filters, limit: int | None, every: int) -> None:
    """Show the jobs until somebody ends it by a signal; what was shown last stays.

    It looks for changes `every` so many microseconds. At most as many jobs are shown as the terminal has
    room for. Raises KeyboardInterrupt on Ctrl-C, SystemExit on TERM, and InturnError `store_unusable` if the
    store was removed or replaced, with the terminal as it was.
    """
    signal.signal(signal.SIGTERM, _end)
    console = Console(highlight=False)
    board = _Board(context, filters, limit)
    live = Live(
        console=console,
        get_renderable=lambda: board.draw(console),
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with live:
        while True:
            board.look(console)
            live.refresh()
            time.sleep(max(every, _OFTEN) / SECOND)


def _end(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


class _Board:
    """The jobs as they were last seen. They are read again when the store, or the terminal, has changed."""

    def __init__(self, context: Context, filters: Filters, limit: int | None) -> None:
        self._context = context
        self._filters = filters
        self._limit = limit
        self._seen: object = None
        self._views: list[View] = []
        self._problem = ""

    def look(self, console: Console) -> None:
        """Read what has changed. While the store is busy, what was seen stays, with a remark."""
        try:
            self._read(_room(console, self._limit))
            self._problem = ""
        except InturnError as error:
            if error.code != "store_busy":
                raise
            self._problem = error.message

    def _read(self, room: int) -> None:
        if self._context.store is None:
            self._context = _opened(self._context)
        store = self._context.store
        if store is not None:
            store.check_in_place()
        latest = None if store is None else (store.version(), room)
        if latest is None or latest != self._seen:
            # One more than is shown tells whether there are more.
            self._views = query.listing(self._context, self._filters, room + 1, False, _itself)
            self._seen = latest

    def draw(self, console: Console) -> RenderableType:
        """The table as it is at this moment."""
        now = self._context.now()
        room = _room(console, self._limit)
        shown = [view._replace(job=as_of(view.job, now)) for view in self._views[:room]]
        if not shown:
            return Text(self._problem or "no jobs", style="dim")
        more = f"the newest {room}" if len(self._views) > room else ""
        remark = Text(self._problem or more, style="dim", no_wrap=True, overflow="ellipsis")
        return Group(render.job_table(shown, now.wall, console.width), remark)


def _itself(view: View) -> View:
    return view


def _room(console: Console, limit: int | None) -> int:
    lines = max(console.height - _OTHER_LINES, 1)
    return lines if limit is None else min(lines, limit)


def _opened(context: Context) -> Context:
    """Look again whether there is a store by now: who only looks creates none."""
    from inturn.app import open_context

    return open_context(context.directory, context.config_path, False, context.notice)
