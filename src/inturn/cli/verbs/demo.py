"""`inturn demo`: a pipeline run for real, and what the ledger proves of it."""

from __future__ import annotations

import os
import sys

from inturn.cli.demo_view import WIDTH, Line, Scene, folded, told
from inturn.cli.result import Result
from inturn.core import bars, wire
from inturn.errors import InturnError
from inturn.service import demo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Sequence

    from rich.console import Console
    from rich.text import Text

    from inturn.core.proof import Claim
    from inturn.core.schema import Schema
    from inturn.core.views import LedgerEntry
    from inturn.service.context import Context
    from inturn.service.demo import Proof, Teller


HELP = "run a small pipeline for real, and prove from the ledger that it went as promised"
EXAMPLES = ("inturn demo", "inturn --dir ./store demo")
CREATES = False

_ABOUT = """\
Runs one preparation job, and four shards that depend on it and share a pool of two
slots; one of them fails once. Files and store are kept in a new directory; --dir or
INTURN_DIR names another store."""

_PROVEN = "What the ledger proves:"
_STYLES = {bars.WAITS: "dim", bars.HOLDS: "green", bars.PAUSES: "yellow"}
_WIDEST = 120  # columns; longer bars say no more


def configure(parser: ArgumentParser) -> None:
    """Add the verb's arguments, of which there are none."""
    parser.description = _ABOUT


def execute(args: Namespace, context: Context) -> Result:
    """Run the pipeline, tell what happens, and judge it; the exit code is 1 if a claim does not hold."""
    from inturn.app import open_context

    directory = _new_directory()
    named = args.dir is not None or bool(os.environ.get("INTURN_DIR"))
    store = context.directory if named else os.path.join(directory, "store")
    context = open_context(store, os.path.join(directory, "inturn.yml"), True, context.notice)
    scene = Scene(directory, context.directory)
    at_terminal = sys.stdout is not None and sys.stdout.isatty()
    if args.json or sys.stdout is None:
        proof = demo.perform(context, directory, demo.Teller(scene.command, scene.submitted, scene.entry))
    elif at_terminal:
        proof = _at_a_terminal(context, scene)
    else:
        proof = _in_a_pipe(context, scene)
    _complain(context, proof)
    return Result(
        _document(scene, proof),
        lambda: _summary(scene, proof.claims),
        lambda console: _draw_summary(console, scene, proof.claims),
        code=0 if proof.holds else 1,
    )


def _new_directory() -> str:
    from tempfile import mkdtemp

    try:
        directory = os.path.realpath(mkdtemp(prefix="inturn-demo-"))
        demo.lay_out(directory)
    except OSError as error:
        raise InturnError(
            "failed", f"cannot write the files of the demonstration: {error}", "TMPDIR names another place."
        ) from error
    return directory


def _complain(context: Context, proof: Proof) -> None:
    for claim in proof.claims:
        if not claim.holds:
            context.notice(f"the ledger does not prove that {claim.text}: {claim.evidence}")


def _document(scene: Scene, proof: Proof) -> dict[str, object]:
    return {
        "holds": proof.holds,
        "directory": scene.directory,
        "store": scene.store,
        "commands": scene.commands,
        "claims": [
            {"claim": claim.text, "holds": claim.holds, "evidence": claim.evidence} for claim in proof.claims
        ],
        "jobs": [wire.job(view) for view in proof.views],
        "events": [wire.event(entry) for entry in proof.entries],
    }


def schema() -> Schema:
    """Of the answer with --json."""
    from inturn.core.schema import FLAG, TEXT, many, part, record

    return record(
        {
            "holds": FLAG,
            "directory": TEXT,
            "store": TEXT,
            "commands": many(TEXT),
            "claims": many(record({"claim": TEXT, "holds": FLAG, "evidence": TEXT})),
            "jobs": many(part("job")),
            "events": many(part("event")),
        }
    )


def _in_a_pipe(context: Context, scene: Scene) -> Proof:
    """Tell each change in a line as it is seen."""

    def entry(it: LedgerEntry) -> None:
        if not scene.entries:
            _say([""])
        scene.entry(it)
        _say([scene.told(it)])

    return demo.perform(context, scene.directory, _telling(scene, entry))


def _telling(scene: Scene, entry: Callable[[LedgerEntry], None]) -> Teller:
    """Tell the commands as they are run; what follows is for `entry` to show."""

    def command(words: Sequence[str]) -> None:
        scene.command(words)
        _say(folded(words))

    def submitted(job_id: int) -> None:
        scene.submitted(job_id)
        _say([str(job_id)])

    _say(scene.opening())
    return demo.Teller(command, submitted, entry)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _at_a_terminal(context: Context, scene: Scene) -> Proof:
    """Show a table that grows with what is committed."""
    from rich.console import Console, Group
    from rich.live import Live

    console = Console(highlight=False)
    over = False

    def table() -> Group:
        until = 0 if over else context.now().wall
        lines = scene.table(min(console.width, _WIDEST), until)
        return Group(*(_coloured(line) for line in lines))

    live = Live(console=console, get_renderable=table, refresh_per_second=8, vertical_overflow="visible")

    def entry(it: LedgerEntry) -> None:
        if not scene.entries:
            _say([""])
            live.start()
        scene.entry(it)

    try:
        proof = demo.perform(context, scene.directory, _telling(scene, entry))
    finally:
        over = True
        live.stop()
    return proof


def _coloured(line: Line) -> Text:
    from itertools import groupby

    from rich.text import Text

    text = Text(line.text[: line.bar], no_wrap=True, overflow="crop")
    if line.bar is not None:
        for sign, same in groupby(line.text[line.bar :]):
            text.append("".join(same), _STYLES.get(sign, ""))
    return text


def _summary(scene: Scene, claims: Sequence[Claim]) -> Iterable[str]:
    yield ""
    yield from (line.text for line in scene.table(WIDTH))
    yield ""
    yield _PROVEN
    for claim in claims:
        yield from told(claim)
    yield ""
    yield from scene.farewell()


def _draw_summary(console: Console, scene: Scene, claims: Sequence[Claim]) -> None:
    """The table is there already."""
    from rich.text import Text

    console.print()
    console.print(_PROVEN)
    for claim in claims:
        first, *rest = told(claim, min(console.width, _WIDEST))
        console.print(Text(first, style="green" if claim.holds else "bold red"))
        for line in rest:
            console.print(Text(line, style="dim" if claim.holds else "red"))
    console.print()
    for line in scene.farewell():
        console.print(Text(line), soft_wrap=True)
