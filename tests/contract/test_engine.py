"""What every engine must do. Another engine is added to ENGINES, and nothing else is changed."""

from __future__ import annotations

import os
import select
import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from inturn.engines.base import OutOfResources, StartFailed
from inturn.engines.local import LocalEngine
from inturn.host import logs
from tests.e2e.harness import until
from tests.engines.bench import ASLEEP, SLEEP, Bench

if TYPE_CHECKING:
    from inturn.engines.base import Engine, Running

ENGINES: tuple[Callable[[], Engine], ...] = (LocalEngine,)


@pytest.fixture(params=ENGINES, ids=lambda make: make.name)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(request.param(), tmp_path)
    yield made
    made.clean()


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


# --- what the program gets


def test_arguments_reach_the_program_byte_for_byte(bench: Bench) -> None:
    words = [b"", b" ", b"a b", b"$HOME", b"*", b"\xff\xfe", b"new\nline", b"'\"\\", "ä€😀".encode()]
    assert bench.output(bench.launch("printf", "%s\\0", *words)).split(b"\0")[:-1] == words


def test_the_environment_is_the_jobs_own_byte_for_byte(bench: Bench) -> None:
    env = {b"PATH": b"/usr/bin:/bin", b"EMPTY": b"", b"BYTES": b"\xff=\n", b"strange name": b"1"}
    launch = bench.launch("env", "-0", env=env)
    shown = dict(entry.split(b"=", 1) for entry in bench.output(launch).split(b"\0")[:-1])
    marks = {name: value for name, value in shown.items() if name not in env}
    assert {name: shown[name] for name in env} == env
    assert all(name.startswith(b"INTURN_") for name in marks)


