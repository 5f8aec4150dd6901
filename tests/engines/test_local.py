from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inturn.engines.adopted import Adoptee
from inturn.engines.base import OutOfResources, StartFailed
from inturn.engines.local import LocalEngine
from inturn.engines.process import LocalRun, NativeId, parse_native_id
from inturn.host import clock, descriptors, identity, logs, spawn, tree
from inturn.host.identity import Identity
from tests.e2e.harness import until
from tests.engines.bench import ASLEEP, SLEEP, Bench, open_descriptors

if TYPE_CHECKING:
    from inturn.engines.base import Running

# An owner that can be killed: starts a shell whose grandchild sleeps, says which run it is, and waits.
OWNER = """
import sys
from pathlib import Path
from inturn.engines.local import LocalEngine
from tests.engines.bench import Bench
bench = Bench(LocalEngine(), Path(sys.argv[1]))
run = bench.shell(sys.argv[2])
bench.line(run)
print(run.native_id, bench.stems[run], sep="\\n", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(LocalEngine(), tmp_path)
    yield made
    made.clean()


def lock_of(bench: Bench, run: Running) -> str:
    return logs.alive(bench.stems[run], parse_native_id(run.native_id).log_files)


def test_the_native_id_can_be_stored_and_read_back() -> None:
    native = NativeId(Identity(12, 345, "boot", 6), ((7, 8), (7, 9)))
    assert parse_native_id(native.text()) == native


@pytest.mark.parametrize("text", ["", "12", "12:345:boot:6 7", "12:345:boot:6 7:8:9", "12:345:boot:6 a:b"])
def test_a_text_that_is_no_native_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not "):
        parse_native_id(text)


def test_the_native_id_names_the_leader_also_when_it_has_ended_at_once(bench: Bench) -> None:
    run = bench.shell("echo $$")
    bench.end(run)
    leader = parse_native_id(run.native_id).leader
    assert leader.pid == int(bench.read(run))
    assert leader.ticks > 0
    assert identity.verify(leader) == "dead"


def test_a_running_leader_is_alive_by_its_native_id(bench: Bench) -> None:
    assert identity.verify(parse_native_id(bench.shell(SLEEP).native_id).leader) == "alive"


def test_signals_that_the_owner_ignores_or_blocks_are_reset(bench: Bench) -> None:
    ignored = (signal.SIGPIPE, signal.SIGHUP, signal.SIGINT, signal.SIGRTMIN)
    before = {sig: signal.signal(sig, signal.SIG_IGN) for sig in ignored}
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        shown = bench.output(bench.launch("cat", "/proc/self/status")).decode()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        for sig, handler in before.items():
            signal.signal(sig, handler)
    status = dict(line.split(":", 1) for line in shown.splitlines())
    # The C library ignores the two signals that it keeps for itself (32 and 33) in whatever it spawns.
    assert (int(status["SigIgn"], 16) & ~(3 << 31), int(status["SigBlk"], 16)) == (0, 0)


def test_an_owner_that_was_started_with_sigchld_ignored_still_learns_the_result(bench: Bench) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert bench.end(bench.shell("exit 9")).exit_code == 9
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_result_that_somebody_else_took_is_reported_as_unknown(bench: Bench) -> None:
    run = bench.shell("exit 9")
    os.waitpid(parse_native_id(run.native_id).leader.pid, 0)
    ended = bench.end(run)
    assert (ended.exit_code, ended.signal) == (None, None)


def test_the_program_leads_a_session_without_a_terminal(bench: Bench) -> None:
    run = bench.shell(SLEEP)
    pid = parse_native_id(run.native_id).leader.pid
    assert os.getsid(pid) == os.getpgid(pid) == pid


def test_the_terminal_of_the_owner_can_be_kept_as_stdin(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from inturn.engines.local import LocalEngine
from tests.engines.bench import Bench
bench = Bench(LocalEngine(), Path(sys.argv[1]))
print(bench.output(bench.launch("cat", keep_stdin=True)).decode(), end="")
"""
    owner = [sys.executable, "-c", program, str(tmp_path)]
    assert subprocess.run(owner, input=b"typed\n", capture_output=True, check=True).stdout == b"typed\n"


