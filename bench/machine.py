"""What the numbers belong to: the machine, the interpreter, and the versions of all that was measured."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Sequence

from bench.tools.base import Tool


def facts(directory: str, tools: Sequence[Tool]) -> dict[str, str]:
    """All of it, in words; `directory` is where the stores are."""
    from apsw import sqlite_lib_version

    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": f"{os.cpu_count()} × {_field('/proc/cpuinfo', 'model name') or platform.machine()}",
        "memory": f"{_kib('/proc/meminfo', 'MemTotal') / (1 << 20):.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system": _file_system(directory),
        "interpreter": f"{platform.python_implementation()} {platform.python_version()}{_virtual()}",
        "SQLite": sqlite_lib_version(),
        "measured": ", ".join(f"{tool.name} {tool.version()}" for tool in tools),
        "load before": " ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def _virtual() -> str:
    return ", in a virtual environment" if sys.prefix != sys.base_prefix else ""


def _field(path: str, name: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(name)), "")
    except OSError:
        return ""


def _kib(path: str, name: str) -> int:
    return int((_field(path, name) or "0").split()[0])


def _file_system(directory: str) -> str:
    """The type of the file system that holds a directory: that of the longest mount point above it."""
    path = os.path.realpath(directory)
    found = ("", "unknown")
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, mount, kind, *_ = line.split()
            if os.path.commonpath((path, mount)) == mount and len(mount) >= len(found[0]):
                found = (mount, kind)
    return found[1]
