"""The pages of the site that have no file: the help of the verbs, the JSON Schemas, the changelog.

mkdocs loads this as a hook (mkdocs.yml), and calls `on_files`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from inturn.cli import schemas
from inturn.cli.help import render
from inturn.cli.manual import read
from inturn.cli.overview import overview
from inturn.cli.parser import build
from inturn.cli.verbs import VERBS

_ROOT = Path(__file__).parents[1]
_WIDTH = 90  # columns: what a block of code shows without a scroll bar

_ABOUT_HELP = """`inturn VERB --help` prints this at a terminal, and `man inturn-VERB` is made of the same.
[The command line](cli.md) explains it."""

_ABOUT_SCHEMAS = """What `inturn schema` prints, in its parts (`#/$defs/…` is the part of that name). Of
a verb this is the `data` that it answers with `--json`; around it is the [envelope](cli.md#json), with `data`
or an [error](errors.md). `from-file-line` is a line of `--from-file`, and `event-line` one of
`events --follow --json`. The dialect is 2020-12."""

# A search for a word is after a page about it, not after each schema that has it as a key.
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to those that mkdocs has found."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    return {
        "help.md": "".join(_help()),
        "schema.md": "".join(_schemas()),
        "changelog.md": (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
    }


def _help() -> Iterator[str]:
    yield f"# Help of every verb\n\n{_ABOUT_HELP}\n\n"
    yield from _section("inturn", "text", render(overview(VERBS), _WIDTH, _plainly))
    for verb in VERBS:
        page = read(build(verb, import_module(f"inturn.cli.verbs.{verb}")))
        yield from _section(f"inturn {verb}", "text", render(page, _WIDTH, _plainly))


def _schemas() -> Iterator[str]:
    yield f"{_NOT_SEARCHED}# JSON Schemas\n\n{_ABOUT_SCHEMAS}\n\n"
    for name, part in schemas.everything()["$defs"].items():
        title, data = name, part
        if name.startswith("inturn-"):
            title, data = name.replace("-", " ", 1), part["properties"]["data"]
        yield from _section(title, "json", json.dumps(data, indent=2, ensure_ascii=False))


def _section(title: str, language: str, text: str) -> Iterator[str]:
    yield f"## `{title}`\n\n```{language}\n{text.strip()}\n```\n\n"


def _plainly(_style: str, text: str) -> str:
    return text
