"""From the submitting process to the supervisor: whoever of the two dies when, the job has one clear fate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from inturn.app import open_context, supervisor_command
from inturn.core.spec import Submission
from inturn.errors import InturnError
from inturn.host import tree
from inturn.service import submit
from inturn.service.context import Context
from inturn.store import owners
from tests.builders import make_spec
from tests.e2e.harness import Cli, until

# What a supervisor process is given after its command: the store, a token and, for several, how many.
LATE = 'until [ -e "$GATE" ]; do sleep 0.01; done; exec "$@"'


@pytest.fixture
def context(cli: Cli) -> Iterator[Context]:
    """The store of `cli`, opened in this process."""
    opened = open_context(str(cli.store), str(cli.config), True, lambda _: None)
    yield opened
    assert opened.store is not None
    opened.store.close()
    until(lambda: not cli.processes(), "the end of what was submitted")
    tree.reap(())


def submission(cli: Cli, script: str = "echo ran >> ran") -> Submission:
    spec = make_spec(argv=(b"sh", b"-c", script.encode()), cwd=os.fsencode(cli.root))
    return Submission(spec._replace(environment=(b"PATH=" + os.environb[b"PATH"],)))


def ran(cli: Cli) -> int:
    """How often the command of a submission has run."""
    path = cli.root / "ran"
    return len(path.read_text().splitlines()) if path.exists() else 0


def assert_failed_submission(cli: Cli, job_id: int) -> None:
    job = cli.show(job_id)
    assert (job["phase"], job["outcome"], job["reason"]) == (
        "completed",
        "submission_failed",
        "no_supervisor",
    )
    assert job["runs"] == []
    assert not ran(cli)


def assert_nothing_is_left(cli: Cli) -> None:
    """No process and none of its files, and the registry is empty."""
    until(lambda: not cli.processes(), "the end of every process")
    assert not list((cli.store / "owners").iterdir())
    assert not (cli.store / "errors.log").exists(), (cli.store / "errors.log").read_text()
    store = open_context(str(cli.store), None, False, lambda _: None).store
    assert store is not None
    assert owners.live(store) == []
    store.close()


def end(cli: Cli) -> None:
    """Kill what a test has made hang."""
    for pid in cli.processes():
        os.kill(pid, signal.SIGKILL)


# --- a supervisor that does not take over


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("/bin/true",), "it ended before it had taken the job over"),
        (("/bin/sh", "-c", "printf 'there is no room' >&5"), "there is no room"),
        (("/bin/sh", "-c", "printf '\\377\\033[1m' >&5"), "\ufffd\x1b[1m"),
        (("/bin/sh", "-c", "read -r _ <&4; kill -KILL $$"), "it ended before it had taken the job over"),
        ((sys.executable, "-c", "import no_such_module"), "it ended before it had taken the job over"),
    ],
    ids=["ends", "says why", "garbage", "killed", "cannot be imported"],
)
def test_a_job_whose_supervisor_dies_before_it_takes_over_has_ended(
    cli: Cli, context: Context, command: tuple[str, ...], why: str
) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(context._replace(supervisor=command), [submission(cli)])
    assert raised.value.code == "submission_failed"
    assert raised.value.message == f"job 1 has no supervisor: {why}"
    assert_failed_submission(cli, 1)


def test_a_supervisor_that_does_not_answer_in_time_has_not_taken_over(
    cli: Cli, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "ANSWER_TIMEOUT", 100_000)
    with pytest.raises(InturnError, match="it did not answer"):
        submit.run(context._replace(supervisor=("/bin/sh", "-c", "exec sleep 600")), [submission(cli)])
    assert_failed_submission(cli, 1)
    end(cli)


def test_a_supervisor_that_comes_too_late_finds_nothing_to_do(
    cli: Cli, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submit, "ANSWER_TIMEOUT", 100_000)
    gate = cli.root / "gate"
    late = ("/usr/bin/env", f"GATE={gate}", "/bin/sh", "-c", LATE, "sh", *context.supervisor)
    with pytest.raises(InturnError, match="it did not answer"):
        submit.run(context._replace(supervisor=late), [submission(cli)])
    gate.touch()
    assert_nothing_is_left(cli)
    assert_failed_submission(cli, 1)


def test_without_a_process_to_supervise_it_nothing_is_submitted(cli: Cli, context: Context) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(context._replace(supervisor=("/no/such/program",)), [submission(cli)])
    assert raised.value.code == "submission_failed"
    assert cli.run("list", "--all", "--json").data == []
    assert_nothing_is_left(cli)


# `inturn`, with another program in the place of its supervisors.
BROKEN_INSTALLATION = """
import sys
from inturn import app
app.supervisor_command = lambda: tuple(sys.argv[1].split("|"))
from inturn.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def broken(cli: Cli, supervisor: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BROKEN_INSTALLATION, supervisor, *words],
        env=cli.environment(),
        cwd=cli.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_command_says_why_there_is_no_supervisor_and_fails(cli: Cli) -> None:
    process = broken(cli, "/bin/sh|-c|printf 'out of\\nluck\\033[1m' >&5", "run", "--", "touch", "ran")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "job 1 has no supervisor: out of" in err
    assert "\x1b" not in err
    assert "inturn show 1" in err
    assert_failed_submission(cli, 1)


