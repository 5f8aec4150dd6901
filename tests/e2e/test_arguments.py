"""The words of a command arrive exactly as they were typed."""

from __future__ import annotations

import base64
import json
import os

from tests.e2e.harness import Cli

PRINT = "import sys,json;print(json.dumps(sys.argv[1:]))"
TYPED = ["a b", "", "x\ny", "$HOME", "$$", "%n", "*", '"', "'", "\\\\", "--flag", "--", "é"]


def test_a_program_gets_the_arguments_that_were_typed(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "--", "python3", "-c", PRINT, *TYPED).id
    assert json.loads(cli.run("logs", job).check().out) == TYPED


def test_show_has_the_arguments_that_were_typed(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "--", "true", *TYPED).id
    shown = cli.show(job)
    assert shown["argv"] == ["true", *TYPED]
    assert shown["spec"]["argv"] == ["true", *TYPED]


def test_the_program_is_started_by_its_owner_and_by_no_shell(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--", "sh", "-c", "echo $PPID; until [ -e go ]; do sleep 0.05; done").id
    owner = cli.wait_phase(job, "running")["owner"]
    (cli.root / "go").touch()
    cli.run("wait", job).check()
    assert cli.run("logs", job).check().text == f"{owner['pid']}\n"


def test_options_of_inturn_behind_the_command_are_the_commands_own(cli: Cli, verb: str) -> None:
    words = ["--json", "--wait", "--name", "x", "--dir", "/nonexistent", "-c", "id", "--help"]
    job = cli.run(verb, "--wait", "python3", "-c", PRINT, *words).id
    assert json.loads(cli.run("logs", job).check().out) == words
    assert cli.show(job)["name"] is None


def test_arguments_that_are_no_text_arrive_byte_for_byte(cli: Cli, verb: str) -> None:
    raw = [b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80", b"\x01\x1b[31m", b"\xf0\x9f\x98\x80"]
    script = "import os,sys;print([os.fsencode(word) for word in sys.argv[1:]])"
    job = cli.run(verb, "--wait", "--", "python3", "-c", script, *map(os.fsdecode, raw)).id
    assert cli.run("logs", job).check().text == f"{raw}\n"
    stored = [base64.b64decode(word) for word in cli.show(job)["argv_base64"]]
    assert stored == [b"python3", b"-c", script.encode(), *raw]


def test_only_c_asks_for_a_shell(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "-c", "echo $((1 + 1)); echo *.nothing").id
    assert cli.run("logs", job).check().text == "2\n*.nothing\n"
    assert cli.show(job)["argv"] == ["sh", "-c", "echo $((1 + 1)); echo *.nothing"]
