"""A supervisor that is started before anybody has understood the words: it is there in time, or it is gone.

`run` begins with it when its words look as if one will be wanted. Whatever they turn out to mean, nothing is
left of one that was not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from inturn.app import begin, open_context
from inturn.cli import frame
from inturn.store import migrate
from tests.e2e.harness import INTURN, Cli, until

# `inturn`, which notes of each single supervisor that it starts whether it knew then what was asked for.
NOTING = """
import sys
from inturn.host import faults
def note():
    with open("starts", "a") as file:
        file.write("late\\n" if "inturn.cli.frame" in sys.modules else "early\\n")
faults.arm("submit.spawned", note, None)
from inturn.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

# `inturn`, interrupted when it comes to a crash point, or when it is about to load a module.
INTERRUPTED = """
import os, signal, sys
from inturn.host import faults
from inturn.host.crash_points import POINTS
place = sys.argv.pop(1)
def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
class Interrupt:
    def find_spec(self, name, *_):
        if name == place:
            interrupt()
if place in POINTS:
    faults.arm(place, interrupt)
else:
    sys.meta_path.insert(0, Interrupt())
from inturn.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

# `inturn` several times in one process, which then looks at what it still has.
REPEATED = """
import os, sys
from inturn.cli.main import main
main(sys.argv[1:])
before = os.listdir("/proc/self/fd")
print(*(main(sys.argv[1:]) for _ in range(3)))
print(len(os.listdir("/proc/self/fd")) - len(before))
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
"""


@pytest.fixture
def cli(cli: Cli) -> Cli:
    """A store that is there, and in which nothing is under way."""
    cli.run("run", "--wait", "--", "true").check()
    until(lambda: not cli.processes(), "the end of the first supervisor")
    return cli


def python(cli: Cli, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        env=cli.environment(), cwd=cli.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def shell(cli: Cli, script: str) -> subprocess.CompletedProcess[str]:
    """A shell script in which "$0" is `inturn`."""
    return subprocess.run(
        ["sh", "-c", script, INTURN],
        env=cli.environment(), cwd=cli.root, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def starts(cli: Cli) -> list[str]:
    path = cli.root / "starts"
    return path.read_text().split() if path.exists() else []


def assert_nothing_is_there(cli: Cli) -> None:
    """Neither a process nor one of its files."""
    assert not cli.processes()
    assert os.listdir(cli.store / "owners") == []
    assert not (cli.store / "errors.log").exists(), (cli.store / "errors.log").read_text()


def assert_nothing_is_left(cli: Cli) -> None:
    until(lambda: not cli.processes(), "the end of every process")
    assert_nothing_is_there(cli)


def jobs(cli: Cli) -> int:
    return len(cli.run("list", "--all", "--json").check().data)


# --- when it is started


@pytest.mark.parametrize(
    "words",
    [
        ["--", "true"],
        ["true"],
        ["-c", "true --dir x --array 1"],
        ["--json", "--name", "x", "--retries=2", "true"],
        ["--", "true", "--dir", "x", "--help"],
        ["--", "--", "--array"],
        ["--wait", "--", "true"],
    ],
)
def test_where_the_words_can_only_mean_one_job_it_comes_before_they_are_understood(
    cli: Cli, words: list[str]
) -> None:
    python(cli, NOTING, "run", *words)
    assert starts(cli) == ["early"]
    assert jobs(cli) == 2
    assert_nothing_is_left(cli)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--dir", "store", "--", "true"],
        ["run", "--dir=store", "--", "true"],
        ["--dir", "store", "run", "--", "true"],
        ["--json", "run", "--", "true"],
        ["run", "true", "--array"],
    ],
)
def test_where_the_words_may_mean_another_store_or_more_they_are_understood_first(
    cli: Cli, words: list[str]
) -> None:
    assert python(cli, NOTING, *words).returncode == 0
    assert starts(cli) == ["late"]
    assert jobs(cli) == 2
    assert_nothing_is_left(cli)


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (["--array", "1-2", "--", "true"], 2),
        (["--array=1-2", "--", "true"], 2),
        (["--from-file", "jobs"], 2),
        (["--foreground", "--", "true"], 1),
        (["--dry-run", "--", "true"], 0),
        (["--name", "x", "--help"], 0),
        (["-h"], 0),
    ],
)
def test_where_no_single_supervisor_is_wanted_none_is_started(
    cli: Cli, words: list[str], stored: int
) -> None:
    (cli.root / "jobs").write_text('{"command": ["true"]}\n' * 2)
    assert python(cli, NOTING, "run", *words).returncode == 0
    assert starts(cli) == []
    assert jobs(cli) == 1 + stored
    assert_nothing_is_left(cli)


def test_in_another_directory_the_store_of_the_environment_is_left_alone(cli: Cli) -> None:
    before = sorted(cli.store.rglob("*"))
    cli.run("run", "--wait", "--dir", "other", "--", "true").check()
    assert sorted(cli.store.rglob("*")) == before
    assert jobs(cli) == 1


# --- words that come to nothing


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bogus", "--", "true"], "unknown option --bogus"),
        (["--name"], "--name needs a value"),
        (["--wait=1", "true"], "--wait takes no value"),
        (["--each", "--", "true"], "--each: it goes with --array"),
        (["--name", "7", "--", "true"], "--name: "),
        (["--retries", "many", "--", "true"], "--retries: "),
        (["--config=", "--", "true"], "--config is empty"),
        ([], "the command is missing"),
    ],
)
def test_of_words_that_make_no_sense_nothing_is_left_when_that_is_told(
    cli: Cli, words: list[str], message: str
) -> None:
    done = python(cli, NOTING, "run", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"inturn: {message}")
    assert starts(cli) == ["early"]
    assert_nothing_is_there(cli)
    assert jobs(cli) == 1


def test_a_process_that_runs_command_lines_is_left_nothing_of_them(cli: Cli) -> None:
    done = python(cli, REPEATED, "run", "--bogus", "--", "true")
    assert done.stdout.splitlines() == ["2 2 2", "0", "no child"]
    assert_nothing_is_there(cli)


def test_it_is_dismissed_if_the_words_mean_something_else_after_all(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INTURN_DIR", str(cli.store))
    begun = begin(None, create=False, ahead=True)
    assert begun.standby is not None
    assert cli.processes()
    assert frame.run(["list"], begun) == 0
    assert capsys.readouterr().out
    assert begun.standby.taken
    assert not os.path.exists(f"/proc/{begun.standby.child.pid}")
    assert os.listdir(cli.store / "owners") == []


@pytest.mark.parametrize("ignored", ["CHLD", "CHLD INT HUP"])
def test_it_is_dismissed_by_a_process_that_is_not_told_of_the_ends_of_its_children(
    cli: Cli, ignored: str
) -> None:
    done = shell(cli, f'trap "" {ignored}; exec "$0" run --bogus -- true')
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "inturn: unknown option --bogus")
    assert_nothing_is_left(cli)


# --- interrupted


@pytest.mark.parametrize(
    "place",
    [
        *("submit.locked", "submit.spawned"),
        *("inturn.host.detach", "inturn.cli.frame", "inturn.core.options", "inturn.cli.verbs.run"),
        *("inturn.config", "inturn.store.db", "inturn.service.submit", "inturn.service.configure"),
        "submit.commit",
    ],
)
def test_wherever_it_is_interrupted_before_the_commit_nothing_is_left(cli: Cli, place: str) -> None:
    done = python(cli, INTERRUPTED, place, "run", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert_nothing_is_left(cli)
    assert jobs(cli) == 1


def test_of_a_submitter_that_is_killed_with_it_nothing_is_left(cli: Cli) -> None:
    program = INTERRUPTED.replace("SIGINT", "SIGKILL")
    done = python(cli, program, "inturn.cli.options", "run", "--", "true")
    assert done.returncode == -signal.SIGKILL
    assert_nothing_is_left(cli)
    assert jobs(cli) == 1


# --- output that goes nowhere


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(cli: Cli, redirection: str) -> None:
    assert shell(cli, f'"$0" run --bogus -- true {redirection}').returncode == 2
    assert_nothing_is_there(cli)
    assert shell(cli, f'"$0" run -- touch ran {redirection}').returncode == 0
    assert_nothing_is_left(cli)
    assert (cli.root / "ran").exists()


@pytest.mark.parametrize(("words", "code"), [("--bogus -- true", 2), ("-- touch ran", 1)])
def test_streams_without_room_do_no_harm(cli: Cli, words: str, code: int) -> None:
    assert shell(cli, f'"$0" run {words} >/dev/full 2>/dev/full').returncode == code
    assert_nothing_is_left(cli)


# --- the store


def test_where_there_is_no_store_words_that_make_no_sense_make_none(cli: Cli) -> None:
    done = cli.run("run", "--bogus", "--", "true", env={"INTURN_DIR": str(cli.root / "new")}).check(2)
    assert done.err.startswith(b"inturn: unknown option --bogus\n")
    assert not (cli.root / "new").exists()


def test_a_store_that_is_not_there_is_made_by_the_first_submission(cli: Cli) -> None:
    new = {"INTURN_DIR": str(cli.root / "new")}
    assert cli.run("run", "--wait", "--", "touch", "ran", env=new).check().out == b"1\n"
    assert (cli.root / "ran").exists()
    until(lambda: os.listdir(cli.root / "new" / "owners") == [], "the end of its supervisor")


def make_newer(cli: Cli) -> None:
    store = open_context(str(cli.store), None, False, lambda _: None).store
    assert store is not None
    store.execute(f"PRAGMA user_version = {(migrate.MAJOR + 1) * 1000}")
    store.close()


def make_garbage(cli: Cli) -> None:
    (cli.store / "inturn.db").write_bytes(b"no database".ljust(4096))


def make_unsafe(cli: Cli) -> None:
    cli.store.chmod(0o777)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (make_newer, "was written by a newer inturn"),
        (make_garbage, "is not a database"),
        (make_unsafe, "can be written by other users"),
    ],
)
def test_in_a_store_that_cannot_be_used_that_is_told_once_and_nothing_is_left(
    cli: Cli, spoil: Callable[[Cli], None], message: str
) -> None:
    spoil(cli)
    before = sorted(cli.store.rglob("*"))
    done = cli.run("run", "--", "true").check(1)
    assert done.err.decode().count(message) == 1
    assert not cli.processes()
    assert sorted(cli.store.rglob("*")) == before
    done = cli.run("run", "--bogus", "--", "true").check(2)
    assert message not in done.err.decode()
    assert not cli.processes()
    assert sorted(cli.store.rglob("*")) == before


def test_what_is_unwise_about_a_store_is_told_once_and_only_to_those_who_use_it(cli: Cli) -> None:
    cli.store.chmod(0o755)
    done = cli.run("run", "--wait", "--", "true").check()
    assert done.err.decode() == (
        f"inturn: others can look into {cli.store}, commands and their output included;"
        " chmod 700 makes it private\n"
    )
    assert b"others" not in cli.run("run", "--bogus", "--", "true").check(2).err


def test_without_a_directory_for_its_files_it_comes_all_the_same(cli: Cli) -> None:
    (cli.store / "owners").rmdir()
    assert cli.run("run", "--wait", "--", "true").check().out == b"2\n"
    assert_nothing_is_left(cli)
