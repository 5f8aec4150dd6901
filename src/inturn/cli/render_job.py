"""A job with everything about it, for a person at a terminal: two columns that wrap at any width."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from inturn.cli import lines
from inturn.cli.render import STYLES, grow, remark, status
from inturn.cli.text import printable
from inturn.core import wire_spec
from inturn.core.duration import format_duration
from inturn.core.explain_run import fate
from inturn.core.moment import MILLISECOND, SECOND
from inturn.core.phrases import ago, instant, label, rough, slots
from inturn.core.spec import Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from inturn.core.job import Condition, Edge, Run
    from inturn.core.views import Dossier, LedgerEntry

    Row = tuple[str, str | Text]

# So many of the jobs that it waits for, or that wait for it, are shown.
_MOST = 20

# What the JSON has in seconds.
_DURATIONS = (
    *("run_timeout", "job_timeout", "stop_grace", "wait_poll", "probe_timeout"),
    *("retry_delay", "retry_max_delay", "retry_jitter"),
)


def dossier(console: Console, found: Dossier, values: bool, wall: int) -> None:
    """Everything, in sections; those that are empty are left out. Environment values only with `values`."""
    job = found.view.job
    console.print(Text.assemble((printable(label(job.id, job.name)), "bold"), "  ", status(job.status)))
    _section(console, "", _standing(found, wall))
    if found.reasons:
        tree = Tree(Text("why", style="bold"))
        grow(tree, found.reasons)
        console.print(tree)
    gates = [*map(_condition, found.view.conditions), *map(_edge, found.view.edges)]
    _section(console, "waits for", _first(gates))
    _section(console, "waited for by", _first([*map(_dependent, found.dependents)]))
    _section(console, "runs", (_run(run, wall) for run in found.view.runs))
    _section(console, "specification", _spec(found))
    _section(console, "environment", _environment(found, values))
    if not values:
        remark(console, "--env-values shows their values")
    _section(console, "events", map(_event, found.entries))


def _first(rows: Sequence[Row]) -> Iterator[Row]:
    """So many as a person reads, and how many there are besides."""
    yield from rows[:_MOST]
    if len(rows) > _MOST:
        yield "", f"and {len(rows) - _MOST} more; --json has all of them"


def _section(console: Console, title: str, rows: Iterable[Row]) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", overflow="fold")
    grid.add_column(overflow="fold", ratio=1)
    for key, value in rows:
        grid.add_row(Text(printable(key)), value if isinstance(value, Text) else Text(printable(value)))
    if grid.row_count:
        if title:
            console.print(Text(f"\n{title}", style="bold"))
        console.print(grid)


def _standing(found: Dossier, wall: int) -> Iterator[Row]:
    job = found.view.job
    yield "command", lines.command(found.view.argv)
    if job.queue:
        yield "queue", job.queue
    yield "slots", slots(job.slots) + (f" of pool {job.pool}" if job.pool else "")
    yield "priority", str(job.priority)
    yield "attempts", f"{job.attempts} in this round, {job.runs} runs in all"
    yield "submitted", _moment(job.submitted_at, wall)
    if job.outcome is None and job.due.wall > wall:
        yield "next run at", instant(job.due.wall)
    if job.completed_at is not None:
        yield "completed", _moment(job.completed_at, wall)
    if job.reason is not None:
        yield "reason", job.reason
    if job.bypass_count:
        yield "passed by", f"{job.bypass_count} younger requests"
    if found.agent is not None:
        yield "owner", f"{found.agent.kind}, process {found.agent.pid}, {found.agent.life}"
    if found.holder is not None:
        yield "holds", f"{slots(found.holder.slots)} since {_moment(found.holder.granted_at, wall)}"
        if found.holder.devices:
            yield "devices", found.holder.devices
        if found.view.keeper is not None and found.view.keeper.lease_wall:
            yield "lease until", instant(found.view.keeper.lease_wall)
    if found.view.tags:
        told = (tag if value is None else f"{tag}={value}" for tag, value in found.view.tags)
        yield "tags", ", ".join(told)
    if found.key is not None:
        yield "key", found.key


def _moment(at: int, wall: int) -> str:
    return f"{instant(at)} ({ago(at, wall)})"


def _edge(edge: Edge) -> Row:
    wanted = " or ".join(edge.outcomes)
    if edge.observed_at is None:
        seen = f"it is {edge.parent_outcome or edge.parent_phase}"
    else:
        seen = (
            f"{edge.observed_outcome} seen at {instant(edge.observed_at)}, revision {edge.observed_revision}"
        )
    return label(edge.parent_id, edge.parent_name), f"{wanted}: {seen}"


def _dependent(edge: Edge) -> Row:
    return f"job {edge.job_id}", " or ".join(edge.outcomes)


def _condition(condition: Condition) -> Row:
    if condition.kind in ("until", "delay"):
        argument = instant(condition.due.wall)
    elif condition.kind == "probe":
        argument = lines.command(condition.argument.split(b"\0"))
    else:
        argument = condition.argument.decode("utf-8", "surrogateescape")
    seen = "satisfied" if condition.satisfied_at is not None else "not satisfied"
    if condition.observed_at is not None:
        seen += f", last looked {instant(condition.observed_at)}: {condition.diagnostic}"
    return condition.kind, f"{argument}: {seen}"


def _run(run: Run, wall: int) -> Row:
    told = Text(run.outcome or "running", style=STYLES.get(run.outcome or "running", "red"))
    if run.outcome is not None:
        told.append(", " + printable(fate(run)))
    if run.started_at is not None:
        end = wall if run.finished_at is None else run.finished_at
        told.append(f"; started {instant(run.started_at)}, took {_span(end - run.started_at)}")
    if run.user_us is not None and run.system_us is not None:
        told.append(f", CPU {_span(run.user_us + run.system_us)}")
    if run.max_rss is not None:
        told.append(f", at most {run.max_rss // 2**20} MiB")
    if run.log_incomplete:
        told.append(", its output is not complete")
    return f"run {run.number}", told


def _span(us: int) -> str:
    """Short spans to the millisecond, long ones roughly."""
    return rough(us) if us >= 10 * SECOND else format_duration(max(us - us % MILLISECOND, 0))


def _spec(found: Dossier) -> Iterator[Row]:
    """The directory, the umask, and whatever is not as it would be of itself."""
    usual = _flat(found.spec._replace(**Spec._field_defaults))
    for key, value in _flat(found.spec).items():
        if value == lines.NOTHING and value != usual.get(key):
            yield key, "unlimited"
        elif value != usual.get(key) or key in ("cwd", "umask"):
            yield key, f"{value}s" if key.rpartition(".")[2] in _DURATIONS else value


def _flat(spec: Spec) -> dict[str, str]:
    document = wire_spec.spec(spec, False)
    for shown_elsewhere in ("argv", "argv_base64", "environment"):
        document.pop(shown_elsewhere, None)
    return dict(line.split("\t", 1) for line in lines.document(document))


def _environment(found: Dossier, values: bool) -> Iterator[Row]:
    document = wire_spec.spec(found.spec, values)
    if values:
        yield from document["environment_values"].items()
    else:
        yield "names", ", ".join(document["environment"])


def _event(entry: LedgerEntry) -> Row:
    told = f"{entry.source or 'new'} → {entry.target}"
    reason = f" ({entry.reason})" if entry.reason else ""
    return instant(entry.at), f"{entry.kind}: {told}{reason}"
