"""`inturn __complete -- WORD…`: what the last of the words may become. The scripts in `shells` ask it.

The first line of the answer says what to do, in columns: `words` and what of the last word stays in front of
them (`--queue=`); `files` or `directories` and the same, for the shell to find them; `command` and at which
of the words a command begins, for the shell to complete as it does that command. The other lines are words,
each with what it is. It must be as quick as a submission: a person waits for it at each press of a key.
"""

from __future__ import annotations

import os

from inturn.cli.frame import BEFORE_THE_VERB
from inturn.cli.manual import Entry
from inturn.cli.verbs import ALIASES, VERBS
from inturn.core.job import OUTCOMES, STATUSES
from inturn.core.options import switch
from inturn.core.views import UMBRELLAS
from inturn.service import offers
from inturn.service.offers import Offer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, NamedTuple

    from inturn.service.context import Context

    # From a context, what has been typed, and the verb's module to what it may become.
    Source = Callable[[Context, str, Any], Iterable[Offer]]
else:
    from inturn.core.records import NamedTuple


class Place(NamedTuple):
    """Where the last word stands.

    `entry` is the option or argument whose value it is, `typed` what of that there is; `offered` are the
    options that may stand here. `command` is where a command begins, -1 if none has.
    """

    entry: Entry | None = None
    typed: str = ""
    lead: str = ""
    offered: tuple[Entry, ...] = ()
    command: int = -1


def answer(words: Sequence[str]) -> str:
    """The answer for the words behind `inturn`, the last of which is being typed, in lines."""
    frame = {switch(name): _entry(name) for name in BEFORE_THE_VERB}
    frame["-h"] = frame["--help"]
    given: dict[str, str] = {}
    place, at = _walk(words, 0, frame, (), "word", given)
    if at < 0:
        return _lines(None, place, given)
    verb = ALIASES.get(words[at], words[at])
    if at == len(words) - 1:
        return _told("words", "", _beginning(_verbs(), words[at]))
    if verb == "help":
        return _told("words", "", _beginning(_verbs(), words[-1]))
    if verb not in VERBS:
        return _told("words", "", ())
    from inturn.cli import manual, parser

    module = __import__(f"inturn.cli.verbs.{verb}", fromlist=["execute"])
    entries = manual.read(parser.build(verb, module)).entries
    switches = {one: entry for entry in entries for one in entry.switches}
    arguments = tuple(entry for entry in entries if not entry.switches)
    place, _ = _walk(words, at + 1, switches, arguments, getattr(module, "COMMAND", ""), given)
    return _lines(module, place, given)


def _entry(name: str) -> Entry:
    option = BEFORE_THE_VERB[name]
    return Entry((switch(name),), name, option.metavar, option.help, option.repeatable)


def _verbs() -> Iterator[Offer]:
    from inturn.cli.overview import summary

    for verb in VERBS:
        yield Offer(verb, summary(verb))
    yield Offer("help", "explain a verb")


def _walk(
    words: Sequence[str],
    start: int,
    switches: Mapping[str, Entry],
    arguments: Sequence[Entry],
    command: str,
    given: dict[str, str],
) -> tuple[Place, int]:
    """Where the last word stands, and where the options ended before it, or at it (-1: they did not).

    `command` says how options end: at the first `word` that is none, or only behind `dashes`; '' says that
    no command follows. The values in `given` are those of the options --dir and --config.
    """
    last = len(words) - 1
    seen: set[str] = set()
    before = 0  # arguments
    dashes = False
    at = start
    while at < last:
        word = words[at]
        at += 1
        if not dashes and word == "--":
            if command:
                return Place(command=at), at
            dashes = True
        elif dashes or not word.startswith("-") or word == "-":
            if command == "word":
                return Place(command=at - 1), at - 1
            before += 1
        else:
            entry, value = _option(word, switches)
            if entry is None:
                continue
            seen.add(entry.name)
            # [SECONDS]: only what is attached is surely its value.
            if entry.metavar and value is None and not entry.metavar.startswith("["):
                if at == last:
                    return Place(entry, words[last]), -1
                value = words[at]
                at += 1
            if value is not None:
                given[entry.name] = value
    word = words[last]
    offered = () if dashes else tuple(_still_open(switches, seen))
    if not dashes and word.startswith("-"):
        written, equals, value = word.partition("=")
        entry = switches.get(written)
        if equals and entry is not None and entry.metavar and written.startswith("--"):
            return Place(entry, value, written + "="), -1
        return Place(None, word, "", offered), -1
    if command == "word":
        return Place(command=last), last
    if not arguments:
        return Place(None, word, "", offered), -1
    argument = arguments[min(before, len(arguments) - 1)]
    if before >= len(arguments) and not argument.many:
        return Place(None, word, "", offered), -1
    return Place(argument, word), -1


def _option(word: str, switches: Mapping[str, Entry]) -> tuple[Entry | None, str | None]:
    """The option that a word is, with a value that is attached to it."""
    if word.startswith("--"):
        written, equals, value = word.partition("=")
        return switches.get(written), value if equals else None
    entry = switches.get(word[:2])
    return entry, word[2:] or None if entry is not None and entry.metavar else None


