"""Each verb has a manual page, it says what the help says, and a formatter takes it without a word."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from inturn.cli.ending import EXIT_CODES, FAILED
from inturn.cli.manual import read
from inturn.cli.parser import build
from inturn.cli.verbs import VERBS
from tools.man_pages import DIRECTORY, pages, write

PAGES = pages()

# The instructions that the pages use; what else begins with a dot would be swallowed.
_MACROS = re.compile(r'\.(?:TH|SH|SS|TP|PP|nf|fi|br|\\")(?: |$)')
_ESCAPES = re.compile(r"\\(?:f[BIR]|&|-|e|\((?:aq|ga|ha|ti|dq)|\[u[0-9A-F]{4,6}\])")

# groff is not everywhere, and a test cannot install it; the tests above it hold wherever they run.
RENDERED = sorted(PAGES) if shutil.which("groff") else []


def shown(text: str) -> str:
    """The text of a page as a formatter would show it, without its layout."""
    signs = {"\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~", "\\(dq": '"', "\\-": "-", "\\e": "\\"}

    def sign(found: re.Match[str]) -> str:
        escape = found[0]
        if escape.startswith("\\[u"):
            return chr(int(escape[3:-1], 16))
        return signs.get(escape, "")

    return _ESCAPES.sub(sign, text)


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_of_a_verb_has_every_option_and_argument_with_what_it_is_for(verb: str) -> None:
    page = read(build(verb, import_module(f"inturn.cli.verbs.{verb}")))
    told = shown(PAGES[f"inturn-{verb}.1"])
    for entry in page.entries:
        assert f".TP\n{entry.written}\n" in told
        assert entry.help in told
    for example in page.examples:
        assert f"\n{example}\n" in told


def test_the_page_of_inturn_has_every_verb_and_every_exit_status() -> None:
    told = shown(PAGES["inturn.1"])
    assert all(f".TP\ninturn-{verb}(1)\n" in told for verb in VERBS)
    assert all(f".TP\n{status}\n" in told for status in {0, FAILED, *EXIT_CODES.values()})


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_has_no_instruction_by_accident(name: str) -> None:
    text = PAGES[name]
    assert text.isascii()
    for line in text.splitlines():
        assert line
        assert not line.startswith("'")
        assert not line.startswith(".") or _MACROS.match(line), line
        rest = line if line.startswith('.\\"') else _ESCAPES.sub("", line)
        assert "\\" not in rest.removeprefix('.\\"'), line


def test_the_pages_that_are_shipped_are_those_of_this_program() -> None:
    kept = {path.name: path.read_text(encoding="ascii") for path in DIRECTORY.iterdir()}
    assert kept == PAGES, "run `make man`"


def test_the_page_of_a_verb_that_is_no_more_is_removed(tmp_path: Path) -> None:
    (tmp_path / "inturn-gone.1").touch()
    write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(PAGES)


@pytest.mark.parametrize("name", RENDERED)
def test_a_formatter_renders_the_page_without_a_warning(name: str) -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", "-ww"],
        input=PAGES[name].encode(),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"SYNOPSIS" in done.stdout