def test_a_job_cancelled_before_its_supervisor_has_come_never_runs(cli: Cli) -> None:
    late = f"/usr/bin/env|GATE={cli.root / 'gate'}|/bin/sh|-c|{LATE}|sh|" + "|".join(supervisor_command())
    process = broken(cli, late, "run", "--", "sh", "-c", "echo ran >> ran")
    until(lambda: cli.run("show", 1).code == 0, "the job")
    assert cli.phase(1) == "submitting"
    cli.run("cancel", 1).check()
    (cli.root / "gate").touch()
    assert process.communicate(timeout=60) == ("1\n", "")
    assert cli.show(1)["outcome"] == "cancelled"
    assert_nothing_is_left(cli)
    assert not ran(cli)


# --- a submitting process that dies

# Submits as many jobs as argv[2] says and is killed at the point that argv[3] names.
MORTAL = """
import os, sys
from inturn.app import open_context
from inturn.core.spec import Spec, Submission
from inturn.service import submit

directory, count, point = sys.argv[1:]

def die(*_):
    os.kill(os.getpid(), 9)

context = open_context(directory, None, True, print)
if point == "after the commit":
    context.store._ring = die
    commit = context.store._committed
    def committed():
        commit()
        die()
    context.store._committed = committed
else:
    context.store.connection.exec_trace = lambda cursor, sql, bindings: sql != point or die()
spec = Spec((b"sh", b"-c", b"echo ran >> ran"), os.getcwdb(), (b"PATH=" + os.environb[b"PATH"],), 0o22)
submit.run(context, [Submission(spec)] * int(count))
"""


