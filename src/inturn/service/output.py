"""What runs have written so far: which pieces of which logs are shown, in which order."""

from __future__ import annotations

import os

from inturn.core.duration import format_time_utc
from inturn.errors import InturnError
from inturn.host import log_reader, log_tail, logs, sinks
from inturn.host.sinks import Piece
from inturn.service.acting import NoSuchJob
from inturn.store import jobs, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NamedTuple

    from inturn.core.job import Job, Run
    from inturn.host.log_reader import Segment
    from inturn.host.sinks import Files, Sink
    from inturn.service.context import Context
else:
    from inturn.core.records import NamedTuple

STREAMS = ("stdout", "stderr")


class Wanted(NamedTuple):
    """What is to be shown: of the last run, of `run`, or of `every` run; of one stream or of both.

    `lines` is how many of the last lines, None for everything. With `timestamps` each line has the time at
    which it was seen.
    """

    run: int | None = None
    every: bool = False
    stream: str | None = None
    lines: int | None = None
    timestamps: bool = False


class Log(NamedTuple):
    """The log of a run: its files without their suffixes, and how much of each stream there was at a look."""

    run: Run
    stem: str
    sizes: Mapping[str, int]

    def piece(self, stream: str, wall: int, start: int, end: int) -> Piece:
        """A piece of one stream."""
        suffix = logs.SUFFIXES[STREAMS.index(stream)]
        return Piece(self.run.number, self.stem + suffix, stream, wall, start, end)


def show(context: Context, job_id: int, wanted: Wanted, out: int) -> None:
    """Write what has been written so far to the descriptor `out`.

    Raises InturnError `not_found` if there is no such job or run, BrokenPipeError if nobody reads any more.
    """
    job = load_job(context, job_id)
    say_if_merged(context, job, wanted)
    found = find_logs(context, job, wanted)
    if not found:
        context.notice(f"job {job.id} has not run yet")
    sink = open_sink(wanted, out)
    try:
        write(backlog(found, wanted), sink)
        sink.end_run()
    finally:
        sink.close()
    for log in found:
        say_if_incomplete(context, log.run)


def document(context: Context, job_id: int, wanted: Wanted) -> dict[str, Any]:
    """What has been written so far, as the JSON of `logs`.

    The `text` of a segment has U+FFFD for what is not UTF-8, and then `text_base64` has the bytes. A
    character that was cut in two belongs to the segment with its end. Raises InturnError `not_found`.
    """
    job = load_job(context, job_id)
    found = find_logs(context, job, wanted)
    files = sinks.Files()
    try:
        segments = list(_segments(backlog(found, wanted._replace(timestamps=True)), files))
    finally:
        files.close()
    return {
        "job": job.id,
        "run": found[-1].run.number if found and not wanted.every else None,
        "log_incomplete": any(log.run.log_incomplete for log in found),
        "segments": segments,
    }


# --- which logs


def load_job(context: Context, job_id: int) -> Job:
    """The job. Raises NoSuchJob."""
    job = None if context.store is None else jobs.load(context.store, job_id)
    if job is None:
        raise NoSuchJob(job_id)
    return job


def find_logs(context: Context, job: Job, wanted: Wanted) -> list[Log]:
    """The logs that exist of the wanted runs. Raises InturnError `not_found` for a `run` that does not."""
    numbers = range(1, job.runs + 1)
    if wanted.run is not None and wanted.run not in numbers:
        raise no_such_run(job, wanted.run)
    if not wanted.every:
        numbers = numbers[-1:] if wanted.run is None else range(wanted.run, wanted.run + 1)
    found = (open_log(context, job.id, number) for number in numbers)
    return [log for log in found if log is not None]


def no_such_run(job: Job, number: int) -> InturnError:
    """The error for a run that a job never had."""
    has = f"It has run {job.runs} times." if job.runs > 1 else "It has run once." if job.runs else ""
    return InturnError("not_found", f"job {job.id} has no run {number}", has or "It has not run yet.")


def open_log(context: Context, job_id: int, number: int) -> Log | None:
    """Look at the log of a run; None if there is no such run."""
    assert context.store is not None
    run = jobs.load_run(context.store, job_id, number)
    if run is None:
        return None
    stem = os.path.join(context.directory, run.log)
    return Log(run, stem, sizes_of(stem))


def sizes_of(stem: str) -> dict[str, int]:
    """How many bytes there are of each stream now."""
    return {stream: _size(stem + suffix) for stream, suffix in zip(STREAMS, logs.SUFFIXES, strict=True)}


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:  # an empty log is removed when its run is over
        return 0