def test_a_pipe_without_a_writer_as_stdin_does_not_block_the_owner(bench: Bench) -> None:
    os.mkfifo(bench.cwd / "pipe")
    assert bench.output(bench.launch("cat", stdin=b"pipe")) == b""


def test_a_directory_as_stdin_is_named(bench: Bench) -> None:
    with pytest.raises(StartFailed, match="is a directory") as failure:
        bench.start(bench.launch("cat", stdin=b"."))
    assert failure.value.reason == "stdin_missing"


def test_a_supervisor_that_a_job_has_started_is_not_left_over(bench: Bench) -> None:
    run = bench.shell(f"env -i setsid {SLEEP} >/dev/null 2>&1 </dev/null & {ASLEEP}; echo $!")
    nested = int(bench.line(run))
    try:
        bench.end(run)
        assert not run.leftovers()
        run.signal_tree(signal.SIGKILL)
        assert identity.of(nested) is not None
    finally:
        os.kill(nested, signal.SIGKILL)
        os.waitpid(nested, 0)


def test_whoever_only_reads_the_log_is_a_bystander(bench: Bench) -> None:
    run = bench.shell(f"echo ready; {SLEEP} &")
    bench.line(run)
    with open(bench.stems[run] + ".out", "rb") as log:
        reader = subprocess.Popen(["sleep", "600"], stdin=log)
    spawn.awaited.add(reader.pid)
    try:
        bench.end(run)
        bench.kill(run)
        assert reader.poll() is None
    finally:
        reader.kill()
        reader.wait()
        spawn.awaited.discard(reader.pid)


def test_orphans_that_have_ended_do_not_pile_up_during_a_run(bench: Bench) -> None:
    run = bench.shell(f"(true & echo $!); {SLEEP}")
    orphan = int(bench.line(run))

    def is_buried() -> bool:
        run.sample()
        return not os.path.exists(f"/proc/{orphan}")

    until(is_buried, "the burial of the orphan")
    assert run.poll() is None


def test_an_ended_leader_does_not_hide_orphans_and_keeps_its_result(bench: Bench) -> None:
    first = bench.shell("exit 6")
    os.waitid(os.P_PID, parse_native_id(first.native_id).leader.pid, os.WEXITED | os.WNOWAIT)
    second = bench.shell(f"(true & echo $!); {SLEEP}")
    orphan = int(bench.line(second))

    def is_buried() -> bool:
        second.sample()
        return not os.path.exists(f"/proc/{orphan}")

    until(is_buried, "the burial of the orphan")
    assert bench.end(first).exit_code == 6


def test_the_lock_is_held_while_a_descendant_lives_and_free_afterwards(bench: Bench) -> None:
    run = bench.shell(f"env -i setsid {SLEEP} & {ASLEEP}; until test -e go; do sleep 0.01; done")
    assert lock_of(bench, run) == "held"
    (bench.cwd / "go").touch()
    bench.end(run)
    assert lock_of(bench, run) == "held"
    bench.kill(run)
    assert lock_of(bench, run) == "free"


