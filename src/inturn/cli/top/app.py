"""The screen: panes, keys, and the two threads that look and act."""

from __future__ import annotations

import asyncio
import signal

from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Footer, Input, Static

from inturn.cli.text import printable
from inturn.cli.top import model
from inturn.cli.top.actor import Actor, Done
from inturn.cli.top.dialogs import Keys, Question
from inturn.cli.top.log import log
from inturn.cli.top.model import STATUS_CYCLE, Snapshot, Wanted
from inturn.cli.top.panes import Jobs, Pane
from inturn.cli.top.reader import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.events import Resize
    from textual.widget import Widget

    from inturn.core.moment import Now
    from inturn.core.views import View
    from inturn.service.context import Context

# A smaller screen shows one pane at a time.
_ROOMY_WIDTH, _ROOMY_HEIGHT = 80, 24

_LOG_LINES = 200
PANES = ("jobs", "lanes", "why", "log")


class Top(App[None]):
    """The live view of the store that is called `where`.

    `reopen` opens the store anew, in the thread that calls it; `now` is the clock. Its `return_code` is 0,
    or 128 and the number of the signal that ended it.
    """

    CSS_PATH = "top.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "inturn top"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "quit", "quit", show=False, priority=True),
        Binding("question_mark", "keys", "keys", key_display="?"),
        Binding("p", "deed('pause')", "pause"),
        Binding("u", "deed('resume')", "resume"),
        Binding("c", "deed('cancel')", "cancel"),
        Binding("r", "deed('retry')", "retry"),
        Binding("R", "deed('revive')", "retry with dependents", show=False),
        Binding("plus,equals_sign", "deed('priority', 1)", "priority up", show=False, key_display="+"),
        Binding("minus", "deed('priority', -1)", "priority down", show=False, key_display="-"),
        Binding("s", "status(1)", "status"),
        Binding("S", "status(-1)", "status before", show=False),
        # Before all others: what is typed on behind it belongs to the line already.
        Binding("slash", "filter", "find", key_display="/", priority=True),
        Binding("escape", "clear", "show all jobs again", show=False),
        Binding("right_square_bracket", "older", "older jobs", show=False, key_display="]"),
        Binding("left_square_bracket", "newer", "newer jobs", show=False, key_display="["),
        Binding("1", "pane('jobs')", "jobs", show=False),
        Binding("2", "pane('lanes')", "queues and pools", show=False),
        Binding("3", "pane('why')", "why and dependencies", show=False),
        Binding("4", "pane('log')", "log", show=False),
    ]

    class Seen(Message):
        """A look at the store."""

        def __init__(self, snapshot: Snapshot) -> None:
            super().__init__()
            self.snapshot = snapshot

    class Acted(Message):
        """What became of a deed."""

        def __init__(self, done: Done) -> None:
            super().__init__()
            self.done = done

    def __init__(self, where: str, reopen: Callable[[], Context], now: Callable[[], Now]) -> None:
        super().__init__()
        self._where = where
        self._now = now
        self._reader = Reader(reopen, lambda snapshot: self._post(self.Seen(snapshot)))
        self._actor = Actor(reopen, lambda done: self._post(self.Acted(done)))
        self.snapshot: Snapshot | None = None
        self._wanted = Wanted()
        self._newer: list[int | None] = []
        self._told = Text()
        self._head, self._foot = Static(id="head", markup=False), Static(id="foot", markup=False)
        self._jobs = Jobs()
        self._lanes = Pane("lanes", "queues and pools")
        self._why, self._output = Pane("why", "why"), Pane("log", "log", follows=True)
        self._find = Input(id="filter", placeholder="a part of the name or command, or an id", compact=True)
        self._find.display = False
        self._rows = {"upper": Horizontal(self._jobs, self._lanes, id="upper")}
        self._rows["lower"] = Horizontal(self._why, self._output, id="lower")

    def _post(self, message: Message) -> None:
        self.post_message(message)  # the one thing that other threads may do

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield self._head
        yield from self._rows.values()
        yield self._foot
        yield self._find
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # The terminal is restored on the way out.
            loop.add_signal_handler(number, self._end_by, number)
        self._reader.start()
        self._actor.start()
        self.action_pane("jobs")

    def on_unmount(self) -> None:
        """Have the threads end. They are not waited for: the store may be busy."""
        self._reader.stop()
        self._actor.stop()

    def _end_by(self, number: int) -> None:
        self.exit(return_code=128 + number)

    # --- what is seen

    def on_top_seen(self, message: Top.Seen) -> None:
        """Show a look at the store, unless something else is wanted by now."""
        if message.snapshot.wanted._replace(selected=None) == self._wanted._replace(selected=None):
            self.snapshot = message.snapshot
            self._draw()

    def on_resize(self, event: Resize) -> None:
        """Show as many panes as there is room for."""
        small = event.size.width < _ROOMY_WIDTH or event.size.height < _ROOMY_HEIGHT
        for main in self.screen_stack[:1]:
            main.set_class(small, "small")
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        """Show the snapshot on the main screen, which may lie under a dialog, or be gone at the end."""
        snapshot = self.snapshot
        if snapshot is None or not self._jobs.is_attached:
            return
        self._head.update(model.headline(snapshot, self._where))
        self._jobs.show(snapshot.page.views, self._now())
        self._lanes.show(model.lanes(snapshot.totals, self._lanes.scrollable_content_region.width))
        self._draw_detail(snapshot)
        self._draw_foot()
        self._select()

    def _draw_detail(self, snapshot: Snapshot) -> None:
        detail = snapshot.detail
        if detail is None or detail.job.id != self._wanted.selected:
            self._why.show(Text())
            self._output.show(Text())
            return
        run = f", run {detail.tail.run}" if detail.tail.run else ""
        self._why.show(model.why(detail))
        self._output.border_title = f"log of job {detail.job.id}{run}"
        self._output.show(log(detail.tail, _LOG_LINES))

    def _draw_foot(self) -> None:
        if self.snapshot is not None and self._foot.is_attached:
            self._foot.update(self._told or Text(model.caption(self.snapshot), style="dim"))

    def _say(self, text: str, style: str = "") -> None:
        self._told = Text(printable(text), style=style, no_wrap=True, overflow="ellipsis")
        self._draw_foot()

    # --- what is wanted

    def _want(self, **changes: Any) -> None:
        self._wanted = self._wanted._replace(**changes)
        self._reader.want(self._wanted)

    def on_data_table_row_highlighted(self) -> None:
        """The cursor has moved, maybe several times since this was noted."""
        self._select()

    def _select(self) -> None:
        selected = self._jobs.selected
        if selected != self._wanted.selected:
            self._want(selected=selected)

    def action_status(self, step: int) -> None:
        """Show only jobs of the next status."""
        place = STATUS_CYCLE.index(self._wanted.status)
        self._restart(status=STATUS_CYCLE[(place + step) % len(STATUS_CYCLE)])

    def _restart(self, **changes: Any) -> None:
        self._newer.clear()
        self._told = Text()
        self._want(below=None, **changes)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the line itself, and over a dialog, a slash is only a slash."""
        if action == "filter":
            return len(self.screen_stack) == 1 and self.focused is not self._find
        return super().check_action(action, parameters)

    def action_filter(self) -> None:
        """Ask for a text to look for."""
        self._find.display = True
        self.screen.set_focus(self._find)  # `focus` would do it later

    def on_input_changed(self, event: Input.Changed) -> None:
        """Look for what has been written so far."""
        self._restart(text=event.value)

    def on_input_submitted(self) -> None:
        """Leave the line, and keep the filter."""
        self._find.display = False
        self.action_pane("jobs")

    def action_clear(self) -> None:
        """Drop the filters and go back to the newest jobs."""
        self._find.value = ""
        self.on_input_submitted()
        self._restart(status="", text="")

    def action_older(self) -> None:
        """Show the next page."""
        if self.snapshot is not None and self.snapshot.page.older is not None:
            self._newer.append(self._wanted.below)
            self._want(below=self.snapshot.page.older)

    def action_newer(self) -> None:
        """Show the page before."""
        if self._newer:
            self._want(below=self._newer.pop())

    def action_pane(self, name: str) -> None:
        """Go to a pane; a small screen shows only that."""
        members: tuple[Widget, ...] = (self._jobs, self._lanes, self._why, self._output)
        panes = dict(zip(PANES, members, strict=True))
        for other, pane in panes.items():
            pane.set_class(other == name, "chosen")
        for row in self._rows.values():
            row.set_class(panes[name] in row.children, "chosen")
        panes[name].focus()
        self.call_after_refresh(self._draw)

    def action_keys(self) -> None:
        """Show all keys."""
        found = [one for one in self.BINDINGS if isinstance(one, Binding)]
        self.push_screen(Keys((one.key_display or one.key, one.description) for one in found))

    # --- what is done

    def action_deed(self, verb: str, step: int = 0) -> None:
        """Do something to the selected job, after a question if it destroys something."""
        view = self._selected_view()
        if view is None or self.snapshot is None:
            self._say("there is no job here", "yellow")
            return
        detail = self.snapshot.detail
        family = detail.family if detail is not None and detail.job.id == view.job.id else None
        plan = model.plan(verb, view, family, step)

        def answered(yes: bool | None) -> None:
            if yes:
                self._say(f"{verb}: working …", "dim")
                self._actor.do(plan.deed)

        if plan.question:
            self.push_screen(Question(plan.question), answered)
        else:
            answered(True)

    def _selected_view(self) -> View | None:
        if self.snapshot is None:
            return None
        selected = self._jobs.selected
        return next((view for view in self.snapshot.page.views if view.job.id == selected), None)

    def on_top_acted(self, message: Top.Acted) -> None:
        """Tell what became of a deed."""
        self._say(message.done.sentence, "green" if message.done.well else "red")
