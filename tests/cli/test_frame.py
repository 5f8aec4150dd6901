"""Which verb, and with what; and what is said if the words make no sense."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path

import pytest

from inturn import __version__
from inturn.cli.elsewhere import CALLED
from inturn.cli.main import main
from inturn.cli.parser import build
from inturn.cli.verbs import ALIASES, VERBS
from inturn.errors import CODES
from tests.e2e.harness import Cli


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


def test_what_other_tools_call_it_leads_to_a_verb_and_options_that_there_are() -> None:
    for word, ours in CALLED.items():
        verb, *options = ours.split()
        assert word not in (*VERBS, *ALIASES)
        known = build(verb, import_module(f"inturn.cli.verbs.{verb}"))._option_string_actions
        assert set(options) <= set(known)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["stat"], "unknown verb stat (did you mean status?)"),
        (["lst"], "unknown verb lst (did you mean list?)"),
        (["ps"], "unknown verb ps (did you mean list?)"),
        (["tail", "7"], "unknown verb tail (did you mean logs -f?)"),
        (["--jso"], "unknown option --jso (did you mean --json?)"),
        (["list", "--al"], "unknown option --al (did you mean --all?)"),
        (["run", "--prio", "5", "true"], "unknown option --prio (did you mean --priority?)"),
        (["xyzzy\x1b[2J"], "unknown verb xyzzy\\x1b[2J"),
        (["PS"], "unknown verb PS (did you mean list?)"),
        (["xyzzy\n"], "unknown verb xyzzy\\n"),
        (["list", "--xyzzy\n"], "unknown option --xyzzy\\n"),
        (["run", "--xyzzy\n", "--", "true"], "unknown option --xyzzy\\n"),
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


def test_options_stand_before_or_after_the_verb(cli: Cli) -> None:
    for words in (["--json", "list"], ["list", "--json"], ["--dir", "elsewhere", "list", "--json"]):
        assert cli.run(*words).check().data == []


@pytest.mark.parametrize("words", [("list", "--pool", b"\xff"), ("list", "--name", b"\xff")])
def test_bytes_that_are_no_text_are_a_value_that_is_wrong(cli: Cli, words: tuple[str | bytes, ...]) -> None:
    cli.run("add", "--", "true").check()
    told = cli.run(*(os.fsdecode(word) for word in words)).check(2)
    assert "not valid UTF-8" in told.err.decode()


def test_a_place_that_is_no_text_is_refused_in_one_line(cli: Cli) -> None:
    told = cli.run("add", "--", "true", env={"INTURN_DIR": str(cli.root / "od\udcffd")}).check(1)
    assert "not UTF-8" in told.err.decode()
    assert not os.path.lexists(cli.root / "od\udcffd")


def test_a_terminal_that_lacks_a_letter_is_shown_an_escape(cli: Cli) -> None:
    shown = cli.run("run", "--help", env={"PYTHONIOENCODING": "ascii"}).check().text
    assert "JOB=OUTCOME[,OUTCOME\\u2026]" in shown
