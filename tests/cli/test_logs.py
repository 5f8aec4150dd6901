from __future__ import annotations

import base64
import subprocess

import pytest

from tests.e2e.harness import INTURN, Cli


def test_bytes_are_untouched(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "printf", r"abc\377\000def\n").id
    assert cli.run("logs", job).check().out == b"abc\xff\0def\n"
    assert cli.run("logs", job, "-f").check().out == b"abc\xff\0def\n"
    (segment,) = cli.run("logs", job, "--json").check().data["segments"]
    assert base64.b64decode(segment["text_base64"]) == b"abc\xff\0def\n"


def test_both_streams_come_in_the_order_seen_or_one_of_them(cli: Cli) -> None:
    script = "echo 1; sleep 0.4; echo 2 >&2; sleep 0.4; echo 3"
    job = cli.run("run", "--wait", "--name", "n", "--", "sh", "-c", script).id
    assert cli.run("logs", "n").check().out == b"1\n2\n3\n"
    assert cli.run("logs", job, "--stream", "stdout").check().out == b"1\n3\n"
    assert cli.run("logs", job, "--stream", "stderr").check().out == b"2\n"
    assert cli.run("logs", job, "-n", 1).check().out == b"3\n"


def test_one_file_for_both_streams_has_their_exact_order(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--merge-output", "--", "sh", "-c", "echo 1; echo 2 >&2; echo 3").id
    assert cli.run("logs", job).check().out == b"1\n2\n3\n"


def test_runs_are_shown_one_by_one_or_all(cli: Cli) -> None:
    submitted = cli.run("run", "--wait", "--retries", 1, "--", "sh", "-c", "echo $INTURN_RUN; exit 1")
    job = int(submitted.check(1).text)
    assert cli.run("logs", job).check().out == b"2\n"
    assert cli.run("logs", job, "--run", 1).check().out == b"1\n"
    assert cli.run("logs", job, "--run", "all").check().out == b"1\n2\n"
    cli.run("logs", job, "--run", 3).check(3)


def test_a_follower_sees_everything_across_retries_and_ends_with_the_job(cli: Cli) -> None:
    script = "echo run $INTURN_RUN; sleep 0.2; echo end >&2; [ $INTURN_RUN = 2 ]"
    job = cli.run("run", "--wait-file", "go", "--retries", 3, "--", "sh", "-c", script, cwd=cli.root).id
    follower = cli.popen("logs", "-f", job)
    (cli.root / "go").touch()
    out, err = follower.communicate(timeout=60)
    assert (follower.returncode, out, err) == (0, b"run 1\nend\nrun 2\nend\n", b"")


def test_a_reader_that_goes_away_ends_a_follower_quietly(cli: Cli) -> None:
    job = cli.run("run", "--", "sh", "-c", "echo here; exec sleep 600").id
    follower = cli.popen("logs", "-f", job)
    assert follower.stdout is not None
    assert follower.stdout.readline() == b"here\n"
    follower.stdout.close()
    assert follower.wait(60) == 0
    assert follower.stderr is not None
    assert follower.stderr.read() == b""
    cli.run("cancel", job).check()


def test_a_reader_that_has_enough_ends_a_long_log_quietly(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "seq", "200000").id
    shown = cli.popen("logs", job)
    assert shown.stdout is not None
    assert shown.stdout.readline() == b"1\n"
    shown.stdout.close()
    assert shown.wait(60) == 0


def test_each_line_has_its_time_on_request(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "sh", "-c", "echo a; echo b").id
    lines = cli.run("logs", job, "--timestamps").check().text.splitlines()
    assert [line.split("Z ")[1] for line in lines] == ["a", "b"]
    assert cli.show(job)["runs"][0]["started_at"][:16] <= lines[0][:16]


def test_a_job_that_has_not_run_has_no_output_and_that_is_no_error(cli: Cli) -> None:
    job = cli.run("run", "--wait-file", "never", "--", "true").id
    shown = cli.run("logs", job).check()
    assert shown.out == b""
    assert b"has not run yet" in shown.err
    assert cli.run("logs", job, "--json").check().data["segments"] == []


@pytest.mark.parametrize(
    "words",
    [("--run", "0"), ("--run", "x"), ("-n", "-1"), ("-n", "x"), ("--stream", "x"), ("-f", "--json")],
)
def test_nonsense_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    job = cli.run("run", "--wait", "--", "true").id
    assert cli.run("logs", job, *words).check(2).out.startswith(b"{" if "--json" in words else b"")


def test_it_works_without_a_standard_output(cli: Cli) -> None:
    job = cli.run("run", "--wait", "--", "echo", "hello").id
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", INTURN, "logs", str(job)],
        env=cli.environment(),
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert cli.show(job)["outcome"] == "success"  # nothing was written over the store
