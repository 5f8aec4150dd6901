"""The pages of the documentation, and the code blocks that they show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.arch.sources import ROOT

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))

_FENCE = re.compile(r"(?P<indent> *)(?P<marks>`{3,}|~{3,}) *(?P<language>[^\s`]*)")
# What a trailing comment promises: `inturn logs 1  # -> 42`.
_PROMISE = re.compile(r"# -> (.*)$", re.MULTILINE)


class Block(NamedTuple):
    """One code block of a page. `line` is that of its first line of code, from 1."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        """The place, as an editor understands it."""
        return f"{named(self.page)}:{self.line}"


def named(page: Path) -> str:
    """The page's path within the project."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return the code blocks of a page in their order, indented ones too; of these `languages`, or of all."""
    found = _blocks(page, page.read_text(encoding="utf-8").splitlines())
    return [block for block in found if not languages or block.language in languages]


def _blocks(page: Path, lines: list[str]) -> Iterator[Block]:
    numbered = iter(enumerate(lines, 1))
    for number, line in numbered:
        opening = _FENCE.match(line)
        if opening is None:
            continue
        inside = []
        for _, inner in numbered:
            if inner.strip() == opening["marks"]:
                break
            inside.append(inner[len(opening["indent"]) :] + "\n")
        else:
            raise AssertionError(f"{named(page)}:{number}: the block is never closed")
        yield Block(page, number + 1, opening["language"], "".join(inside))


def promised(found: Iterable[Block]) -> list[str]:
    """Return what the blocks say, in `# -> …` at the ends of lines, that their code prints."""
    return [text for block in found for text in _PROMISE.findall(block.text)]


def script(found: Iterable[Block]) -> str:
    """Return the blocks as one shell script, which says on standard error where in the page it is."""
    return "".join(f"echo '# {block.where}' >&2\n{block.text}" for block in found)
