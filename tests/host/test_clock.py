from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from inturn.host import clock


def test_now_is_the_wall_and_the_monotonic_clock_in_microseconds() -> None:
    wall, mono = time.time_ns() // 1000, time.monotonic_ns() // 1000
    now = clock.now()
    assert mono <= now.mono <= time.monotonic_ns() // 1000
    # The wall clock may be set while the test runs, but not by an hour.
    assert abs(now.wall - wall) < 3_600_000_000


def test_the_monotonic_clock_never_runs_backwards() -> None:
    readings = [clock.now().mono for _ in range(1000)]
    assert readings == sorted(readings)


def test_the_boot_id_is_the_kernels() -> None:
    assert clock.boot_id() == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert clock.now().boot == clock.boot_id()


def test_another_process_on_the_same_boot_sees_the_same_boot_id() -> None:
    program = "from inturn.host.clock import boot_id; print(boot_id())"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == clock.boot_id()
