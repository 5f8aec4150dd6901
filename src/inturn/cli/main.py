"""The command line's frame: which verb, with what, and how it ends.

Only the module of the verb in question is imported, and argparse only for verbs that parse with it: what
`run` imports is paid for at every submission.
"""

from __future__ import annotations

import errno
import gc
import os
import sys

from inturn.cli import output
from inturn.cli.options import GLOBAL, split
from inturn.cli.text import did_you_mean
from inturn.core.options import Option
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NamedTuple, NoReturn

    from inturn.cli.result import Result
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

VERBS = (
    *(
        "run",
        "add",
        "work",
        "list",
        "status",
        "show",
        "logs",
        "wait",
        "cancel",
        "why",
        "events",
        "config",
        "pools",
    ),
    *("limit", "demo"),
    *("pause", "resume", "retry", "rerun", "edit"),
    *("workers", "queues", "recover", "prune", "doctor"),
    *("top",),
    *("completion", "schema"),
)
ALIASES = {"ls": "list"}

# What the scripts of `inturn completion` call; it is no verb, and for nobody else.
COMPLETE = "__complete"

# The exit code of each error code; what is not here is 1.
EXIT_CODES = {
    "usage": 2,
    "invalid_value": 2,
    "config_invalid": 2,
    "impossible": 2,
    "unknown_pool": 2,
    "unknown_reference": 2,
    "cycle": 2,
    "contradiction": 2,
    "not_found": 3,
    "ambiguous": 4,
    "conflict": 5,
    "incomplete": 6,
}
FAILED = 1
INTERRUPTED = 130  # 128 + SIGINT, as a shell has it

# What a file that output goes to may answer; of all that is written by us without a name, this alone is one.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

# So many objects more than before have the interpreter look for garbage; by itself it does so after 700.
_GARBAGE_AFTER = 20_000

BEFORE_THE_VERB = {**GLOBAL, "version": Option("flag", "everywhere", "", "print the version")}


class _Call(NamedTuple):
    """A verb's module and the arguments for it; `options` are those that the frame itself goes by."""

    verb: Any
    arguments: Any
    options: Mapping[str, object]


class _Mode:
    """Whether errors are documents. Until the words are understood it is a guess."""

    def __init__(self, words: Sequence[str]) -> None:
        self.json = "--json" in _before_dashes(words)


def _before_dashes(words: Sequence[str]) -> Sequence[str]:
    return words[: words.index("--")] if "--" in words else words


# An error about standard output is no document: that would go to the same place.
_NOT_THERE = _Mode(())


