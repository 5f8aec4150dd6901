"""`inturn --help`: what inturn is, and its verbs in a line each."""

from __future__ import annotations

from inturn.cli.manual import Entry, Group, Page
from inturn.cli.options import GLOBAL
from inturn.core.options import switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ABOUT = "A durable job scheduler for one machine: no daemon, no central scheduler, one SQLite file."


def overview(verbs: Sequence[str]) -> Page:
    """The help of the whole command. It loads every verb."""
    return Page(
        ("inturn [--dir PATH] [--config PATH] [--json] VERB …",),
        (ABOUT,),
        (
            Group("verbs", tuple(Entry((), verb, verb, summary(verb)) for verb in verbs)),
            Group(
                "before or after any verb",
                tuple(Entry((switch(name),), name, it.metavar, it.help) for name, it in GLOBAL.items()),
            ),
        ),
        ("inturn run -- make -j4", "inturn list", "inturn why 1", "inturn help run"),
        ("inturn VERB --help explains one verb, and inturn --version tells the version.",),
    )


def summary(verb: str) -> str:
    """What a verb does, in a few words."""
    module = __import__(f"inturn.cli.verbs.{verb}", fromlist=["HELP"])
    text: str = module.HELP
    return text
