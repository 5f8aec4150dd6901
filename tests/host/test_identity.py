from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.host import identity
from inturn.host.identity import Identity
from tests.e2e.harness import until

# A process whose first thread ends while another one goes on; it says so before.
FIRST_THREAD_ENDS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
print("up", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def known(pid: int) -> Identity:
    found = identity.of(pid)
    assert found is not None
    return found


def state_letter(pid: int) -> str:
    fields = identity.stat_fields(pid)
    assert fields is not None
    return fields[0]


def become_a_zombie(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    until(lambda: state_letter(process.pid) == "Z", "the killed child as a zombie")


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@given(
    st.integers(1, 2**31 - 1),
    st.integers(0, 2**63),
    st.text("0123456789abcdef-", min_size=1),
    st.integers(0, 2**63),
)
def test_the_text_of_an_identity_leads_back_to_it(pid: int, ticks: int, boot: str, ns: int) -> None:
    made = Identity(pid, ticks, boot, ns)
    assert identity.parse(made.text()) == made


@pytest.mark.parametrize(
    "text",
    [
        *("", "7", "7:8:boot", "7:8:boot:9:10", "7:8::9", ":8:boot:9", "7::boot:9", "7:8:boot:"),
        *(
            "x:8:boot:9",
            "7:8.5:boot:9",
            "+7:8:boot:9",
            " 7:8:boot:9",
            "7:8:boot:9\n",
            "1_0:8:boot:9",
            "٧:8:boot:9",
        ),
        # kill(2) would take these for a group or for everybody.
        *("0:8:boot:9", "-1:8:boot:9", "-7:8:boot:9", "99999999999:8:boot:9"),
    ],
)
def test_nonsense_is_no_identity(text: str) -> None:
    with pytest.raises(ValueError, match="not an identity"):
        identity.parse(text)


@given(st.text())
def test_any_text_either_is_an_identity_or_a_value_error(text: str) -> None:
    try:
        found = identity.parse(text)
    except ValueError:
        return
    assert found.pid > 0


def test_this_very_process_is_alive() -> None:
    me = known(os.getpid())
    assert me.pid == os.getpid()
    assert identity.verify(me) == "alive"


def test_a_process_keeps_its_identity_while_it_lives(sleeper: subprocess.Popen[bytes]) -> None:
    assert known(sleeper.pid) == known(sleeper.pid)
    assert identity.verify(known(sleeper.pid)) == "alive"


def test_what_the_clock_says_of_a_childs_start_is_what_the_kernel_says() -> None:
    sure = 0
    for _ in range(100):
        before = identity.ticks()
        child = os.posix_spawn("/bin/true", ["true"], {})
        after = identity.ticks()
        sure += before == after
        # It is a zombie by now, or will be: in any case its start is known until it is reaped.
        fields = identity.stat_fields(child)
        assert fields is not None
        found = identity.of_child(child, before, after)
        assert found is not None
        assert (found.pid, found.ticks) == (child, fields[4])
        os.waitpid(child, 0)
    assert sure


def test_a_child_whose_start_the_clock_leaves_open_is_asked_for_it(sleeper: subprocess.Popen[bytes]) -> None:
    for not_before, not_after in ((1, 2), (-1, -1)):
        assert identity.of_child(sleeper.pid, not_before, not_after) == identity.of(sleeper.pid)


def test_a_stopped_process_is_alive(sleeper: subprocess.Popen[bytes]) -> None:
    before = known(sleeper.pid)
    sleeper.send_signal(signal.SIGSTOP)
    until(lambda: state_letter(sleeper.pid) == "T", "the child stopped")
    assert identity.verify(before) == "alive"


def test_only_the_very_process_is_said_to_be_stopped(sleeper: subprocess.Popen[bytes]) -> None:
    one = known(sleeper.pid)
    assert not identity.is_stopped(one)
    os.kill(sleeper.pid, signal.SIGSTOP)
    until(lambda: identity.is_stopped(one), "the stopped process")
    assert not identity.is_stopped(one._replace(ticks=one.ticks + 1))
    os.kill(sleeper.pid, signal.SIGCONT)
    until(lambda: not identity.is_stopped(one), "the process that goes on")


def test_the_stat_fields_are_those_of_the_process() -> None:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        fields = identity.stat_fields(process.pid)
        assert fields is not None
        _, parent, group, session, ticks = fields
        assert (parent, group, session) == (os.getpid(), process.pid, process.pid)
        assert ticks >= known(os.getpid()).ticks
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("name", ["a) Z 1 2 (3", "((", ") ) )", "line\nend) R 1", "\xe9\u4e2d"])
def test_a_program_may_have_parentheses_blanks_and_line_ends_in_its_name(tmp_path: Path, name: str) -> None:
    program = shutil.which("sleep")
    assert program
    (tmp_path / name).symlink_to(program)
    process = subprocess.Popen(["sleep", "600"], executable=tmp_path / name)
    try:
        fields = identity.stat_fields(process.pid)
        assert fields is not None
        assert fields[1] == os.getpid()
        assert identity.verify(known(process.pid)) == "alive"
    finally:
        process.kill()
        process.wait()


def test_a_zombie_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    before = known(sleeper.pid)
    become_a_zombie(sleeper)
    assert identity.verify(before) == "dead"
    assert identity.of(sleeper.pid) is None
    assert identity.open_pidfd(before) is None


def test_a_process_whose_first_thread_ended_is_alive_until_the_others_have() -> None:
    process = subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        before = known(process.pid)
        stat = Path(f"/proc/{process.pid}/stat")
        until(lambda: stat.read_bytes().rpartition(b")")[2].split()[0] == b"Z", "the first thread ended")
        assert identity.verify(before) == "alive"
        become_a_zombie(process)
        assert identity.verify(before) == "dead"
    finally:
        process.kill()
        process.communicate()


def test_a_process_that_is_gone_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    before = known(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    assert identity.verify(before) == "dead"
    assert identity.of(sleeper.pid) is None
    assert identity.stat_fields(sleeper.pid) is None
    assert identity.open_pidfd(before) is None


def test_a_recycled_pid_is_not_the_process_that_had_it_before(sleeper: subprocess.Popen[bytes]) -> None:
    now = known(sleeper.pid)
    before = now._replace(ticks=now.ticks - 1)
    assert identity.verify(before) == "dead"
    descriptors = open_descriptors()
    assert identity.open_pidfd(before) is None
    assert open_descriptors() == descriptors


def test_a_pid_that_became_the_number_of_a_thread_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", FIRST_THREAD_ENDS], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        (thread,) = {int(name) for name in os.listdir(f"/proc/{process.pid}/task")} - {process.pid}
        before = known(os.getpid())._replace(pid=thread, ticks=1)
        assert identity.verify(before) == "dead"
        assert identity.open_pidfd(before) is None
    finally:
        process.kill()
        process.communicate()


def test_what_ran_before_a_reboot_is_dead() -> None:
    assert identity.verify(known(os.getpid())._replace(boot="another-boot")) == "dead"


def test_nothing_is_known_of_a_process_in_another_pid_namespace() -> None:
    me = known(os.getpid())
    foreign = me._replace(ns=me.ns + 1)
    assert identity.verify(foreign) == "unknown"
    assert identity.open_pidfd(foreign) is None
    assert identity.verify(me._replace(ns=0)) == "unknown"


def test_nothing_is_known_where_proc_shows_the_pids_of_another_namespace() -> None:
    # So it is in a new pid namespace without a /proc of its own: /proc/self contradicts our pid.
    program = """if True:
        import os
        real = os.getpid()
        os.getpid = lambda: real + 1
        from inturn.host import identity
        from inturn.host.clock import boot_id
        namespace = os.stat("/proc/self/ns/pid").st_ino
        print(identity.of(real), identity.verify(identity.Identity(real, 1, boot_id(), namespace)))
    """
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "None unknown\n"


def test_a_pidfd_signals_the_process_and_says_when_it_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    pidfd = identity.open_pidfd(known(sleeper.pid))
    assert pidfd is not None
    try:
        assert not os.get_inheritable(pidfd)
        assert identity.send(pidfd, signal.SIGTERM) is True
        assert sleeper.wait(60) == -signal.SIGTERM
        assert identity.send(pidfd, signal.SIGTERM) is False
    finally:
        os.close(pidfd)


def test_a_pidfd_can_be_used_to_ask_without_a_signal(sleeper: subprocess.Popen[bytes]) -> None:
    pidfd = identity.open_pidfd(known(sleeper.pid))
    assert pidfd is not None
    try:
        assert identity.send(pidfd, 0) is True
        assert identity.verify(known(sleeper.pid)) == "alive"
    finally:
        os.close(pidfd)
