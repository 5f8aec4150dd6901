"""Writes the manual pages, of inturn and of each verb, from what the help is made of: `make man`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from inturn.cli.ending import EXIT_CODES, FAILED
from inturn.cli.help import explanation
from inturn.cli.manual import Entry, Group, Page, read
from inturn.cli.overview import ABOUT, overview, summary
from inturn.cli.parser import build
from inturn.cli.verbs import VERBS
from inturn.core.environment import OWN_VARIABLES

DIRECTORY = Path(__file__).parents[1] / "docs" / "man"

_HEAD = '.\\" Written by tools/man_pages.py: run `make man`.\n'

_DESCRIPTION = (
    """A job is a command that is run when other jobs have ended as they should, when its conditions hold, and
    when there are slots for it; and again, if that was asked for. It outlives the terminal, and what is known
    of it is on disk before anybody is told.""",
    """inturn run gives a job a process of its own that looks after it; inturn add leaves it to workers, which
    inturn work starts. Otherwise both are the same.""",
    """The options below stand before or after the verb, those of a verb behind it. None can be abbreviated.
    Those of inturn run and inturn add end at -- or at the first word of the command.""",
)

_VALUES = (
    ("DURATION", "90, 90s, 5m, 1h30m, 1.5h, 500ms, 2d, 1w. A bare number is seconds."),
    (
        "TIME",
        "Seconds of the epoch, or ISO 8601: 2027-03-28T02:30:00+01:00. Without an offset it is local time.",
    ),
    ("JOB", "An id or a name. NAME@latest is the newest job of several with that name."),
)

_EXIT_STATUS = {
    0: "Done.",
    FAILED: "Failed: the system refused something, or a check found something.",
    2: "The words make no sense, the configuration is wrong, or a request can never be met.",
    3: "There is no such job.",
    4: "Several jobs have that name.",
    5: "The present state of the job does not allow it.",
    6: "Done in part, or a job that was waited for did not succeed.",
}

_ENVIRONMENT = (
    ("INTURN_DIR", "The store, unless --dir names one."),
    ("INTURN_CONFIG", "The configuration file, unless --config names one."),
    ("NO_COLOR", "If it is set and not empty, nothing is coloured."),
    ("COLUMNS", "How wide help is, instead of the width of the terminal."),
    ("INTURN_DEBUG", "If it is 1, an unexpected error shows where it came from."),
)

_FILES = (
    ("$XDG_STATE_HOME/inturn", "The store: the database, the logs, and the locks of those who own jobs."),
    ("$XDG_CONFIG_HOME/inturn/inturn.yml", "The configuration file."),
)


def pages() -> dict[str, str]:
    """The text of every page by the name of its file."""
    return {"inturn.1": _main_page()} | {f"inturn-{verb}.1": _verb_page(verb) for verb in VERBS}


def write(directory: Path) -> None:
    """Write the pages, and remove those of verbs that are no more."""
    directory.mkdir(parents=True, exist_ok=True)
    found = pages()
    for stale in {path.name for path in directory.glob("*.1")} - set(found):
        (directory / stale).unlink()
    for name, text in found.items():
        (directory / name).write_text(text, encoding="ascii")


def _main_page() -> str:
    page = overview(VERBS)
    verbs = ((f"inturn-{verb}(1)", summary(verb)) for verb in VERBS)
    statuses = ((str(status), _EXIT_STATUS[status]) for status in sorted({0, FAILED, *EXIT_CODES.values()}))
    given = ", ".join(name.decode() for name in OWN_VARIABLES)
    return "".join(
        (
            *_opening("inturn", f"{ABOUT[0].lower()}{ABOUT[1:].rstrip('.')}", page, _DESCRIPTION),
            *_section("VERBS", _definitions(verbs)),
            *_section("OPTIONS", _entries(page.groups[-1].entries)),
            *_section("VALUES", _definitions(_VALUES)),
            *_section("EXIT STATUS", _definitions(statuses)),
            *_section("ENVIRONMENT", _definitions(_ENVIRONMENT)),
            *_paragraphs([f"Each run is given {given}, as far as they apply."]),
            *_section("FILES", _definitions(_FILES)),
            *_closing(page, [f"inturn-{verb}" for verb in VERBS]),
        )
    )


def _verb_page(verb: str) -> str:
    page = read(build(verb, import_module(f"inturn.cli.verbs.{verb}")))
    return "".join(
        (
            *_opening(f"inturn-{verb}", summary(verb), page, map(_sentence, page.about)),
            *_section("OPTIONS", (line for group in page.groups for line in _group(group))),
            *(_section("NOTES", _paragraphs(page.notes)) if page.notes else ()),
            *_closing(page, ["inturn"]),
        )
    )


def _opening(name: str, about: str, page: Page, description: Iterable[str]) -> Iterator[str]:
    yield _HEAD
    yield f'.TH {_roff(name.upper())} 1 "" inturn "inturn manual"\n'
    yield from _section("NAME", [f"{_roff(name)} \\- {_roff(about)}\n"])
    program = name.replace("-", " ", 1)
    forms = (f"\\fB{_roff(program)}\\fR{_roff(form.removeprefix(program))}\n" for form in page.usage)
    yield from _section("SYNOPSIS", [".br\n".join(forms)])
    yield from _section("DESCRIPTION", _paragraphs(description))


def _closing(page: Page, others: list[str]) -> Iterator[str]:
    examples = [f"{_line(example)}\n" for example in page.examples]
    yield from _section("EXAMPLES", [".nf\n", *examples, ".fi\n"])
    yield from _section("SEE ALSO", [",\n".join(f"\\fB{_roff(other)}\\fR(1)" for other in others) + "\n"])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield f".SH {title}\n"
    yield from lines


def _group(group: Group) -> Iterator[str]:
    yield f".SS {_roff(group.title)}\n"
    yield from _entries(group.entries)


def _entries(entries: Iterable[Entry]) -> Iterator[str]:
    for entry in entries:
        switches = ", ".join(f"\\fB{_roff(one)}\\fR" for one in entry.switches)
        metavar = f"\\fI{_roff(entry.metavar)}\\fR" if entry.metavar else ""
        yield f".TP\n{' '.join(filter(None, (switches, metavar)))}\n{_line(explanation(entry))}\n"


def _definitions(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in pairs:
        yield f".TP\n\\fB{_roff(term)}\\fR\n{_line(meaning)}\n"


def _paragraphs(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield f".PP\n{_line(' '.join(text.split()))}\n"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _line(text: str) -> str:
    """A line of text: one that begins with a dot or a quote would be an instruction."""
    shown = _roff(text)
    return f"\\&{shown}" if shown.startswith((".", "\\(aq")) else shown


_SIGNS = {
    "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq",
}  # fmt: skip


def _roff(text: str) -> str:
    """The text with every sign as it is: an option can be copied from the page, and the page is ASCII."""
    return "".join(_SIGNS.get(c) or (c if c.isascii() else f"\\[u{ord(c):04X}]") for c in text)


if __name__ == "__main__":
    write(DIRECTORY)
