from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.arch.sources import SRC
from tests.e2e.conftest import start_worker
from tests.e2e.harness import DEADLINE, Cli, until

# What a submission has no use for; argparse alone would cost it more than the rest of its parsing.
DEAR = frozenset(
    "argparse contextlib dataclasses datetime difflib enum functools json logging re rich ruamel shlex shutil"
    " signal subprocess tempfile typing".split()
)


def test_the_id_stands_alone_on_a_line(cli: Cli) -> None:
    first, second = (cli.run("run", "--wait", "--", "true").check() for _ in range(2))
    assert (first.out, second.out) == (b"1\n", b"2\n")
    assert first.err == b""


def test_in_json_mode_the_id_is_in_the_document(cli: Cli) -> None:
    for words in (["--json", "run", "--wait", "--", "true"], ["run", "--wait", "--json", "true"]):
        assert set(cli.run(*words).check().data) == {"id"}


def test_arguments_arrive_untouched(cli: Cli) -> None:
    words = ["a b", "", "x\ny", "$HOME", "$$", "%n", "*", '"', "'", "\\", "--flag", "--json", "--", "-c", "é"]
    show = "import sys, json; json.dump(sys.argv[1:], open('seen', 'w'))"
    cli.run("run", "--wait", "--", sys.executable, "-c", show, *words).check()
    assert json.loads((cli.root / "seen").read_text()) == words


def test_the_environment_arrives_untouched(cli: Cli) -> None:
    script = 'f; printf %s "$V" > seen; printf %s "$W$X" >> seen'
    env = {"BASH_FUNC_f%%": "() {  echo hi > said; }", "V": "1\n2;id", "W": "\udcff", "X": "gone"}
    (cli.root / "vars").write_text("W=replaced\nY=2\n")
    cli.run(
        *("run", "--wait", "--env-file", "vars", "--env", "W=\udcff", "--unset-env", "X"),
        *("--", "bash", "-c", script),
        env=env,
    ).check()
    assert (cli.root / "said").read_text() == "hi\n"
    assert (cli.root / "seen").read_bytes() == b"1\n2;id\xff"


def test_a_job_can_submit_another_that_knows_nothing_of_its_parent(cli: Cli) -> None:
    inner = 'echo "$INTURN_JOB_NAME/$INTURN_ATTEMPT" > inner; inturn run --wait --name child -- sh -c "$1"'
    child = 'echo "$INTURN_JOB_ID $INTURN_JOB_NAME $INTURN_DIR" > child'
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    cli.run(
        "run", "--wait", "--name", "parent", "--", "sh", "-c", inner, "sh", child, env={"PATH": path}
    ).check()
    assert (cli.root / "inner").read_text() == "parent/1\n"
    assert (cli.root / "child").read_text() == f"2 child {cli.store}\n"


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--", "true"], 0),
        (["--", "sh", "-c", "exit 3"], 3),
        (["--success-exit-code", "3", "--", "sh", "-c", "exit 3"], 0),
        (["-c", "exit 4"], 4),
        (["-c", "kill -9 $$"], 137),
        (["--run-timeout", "50ms", "--", "sleep", "600"], 124),
        (["--", "no-such-program"], 127),
        (["--cwd", "gone", "--", "true"], 126),
        (["--job-timeout", "50ms", "--wait-file", "never", "--", "true"], 6),
        (["--retries", "1", "-c", "echo x >> tries; test $(wc -l < tries) = 2"], 0),
    ],
)
def test_waiting_passes_the_status_of_the_command_on(cli: Cli, words: list[str], status: int) -> None:
    assert cli.run("run", "--wait", *words).check(status).out == b"1\n"


def test_an_interrupted_wait_leaves_the_job_alone(cli: Cli) -> None:
    process = cli.popen("run", "--wait", "--wait-file", "go", "--wait-poll", "10ms", "--", "true")
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE) == 130
    assert process.communicate()[1] == b""
    assert cli.phase(1) == "waiting"
    (cli.root / "go").touch()
    cli.wait_phase(1, "completed")


def test_nothing_is_stored_when_something_is_wrong(cli: Cli) -> None:
    for words, code in ((["--name", "7", "true"], 2), (["--pool", "none", "true"], 2), (["--colour"], 2)):
        cli.run("run", *words).check(code)
    assert cli.run("run", "--after-success", "nobody", "true").check(3).out == b""
    assert cli.run("list", "--all", "--json").check().data == []


def test_a_queue_is_for_workers(cli: Cli) -> None:
    assert b"--queue: a supervised job has none" in cli.run("run", "--queue", "q", "true").check(2).err


