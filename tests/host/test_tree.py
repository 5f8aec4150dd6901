from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inturn.host import identity, tree
from tests.e2e.harness import until

TOKEN = os.urandom(8).hex()  # of this session: another one may be running beside it
OTHER = "c0ffee1"
PR_SET_CHILD_SUBREAPER = 36

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes that end with the test; by default they sleep and have no mark."""
    started: list[subprocess.Popen[bytes]] = []

    def popen(*argv: str, token: str = "", stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        words = argv or ("sleep", "600")
        env = {"PATH": os.environ["PATH"]} | ({"INTURN_COOKIE": token} if token else {})
        started.append(subprocess.Popen(words, env=env, stdout=stdout, start_new_session=True))
        return started[-1]

    yield popen
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def subreaper() -> Iterator[None]:
    tree.become_subreaper()
    yield
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tuple[int, tuple[int, int]]]:
    fd = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    found = os.fstat(fd)
    yield fd, (found.st_dev, found.st_ino)
    os.close(fd)


def pids(
    token: str = TOKEN, files: tuple[tuple[int, int], ...] = (), session: int | None = None
) -> list[int]:
    return [process.pid for process in tree.members(token, files, session)]


def test_the_cookie_in_the_environment_marks_a_process(start: Start) -> None:
    assert pids() == []
    process = start(token=TOKEN)
    assert pids() == [process.pid]


def test_a_process_is_recognised_at_any_moment_of_its_start(start: Start) -> None:
    for _ in range(100):
        process = start(token=TOKEN)
        assert pids() == [process.pid]
        process.kill()
        process.wait()


def test_a_cookie_is_compared_as_a_whole(start: Start) -> None:
    start(token=OTHER)
    assert pids() == []


def test_a_log_that_is_open_for_writing_marks_a_process(
    start: Start, log: tuple[int, tuple[int, int]]
) -> None:
    process = start(stdout=log[0])
    assert pids(files=(log[1],)) == [process.pid]


def test_a_removed_log_still_marks_its_writers(
    start: Start, log: tuple[int, tuple[int, int]], tmp_path: Path
) -> None:
    process = start(stdout=log[0])
    (tmp_path / "log").unlink()
    assert pids(files=(log[1],)) == [process.pid]


def test_a_log_that_is_open_for_reading_marks_nobody(
    start: Start, log: tuple[int, tuple[int, int]], tmp_path: Path
) -> None:
    start("tail", "-f", str(tmp_path / "log"))
    assert pids(files=(log[1],)) == []


def test_the_session_of_the_leader_marks_a_process(start: Start) -> None:
    process = start("sh", "-c", "sleep 600 & wait")
    until(lambda: len(pids(session=process.pid)) == 2, "the shell and its child")


def test_we_are_never_a_member_ourselves(log: tuple[int, tuple[int, int]]) -> None:
    assert pids(files=(log[1],), session=os.getsid(0)).count(os.getpid()) == 0


def test_a_zombie_is_no_member(start: Start) -> None:
    process = start("true", token=TOKEN)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert pids(session=process.pid) == []


def test_whoever_is_older_than_the_run_is_no_member(start: Start) -> None:
    process = start(token=TOKEN)
    member = identity.of(process.pid)
    assert member is not None
    assert tree.members(TOKEN, (), None, member.ticks) == [member]
    assert tree.members(TOKEN, (), None, member.ticks + 1) == []


def test_members_are_signalled_and_those_that_are_gone_are_passed_over(start: Start) -> None:
    ended, alive = start(token=TOKEN), start(token=TOKEN)
    both = tree.members(TOKEN, (), None)
    ended.kill()
    ended.wait()
    tree.signal_members(both, signal.SIGUSR1)
    assert alive.wait(30) == -signal.SIGUSR1


def test_a_recycled_pid_is_not_signalled(start: Start) -> None:
    process = start()
    member = identity.of(process.pid)
    assert member is not None
    tree.signal_members([member._replace(ticks=member.ticks + 1)], signal.SIGKILL)
    assert process.poll() is None


def test_a_process_without_children_has_none() -> None:
    program = "from inturn.host import tree; print(tree.has_children(), tree.children())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False []\n"


def test_children_are_ours_dead_or_alive(start: Start) -> None:
    alive, ended = start(), start("true")
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    assert tree.has_children()
    assert {alive.pid, ended.pid} <= set(tree.children())


def orphan(start: Start, script: str) -> int:
    parent = start("sh", "-c", script, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.wait()
    return pid


@pytest.mark.usefixtures("subreaper")
def test_orphans_come_to_a_subreaper_and_can_be_reaped(start: Start) -> None:
    pid = orphan(start, "sleep 600 & echo $!")
    assert pid in tree.children()
    tree.reap(())
    assert pid in tree.children()
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    tree.reap(())
    assert pid not in tree.children()


@pytest.mark.usefixtures("subreaper")
def test_reaping_leaves_alone_whom_somebody_waits_for_and_does_not_stop_at_him(start: Start) -> None:
    awaited = start("sh", "-c", "exit 5")
    os.waitid(os.P_PID, awaited.pid, os.WEXITED | os.WNOWAIT)
    pid = orphan(start, "sleep 600 & echo $!")
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    tree.reap({awaited.pid})
    assert awaited.pid in tree.children()
    assert pid not in tree.children()
    assert awaited.wait() == 5


def test_reaping_without_children_is_no_error() -> None:
    tree.reap(())


@pytest.mark.usefixtures("subreaper")
def test_a_subreaper_does_not_throw_the_results_of_its_children_away(start: Start) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        tree.become_subreaper()
        assert start("sh", "-c", "exit 5").wait() == 5
    finally:
        signal.signal(signal.SIGCHLD, before)
