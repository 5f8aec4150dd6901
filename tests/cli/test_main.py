from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from inturn import __version__
from inturn.cli.main import ALIASES, EXIT_CODES, VERBS, main
from inturn.errors import CODES
from tests.e2e.harness import INTURN, Cli


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTURN_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"], ["--json", "--help"], ["--dir", "x"]])
def test_without_a_verb_there_is_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 0
    told = capsys.readouterr()
    assert not told.err
    assert all(f"\n  {verb} " in told.out for verb in VERBS)


@pytest.mark.parametrize("verb", [*VERBS, *ALIASES])
def test_every_verb_explains_itself_without_a_store(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = []
    for words in ([verb, "--help"], [verb, "-h"], ["help", verb]):
        assert main(words) == 0
        told.append(capsys.readouterr().out)
    assert told[0].startswith("usage: inturn ")
    assert told == [told[0]] * 3
    assert not (tmp_path / "store").exists()


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"inturn {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stat"], "unknown verb stat (did you mean status?)"),
        (["lst"], "unknown verb lst (did you mean list?)"),
        (["--jso"], "unknown option --jso (did you mean --json?)"),
        (["list", "--al"], "unknown option --al (did you mean --all?)"),
        (["run", "--prio", "5", "true"], "unknown option --prio (did you mean --priority?)"),
        (["xyzzy\x1b[2J"], "unknown verb xyzzy\\x1b[2J"),
        (["--dir"], "--dir needs a value"),
        (["run"], "the command is missing"),
        (["run", "--dir=", "true"], "--dir is empty"),
        (["--config", "", "run", "true"], "--config is empty"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_error_2_in_words(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert not told.out
    first, *rest = told.err.splitlines()
    assert first == f"inturn: {message}"
    assert all(line.startswith("hint: ") for line in rest)
    assert "\x1b" not in told.err


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "stat"],
        ["stat", "--json"],
        ["list", "--json", "--al"],
        ["run", "--prio", "5", "--json", "--", "true"],
        ["run", "--json", "--name", "7", "--", "true"],
    ],
)
def test_in_json_mode_an_error_is_a_document_on_standard_output(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    told = capsys.readouterr()
    assert not told.err
    document = json.loads(told.out)
    assert document["schema_version"] == 1
    assert set(document["error"]) == {"code", "message", "hint"}
    assert document["error"]["code"] in CODES


def test_an_option_of_the_command_turns_nothing_into_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--name", "7", "tool", "--json"]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert told.err.startswith("inturn: --name: ")


def test_the_exit_codes_are_those_of_the_manual() -> None:
    assert set(EXIT_CODES) <= set(CODES)
    assert [EXIT_CODES.get(code, 1) for code in CODES] == [*[2] * 8, 3, 4, 5, 6, *[1] * 4]


def test_options_stand_before_or_after_the_verb(cli: Cli) -> None:
    for words in (["--json", "list"], ["list", "--json"], ["--dir", "elsewhere", "list", "--json"]):
        assert cli.run(*words).check().data == []


def test_python_can_run_the_package(cli: Cli) -> None:
    python = Path(INTURN).with_name("python")
    done = subprocess.run(
        [python, "-m", "inturn", "--version"], capture_output=True, env=cli.environment(), check=True
    )
    assert done.stdout == f"inturn {__version__}\n".encode()


def test_a_reader_that_has_gone_ends_it_quietly(cli: Cli) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = cli.popen("run", "--help", stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 0


def test_closed_streams_do_no_harm(cli: Cli) -> None:
    for redirection, code in ((">&-", 0), (">&- 2>&-", 0)):
        done = subprocess.run(
            ["sh", "-c", f'"$0" --version {redirection}', INTURN], capture_output=True, env=cli.environment()
        )
        assert (done.returncode, done.stderr) == (code, b"")


def test_an_error_never_goes_to_standard_output_by_itself(cli: Cli) -> None:
    done = subprocess.run(["sh", "-c", '"$0" nope 2>&-', INTURN], capture_output=True, env=cli.environment())
    assert (done.returncode, done.stdout) == (2, b"")


def test_output_that_cannot_be_written_is_an_error_in_one_line(cli: Cli) -> None:
    with open("/dev/full", "wb") as full:
        process = cli.popen("--version", stdout=full)
        told = process.communicate(timeout=60)[1].decode()
        assert process.returncode == 1
        assert told == "inturn: standard output cannot be written: No space left on device\n"


FULL = "No space left on device"


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


@pytest.mark.parametrize("words", [("list", "--pool", b"\xff"), ("list", "--name", b"\xff")])
def test_bytes_that_are_no_text_are_a_value_that_is_wrong(cli: Cli, words: tuple[str | bytes, ...]) -> None:
    cli.run("add", "--", "true").check()
    told = cli.run(*(os.fsdecode(word) for word in words)).check(2)
    assert "not valid UTF-8" in told.err.decode()


def test_a_place_that_is_no_text_is_refused_in_one_line(cli: Cli) -> None:
    told = cli.run("add", "--", "true", env={"INTURN_DIR": str(cli.root / "od\udcffd")}).check(1)
    assert "not UTF-8" in told.err.decode()
    assert not os.path.lexists(cli.root / "od\udcffd")


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


def test_a_terminal_that_lacks_a_letter_is_shown_an_escape(cli: Cli) -> None:
    shown = cli.run("run", "--help", env={"PYTHONIOENCODING": "ascii"}).check().text
    assert "JOB=OUTCOME[,OUTCOME\\u2026]" in shown