@pytest.fixture
def killed_owner(tmp_path: Path) -> Iterator[tuple[NativeId, str, int]]:
    """What an owner that was killed has left: its run, the stem of the logs, a process that it started."""
    words = [sys.executable, "-c", OWNER, str(tmp_path), f"setsid env -i {SLEEP} & echo $!; wait"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        native = parse_native_id(owner.stdout.readline().strip())
        stem = owner.stdout.readline().strip()
        owner.kill()
    sleeper = int(Path(stem + ".out").read_text())
    yield native, stem, sleeper
    tree.signal_members(filter(None, map(identity.of, (native.leader.pid, sleeper))), signal.SIGKILL)


def test_the_lock_survives_an_owner_that_is_killed(killed_owner: tuple[NativeId, str, int]) -> None:
    native, stem, sleeper = killed_owner
    assert logs.alive(stem, native.log_files) == "held"
    os.kill(native.leader.pid, signal.SIGKILL)
    until(lambda: identity.verify(native.leader) == "dead", "the end of the leader")
    assert logs.alive(stem, native.log_files) == "held"
    os.kill(sleeper, signal.SIGKILL)
    until(lambda: logs.alive(stem, native.log_files) == "free", "the release of the lock")


def test_whoever_writes_to_a_file_that_has_the_number_of_a_removed_log_is_no_part_of_the_run(
    bench: Bench, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    with open(other, "wb") as file, subprocess.Popen(["sleep", "600"], stdout=file) as bystander:
        # A run whose leader is gone, and whose log was removed: the file system gave its number away.
        found = other.stat()
        native = NativeId(
            Identity(2**22 + 1, 0, clock.boot_id(), _namespace()), ((found.st_dev, found.st_ino),)
        )
        assert bench.engine.find(native.text(), "c0ffee", str(bench.logs / "gone")).state == "gone"
        run = LocalRun(
            Adoptee(native.leader, -1), -1, native, "c0ffee", str(bench.logs / "gone"), "", ours=False
        )
        run.signal_tree(signal.SIGKILL)
        assert not run.leftovers()
        assert bystander.poll() is None
        bystander.kill()


def _namespace() -> int:
    ourselves = identity.of(os.getpid())
    assert ourselves is not None
    return ourselves.ns


def test_fifty_runs_leave_no_descriptor_and_no_child_behind(bench: Bench) -> None:
    bench.end(bench.shell("true"))
    before = open_descriptors()
    count = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        run = bench.shell("echo out" if number % 2 else "true")
        bench.end(run)
        run.sample()
        run.close()
    assert len(os.listdir("/proc/self/fd")) == count, open_descriptors() - before
    assert not spawn.awaited


def test_failed_starts_leave_no_descriptor_behind(bench: Bench) -> None:
    (bench.cwd / "text").write_text("no program")
    (bench.cwd / "text").chmod(0o755)
    bench.end(bench.shell("true"))
    before = open_descriptors()
    count = len(os.listdir("/proc/self/fd"))
    for launch in (
        bench.launch("no-such-command"),
        bench.launch("./text"),
        bench.launch("cat", stdin=b"gone"),
        bench.launch("true", cwd=bench.cwd / "gone"),
        bench.launch("true", b"\0"),
        bench.launch("true", *["x" * 100_000] * 300),
        bench.launch("true")._replace(log=str(bench.cwd / "text" / "1")),
    ):
        with pytest.raises(StartFailed):
            bench.start(launch)
    assert len(os.listdir("/proc/self/fd")) == count, open_descriptors() - before
    assert not spawn.awaited


# --- what it lacks to start anything

LACKS = ("EMFILE", "ENFILE", "EAGAIN", "ENOMEM")


def fail(monkeypatch: pytest.MonkeyPatch, what: str, number: int) -> None:
    """Have one call of the system fail: the one that starts the program, or that opens a certain file."""
    error = OSError(number, os.strerror(number))
    if what == "posix_spawn":
        monkeypatch.setattr(os, "posix_spawn", lambda *args, **fields: (_ for _ in ()).throw(error))
        return
    real = os.open

    def opening(path: Any, *args: Any, **fields: Any) -> int:
        if os.fsdecode(path).endswith(what):
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **fields)

    monkeypatch.setattr(os, "open", opening)


@pytest.mark.parametrize("what", ["posix_spawn", "/dev/null", "input", ".out", ".err", "."])
@pytest.mark.parametrize("lack", LACKS)
def test_what_its_owner_lacks_is_no_fault_of_the_job(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, what: str, lack: str
) -> None:
    bench.end(bench.shell("true"))
    (bench.cwd / "input").touch()
    launch = bench.launch("touch", "proof", stdin=b"input" if what == "input" else None)
    before = open_descriptors()
    with monkeypatch.context() as patched:
        fail(patched, what, getattr(errno, lack))
        with pytest.raises(OutOfResources) as failure:
            bench.start(launch)
    assert os.strerror(getattr(errno, lack)).lower() in failure.value.message
    assert ("ulimit -n" in failure.value.message) == (lack == "EMFILE")
    assert ("ulimit -u" in failure.value.message) == (lack == "EAGAIN")
    assert open_descriptors() == before
    assert not list(bench.logs.glob(f"{launch.token}*"))
    assert not (bench.cwd / "proof").exists()
    bench.end(bench.start(launch))
    assert (bench.cwd / "proof").exists()


@pytest.mark.parametrize("lack", ["ENOSPC", "EDQUOT"])
def test_that_there_is_no_room_for_its_logs_is_no_fault_of_the_job(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, lack: str
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, ".err", getattr(errno, lack))
        with pytest.raises(OutOfResources):
            bench.start(bench.launch("true"))
    assert not list(bench.logs.iterdir())


@pytest.mark.parametrize(
    ("what", "fault", "reason"),
    [
        ("posix_spawn", "E2BIG", "arguments_too_long"),
        ("posix_spawn", "ENOEXEC", "not_a_program"),
        ("posix_spawn", "EACCES", "not_executable"),
        ("posix_spawn", "ETXTBSY", "start_refused"),
        ("input", "EACCES", "stdin_missing"),
        ("input", "ENOENT", "stdin_missing"),
        (".out", "EROFS", "log_unavailable"),
        (".err", "EACCES", "log_unavailable"),
    ],
)
def test_every_other_fault_is_the_jobs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, what: str, fault: str, reason: str
) -> None:
    (bench.cwd / "input").touch()
    with monkeypatch.context() as patched:
        fail(patched, what, getattr(errno, fault))
        with pytest.raises(StartFailed) as failure:
            bench.start(bench.launch("true", stdin=b"input"))
    assert not isinstance(failure.value, OutOfResources)
    assert failure.value.reason == reason


