"""One look at everything that might grow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import inturn
from bench import process

_MIB = 1 << 20
_BLOCK = 512  # bytes, of `st_blocks`


class Sample(NamedTuple):
    """What was seen at one moment, `at` seconds after the start; sizes in MiB, as the disk has them.

    `rate` is how many jobs a second were done since the sample before, `latency` how many milliseconds the
    probe took from its submission to its first instruction, `cpu` the share of a core that the worker used.
    """

    at: float
    pss: float
    rss: float
    cpu: float
    descriptors: int
    database: float
    unused: float  # of the database's file
    wal: float
    log_files: int
    log_directories: int
    logs: float
    owner_files: int
    jobs: int
    waiting: int
    free: float
    rate: float
    latency: float


class Seen(NamedTuple):
    """What is known when a sample is taken without looking at the store."""

    at: float
    cpu: float
    rate: float
    latency: float


def look(directory: str, worker: int, seen: Seen) -> Sample | None:
    """A sample of a store and of the process that works on it; None if that has ended."""
    pss, rss = process.pss_mib(worker), process.rss_mib(worker)
    descriptors = process.descriptors(worker)
    if pss is None or rss is None or descriptors is None:
        return None
    database = os.path.join(directory, "inturn.db")
    files, directories, blocks = _count(os.path.join(directory, "logs"))
    with inturn.open(directory) as store:
        counts = store.counts()
    disk = os.statvfs(directory)
    return Sample(
        at=seen.at,
        pss=pss,
        rss=rss,
        cpu=seen.cpu,
        descriptors=descriptors,
        database=os.path.getsize(database) / _MIB,
        unused=unused_mib(database),
        wal=os.path.getsize(f"{database}-wal") / _MIB,
        log_files=files,
        log_directories=directories,
        logs=blocks * _BLOCK / _MIB,
        owner_files=_count(os.path.join(directory, "owners"))[0],
        jobs=live(counts) + ended(counts),
        waiting=live(counts) - counts["running"],
        free=disk.f_bavail * disk.f_frsize / _MIB,
        rate=seen.rate,
        latency=seen.latency,
    )


def live(counts: dict[str, int]) -> int:
    """The jobs that have not ended, of what `Store.counts` gives."""
    return sum(counts[status] for status in ("queued", "submitting", "waiting", "running", "paused"))


def ended(counts: dict[str, int]) -> int:
    """Those that have."""
    apart = (
        "queued",
        "scheduled",
        "backoff",
        "submitting",
        "waiting",
        "running",
        "starting",
        "stopping",
        "paused",
    )
    return sum(count for status, count in counts.items() if status not in apart)


def unused_mib(database: str) -> float:
    """What of a database's file holds nothing at present."""
    import apsw

    connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(10_000)
        pages = connection.pragma("freelist_count")
        size = connection.pragma("page_size")
    finally:
        connection.close()
    return int(pages) * int(size) / _MIB


def _count(directory: str) -> tuple[int, int, int]:
    """The files and the directories below it, and the blocks of all of them."""
    files = directories = blocks = 0
    for entry in _below(directory):
        try:
            blocks += entry.stat(follow_symlinks=False).st_blocks
        except FileNotFoundError:
            continue  # it was removed meanwhile
        if entry.is_dir(follow_symlinks=False):
            directories += 1
        else:
            files += 1
    return files, directories, blocks


def _below(directory: str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(directory))
    except FileNotFoundError:
        return
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
