"""`inturn --help`: what inturn is, and its verbs in a line each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_INTRODUCTION = """\
usage: inturn [--dir PATH] [--config PATH] [--json] VERB …

A durable job scheduler for one machine: no daemon, no central scheduler, one SQLite file.

"""

_OPTIONS = """
Before or after any verb:
  --dir PATH     the store (default: $INTURN_DIR, else $XDG_STATE_HOME/inturn)
  --config PATH  the configuration file (default: $INTURN_CONFIG, else
                 $XDG_CONFIG_HOME/inturn/inturn.yml)
  --json         answer with one JSON document

inturn VERB --help explains one verb, inturn --version tells the version.
"""


def overview(verbs: Sequence[str]) -> str:
    """The help of the whole command. This is the one place that loads every verb."""
    width = max(map(len, verbs))
    listed = "".join(f"  {verb:{width}}  {_help(verb)}\n" for verb in verbs)
    return _INTRODUCTION + "verbs:\n" + listed + _OPTIONS


def _help(verb: str) -> str:
    module = __import__(f"inturn.cli.verbs.{verb}", fromlist=["HELP"])
    text: str = module.HELP
    return text
