"""Records as people read them: tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.records import RATES, Record

HEAD = ("what", "metric", "median", "p95", "samples", "compared with")


def markdown(facts: Mapping[str, str], titles: Mapping[str, str], records: Sequence[Record]) -> str:
    """The whole result. `titles` are those of the scenarios, by their names."""
    lines = [*machine(facts)]
    for name, title in titles.items():
        mine = [record for record in records if record.scenario == name]
        if mine:
            lines += ["", f"### {title} (`{name}`)", "", *_table(mine)]
    return "\n".join(lines) + "\n"


def machine(facts: Mapping[str, str]) -> list[str]:
    """The facts as a table without a head."""
    return [row("", ""), row("---", "---"), *(row(name, text) for name, text in facts.items())]


def _table(records: Sequence[Record]) -> list[str]:
    return [row(*HEAD), row("---", "---", "---:", "---:", "---:", "---"), *map(_line, records)]


def _line(record: Record) -> str:
    return row(
        record.what,
        record.metric,
        f"{number(record.median)} {record.unit}",
        number(record.p95),
        str(len(record.samples)),
        "; ".join(_compared(record, other, value) for other, value in record.ratios.items()),
    )


def _compared(record: Record, other: str, value: float) -> str:
    """A share of a rate, a multiple of all else."""
    shown = f"{value * 100:.0f} %" if record.unit in RATES else f"{number(value)} ×"
    return f"{shown} of {other}" if record.unit in RATES else f"{shown} {other}"


def number(value: float) -> str:
    """With three digits that mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"
