"""How a command ends that has failed, or whose output goes nowhere."""

from __future__ import annotations

import subprocess

import pytest

from inturn.cli.ending import EXIT_CODES, FAILED
from inturn.cli.main import main
from inturn.errors import CODES
from tests.e2e.harness import INTURN, Cli

FULL = "No space left on device"


def test_the_exit_codes_are_those_of_the_manual() -> None:
    assert set(EXIT_CODES) <= set(CODES)
    assert [EXIT_CODES.get(code, FAILED) for code in CODES] == [*[2] * 8, 3, 4, 5, 6, *[1] * 4]


def test_an_error_never_goes_to_standard_output_by_itself(cli: Cli) -> None:
    done = subprocess.run(["sh", "-c", '"$0" nope 2>&-', INTURN], capture_output=True, env=cli.environment())
    assert (done.returncode, done.stdout) == (2, b"")


def test_output_that_cannot_be_written_is_an_error_in_one_line(cli: Cli) -> None:
    with open("/dev/full", "wb") as full:
        process = cli.popen("--version", stdout=full)
        told = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 1
        assert told == f"inturn: standard output cannot be written: {FULL}\n"


@pytest.mark.parametrize(
    "words",
    [("list", "--all"), ("list", "--all", "--json"), ("logs", "1"), ("logs", "1", "--json"), ("events",)],
)
@pytest.mark.parametrize("unbuffered", [None, "1"])
def test_an_answer_for_which_there_is_no_room_is_an_error_on_the_other_stream(
    cli: Cli, words: tuple[str, ...], unbuffered: str | None
) -> None:
    cli.run("run", "--wait", "--", "echo", "hi").check()
    with open("/dev/full", "wb") as full:
        process = cli.popen(*words, stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
        told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert told == f"inturn: standard output cannot be written: {FULL}\n"


@pytest.mark.parametrize("unbuffered", [None, "1"])
def test_an_error_that_cannot_be_told_as_a_document_is_told_all_the_same(
    cli: Cli, unbuffered: str | None
) -> None:
    with open("/dev/full", "wb") as full:
        process = cli.popen("show", "9", "--json", stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
        told = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 3
    assert told.startswith("inturn: there is no ")


@pytest.mark.parametrize("unbuffered", [None, "1"])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "--", "true"), "job 2 was submitted, but its id"),
        (("add", "--json", "--", "true"), "job 2 was submitted, but its id"),
        (("run", "--", "true"), "job 2 was submitted, but its id"),
        (("run", "--wait", "--", "true"), "job 2 was submitted, but its id"),
        (("rerun", "1"), "job 2 was submitted, but its id"),
        (("add", "--array", "1-3", "--", "true"), "jobs 2, 3, 4 were submitted, but their ids"),
        (
            ("add", "--array", "1-11", "--", "true"),
            "jobs 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … were submitted, but their ids",
        ),
    ],
)
def test_a_submission_whose_ids_cannot_be_printed_names_them_in_its_error(
    cli: Cli, words: tuple[str, ...], told: str, unbuffered: str | None
) -> None:
    cli.run("add", "--", "true").check()
    with open("/dev/full", "wb") as full:
        process = cli.popen(*words, stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
        said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 1
    assert said == f"inturn: {told} could not be written to the standard output: {FULL}\n"
    cli.run("show", 2).check()


def test_what_nobody_expected_is_told_in_short_and_with_a_traceback_only_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("inturn.cli.frame.VERBS", ("nowhere",))
    assert main(["nowhere"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("inturn: unexpected ModuleNotFoundError: ")
    assert "Traceback" not in told
    monkeypatch.setenv("INTURN_DEBUG", "1")
    assert main(["nowhere"]) == 1
    assert "Traceback" in capsys.readouterr().err
