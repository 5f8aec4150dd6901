"""The end of what a job's last run has written, at a cost that does not depend on how much that is."""

from __future__ import annotations

from inturn.host import log_tail
from inturn.host.sinks import Files
from inturn.service import output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NamedTuple

    from inturn.core.job import Job
    from inturn.service.context import Context
    from inturn.service.output import Log
else:
    from inturn.core.records import NamedTuple


class Tail(NamedTuple):
    """The last bytes of a run, both streams in the order in which they were seen.

    `sizes` are those of the streams at that look; `cut` says that there was more before. Without a run, `run`
    is 0.
    """

    job_id: int
    run: int = 0
    sizes: Mapping[str, int] = {}
    data: bytes = b""
    cut: bool = False


def tail(context: Context, job: Job, most: int, known: Tail | None = None) -> Tail:
    """The last `most` bytes of the job's last run; `known` itself if nothing has been written since then."""
    log = output.open_log(context, job.id, job.runs) if job.runs else None
    if log is None:
        return Tail(job.id)
    if known is not None and (known.job_id, known.run, known.sizes) == (job.id, log.run.number, log.sizes):
        return known
    data = _last_bytes(log, most)
    return Tail(job.id, log.run.number, log.sizes, data, len(data) < sum(log.sizes.values()))


def _last_bytes(log: Log, most: int) -> bytes:
    pieces: list[bytes] = []
    files = Files()
    try:
        for segment in log_tail.backwards(log.stem):
            end = min(segment.end, log.sizes[segment.stream])
            start = max(segment.start, end - most)
            if start < end:
                pieces.append(b"".join(files.blocks(log.piece(segment.stream, segment.wall, start, end))))
                most -= end - start
            if most <= 0:
                break
    finally:
        files.close()
    return b"".join(reversed(pieces))
