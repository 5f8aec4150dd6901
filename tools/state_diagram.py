"""Draws the state machine of docs/architecture.md from the table that the program uses: `make diagram`."""

from __future__ import annotations

from pathlib import Path

from inturn.core.transitions import TABLE

DOCUMENT = Path(__file__).parents[1] / "docs" / "architecture.md"
BEGIN = "<!-- Drawn by tools/state_diagram.py from inturn.core.transitions.TABLE: run `make diagram`. -->\n"
END = "<!-- End of the drawing. -->\n"


def diagram() -> str:
    """Return the state machine as a Mermaid diagram, each arrow with the events that may cause it."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for event, (sources, targets) in TABLE.items():
        for source in sources or ("[*]",):  # a submission finds no job
            for target in targets:
                arrows.setdefault((source, target), []).append(event)
    lines = [f"    {source} --> {target}: {', '.join(events)}" for (source, target), events in arrows.items()]
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```", ""])


def redrawn(document: str) -> str:
    """Return the document with the drawing between its two marks replaced by the present one."""
    head, rest = document.split(BEGIN)
    _, tail = rest.split(END)
    return head + BEGIN + diagram() + END + tail


if __name__ == "__main__":
    DOCUMENT.write_text(redrawn(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