# --- which pieces of them


def backlog(found: Iterable[Log], wanted: Wanted) -> Iterator[Piece]:
    """All that these logs held when they were looked at, or their last lines, in the order seen."""
    if wanted.lines is None:
        pieces = (piece for log in found for piece in _forwards(log, wanted))
    else:
        reverse = (piece for log in reversed(list(found)) for piece in _backwards(log, wanted))
        pieces = (piece for piece in log_tail.last_lines(reverse, wanted.lines))
    return pieces if wanted.timestamps else _joined(pieces)


def _forwards(log: Log, wanted: Wanted) -> Iterator[Piece]:
    streams = [stream for stream in STREAMS if log.sizes[stream] and wanted.stream in (None, stream)]
    if len(streams) == 1 and not wanted.timestamps:
        # Nothing to put in order: a gigabyte is one piece, however long its index.
        yield log.piece(streams[0], 0, 0, log.sizes[streams[0]])
    elif streams:
        yield from _pieces(log, log_reader.segments(log.stem), wanted)


def _backwards(log: Log, wanted: Wanted) -> Iterator[Piece]:
    return _pieces(log, log_tail.backwards(log.stem), wanted)


def _pieces(log: Log, segments: Iterable[Segment], wanted: Wanted) -> Iterator[Piece]:
    """The segments of the wanted streams, up to the sizes that the log had when it was looked at."""
    for segment in segments:
        end = min(segment.end, log.sizes[segment.stream])
        if segment.start < end and wanted.stream in (None, segment.stream):
            yield log.piece(segment.stream, segment.wall, segment.start, end)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours in one file as one piece, so that they are copied at once."""
    held: Piece | None = None
    for piece in pieces:
        if held is not None and (held.path, held.end) == (piece.path, piece.start):
            held = held._replace(end=piece.end)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


# --- where they go


def open_sink(wanted: Wanted, out: int) -> Sink:
    """What writes the pieces to `out`."""
    return sinks.Stamp(out) if wanted.timestamps else sinks.Copy(out)


def write(pieces: Iterable[Piece], sink: Sink) -> None:
    """Write pieces of one or several runs; the last of these is not ended."""
    run = None
    for piece in pieces:
        if run not in (None, piece.run):
            sink.end_run()
        run = piece.run
        sink.write(piece)


def _segments(pieces: Iterable[Piece], files: Files) -> Iterator[dict[str, Any]]:
    held: dict[str, tuple[Piece, bytes]] = {}
    for piece in pieces:
        _, begun = held.pop(piece.path, (piece, b""))
        data = begun + b"".join(files.blocks(piece))
        cut = len(data) - _unfinished(data)
        if cut < len(data):
            held[piece.path] = (piece, data[cut:])
        if cut:
            yield _segment(piece, data[:cut])
    for piece, rest in held.values():
        yield _segment(piece, rest)


def _segment(piece: Piece, data: bytes) -> dict[str, Any]:
    segment = {"run": piece.run, "at": format_time_utc(piece.wall), "stream": piece.stream}
    try:
        return {**segment, "text": data.decode()}
    except UnicodeDecodeError:
        from binascii import b2a_base64

        exact = b2a_base64(data, newline=False).decode()
        return {**segment, "text": data.decode("utf-8", "replace"), "text_base64": exact}


def _unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character of UTF-8 whose rest is missing."""
    for length in range(1, min(len(data), 3) + 1):
        byte = data[-length]
        if byte >= 0xC0:
            whole = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return length if length < whole else 0
        if byte < 0x80:
            return 0
    return 0


# --- what the user should know besides


def say_if_merged(context: Context, job: Job, wanted: Wanted) -> None:
    """Tell why a stream has nothing of its own."""
    assert context.store is not None
    if wanted.stream == "stderr" and specs.load(context.store, job.id).merge_output:
        context.notice(f"job {job.id} has both streams in one file: see --stream stdout")


def say_if_incomplete(context: Context, run: Run) -> None:
    """Tell that a log lacks something, or everything."""
    if run.started_at is not None and logs.is_gone(os.path.join(context.directory, run.log)):
        context.notice(f"the log of run {run.number} of job {run.job_id} is gone: somebody has removed it")
    if run.log_incomplete:
        context.notice(
            f"the log of run {run.number} of job {run.job_id} is incomplete: the file system was full"
        )