def submit_and_die(cli: Cli, count: int, point: str) -> None:
    command = [sys.executable, "-c", MORTAL, str(cli.store), str(count), point]
    done = subprocess.run(command, env=cli.environment(), cwd=cli.root, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("count", [1, 4])
def test_jobs_whose_submitter_dies_after_the_commit_run_all_the_same(cli: Cli, count: int) -> None:
    submit_and_die(cli, count, "after the commit")
    jobs = [job["id"] for job in cli.run("list", "--all", "--json").check().data]
    assert sorted(jobs) == list(range(1, count + 1))
    cli.run("wait", *jobs).check()
    assert ran(cli) == count
    assert_nothing_is_left(cli)


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("point", ["BEGIN IMMEDIATE", "COMMIT"])
def test_of_a_submitter_that_dies_before_the_commit_nothing_remains(cli: Cli, count: int, point: str) -> None:
    submit_and_die(cli, count, point)
    assert_nothing_is_left(cli)
    assert cli.run("list", "--all", "--json").data == []
    assert not ran(cli)


def test_of_a_submission_that_is_refused_nothing_remains(cli: Cli) -> None:
    cli.run("run", "--pool", "nowhere", "--", "true").check(2)
    assert_nothing_is_left(cli)
    cli.run("run", "--after-success", "41", "--", "true").check(3)
    assert_nothing_is_left(cli)
    assert cli.run("list", "--all", "--json").data == []


def test_in_a_store_that_cannot_be_used_nothing_remains_of_a_submission(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "true").check()
    assert_nothing_is_left(cli)
    database = cli.store / "inturn.db"
    database.write_bytes(b"no database".ljust(4096))
    before = sorted(cli.store.rglob("*"))
    cli.run("run", "--", "true").check(1)
    until(lambda: not cli.processes(), "the end of every process")
    assert sorted(cli.store.rglob("*")) == before


def test_a_job_with_a_key_that_is_under_way_gets_no_second_supervisor(cli: Cli) -> None:
    script = "until [ -e go ]; do sleep 0.01; done; echo ran >> ran"
    first = cli.run("run", "--key", "once", "-c", script).id
    assert cli.run("run", "--key", "once", "-c", script).id == first
    (cli.root / "go").touch()
    cli.run("wait", first).check()
    assert_nothing_is_left(cli)
    assert ran(cli) == 1


# --- what a supervisor is


class Process(NamedTuple):
    """What the kernel says of a process."""

    pid: int
    parent: int
    group: int
    session: int
    terminal: int

    @classmethod
    def of(cls, pid: int) -> Process:
        text = Path(f"/proc/{pid}/stat").read_text()
        _, parent, group, session, terminal = text[text.rindex(")") + 2 :].split()[:5]
        return cls(pid, int(parent), int(group), int(session), int(terminal))

    def descriptors(self) -> dict[int, str]:
        links: dict[int, str] = {}
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            links[int(name)] = os.readlink(f"/proc/{self.pid}/fd/{name}")
        return links

    def environment(self) -> Mapping[bytes, bytes]:
        text = Path(f"/proc/{self.pid}/environ").read_bytes()
        return dict(entry.split(b"=", 1) for entry in text.split(b"\0") if entry)


def supervisor_of(cli: Cli, job_id: int) -> Process:
    return Process.of(cli.show(job_id)["owner"]["pid"])


def submit_in_a_terminal(cli: Cli, script: str) -> int:
    """Run a script whose terminal has gone, and hung up, when this returns."""
    master, slave = os.openpty()
    # A session that has no terminal gets the one that its leader opens.
    command = ["sh", "-c", f"exec <>{os.ttyname(slave)} >&0 2>&0; {script}"]
    process = subprocess.Popen(command, env=cli.environment(), cwd=cli.root, start_new_session=True)
    assert process.wait(timeout=60) == 0
    said = os.read(master, 4096)
    for fd in (slave, master):
        os.close(fd)
    return int(said)


def test_a_supervisor_belongs_to_no_terminal_and_survives_its_end(cli: Cli) -> None:
    script = "until [ -e go ]; do sleep 0.01; done"
    job_id = submit_in_a_terminal(cli, f"{sys.executable} -m inturn run -c '{script}'")
    cli.wait_phase(job_id, "running")
    supervisor = supervisor_of(cli, job_id)
    assert (supervisor.session, supervisor.group) == (supervisor.pid, supervisor.pid)
    assert supervisor.terminal == 0
    (cli.root / "go").touch()
    cli.run("wait", job_id).check()


def test_a_supervisor_keeps_nothing_of_its_submitter(cli: Cli) -> None:
    script = 'exec 7>seven 9>nine; exec "$@" run --after 1h -- true'
    job_id = int(
        subprocess.run(
            ["sh", "-c", script, "sh", sys.executable, "-m", "inturn"],
            env=cli.environment({"INTURN_COOKIE": "that of a run", "MARK": "1"}),
            cwd=cli.root,
            stdout=subprocess.PIPE,
            timeout=60,
            check=True,
        ).stdout
    )
    supervisor = supervisor_of(cli, job_id)
    assert os.readlink(f"/proc/{supervisor.pid}/cwd") == "/"
    assert supervisor.environment() == {b"INTURN_DIR": os.fsencode(cli.store), b"LC_ALL": b"C.UTF-8"}
    links = supervisor.descriptors()
    assert [links.pop(number) for number in (0, 1, 2)] == ["/dev/null"] * 3
    inside = sorted(os.path.relpath(link, cli.store) for link in links.values())
    token = inside[-1].removesuffix(".wake")
    assert inside == ["inturn.db", "inturn.db-shm", "inturn.db-wal", f"{token}.lock", f"{token}.wake"]


def test_a_supervisor_ignores_no_signal_that_its_submitter_ignores(cli: Cli) -> None:
    script = 'trap "" HUP INT USR1 CHLD; exec "$@" run --after 1h -- true'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "inturn"]
    done = subprocess.run(
        command, env=cli.environment(), cwd=cli.root, capture_output=True, timeout=60, check=True
    )
    status = Path(f"/proc/{supervisor_of(cli, int(done.stdout)).pid}/status").read_text()
    ignored = int(next(line for line in status.splitlines() if line.startswith("SigIgn:")).split()[1], 16)
    names = {sig.name for sig in signal.Signals if ignored & 1 << (sig - 1)}
    # Python itself ignores these two in every program.
    assert names <= {"SIGPIPE", "SIGXFSZ"}


