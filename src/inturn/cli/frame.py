"""The command line's frame: which verb, and with what.

Only the module of the verb in question is imported, and argparse only for verbs that parse with it: what
`run` imports is paid for at every submission.
"""

from __future__ import annotations

import sys

from inturn.cli import ending, output
from inturn.cli.main import before_dashes
from inturn.cli.options import GLOBAL, split
from inturn.cli.text import did_you_mean, printable
from inturn.cli.verbs import ALIASES, VERBS
from inturn.core.options import Option
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NamedTuple

    from inturn.app import Beginning
    from inturn.cli.result import Result
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

# What the scripts of `inturn completion` call; it is no verb, and for nobody else.
COMPLETE = "__complete"

BEFORE_THE_VERB = {**GLOBAL, "version": Option("flag", "everywhere", "", "print the version")}


class _Call(NamedTuple):
    """A verb's module and the arguments for it; `options` are those that the frame itself goes by."""

    verb: Any
    arguments: Any
    options: Mapping[str, object]


class _Mode:
    """Whether errors are documents. Until the words are understood it is a guess."""

    def __init__(self, words: Sequence[str]) -> None:
        self.json = "--json" in before_dashes(words)


def run(words: Sequence[str], begun: Beginning | None) -> int:
    """Run one command line and return its exit code; `begun` is what was begun of it in advance."""
    mode = _Mode(words)
    try:
        return _run(words, mode, begun)
    except output.Unwritten as error:
        return ending.fail_on_output(error)
    except InturnError as error:
        return ending.fail(error, mode.json)
    except OSError as error:
        return ending.fail_to_write(error, mode.json)
    except Exception as error:
        return ending.fail(ending.unexpected(error), mode.json)


def _run(words: Sequence[str], mode: _Mode, begun: Beginning | None) -> int:
    # A name that the terminal's encoding does not have is no reason to fail half-way through a list.
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    call = _understand(words)
    if call is None:
        return 0
    mode.json = bool(call.options.get("json"))
    result = _execute(call, begun)
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
        from inturn.cli.elsewhere import our_word

        close = our_word(name) or did_you_mean(name, (*VERBS, *ALIASES))
        raise InturnError("usage", f"unknown verb {printable(name)}{close}", "All verbs: inturn --help")
    verb = _load(name)
    parse = getattr(verb, "parse", None)
    if parse is not None:
        arguments = parse(words, given)
        if "help" not in arguments.values:
            return _Call(verb, arguments, arguments.values)
    from inturn.cli.parser import build

    parser = build(name, verb)
    if parse is not None or not {"-h", "--help"}.isdisjoint(before_dashes(words)):
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


def _execute(call: _Call, begun: Beginning | None) -> Result:
    from inturn.app import dismiss

    context = _open(call, begun)
    try:
        if not call.options.get("dry_run"):
            _tidy(call.verb, context)
        result: Result = call.verb.execute(call.arguments, context)
    except OSError:
        from inturn.host.trouble import explaining

        with explaining(context.directory):
            raise
    finally:
        dismiss(context.standby)
    return result


def _open(call: _Call, begun: Beginning | None) -> Context:
    from inturn.app import dismiss, open_context

    directory, config = call.options.get("dir"), call.options.get("config")
    if directory == "":
        # It would be the present directory, by accident: --dir "$UNSET".
        raise InturnError("invalid_value", "--dir is empty", "Name a directory, or leave the option out.")
    assert directory is None or isinstance(directory, str)
    assert config is None or isinstance(config, str)
    # What is only to be shown creates nothing.
    create = call.verb.CREATES and not call.options.get("dry_run")
    has_one = getattr(call.verb, "has_one_supervisor", None)
    ahead = has_one is not None and has_one(call.arguments)
    if begun is not None and not (ahead and directory is None):
        # The guess was wrong, and what is meant may go on for ever: it is not to wait for the end of that.
        dismiss(begun.standby)
        begun = None
    return open_context(directory, config, create, output.notice, ahead, begun)


def _tidy(verb: Any, context: Context) -> None:
    """Verbs that change something recover the jobs of dead owners in passing, as their TIDIES says.

    `late`: only when an owner is late with its lease, so that a submission pays for no more; `all`: always.
    """
    how = getattr(verb, "TIDIES", None)
    if how is not None:
        from inturn.app import tidy

        tidy(context, thorough=how == "all")
