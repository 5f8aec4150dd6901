"""The command line's first instruction and its last: what is wanted at once, and how the process ends.

What a command needs is loaded by `inturn.cli.frame`, and as little as possible before that: by then `run` has
started the supervisor of its job, which takes longest of all.
"""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from inturn.app import Beginning

INTERRUPTED = 130  # 128 + SIGINT, as a shell has it

# So many objects more than before have the interpreter look for garbage; by itself it does so after 700.
_GARBAGE_AFTER = 20_000

# With one of these `run` has no single supervisor, or none at all, or not in the store of the environment.
_OTHERWISE = frozenset(("--dir", "--array", "--from-file", "--foreground", "--dry-run", "--help", "-h"))


def console() -> NoReturn:
    """Run the command line of the process, and end the process.

    Its end is not that of the interpreter, which would first take apart all that was loaded: a tenth of what
    a command costs, for nothing, since all output is out and the store is closed by the end of the process.
    """
    # What is loaded stays: to look for garbage among it so often is in vain.
    gc.set_threshold(_GARBAGE_AFTER)
    code = main()
    from inturn.cli.ending import drop_output

    drop_output()
    os._exit(code)


def main(argv: list[str] | None = None) -> int:
    """Run one command line (by default that of the process) and return its exit code.

    A reader that closes our output early ends us quietly, with code 0: it has what it wanted.
    """
    words = sys.argv[1:] if argv is None else argv
    begun = None
    try:
        begun = _begin(words)
        from inturn.cli import frame

        return frame.run(words, begun)
    except KeyboardInterrupt:
        from inturn.cli.ending import drop_output

        drop_output()
        return INTERRUPTED
    finally:
        if begun is not None:
            from inturn.app import dismiss

            dismiss(begun.standby)


def before_dashes(words: Sequence[str]) -> Sequence[str]:
    """The words that are not certain to be those of a job's command."""
    return words[: words.index("--")] if "--" in words else words


def _begin(words: Sequence[str]) -> Beginning | None:
    """Start a supervisor in the store of the environment, if the words look as if one will be wanted there.

    It is a guess, since what understands words is not loaded yet: whoever understands them keeps to it, or
    has the supervisor dismissed.
    """
    if words[:1] != ["run"] or any(word.partition("=")[0] in _OTHERWISE for word in before_dashes(words)):
        return None
    from inturn.app import begin

    try:
        begun = begin(None, create=False, ahead=True)
    except Exception:
        return None  # It goes wrong again, and is told, once it is clear that this was meant.
    return begun if begun.standby is not None else None