def test_environment_directory_and_umask_of_the_submitter_reach_the_job_byte_for_byte(cli: Cli) -> None:
    odd = os.fsdecode(b"od\xffd \n\xc3\xa4")
    there = cli.root / odd
    there.mkdir()
    env = {"ODD": odd, "EMPTY": "", "INTURN_JOB_ID": "41", "LC_ALL": "C", "PWD": None, "OLDPWD": None}
    before = os.umask(0o137)
    try:
        script = 'env -0 > "$ODD.env"; umask > umask; pwd -P > where; printf "%s" "$1" > word'
        submitted = cli.run("run", "--wait", "--", "sh", "-c", script, "sh", odd, env=env, cwd=there)
    finally:
        os.umask(before)
    submitted.check()
    told = (there / f"{odd}.env").read_bytes()
    job_env = dict(entry.split(b"=", 1) for entry in told.split(b"\0")[:-1])
    expected = {os.fsencode(name): os.fsencode(value) for name, value in cli.environment(env).items()}
    own = {b"INTURN_JOB_ID": b"1", b"INTURN_RUN": b"1", b"INTURN_ATTEMPT": b"1", b"INTURN_SLOTS": b"1"}
    del job_env[b"INTURN_COOKIE"], job_env[b"PWD"]  # the latter is the shell's own
    assert job_env == {**expected, **own}
    assert (there / "umask").read_text() == "0137\n"
    assert (there / "where").read_bytes() == os.fsencode(there) + b"\n"
    assert (there / "word").read_bytes() == os.fsencode(odd)
    assert (there / "word").stat().st_mode & 0o777 == 0o640


def test_a_job_that_submits_another_neither_awaits_nor_ends_it(cli: Cli) -> None:
    inner = "exec inturn run -c 'until [ -e go ]; do sleep 0.01; done' > inner"
    outer = cli.run("run", "--", "sh", "-c", f"PATH={os.path.dirname(sys.executable)}:$PATH; {inner}").id
    cli.run("wait", outer).check()
    job_id = int((cli.root / "inner").read_text())
    cli.wait_phase(job_id, "running")
    until(lambda: len(cli.processes()) <= 3, "the end of the outer supervisor")
    (cli.root / "go").touch()
    cli.run("wait", job_id).check()


# --- many at once


