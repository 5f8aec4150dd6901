"""Reads YAML into a tree in which every value keeps its line and its text as written.

It is built from YAML's events rather than loaded: `1.5` is no float and `yes` no boolean, repeated keys are
seen, and aliases, which could multiply into a huge value, are refused.
"""

from __future__ import annotations

from inturn.core.duration import quoted
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NamedTuple
else:
    from inturn.core.records import NamedTuple

_DEEPEST = 8  # more than the configuration needs; without a limit, nesting could exhaust the stack
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class Node(NamedTuple):
    """A value and where it stands: a scalar has `text`, a list `items`, a mapping `entries`.

    `place` is FILE:LINE, of the key if there is one; `path` is the dotted way to it. `plain` text had no
    quotes around it: only such a text can be a number, a boolean or nothing.
    """

    place: str
    path: str
    text: str | None = None
    plain: bool = False
    items: list[Node] | None = None
    entries: dict[str, Node] | None = None

    def wrong(self, what: str, hint: str = "") -> InturnError:
        """The error that says what is wrong with this value, and where it stands."""
        where = f"{self.place}: {self.path}" if self.path else self.place
        return InturnError("config_invalid", f"{where}: {what}", hint)

    def is_null(self) -> bool:
        """Whether there is no value, as YAML 1.2 sees it."""
        return self.plain and self.text in _NULLS

    def boolean(self) -> bool | None:
        """The value of a boolean, as YAML 1.2 sees it; None if it is none."""
        return _BOOLEANS.get(self.text or "") if self.plain else None


def read(text: bytes, file: str) -> Node:
    """The value at the root of a YAML file, which must have one. `file` is its name in messages.

    Raises config_invalid for what is not UTF-8 or not YAML, and for anchors, aliases and tags.
    """
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = text.count(b"\n", 0, problem.start) + 1
        raise InturnError("config_invalid", f"{file}:{line}: the file is not UTF-8") from None

    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    builder = _Builder(file)
    try:
        builder.events = YAML(typ="safe", pure=True).parse(decoded)
        return builder.document()
    except MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        what = " ".join((problem.problem or problem.context or "it cannot be understood").split())
        hint = "Indent with spaces, not with tabs." if "'\\t'" in what else ""
        line = mark.line + 1 if mark else builder.line
        raise InturnError("config_invalid", f"{file}:{line}: not valid YAML: {what}", hint) from None
    except (YAMLError, ValueError, OverflowError) as problem:  # a bad character, or an escape that is none
        position = getattr(problem, "position", None)
        line = builder.line if position is None else decoded.count("\n", 0, position) + 1
        what = "it contains a character that YAML does not allow"
        raise InturnError("config_invalid", f"{file}:{line}: not valid YAML: {what}") from None


class _Builder:
    """Builds the tree of a file from the events of its parser."""

    events: Iterator[Any]

    def __init__(self, file: str) -> None:
        self.file = file
        self.line = 1  # of the event last taken

    def document(self) -> Node:
        self._take()  # the start of the stream
        _, kind = self._take()
        if kind == "StreamEnd":
            raise self._empty()
        event, kind = self._take()
        if kind == "Scalar" and event.value == "":
            raise self._empty()
        root = self._node(event, kind, Node(self._place(), ""), depth=0)
        self._take()  # the end of the document
        _, kind = self._take()
        if kind != "StreamEnd":
            raise Node(self._place(), "").wrong("the file holds a second document")
        return root

    def _empty(self) -> InturnError:
        return Node(f"{self.file}:1", "").wrong("the file is empty", "It must begin with: schema_version: 1")

    def _take(self) -> tuple[Any, str]:
        event = next(self.events)
        self.line = event.start_mark.line + 1
        return event, type(event).__name__.removesuffix("Event")

    def _place(self) -> str:
        return f"{self.file}:{self.line}"

    def _node(self, event: Any, kind: str, node: Node, depth: int) -> Node:
        """`node`, which has its place and path, filled with the value that begins with `event`."""
        if kind == "Alias" or event.anchor is not None:
            raise node.wrong("anchors (&) and aliases (*) are not allowed", "Write the value out.")
        if event.tag is not None:
            raise node.wrong("tags (!) are not allowed", "Write the plain value.")
        if depth > _DEEPEST:
            raise node.wrong("it is nested too deeply")
        if kind == "SequenceStart":
            return node._replace(items=self._items(node, depth))
        if kind == "MappingStart":
            return node._replace(entries=self._entries(node, depth))
        if "\0" in event.value or any("\ud800" <= c <= "\udfff" for c in event.value):
            raise node.wrong("it contains a character that no text can have", r"Look for escapes such as \0.")
        return node._replace(text=event.value, plain=not event.style)

    def _items(self, parent: Node, depth: int) -> list[Node]:
        items: list[Node] = []
        event, kind = self._take()
        while kind != "SequenceEnd":
            blank = Node(self._place(), f"{parent.path}[{len(items)}]")
            items.append(self._node(event, kind, blank, depth + 1))
            event, kind = self._take()
        return items

    def _entries(self, parent: Node, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        event, kind = self._take()
        while kind != "MappingEnd":
            key = self._node(event, kind, parent._replace(place=self._place()), depth + 1)
            if key.text is None:
                raise key.wrong("a key must be a plain word")
            path = f"{parent.path}.{_shown(key.text)}" if parent.path else _shown(key.text)
            blank = Node(key.place, path)
            if key.text in entries:
                raise blank.wrong(f"repeated key, first at {entries[key.text].place}")
            entries[key.text] = self._node(*self._take(), blank, depth + 1)
            event, kind = self._take()
        return entries


def _shown(key: str) -> str:
    return key if key and key.isprintable() and len(key) <= 64 else quoted(key)