def _still_open(switches: Mapping[str, Entry], seen: set[str]) -> Iterator[Entry]:
    """The options that are not given yet, or may be given again."""
    for entry in dict.fromkeys(switches.values()):
        if entry.name not in seen or entry.many:
            yield entry


def _lines(module: Any, place: Place, given: Mapping[str, str]) -> str:
    if place.command >= 0:
        return _told("command", str(place.command), ())
    if place.entry is None:
        options = (Offer(one, entry.help) for entry in place.offered for one in entry.switches)
        return _told("words", "", _beginning(options, place.typed))
    what = _FROM_THE_SHELL.get(_kind(place.entry))
    if what is not None:
        return _told(what, place.lead, ())
    return _told("words", place.lead, _values(module, place, given))


def _values(module: Any, place: Place, given: Mapping[str, str]) -> Iterable[Offer]:
    entry = place.entry
    assert entry is not None
    # `N|unlimited`: the parts in small letters are written as they are.
    fixed = entry.choices or tuple(part for part in entry.metavar.split("|") if part.islower())
    if fixed:
        return _beginning(map(Offer, fixed), place.typed)
    source = _SOURCES.get(_kind(entry))
    if source is None:
        return ()
    return source(_context(given), place.typed, module)


def _kind(entry: Entry) -> str:
    """What its values are: mostly the metavar says it; a NAME is one of what the option is called."""
    if not entry.switches and entry.metavar == "NAME":
        return "POOL"
    return _NAMES.get(f"{entry.name} {entry.metavar}" + (" …" if entry.many else ""), entry.metavar)


# A NAME by itself is one that the user makes up.
_NAMES = {
    "queue NAME": "QUEUE",
    "queue NAME …": "QUEUE",
    "pool NAME": "POOL",
    "name NAME …": "JOB NAME",
    "unset_env NAME …": "VARIABLE",
    "array ID …": "ARRAY",
    "dir PATH": "DIR",
}
_FROM_THE_SHELL = {"PATH": "files", "FILE": "files", "DIR": "directories"}


def _context(given: Mapping[str, str]) -> Context:
    """What can be read of the store; nothing is created, and nothing is told."""
    from inturn.app import open_context

    directory, config = (os.path.expanduser(given.get(name, "")) or None for name in ("dir", "config"))
    return open_context(directory, config, False, lambda _: None)


def _jobs(context: Context, typed: str, module: Any) -> Iterable[Offer]:
    return offers.jobs(context, typed, getattr(module, "JOBS", ()))


def _parents(context: Context, typed: str, _module: Any) -> Iterable[Offer]:
    """JOB=OUTCOME[,OUTCOME…]."""
    job, equals, listed = typed.rpartition("=")
    if not equals:
        return [Offer(f"{one.word}=", one.about) for one in offers.jobs(context, typed, ())]
    before, comma, last = listed.rpartition(",")
    lead = f"{job}={before}{comma}"
    return [Offer(lead + one) for one in OUTCOMES if one.startswith(last)]


def _variables(_context: Context, typed: str, _module: Any) -> Iterable[Offer]:
    return _beginning(map(Offer, sorted(os.environ)), typed)


def _signals(_context: Context, typed: str, _module: Any) -> Iterable[Offer]:
    import signal

    names = sorted(one.name.removeprefix("SIG") for one in signal.Signals)
    return _beginning(map(Offer, names), typed)


def _statuses(_context: Context, typed: str, _module: Any) -> Iterable[Offer]:
    several = (Offer(word, f"any of {', '.join(them)}") for word, them in UMBRELLAS.items())
    return _beginning((*map(Offer, STATUSES), *several), typed)


def _schemas(_context: Context, typed: str, _module: Any) -> Iterable[Offer]:
    from inturn.cli.schemas import names

    return _beginning(map(Offer, names()), typed)


_SOURCES: dict[str, Source] = {
    "JOB": _jobs,
    "JOB=OUTCOME[,OUTCOME…]": _parents,
    "JOB NAME": lambda context, typed, _: offers.names(context, typed),
    "QUEUE": lambda context, typed, _: offers.queues(context, typed),
    "POOL": lambda context, typed, _: offers.pools(context, typed),
    "KEY[=VALUE]": lambda context, typed, _: offers.tags(context, typed),
    "ARRAY": lambda context, typed, _: offers.arrays(context, typed),
    "STATUS": _statuses,
    "SIGNAL": _signals,
    "VARIABLE": _variables,
    "VERB": _schemas,
}


def _beginning(found: Iterable[Offer], typed: str) -> Iterator[Offer]:
    return (offer for offer in found if offer.word.startswith(typed))


def _told(what: str, lead: str, found: Iterable[Offer]) -> str:
    # What cannot stand in a line cannot be typed either.
    shown = (offer for offer in found if offer.word.isprintable())
    told = (f"{one.word}\t{''.join(c for c in one.about if c.isprintable())}\n" for one in shown)
    return f"{what}\t{lead}\n" + "".join(told)
