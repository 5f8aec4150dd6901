"""What lies over the screen for a moment: a question, and the list of the keys."""

from __future__ import annotations

from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import ClassVar

    from textual.app import ComposeResult
    from textual.binding import BindingType


class Question(ModalScreen[bool]):
    """Asks before something is destroyed. Only `y` is yes, and Enter is no answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "answer(True)", "Yes"),
        ("n", "answer(False)", "No"),
        ("escape", "answer(False)", "No"),
        ("q", "answer(False)", "No"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question and its answers."""
        with VerticalScroll(classes="dialog"):
            yield Static(self._question, markup=False)
            yield Static("y: yes   n: no", markup=False, classes="answers")

    def action_answer(self, yes: bool) -> None:
        """Give the answer."""
        self.dismiss(yes)


class Keys(ModalScreen[None]):
    """All keys, until one is pressed that closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,question_mark,enter", "dismiss", "Close")]

    def __init__(self, keys: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self._keys = tuple(keys)

    def compose(self) -> ComposeResult:
        """The keys, one a line."""
        with VerticalScroll(classes="dialog"):
            yield Static("\n".join(f"{key:>9}  {what}" for key, what in self._keys), markup=False)

    async def action_dismiss(self, result: None = None) -> None:
        """Close it."""
        self.dismiss(result)
