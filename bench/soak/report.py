"""A soak as people read it: a line a sample while it goes on, and tables in Markdown at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.soak.gauge import Sample
from bench.soak.verdict import Finding
from bench.table import machine, number, row

HEAD = ("what", "first quarter", "most", "last quarter", "most", "in an hour", "what is asked", "")

# The columns of the lines: title, field, width, decimals.
_COLUMNS = (
    ("min", "at", 6, 1),
    ("pss", "pss", 6, 2),
    ("rss", "rss", 6, 2),
    ("fds", "descriptors", 4, 0),
    ("cpu%", "cpu", 5, 1),
    ("db", "database", 6, 1),
    ("unused", "unused", 7, 1),
    ("wal", "wal", 6, 2),
    ("files", "log_files", 6, 0),
    ("dirs", "log_directories", 5, 0),
    ("logs", "logs", 6, 1),
    ("own", "owner_files", 4, 0),
    ("jobs", "jobs", 6, 0),
    ("wait", "waiting", 6, 0),
    ("free", "free", 6, 1),
    ("jobs/s", "rate", 7, 1),
    ("ms", "latency", 7, 1),
)


def title() -> str:
    """The head of the lines."""
    return "".join(name.rjust(width) for name, _, width, _ in _COLUMNS)


def line(sample: Sample) -> str:
    """A sample in one line; sizes are in MiB."""
    shown = sample._replace(at=sample.at / 60)
    return "".join(f"{getattr(shown, field):{width}.{decimals}f}" for _, field, width, decimals in _COLUMNS)


def markdown(facts: Mapping[str, str], findings: Sequence[Finding], faults: Sequence[str]) -> str:
    """The whole result."""
    lines = [*machine(facts), ""]
    if findings:
        lines += [row(*HEAD), row("---", *["---:"] * 5, "---", "---"), *map(_line, findings), ""]
    lines += [f"* {fault}" for fault in faults]
    lines += [*([""] if faults else []), "**Passed.**" if passed(findings, faults) else "**Failed.**"]
    return "\n".join(lines) + "\n"


def passed(findings: Sequence[Finding], faults: Sequence[str]) -> bool:
    """Whether nothing went wrong, and nothing that is judged is other than is asked."""
    return not faults and bool(findings) and all(finding.fine for finding in findings)


def _line(finding: Finding) -> str:
    first, _, _, last = finding.quarters
    return row(
        finding.what + (f", {finding.unit}" if finding.unit else ""),
        number(first.median),
        number(first.most),
        number(last.median),
        number(last.most),
        f"{'+' if finding.slope > 0 else ''}{number(finding.slope)}",
        finding.bound,
        ("ok" if finding.fine else "**no**") if finding.bound else "",
    )
