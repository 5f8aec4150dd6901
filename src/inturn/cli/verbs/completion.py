"""`inturn completion`: a script that teaches a shell to complete our command lines."""

from __future__ import annotations

import os

from inturn.cli.result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from inturn.core.schema import Schema
    from inturn.service.context import Context


HELP = "print a script that has a shell complete verbs, options, and the jobs of the store"
EXAMPLES = (
    "source <(inturn completion bash)",
    "inturn completion zsh > ~/.zfunc/_inturn",
    "inturn completion fish | source",
)
CREATES = False

SHELLS = ("bash", "zsh", "fish")


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell to print the script for")
    parser.epilog = (
        f"{parser.epilog}\n\nPut the line for bash into ~/.bashrc, that for fish into"
        " ~/.config/fish/config.fish. In zsh, the directory has to be in $fpath before compinit; or, behind"
        " compinit: source <(inturn completion zsh)."
    )


def execute(args: Namespace, _context: Context) -> Result:
    """Print the script."""
    with open(script(args.shell), encoding="utf-8") as file:
        text = file.read()
    return Result({"shell": args.shell, "script": text}, text.splitlines)


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import TEXT, one_of, record

    return record({"shell": one_of(SHELLS), "script": TEXT})


def script(shell: str) -> str:
    """The path of the script for a shell."""
    return os.path.join(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "shells", f"inturn.{shell}"
    )
