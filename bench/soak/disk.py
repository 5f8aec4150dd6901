"""A small disk, made for the soak and gone after it: ext4 on a loop device, else tmpfs, else none."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

LOOP, TMPFS, NONE = "ext4", "tmpfs", "none"

# What is tried, in this order, when nothing in particular is asked for.
KINDS = (LOOP, TMPFS, NONE)

_PATIENCE = 20.0  # seconds within which the last process lets go of the disk


class Disk(NamedTuple):
    """A directory to keep a store in, and what it is, in words."""

    path: str
    what: str


@contextmanager
def small_disk(directory: str, mib: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Disk]:
    """A disk of so many MiB below `directory`: the first of these kinds that can be made here.

    It is unmounted at the end, however that comes. Raises OSError if none can be made.
    """
    path = os.path.join(directory, "disk")
    image = os.path.join(directory, "disk.image")
    os.mkdir(path)
    makers: dict[str, Callable[[], str | None]] = {
        LOOP: lambda: _on_loop(path, image, mib),
        TMPFS: lambda: _in_memory(path, mib),
        NONE: lambda: "no disk of its own: nothing can be mounted here",
    }
    try:
        found = (makers[kind]() for kind in kinds)
        what = next((what for what in found if what), None)
        if what is None:
            raise OSError(f"no disk of the kind {' or '.join(kinds)} can be mounted here")
        yield Disk(path, what)
    finally:
        _unmount(path)
        if os.path.exists(image):
            os.unlink(image)


def _on_loop(path: str, image: str, mib: int) -> str | None:
    with open(image, "xb") as file:
        file.truncate(mib << 20)
    made = _works("mkfs.ext4", "-q", "-F", image) and _works("mount", "-o", "loop", image, path)
    return f"{mib} MiB, ext4 on a loop device" if made else None


def _in_memory(path: str, mib: int) -> str | None:
    made = _works("mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "inturn-bench", path)
    return f"{mib} MiB, tmpfs" if made else None


def _unmount(path: str) -> None:
    end = time.monotonic() + _PATIENCE
    while os.path.ismount(path) and not _works("umount", path):
        if time.monotonic() > end:
            _works("umount", "--lazy", path)
            break
        time.sleep(0.1)


def _works(*command: str) -> bool:
    try:
        return not subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False
        ).returncode
    except FileNotFoundError:
        return False