def test_a_local_time_is_echoed_with_its_offset(cli: Cli) -> None:
    words = [
        "run",
        "--wait",
        "--wait-until",
        "2001-02-03 04:05",
        "--wait-abort-at",
        "4102444800",
        "--",
        "true",
    ]
    told = cli.run(*words, env={"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}).check().err.decode()
    assert told == "inturn: --wait-until: 2001-02-03 04:05:00+01:00 is past\n"
    assert "--wait-abort-at" not in told  # epoch seconds say the same everywhere


def test_a_time_that_is_past_is_echoed_as_it_was_written(cli: Cli) -> None:
    told = cli.run("run", "--wait", "--wait-abort-at", "2020-01-01", "--", "true", env={"TZ": "UTC"}).err
    assert told.startswith(b"inturn: --wait-abort-at: 2020-01-01 00:00:00+00:00 is past\n")


def test_a_submission_that_waits_tells_why_its_job_did_not_succeed(cli: Cli) -> None:
    told = cli.run("run", "--wait", "--", "no-such-command").check(127).err
    assert told == cli.run("wait", 1).check(6).err
    assert told.startswith(b"inturn: job 1 ended as failure (")
    assert b"no-such-command" in told
    start_worker(cli)
    told = cli.run("add", "--wait", "-c", "exit 7").check(7).err
    assert told == b"inturn: job 2 ended as failure (exit 7)\n"
    assert cli.run("run", "--wait", "--", "true").check().err == b""


def test_at_a_terminal_every_time_is_echoed(cli: Cli) -> None:
    leader, terminal = pty.openpty()
    try:
        process = cli.popen(
            "run", "--wait", "--wait-abort-at", "2100-01-01T00:00:00Z", "true", stderr=terminal
        )
        os.close(terminal)
        assert process.wait(DEADLINE) == 0
        assert os.read(leader, 4096).startswith(b"inturn: --wait-abort-at: 2")
    finally:
        os.close(leader)


def test_defaults_of_the_configuration_fill_gaps(cli: Cli) -> None:
    cli.configure("schema_version: 1\ndefaults: {retries: 2, tag: [a], queue: gpu, retry_delay: 1s}\n")
    job = cli.run("run", "--wait", "--max-runs", "5", "--", "true").id
    policy = cli.show(job)["spec"]["policy"]
    assert (policy["max_runs"], policy["failure_limit"], policy["retry_delay"]) == (5, None, 1)
    assert cli.show(job)["tags"] == {"a": None}


def test_a_submission_loads_nothing_that_it_does_not_need(cli: Cli) -> None:
    site = [path for path in sys.path if path.endswith("site-packages")]
    program = (
        f"import sys; sys.path += {[str(SRC), *site]!r}\n"
        "from inturn.cli.main import main\n"
        "code = main(['run', '--retry-delay', '1s', '--env', 'A=1', '--', 'true'])\n"
        "print(*sys.modules)\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        capture_output=True, text=True, check=True, env=cli.environment(), cwd=cli.root,
    )  # fmt: skip
    submitted, loaded = done.stdout.splitlines()
    assert DEAR.isdisjoint(loaded.split()), sorted(DEAR & set(loaded.split()))
    cli.wait_phase(submitted, "completed")


def test_a_dry_run_creates_nothing_and_says_whether_it_would_start(cli: Cli) -> None:
    told = cli.run("run", "--dry-run", "--retries", "2", "--", "echo", "a b").check().text
    assert told.startswith("would start now\tyes\n")
    assert "spec.argv\techo 'a b'\n" in told
    assert "spec.policy.max_runs\t3\n" in told
    assert not cli.store.exists()


def test_a_job_of_a_queue_that_no_worker_serves_would_not_start(cli: Cli) -> None:
    words = ["add", "--dry-run", "--queue", "nobody", "--", "true"]
    told = cli.run(*words).check().text
    assert told.startswith('would start now\tno\nbecause\tno live worker serves the queue "nobody"\n')
    assert cli.run(*words[:2], "--json", *words[2:]).check().data["would_start"] is False
    start_worker(cli, "--queue", "nobody")
    until(lambda: cli.run(*words).check().text.startswith("would start now\tyes\n"), "the worker")


def test_a_dry_run_in_json_is_the_job_as_it_would_be(cli: Cli) -> None:
    cli.run("run", "--wait", "--name", "parent", "--", "false").check(1)
    data = cli.run("run", "--dry-run", "--json", "--after-success", "parent", "--", "true").check().data
    assert (data["would_submit"], data["would_start"], data["phase"]) == (True, False, "completed")
    assert data["reason"] == "dependency_unsatisfied"
    assert data["reasons"]
    assert "id" not in data
    assert [job["id"] for job in cli.run("list", "--json").check().data] == [1]


def test_a_dry_run_refuses_what_a_submission_would(cli: Cli) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 2, pools: {p: 1}}\n")
    for words, code in (
        (["--slots", "3"], 2),
        (["--pool", "q"], 2),
        (["--pool", "p", "--slots", "2"], 2),
        (["--after-success", "9"], 3),
        (["--name", "1"], 2),
    ):
        cli.run("run", "--dry-run", *words, "--", "true").check(code)
    cli.run("run", "--dry-run", "--pool", "p", "--", "true").check()
    assert not cli.store.exists()


def test_a_dry_run_with_the_key_of_a_live_job_names_that_job(cli: Cli, tmp_path: Path) -> None:
    words = ["--key", "k", "--wait-file", "go", "--wait-poll", "10ms", "--", "true"]
    job = cli.run("run", *words).id
    assert cli.run("run", "--dry-run", "--json", *words).check().data["job_id"] == job
    assert f"job {job} has this key" in cli.run("run", "--dry-run", *words).check().text
    (tmp_path / "go").touch()
    until(lambda: cli.phase(job) == "completed", "the end of the job")
