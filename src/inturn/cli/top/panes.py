"""The parts of the screen. They show what they are given, and remember where their reader was."""

from __future__ import annotations

from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Static

from inturn.cli.top import model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from textual.app import ComposeResult

    from inturn.cli.top.model import Column
    from inturn.core.moment import Now
    from inturn.core.views import View

    Cells = tuple[Text, ...]


class Jobs(DataTable[Text]):
    """The table of jobs. Its cursor stays on its job, wherever that moves."""

    def __init__(self) -> None:
        super().__init__(id="jobs", cursor_type="row", cell_padding=1)
        self.border_title = "jobs"
        self._columns: tuple[Column, ...] = ()
        self._cells: dict[int, Cells] = {}

    @property
    def selected(self) -> int | None:
        """The id of the job under the cursor."""
        ids = list(self._cells)
        return ids[self.cursor_row] if 0 <= self.cursor_row < len(ids) else None

    def show(self, views: Sequence[View], now: Now) -> None:
        """Show these jobs, with as many columns as there is room for."""
        chosen = model.columns(max(self.scrollable_content_region.width - 1, 1))
        cells = {view.job.id: model.row(view, chosen, now) for view in views}
        if chosen == self._columns and list(cells) == list(self._cells):
            self._update(cells)
        else:
            self._fill(chosen, cells)

    def _update(self, cells: dict[int, Cells]) -> None:
        for line, (job_id, fresh) in enumerate(cells.items()):
            for place, (old, new) in enumerate(zip(self._cells[job_id], fresh, strict=True)):
                if (old.plain, old.style, old.spans) != (new.plain, new.style, new.spans):
                    self.update_cell_at((line, place), new)  # type: ignore[arg-type]
        self._cells = cells

    def _fill(self, chosen: tuple[Column, ...], cells: dict[int, Cells]) -> None:
        kept, top = self.selected, self.scroll_y
        self.clear(columns=True)
        self._columns, self._cells = chosen, cells
        for column in chosen:
            self.add_column(Text(column.title), width=column.width)
        for row in cells.values():
            self.add_row(*row)
        if kept in cells:
            self.move_cursor(row=list(cells).index(kept), scroll=False)
            self.scroll_to(y=top, animate=False)


class Pane(VerticalScroll):
    """Text that can be scrolled; with `follows`, its end stays in sight unless somebody has scrolled away."""

    def __init__(self, name: str, title: str, follows: bool = False) -> None:
        super().__init__(id=name)
        self.border_title = title
        self._follows = follows
        self._text = Static(markup=False)

    def compose(self) -> ComposeResult:
        """The text is all there is in it."""
        yield self._text

    def show(self, content: RenderableType) -> None:
        """Show this from now on."""
        at_the_end = self.max_scroll_y - self.scroll_y <= 1
        self._text.update(content)
        if self._follows and at_the_end:
            self.scroll_end(animate=False)
