from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn import conditions
from inturn.conditions.base import Observation, Surroundings
from inturn.conditions.probe import OUTPUT_LIMIT, Probe
from inturn.core.job import Condition
from inturn.core.moment import SECOND
from inturn.host import clock, wake
from tests.e2e.harness import until

PATH = b"/usr/bin:/bin"
GENEROUS = 60 * SECOND


class Prober:
    """Starts probes in `cwd` and ends what a test leaves behind."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.environment = {b"PATH": PATH}
        self.timeout = GENEROUS
        self._pending: list[Probe] = []

    def start(self, *argv: str | bytes) -> Observation | Probe:
        """What the condition answers at once."""
        argument = b"\0".join(os.fsencode(word) for word in argv)
        surroundings = Surroundings(os.fsencode(self.cwd), self.environment, self.timeout)
        started = conditions.start(Condition(1, 0, "probe", argument), surroundings, clock.now())
        if isinstance(started, Observation):
            return started
        assert isinstance(started, Probe)
        self._pending.append(started)
        return started

    def pending(self, *argv: str | bytes) -> Probe:
        """A probe that could be started."""
        started = self.start(*argv)
        assert not isinstance(started, Observation), started
        return started

    def look(self, *argv: str | bytes) -> Observation:
        """The observation of a probe, watched as an owner does."""
        started = self.start(*argv)
        return started if isinstance(started, Observation) else watch(started)

    def sh(self, script: str) -> Observation:
        """The observation of a shell script."""
        return self.look("sh", "-c", script)

    def end(self) -> None:
        """Abandon everything."""
        for pending in self._pending:
            pending.abandon()


def watch(pending: Probe) -> Observation:
    """Sleep on the descriptors, up to the deadline, and poll: what is seen in the end."""
    while (seen := pending.poll(clock.now())) is None:
        wake.wait(pending.filenos(), pending.deadline - clock.now().mono)
    return seen


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def prober(tmp_path: Path) -> Iterator[Prober]:
    prober = Prober(tmp_path)
    yield prober
    prober.end()


def test_exit_0_satisfies_and_nothing_else_does(prober: Prober) -> None:
    assert prober.look("true") == (True, "exit 0")
    assert prober.look("false") == (False, "exit 1")
    assert prober.sh("exit 75") == (False, "exit 75")


def test_the_diagnostic_has_the_last_line_of_what_was_printed(prober: Prober) -> None:
    assert prober.sh("echo first; echo last; echo; exit 3") == (False, "exit 3: last")
    assert prober.sh("echo out; echo err >&2; exit 1") == (False, "exit 1: err")
    assert prober.sh("echo ready") == (True, "exit 0: ready")


def test_a_diagnostic_is_short_and_printable_whatever_is_printed(prober: Prober) -> None:
    assert prober.sh(r"printf '\033[31ma\377\000b\n'; exit 1") == (False, "exit 1: [31ma\ufffdb")
    assert prober.sh("printf '10%%\\r100%%'; exit 1") == (False, "exit 1: 100%")
    long = prober.sh("head -c 5000 /dev/zero | tr '\\0' x; exit 1").diagnostic
    assert long.startswith("exit 1: xxx")
    assert len(long) == 200


def test_no_shell_sees_the_arguments(prober: Prober) -> None:
    assert prober.look("printf", "%s|", "a b", "$HOME", "*", "", "`id`").diagnostic == (
        "exit 0: a b|$HOME|*||`id`|"
    )
    assert prober.look("printf", "%s|", b"\xff").diagnostic == "exit 0: \ufffd|"


def test_it_runs_in_the_directory_and_with_the_environment_of_the_job(
    prober: Prober, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "1")
    prober.environment = {b"PATH": PATH, b"THEIRS": b"2"}
    before = os.getcwd()
    assert prober.sh('echo "$PWD ${OURS-none} $THEIRS"').diagnostic == f"exit 0: {prober.cwd} none 2"
    assert os.getcwd() == before


def test_the_command_is_looked_for_in_the_path_of_the_job(prober: Prober) -> None:
    tools = prober.cwd / "tools"
    tools.mkdir()
    (tools / "ours").write_text("#!/bin/sh\necho found\n")
    assert prober.look("ours") == (False, "command not found: ours")
    (tools / "ours").chmod(0o755)
    prober.environment = {b"PATH": b"/absent:" + os.fsencode(tools)}
    assert prober.look("ours") == (True, "exit 0: found")
    assert prober.look("true") == (False, "command not found: true")
    prober.environment = {b"PATH": b"tools"}
    assert prober.look("ours") == (True, "exit 0: found")
    assert prober.look("./tools/ours") == (True, "exit 0: found")


def test_without_a_path_the_systems_own_is_searched(prober: Prober) -> None:
    prober.environment = {}
    assert prober.look("true").satisfied


@pytest.mark.parametrize("program", ["foo", "", "tools"])
def test_a_command_that_is_nowhere_does_not_satisfy(prober: Prober, program: str) -> None:
    (prober.cwd / "tools").mkdir()
    prober.environment = {b"PATH": b":/usr/bin"}
    assert prober.look(program) == (False, f"command not found: {program}".rstrip())


def test_what_cannot_be_executed_is_told(prober: Prober) -> None:
    script = prober.cwd / "script"
    script.write_text("exit 0\n")
    assert prober.look("./script") == (False, "./script: Permission denied")
    script.chmod(0o755)
    assert prober.look("./script") == (False, "./script: Exec format error")
    assert prober.look("./absent") == (False, "./absent: No such file or directory")


def test_a_directory_that_is_gone_is_told(prober: Prober) -> None:
    prober.cwd /= "gone"
    assert prober.look("true") == (
        False,
        f"true: the directory {prober.cwd} cannot be entered: No such file or directory",
    )


def test_a_malformed_environment_is_no_accident(prober: Prober) -> None:
    prober.environment = {b"PATH": PATH, b"": b"x"}
    assert not prober.look("true").satisfied


def test_standard_input_is_empty(prober: Prober) -> None:
    assert prober.look("cat") == (True, "exit 0")


def test_a_death_by_signal_is_told(prober: Prober) -> None:
    assert prober.sh("kill -KILL $$") == (False, "killed by signal 9")


def test_the_owner_is_never_blocked(prober: Prober) -> None:
    pending = prober.pending("sleep", "600")
    assert pending.poll(clock.now()) is None
    assert pending.deadline > clock.now().mono


def test_it_is_killed_with_its_group_when_its_time_is_over(prober: Prober) -> None:
    prober.timeout = SECOND // 2
    note = prober.cwd / "pid"
    seen = prober.sh(f"trap '' TERM INT HUP; sleep 600 & echo $! >{note}; sleep 600")
    assert seen == (False, "timed out after 500ms")
    until(lambda: not alive(int(note.read_text())), "the end of the grandchild")


def test_what_ended_in_time_is_judged_by_its_status_however_late_it_is_looked_at(prober: Prober) -> None:
    pending = prober.pending("true")
    wake.wait(pending.filenos()[:1], GENEROUS)
    late = clock.now()
    assert pending.poll(late._replace(mono=late.mono + 2 * GENEROUS)) == (True, "exit 0")


def test_a_grandchild_that_keeps_the_output_open_does_not_delay_the_end(prober: Prober) -> None:
    note = prober.cwd / "pid"
    assert prober.sh(f"sleep 600 & echo $! >{note}; echo done") == (True, "exit 0: done")
    until(lambda: not alive(int(note.read_text())), "the end of what the probe left behind")


def test_a_descendant_that_left_the_group_does_not_delay_the_end(prober: Prober) -> None:
    note = prober.cwd / "pid"
    seen = prober.sh(f"setsid sh -c 'echo $$ >{note}; exec sleep 600' & until [ -s {note} ]; do :; done")
    assert seen.satisfied
    os.kill(int(note.read_text()), signal.SIGKILL)


def test_much_output_neither_kills_it_nor_is_kept(prober: Prober) -> None:
    seen = prober.sh(f"head -c {50 * OUTPUT_LIMIT} /dev/zero | tr '\\0' '\\n'; echo end; exit 0")
    assert seen == (True, "exit 0")


def test_endless_output_does_not_hold_up_the_owner(prober: Prober) -> None:
    prober.timeout = SECOND
    assert prober.look("yes") == (False, "timed out after 1s")


def test_a_probe_that_has_closed_its_output_is_waited_for_quietly(prober: Prober) -> None:
    pending = prober.pending("sh", "-c", "exec >&- 2>&-; exec sleep 600")
    until(lambda: pending.poll(clock.now()) is None and len(pending.filenos()) == 1, "the end of its output")
    assert wake.wait(pending.filenos(), 0) == set()


def test_signals_have_their_default_effect(prober: Prober) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        ignored, blocked = (
            prober.look("grep", "-E", field, "/proc/self/status").diagnostic.split(":")[-1].strip()
            for field in ("SigIgn", "SigBlk")
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        signal.signal(signal.SIGHUP, before)
    catchable = sum(1 << (number - 1) for number in signal.valid_signals())
    assert int(ignored, 16) & catchable == 0
    assert int(blocked, 16) & catchable == 0


def test_it_has_a_session_of_its_own_and_no_descriptor_of_ours(prober: Prober) -> None:
    (prober.cwd / "ours").touch()
    ours = os.open(prober.cwd / "ours", os.O_RDONLY)
    try:
        assert prober.sh(f"ls -l /proc/self/fd | grep {prober.cwd}/ours") == (False, "exit 1")
    finally:
        os.close(ours)
    session = prober.look(sys.executable, "-c", "import os; print(os.getsid(0) == os.getpid())")
    assert session == (True, "exit 0: True")


def test_it_has_our_umask_and_leaves_it_alone(prober: Prober) -> None:
    before = os.umask(0o027)
    try:
        assert prober.sh("umask") == (True, "exit 0: 0027")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_nothing_is_left_open_and_no_zombie(prober: Prober) -> None:
    before = os.listdir("/proc/self/fd")
    prober.look("true")
    prober.look("absent")
    prober.look("./absent")
    prober.timeout = 1
    prober.look("sleep", "600")
    pending = prober.pending("sleep", "600")
    pending.abandon()
    pending.abandon()
    assert pending.filenos() == ()
    assert os.listdir("/proc/self/fd") == before
    with pytest.raises(ChildProcessError):
        os.waitpid(pending.pid, 0)


def test_an_abandoned_probe_is_dead(prober: Prober) -> None:
    note = prober.cwd / "pid"
    pending = prober.pending("sh", "-c", f"sleep 600 & echo $! >{note}; wait")
    until(lambda: note.exists() and note.read_text().endswith("\n"), "the grandchild")
    pending.abandon()
    assert pending.poll(clock.now()) is None
    until(lambda: not alive(int(note.read_text())), "the end of the grandchild")


def test_the_result_can_be_asked_for_again(prober: Prober) -> None:
    pending = prober.pending("false")
    assert watch(pending) == watch(pending) == (False, "exit 1")


def test_a_stolen_exit_status_does_not_satisfy(prober: Prober) -> None:
    pending = prober.pending("true")
    os.waitpid(pending.pid, 0)
    assert watch(pending) == (False, "its exit status was lost")


def test_it_starts_where_standard_streams_are_closed(tmp_path: Path) -> None:
    program = """
import os, sys
os.closerange(0, 3)
from inturn import conditions
from inturn.conditions.base import Surroundings
from inturn.core.job import Condition
from inturn.host import clock
argument = b"sh\\0-c\\0echo out; cat; exit 5"
here = Surroundings(os.getcwdb(), {b"PATH": b"/usr/bin:/bin"}, 60_000_000)
pending = conditions.start(Condition(1, 0, "probe", argument), here, clock.now())
while (seen := pending.poll(clock.now())) is None:
    pass
with open("seen", "w") as file:
    file.write(seen.diagnostic)
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60)
    assert (tmp_path / "seen").read_text() == "exit 5: out"