def test_each_of_many_jobs_has_a_supervisor_of_its_own(cli: Cli, context: Context) -> None:
    script = "until [ -e go ]; do sleep 0.01; done; echo ran >> ran"
    stored = submit.run(context, [submission(cli, script) for _ in range(5)])
    assert stored == [1, 2, 3, 4, 5]
    supervisors = [supervisor_of(cli, job_id) for job_id in stored]
    assert len({one.pid for one in supervisors}) == 5
    for one in supervisors:
        assert (one.session, one.group, one.terminal) == (one.pid, one.pid, 0)
        assert one.parent not in {other.pid for other in supervisors}
        locks = [link for link in one.descriptors().values() if link.endswith(".lock")]
        assert len(locks) == 1
    (cli.root / "go").touch()
    cli.run("wait", *stored).check()
    assert ran(cli) == 5
    assert_nothing_is_left(cli)


def test_of_many_jobs_all_or_none_are_stored(cli: Cli, context: Context) -> None:
    wrong = submission(cli)._replace(pool="nowhere")
    with pytest.raises(InturnError) as raised:
        submit.run(context, [submission(cli), wrong, submission(cli)])
    assert raised.value.code == "unknown_pool"
    assert cli.run("list", "--all", "--json").data == []
    assert_nothing_is_left(cli)


# The program of the nursery, with something that happens to its processes.
NURSERY = """
import os, sys
sys.path[:0] = sys.argv[2].split(":")
{trouble}
from inturn.nursery import run_nursery
run_nursery(sys.argv[3], sys.argv[4], int(sys.argv[5]))
"""

ONE_FORK_REFUSED = """
forks, fork = [], os.fork
def refused():
    if len(forks) == 3:
        raise BlockingIOError(11, "Resource temporarily unavailable")
    forks.append(fork())
    return forks[-1]
os.fork = refused
"""

ONLY_ONE_TAKES_OVER = """
from inturn.host import brood
sleep = brood.Nursling.sleep
def dying(one, *rest):
    if one.number != 1:
        os._exit(1)
    sleep(one, *rest)
brood.Nursling.sleep = dying
"""


def troubled(context: Context, trouble: str) -> Context:
    python, *_, libraries = context.supervisor
    program = NURSERY.format(trouble=trouble)
    return context._replace(supervisor=(python, "-I", "-S", "-c", program, "nursery", libraries))


def test_if_not_all_supervisors_can_be_started_nothing_is_submitted(cli: Cli, context: Context) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(troubled(context, ONE_FORK_REFUSED), [submission(cli) for _ in range(5)])
    assert raised.value.code == "submission_failed"
    assert raised.value.message == "only 3 of 5 supervisors could be started"
    assert cli.run("list", "--all", "--json").data == []
    assert_nothing_is_left(cli)


@pytest.mark.parametrize("command", [("/bin/true",), ("/bin/sh", "-c", "printf 'garbage' >&5")])
def test_without_any_supervisor_nothing_is_submitted(
    cli: Cli, context: Context, command: tuple[str, ...]
) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(context._replace(supervisor=command), [submission(cli) for _ in range(2)])
    assert raised.value.code == "submission_failed"
    assert cli.run("list", "--all", "--json").data == []
    assert_nothing_is_left(cli)


def test_without_a_process_to_start_many_nothing_is_submitted(cli: Cli, context: Context) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(context._replace(supervisor=("/no/such/program",)), [submission(cli) for _ in range(2)])
    assert raised.value.code == "submission_failed"
    assert_nothing_is_left(cli)


def test_every_job_that_was_left_without_a_supervisor_has_ended(cli: Cli, context: Context) -> None:
    with pytest.raises(InturnError) as raised:
        submit.run(troubled(context, ONLY_ONE_TAKES_OVER), [submission(cli) for _ in range(3)])
    assert raised.value.code == "submission_failed"
    cli.run("wait", 2).check()
    assert ran(cli) == 1
    outcomes = [cli.show(job_id)["outcome"] for job_id in (1, 2, 3)]
    assert outcomes == ["submission_failed", "success", "submission_failed"]
