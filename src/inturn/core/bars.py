"""A job's life as a row of characters, from the ledger: when it waited, ran, and paused between two runs."""

from __future__ import annotations

from inturn.core.proof import holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from inturn.core.views import LedgerEntry

WAITS, HOLDS, PAUSES, NOTHING = ".", "#", "~", " "
LEGEND = f"{WAITS} waits  {HOLDS} holds slots  {PAUSES} pauses before another run"


def bars(entries: Sequence[LedgerEntry], width: int, until: int = 0) -> dict[int, str]:
    """A row of at most `width` characters for each job, over one span of time, from the first entry on.

    It goes to the last entry, or to `until` (wall microseconds) if that is later. A hold shows however short
    it was. Entries come in the order of their ids.
    """
    if not entries:
        return {}
    first = min(entry.at for entry in entries)
    span = max(max(entry.at for entry in entries) - first, until - first, 1)

    def column(at: int) -> int:
        return min((at - first) * width // span, width - 1)

    rows = {entry.job_id: [NOTHING] * width for entry in entries}
    for job_id, row in rows.items():
        _draw_waits(row, [(column(entry.at), entry) for entry in entries if entry.job_id == job_id])
    for hold in holds(entries):
        end = width if hold.ended is None else column(hold.ended.at)
        begin = column(hold.begun.at)
        # A hold that begins and ends in one column has that column.
        for place in range(begin, max(end, begin + 1)):
            rows[hold.job_id][place] = HOLDS
    return {job_id: "".join(row).rstrip() for job_id, row in rows.items()}


def _draw_waits(row: list[str], entries: Sequence[tuple[int, LedgerEntry]]) -> None:
    """Fill the time from each entry to the next one, or to the end of the row, with what it led to."""
    ends = [place for place, _ in entries[1:]] + [len(row)]
    for (begin, entry), end in zip(entries, ends, strict=True):
        sign = NOTHING if entry.target == "completed" else PAUSES if entry.kind == "repeated" else WAITS
        for place in range(begin, end):
            row[place] = sign