def test_the_command_is_looked_up_in_the_jobs_path(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    tool = script(tmp_path / "bin" / "only-in-the-jobs-path", "#!/bin/sh\necho found\n")
    run = bench.start(bench.launch(tool.name, env={b"PATH": b"/nowhere:" + os.fsencode(tool.parent)}))
    bench.end(run)
    assert bench.read(run) == b"found\n"
    assert run.executable == str(tool)


def test_a_relative_program_is_one_of_the_jobs_directory(bench: Bench) -> None:
    script(bench.cwd / "tool", '#!/bin/sh\necho "$0"\n')
    assert bench.output(bench.launch("./tool")) == b"./tool\n"


def test_the_program_starts_in_the_jobs_directory(bench: Bench, tmp_path: Path) -> None:
    there = tmp_path / os.fsdecode(b"dir \xff")
    there.mkdir()
    assert bench.output(bench.launch("pwd", "-P", cwd=there)) == os.fsencode(there.resolve()) + b"\n"


def test_the_program_has_the_jobs_umask(bench: Bench) -> None:
    assert bench.output(bench.launch("sh", "-c", "umask", umask=0o027)) == b"0027\n"


def test_the_program_has_the_jobs_niceness(bench: Bench) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    # It may be read in the instant before it is set: ask until it is there.
    wait = f"until test $(nice) = {min(own + 7, 19)}; do sleep 0.01; done; nice"
    assert int(bench.output(bench.launch("sh", "-c", wait, nice=7))) == min(own + 7, 19)


def test_stdin_is_empty_unless_a_file_is_named(bench: Bench) -> None:
    assert bench.output(bench.launch("cat")) == b""


def test_stdin_can_be_a_file_relative_to_the_jobs_directory(bench: Bench) -> None:
    (bench.cwd / "input").write_bytes(b"\x00data\xff")
    assert bench.output(bench.launch("cat", stdin=b"input")) == b"\x00data\xff"


def test_the_streams_go_to_a_file_each(bench: Bench) -> None:
    run = bench.shell("echo to-out; echo to-err >&2")
    bench.end(run)
    assert (bench.read(run), bench.read(run, "err")) == (b"to-out\n", b"to-err\n")


def test_merged_streams_keep_their_order_in_one_file(bench: Bench) -> None:
    run = bench.shell("for n in 1 2 3; do echo out $n; echo err $n >&2; done", merge=True)
    bench.end(run)
    assert bench.read(run) == b"out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
    assert not os.path.exists(bench.stems[run] + ".err")


def test_logs_are_private_whatever_the_umask_of_the_job(bench: Bench) -> None:
    run = bench.start(bench.launch("sh", "-c", "echo out; echo err >&2", umask=0))
    bench.end(run)
    for suffix in logs.SUFFIXES:
        assert os.stat(bench.stems[run] + suffix).st_mode & 0o777 == 0o600


# --- its end


@pytest.mark.parametrize("code", [0, 1, 7, 127, 255])
def test_the_exit_code_is_reported(bench: Bench, code: int) -> None:
    ended = bench.end(bench.shell(f"exit {code}"))
    assert (ended.exit_code, ended.signal) == (code, None)


def test_death_by_a_signal_is_not_an_exit_code(bench: Bench) -> None:
    ended = bench.end(bench.shell("kill -SEGV $$"))
    assert (ended.exit_code, ended.signal) == (None, signal.SIGSEGV)


def test_a_run_that_goes_on_has_no_end(bench: Bench) -> None:
    assert bench.shell(SLEEP).poll() is None


def test_the_descriptor_becomes_readable_at_the_end_and_stays_so(bench: Bench) -> None:
    run = bench.shell("until test -e go; do sleep 0.01; done")
    poller = select.poll()
    poller.register(run.fileno(), select.POLLIN)
    assert poller.poll(0) == []
    (bench.cwd / "go").touch()
    assert poller.poll(30_000) != []
    assert run.poll() is not None
    assert poller.poll(0) != []


def test_the_end_is_told_the_same_each_time(bench: Bench) -> None:
    run = bench.shell("exit 3")
    assert bench.end(run) == run.poll() == run.poll()
    run.close()
    assert run.poll() == bench.end(run)


def test_the_resources_of_a_busy_program_are_reported(bench: Bench) -> None:
    ended = bench.end(bench.shell("i=0; while test $i -lt 300000; do i=$((i+1)); done"))
    assert ended.user_us > 0
    assert ended.system_us >= 0
    assert ended.max_rss > 100_000


def test_a_child_that_keeps_stdout_open_does_not_delay_the_end(bench: Bench) -> None:
    run = bench.shell(f"{SLEEP} & exit 5")
    assert bench.end(run).exit_code == 5
    assert run.leftovers()


# --- signals and what is left


def test_a_signal_reaches_the_whole_group(bench: Bench) -> None:
    run = bench.shell(f"sh -c 'trap \"echo child >&2; exit\" TERM; echo ready; {SLEEP} & wait' & wait")
    bench.line(run)
    run.signal(signal.SIGTERM)
    assert bench.end(run).signal == signal.SIGTERM
    assert bench.line(run, "err") == b"child"


def test_a_signal_after_the_end_does_nothing(bench: Bench) -> None:
    run = bench.shell(f"{SLEEP} &")
    bench.end(run)
    run.signal(signal.SIGKILL)
    assert run.leftovers()


def test_nothing_is_left_of_a_plain_run(bench: Bench) -> None:
    run = bench.shell("true")
    bench.end(run)
    assert not run.leftovers()


LEFT_BEHIND = {
    "in the group": f"{SLEEP} &",
    "in a session of its own": f"setsid {SLEEP} &",
    "with no other mark than its log": f"env -i setsid {SLEEP} &",
    "with no other mark than its environment": f"setsid {SLEEP} >/dev/null 2>&1 </dev/null &",
    "with no other mark than its session": f"env -i {SLEEP} >/dev/null 2>&1 </dev/null &",
}


@pytest.mark.parametrize("kind", LEFT_BEHIND)
def test_whoever_is_left_behind_is_found_and_can_be_ended(bench: Bench, kind: str) -> None:
    run = bench.shell(f"{LEFT_BEHIND[kind]} {ASLEEP}; exit 4")
    assert bench.end(run).exit_code == 4
    assert run.leftovers()
    run.signal_tree(signal.SIGTERM)
    until(lambda: not run.leftovers(), "the end of what was left")


def test_ending_the_tree_of_a_live_run_ends_all_of_it(bench: Bench) -> None:
    run = bench.shell(f"setsid {SLEEP} & {SLEEP} & echo ready; {SLEEP}")
    bench.line(run)
    run.signal_tree(signal.SIGKILL)
    assert bench.end(run).signal == signal.SIGKILL
    until(lambda: not run.leftovers(), "the end of the tree")


def test_each_process_gets_a_signal_for_its_tree_once(bench: Bench) -> None:
    count = "trap 'echo caught' TERM; echo ready >&2; until test -e go; do sleep 0.01; done"
    run = bench.shell(f'setsid sh -c "{count}" & {count}; wait')
    until(lambda: bench.read(run, "err").count(b"ready") == 2, "both processes")
    run.signal_tree(signal.SIGTERM)
    until(lambda: bench.read(run).count(b"caught") >= 2, "the signal in both processes")
    (bench.cwd / "go").touch()
    bench.end(run)
    until(lambda: not run.leftovers(), "the end of both")
    assert bench.read(run).count(b"caught") == 2


# Says each time that it hears TERM; its parent has ended, so that it belongs to nobody but the owner.
HEARS = """
import os, signal, sys, time
if os.fork():
    os._exit(0)
if "alone" in sys.argv:
    os.setsid()
signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"caught\\n"))
os.write(2, b"ready\\n")
while not os.path.exists("go"):
    time.sleep(0.01)
"""


@pytest.mark.parametrize("place", ["alone", "in the group"])
def test_an_orphan_gets_a_signal_for_its_tree_once(bench: Bench, place: str) -> None:
    orphan = shlex.join([sys.executable, "-c", HEARS, place])
    run = bench.shell(f"trap '' TERM; {orphan}; until test -e go; do sleep 0.01; done")
    until(lambda: b"ready" in bench.read(run, "err"), "the orphan")
    run.signal_tree(signal.SIGTERM)
    until(lambda: b"caught" in bench.read(run), "the signal in the orphan")
    (bench.cwd / "go").touch()
    bench.end(run)
    until(lambda: not run.leftovers(), "the end of both")
    assert bench.read(run).count(b"caught") == 1


def test_two_runs_of_one_owner_are_told_apart(bench: Bench) -> None:
    clean, busy = bench.shell("true"), bench.shell(f"{SLEEP} & setsid {SLEEP} &")
    going = bench.shell(SLEEP)
    bench.end(clean)
    bench.end(busy)
    assert not clean.leftovers()
    assert busy.leftovers()
    busy.signal_tree(signal.SIGKILL)
    until(lambda: not busy.leftovers(), "the end of what the one run left")
    assert going.poll() is None


# --- what cannot start


def refused(bench: Bench, run: Callable[[], Running]) -> tuple[str, str]:
    with pytest.raises(StartFailed) as failure:
        run()
    assert not isinstance(failure.value, OutOfResources), "it is the job's own fault"
    assert list(bench.logs.iterdir()) == [], "a log remains of what was never started"
    return failure.value.reason, failure.value.message


def test_a_missing_directory_is_blamed_itself(bench: Bench, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    reason, message = refused(bench, lambda: bench.start(bench.launch("sh", "-c", "true", cwd=gone)))
    assert reason == "cwd_missing"
    assert str(gone) in message
    assert "sh" not in message.split()


def test_a_missing_command_is_named(bench: Bench) -> None:
    reason, message = refused(bench, lambda: bench.start(bench.launch("no-such-command")))
    assert reason == "command_not_found"
    assert "'no-such-command'" in message


def test_a_file_without_permission_is_named(bench: Bench) -> None:
    (bench.cwd / "data").write_text("#!/bin/sh\n")
    reason, message = refused(bench, lambda: bench.start(bench.launch("./data")))
    assert reason == "not_executable"
    assert "data" in message


def test_a_missing_interpreter_is_blamed_and_not_its_script(bench: Bench) -> None:
    script(bench.cwd / "tool", "#!/no/such/interpreter -x\n")
    reason, message = refused(bench, lambda: bench.start(bench.launch("./tool")))
    assert reason == "interpreter_missing"
    assert "'/no/such/interpreter'" in message


def test_a_script_without_its_first_line_is_never_handed_to_a_shell(bench: Bench) -> None:
    script(bench.cwd / "tool", "touch proof\n")
    reason, message = refused(bench, lambda: bench.start(bench.launch("./tool")))
    assert reason == "not_a_program"
    assert "tool" in message
    assert not (bench.cwd / "proof").exists()


def test_too_many_arguments_say_so(bench: Bench) -> None:
    reason, message = refused(bench, lambda: bench.start(bench.launch("true", *["x" * 100_000] * 300)))
    assert reason == "arguments_too_long"
    assert "longer than the system allows" in message


def test_a_missing_input_file_is_named(bench: Bench) -> None:
    reason, message = refused(bench, lambda: bench.start(bench.launch("cat", stdin=b"gone")))
    assert reason == "stdin_missing"
    assert str(bench.cwd / "gone") in message


def test_a_log_that_cannot_be_opened_is_named_and_nothing_runs(bench: Bench) -> None:
    launch = bench.launch("touch", "proof")
    bench.logs.rmdir()
    bench.logs.write_text("in its place")
    with pytest.raises(StartFailed) as failure:
        bench.start(launch)
    assert failure.value.reason == "log_unavailable"
    assert launch.log in failure.value.message
    assert not (bench.cwd / "proof").exists()


def test_a_word_that_the_system_cannot_take_is_a_start_failure(bench: Bench) -> None:
    reason, _ = refused(bench, lambda: bench.start(bench.launch("echo", b"nul\0byte")))
    assert reason == "start_refused"


# --- logs


def test_samples_tell_the_order_of_the_streams(bench: Bench) -> None:
    steps = ["echo one", "echo two >&2", "echo three", "echo four >&2"]
    waits = [f"until test -e go{n}; do sleep 0.01; done; {step}" for n, step in enumerate(steps)]
    run = bench.shell("; ".join(waits))
    words = (("out", b"one\n"), ("err", b"two\n"), ("out", b"three\n"), ("err", b"four\n"))
    for number, (stream, word) in enumerate(words):
        (bench.cwd / f"go{number}").touch()
        until(lambda stream=stream, word=word: bench.read(run, stream).endswith(word), "the next word")  # type: ignore[misc]
        run.sample()
    bench.end(run)
    run.close()
    assert bench.told(run) == [(f"std{stream}", word) for stream, word in words]


def test_without_a_sample_all_output_is_still_told(bench: Bench) -> None:
    run = bench.shell("echo err >&2; echo out")
    bench.end(run)
    run.close()
    assert bench.told(run) == [("stdout", b"out\n"), ("stderr", b"err\n")]


def test_empty_logs_are_removed_when_nobody_can_write_to_them_any_more(bench: Bench) -> None:
    run = bench.shell("echo something")
    bench.end(run)
    run.sample()
    run.close()
    assert sorted(path.suffix for path in bench.logs.iterdir()) == [".idx", ".out"]


def test_empty_logs_of_a_process_left_behind_stay(bench: Bench) -> None:
    run = bench.shell("(until test -e go; do sleep 0.01; done; echo late) &")
    bench.end(run)
    run.close()
    (bench.cwd / "go").touch()
    assert bench.line(run) == b"late"


def test_closing_ends_nothing_and_may_be_repeated(bench: Bench) -> None:
    run = bench.shell(SLEEP)
    run.close()
    run.close()
    assert run.poll() is None


def test_empty_logs_stay_until_the_result_is_stored_because_they_prove_that_something_was_started(
    bench: Bench,
) -> None:
    run = bench.shell("true")
    bench.end(run)
    run.close(over=False)
    stem = bench.stems[run]
    found = [bench.engine.find(native_id, Path(stem).name, stem) for native_id in ("", run.native_id)]
    assert [one.state for one in found] == ["gone", "gone"]


def test_a_run_of_which_no_log_was_ever_opened_was_never_started(bench: Bench) -> None:
    assert bench.engine.find("", "c0ffee", str(bench.logs / "c0ffee")).state == "never"