def console() -> NoReturn:
    """Run the command line of the process, and end the process.

    Its end is not that of the interpreter, which would first take apart all that was loaded: a tenth of what
    a command costs, for nothing, since all output is out and the store is closed by the end of the process.
    """
    # What is loaded stays: to look for garbage among it so often is in vain.
    gc.set_threshold(_GARBAGE_AFTER)
    code = main()
    _drop_output()
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run one command line (by default that of the process) and return its exit code.

    A reader that closes our output early ends us quietly, with code 0: it has what it wanted.
    """
    words = sys.argv[1:] if argv is None else argv
    mode = _Mode(words)
    try:
        return _run(words, mode)
    except output.Unwritten as error:
        return _fail(error, _NOT_THERE)
    except InturnError as error:
        return _fail(error, mode)
    except KeyboardInterrupt:
        _drop_output()
        return INTERRUPTED
    except OSError as error:
        return _fail_to_write(error, mode)
    except Exception as error:
        return _fail(_unexpected(error), mode)


def _run(words: Sequence[str], mode: _Mode) -> int:
    # A name that the terminal's encoding does not have is no reason to fail half-way through a list.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    call = _understand(words)
    if call is None:
        return 0
    mode.json = bool(call.options.get("json"))
    result = _execute(call)
    output.emit(result, mode.json)
    return result.code


def _understand(words: Sequence[str]) -> _Call | None:
    """The verb and its arguments, or None if help or the version was asked for and has been printed."""
    frame = split(words, BEFORE_THE_VERB, "inturn --help")
    if "version" in frame.values:
        from inturn import __version__

        _say(f"inturn {__version__}\n")
        return None
    name, *rest = frame.command or ["help"]
    if name == "help":
        name, *rest = [*rest[:1], "--help"] if rest else ["help"]
    if name == "help" or "help" in frame.values:
        from inturn.cli.help import shown
        from inturn.cli.overview import overview

        _say(shown(overview(VERBS)))
        return None
    if name == COMPLETE:
        from inturn.cli.complete import answer

        _say(answer(rest[1:]))
        return None
    return _understand_verb(ALIASES.get(name, name), rest, frame.values)


def _understand_verb(name: str, words: Sequence[str], given: dict[str, object]) -> _Call | None:
    if name not in VERBS:
        close = did_you_mean(name, (*VERBS, *ALIASES))
        raise InturnError("usage", f"unknown verb {name}{close}", "All verbs: inturn --help")
    verb = _load(name)
    parse = getattr(verb, "parse", None)
    if parse is not None:
        arguments = parse(words, given)
        if "help" not in arguments.values:
            return _Call(verb, arguments, arguments.values)
    from inturn.cli.parser import build

    parser = build(name, verb)
    if parse is not None or not {"-h", "--help"}.isdisjoint(_before_dashes(words)):
        from inturn.cli.help import shown
        from inturn.cli.manual import read

        _say(shown(read(parser)))
        return None
    namespace = parser.parse(words, given)
    return _Call(verb, namespace, vars(namespace))


def _load(name: str) -> Any:
    # Not importlib: the package would be imported for this one call.
    return __import__(f"inturn.cli.verbs.{name}", fromlist=["execute"])


def _say(text: str) -> None:
    if sys.stdout is not None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _execute(call: _Call) -> Result:
    from inturn.app import open_context

    directory, config = call.options.get("dir"), call.options.get("config")
    if directory == "":
        # It would be the present directory, by accident: --dir "$UNSET".
        raise InturnError("invalid_value", "--dir is empty", "Name a directory, or leave the option out.")
    assert directory is None or isinstance(directory, str)
    assert config is None or isinstance(config, str)
    # What is only to be shown creates nothing.
    only_looks = call.options.get("dry_run")
    create = call.verb.CREATES and not only_looks
    ahead = getattr(call.verb, "has_one_supervisor", None)
    context = open_context(
        directory, config, create, output.notice, ahead is not None and ahead(call.arguments)
    )
    if not only_looks:
        _tidy(call.verb, context)
    try:
        result: Result = call.verb.execute(call.arguments, context)
    except OSError:
        from inturn.host.trouble import explaining

        with explaining(context.directory):
            raise
    return result


def _tidy(verb: Any, context: Context) -> None:
    """Verbs that change something recover the jobs of dead owners in passing, as their TIDIES says.

    `late`: only when an owner is late with its lease, so that a submission pays for no more; `all`: always.
    """
    how = getattr(verb, "TIDIES", None)
    if how is not None:
        from inturn.app import tidy

        tidy(context, thorough=how == "all")


def _fail(error: InturnError, mode: _Mode) -> int:
    try:
        output.report(error, mode.json)
    except BrokenPipeError:
        pass  # Nobody wants to be told.
    except OSError:
        _tell_at_least(error)
    _drop_output()
    return EXIT_CODES.get(error.code, FAILED)


def _tell_at_least(error: InturnError) -> None:
    """Tell on standard error what could not be told as a document."""
    try:
        output.report(error, as_json=False)
    except OSError:
        pass  # Nobody can be told.


def _fail_to_write(error: OSError, mode: _Mode) -> int:
    """An error of the system may be about our output, and only say that its reader has gone."""
    gone = isinstance(error, BrokenPipeError) and _reader_is_gone()
    refusal = _drop_output()
    if gone:
        return 0
    if refusal is None and error.filename is None and error.errno in _NO_ROOM:
        refusal = error  # Nothing was left in our hands, so that it could not be refused once more.
    if refusal is None:
        return _fail(_unexpected(error), mode)
    return _fail(output.Unwritten(refusal), _NOT_THERE)


def _unexpected(error: Exception) -> InturnError:
    if os.environ.get("INTURN_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    from inturn.cli.unexpected import described

    found = described(error)
    return InturnError(found.code, found.message, found.hint or "INTURN_DEBUG=1 shows where it came from.")


def _reader_is_gone() -> bool:
    """Whether it is our output that nobody reads any more.

    Other pipes can break too, such as the one to a supervisor that has died, and that is no quiet end.
    """
    import select

    try:
        fd = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(fd, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _drop_output() -> OSError | None:
    """Write out what is left, or throw it away and return why: the interpreter would try again at its end."""
    if sys.stdout is None:
        return None
    try:
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return problem
    return None