def fill(taken: list[int]) -> None:
    """Take every descriptor that there is."""
    while True:
        try:
            taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            return


@contextmanager
def few_descriptors(number: int, lowest: bool) -> Iterator[None]:
    """Have so many descriptors free, with the lowest numbers there were or with the last."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open("/dev/null", os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + 64, before[1]))
    descriptors._limit = 0
    try:
        fill(taken)
        for _ in range(number):
            os.close(taken.pop(0 if lowest else -1))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        descriptors._limit = 0
        for fd in taken:
            os.close(fd)


@pytest.mark.parametrize("lowest", [True, False])
@pytest.mark.parametrize("free", range(descriptors.KEPT + 4))
def test_however_few_descriptors_there_are_a_run_is_started_and_watched_or_never_was(
    bench: Bench, free: int, lowest: bool
) -> None:
    bench.end(bench.shell("true"))  # whatever is loaded with the first start
    launch = bench.launch("sh", "-c", "echo >> proof")
    run = None
    with few_descriptors(free, lowest):
        try:
            run = bench.start(launch)
        except OutOfResources as failure:
            lack = failure.message
    if run is None:
        assert "ulimit -n" in lack
        assert not list(bench.logs.glob(f"{launch.token}*"))
        assert not (bench.cwd / "proof").exists()
        assert free < (4 if lowest else descriptors.KEPT + 1)
    else:
        assert bench.end(run).exit_code == 0
        assert (bench.cwd / "proof").read_text() == "\n"
        assert free >= (4 if lowest else descriptors.KEPT + 1)


def test_a_run_of_which_something_is_left_is_seen_to_its_end_with_the_last_descriptors(bench: Bench) -> None:
    bench.end(bench.shell("true"))
    with few_descriptors(descriptors.KEPT + 1, lowest=False):
        run = bench.shell(f"echo out; {SLEEP} & {ASLEEP}")
        for _ in range(3):
            run.sample()
        until(run.poll, "the end of the leader")
        assert run.leftovers()
        bench.kill(run)
        run.close()
