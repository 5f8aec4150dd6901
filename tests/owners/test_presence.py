from __future__ import annotations

import os
import signal
from pathlib import Path

from inturn.host import store_dir
from inturn.owners.presence import Presence


def test_a_signal_that_comes_late_is_written_into_no_file_that_has_got_the_number_of_the_fifo(
    tmp_path: Path,
) -> None:
    directory = str(tmp_path / "store")
    store_dir.create_store_dirs(directory)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    heard: list[bool] = []
    try:
        with Presence(directory) as here:
            here.on_stop_signals(lambda: heard.append(True))
            fifo = here.fifo
        fds = [os.open(tmp_path / f"file{n}", os.O_RDWR | os.O_CREAT) for n in range(fifo + 1)]
        assert fifo in fds
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard
        assert {os.fstat(fd).st_size for fd in fds} == {0}
        for fd in fds:
            os.close(fd)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
