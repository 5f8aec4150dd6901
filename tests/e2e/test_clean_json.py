"""Machine output stays clean: one document on stdout, notices on stderr, a closed pipe is no error."""

from __future__ import annotations

import json
import os

import pytest

from tests.e2e.harness import DEADLINE, Cli
from tests.e2e.shells import bash

LOOKING = ["list", "status", "status 1", "show 1", "why 1", "logs 1", "events", "pools"]
LARGE = 300_000  # bytes; more than any pipe holds


def into_a_closed_pipe(cli: Cli, *words: str | int) -> tuple[int, bytes]:
    """Run a command whose reader has gone before it began; returns its exit code and its stderr."""
    reader, writer = os.pipe()
    os.close(reader)
    process = cli.popen(*words, stdout=writer)
    os.close(writer)
    _, said = process.communicate(timeout=DEADLINE)
    return process.returncode, said


@pytest.fixture
def unwise(cli: Cli) -> Cli:
    """A store with one job in it that draws a warning with every command: others can look into it."""
    cli.run("run", "--wait", "-c", "echo out; echo err >&2").check()
    cli.store.chmod(0o755)
    return cli


def test_a_warning_does_not_get_into_a_document(unwise: Cli) -> None:
    for words in LOOKING:
        told = unwise.run(*words.split(), "--json").check()
        assert b"others can look into" in told.err
        assert told.json["schema_version"] == 1
        assert told.out.count(b"\n") == 1
        assert told.out.endswith(b"\n")


def test_a_warning_does_not_get_into_plain_lines(unwise: Cli) -> None:
    for words in LOOKING:
        told = unwise.run(*words.split()).check()
        assert b"others can look into" in told.err
        assert b"others can look into" not in told.out


@pytest.mark.parametrize("verb", ["run", "add"])
def test_a_submission_that_draws_a_warning_prints_the_id_alone(unwise: Cli, verb: str) -> None:
    told = unwise.run(verb, "--", "true").check()
    assert told.out == b"2\n"
    assert b"others can look into" in told.err


@pytest.mark.parametrize("verb", ["run", "add"])
def test_a_remark_about_the_configuration_is_beside_the_id(cli: Cli, verb: str) -> None:
    cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 2}\n")
    cli.run(verb, "--", "true").check()
    other = cli.root / "other.yml"
    other.write_text("schema_version: 1\nconcurrency: {max_active_slots: 3}\n")
    told = cli.run(verb, "--config", str(other), "--json", "--", "true").check()
    assert told.data == {"id": 2}
    assert b"config apply" in told.err


def test_list_can_be_piped_into_a_strict_reader(unwise: Cli) -> None:
    told = bash(unwise, "set -o pipefail; inturn list --json 2>/dev/null | python3 -m json.tool").check()
    assert json.loads(told.out)["data"][0]["id"] == 1
    assert not told.err


def test_a_reader_that_takes_one_byte_ends_us_quietly(unwise: Cli) -> None:
    unwise.run("run", "--", "true", "x" * (LARGE // 3), "y" * (LARGE // 3), "z" * (LARGE // 3)).check()
    told = bash(unwise, 'inturn list --json | head -c1; echo " ${PIPESTATUS[*]}"').check()
    assert told.out == b"{ 0 0\n"
    assert told.err.count(b"\n") == 1
    assert b"others can look into" in told.err


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["plain", "json"])
def test_a_reader_that_has_gone_ends_us_quietly(cli: Cli, form: tuple[str, ...]) -> None:
    cli.run("run", "--wait", "-c", "echo out; echo err >&2").check()
    for words in LOOKING:
        assert into_a_closed_pipe(cli, *words.split(), *form) == (0, b""), words


def test_a_reader_of_large_logs_that_goes_away_ends_us_quietly(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "head", "-c", LARGE, "/dev/zero").check()
    for options in ("", "-f", "--timestamps", "--json"):
        told = bash(cli, f'inturn logs 1 {options} | head -c1 | wc -c; echo "${{PIPESTATUS[*]}}"').check()
        assert told.out.split() == [b"1", b"0", b"0", b"0"]
        assert not told.err


@pytest.mark.parametrize("verb", ["run", "add"])
def test_a_submission_whose_reader_has_gone_is_a_submission_all_the_same(cli: Cli, verb: str) -> None:
    assert into_a_closed_pipe(cli, verb, "--", "true") == (0, b"")
    assert [job["id"] for job in cli.run("list", "--json").check().data] == [1]


def test_an_error_is_one_document_with_its_exit_code(unwise: Cli) -> None:
    told = unwise.run("show", 99, "--json").check(3)
    assert told.json["error"]["code"] == "not_found"
    assert told.json["error"]["hint"]
    assert b"others can look into" in told.err


def test_an_error_without_json_leaves_stdout_empty(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "true").check()
    for code, words in (3, "show 99"), (2, "list --nonsense"), (2, "run --slots 0 -- true"):
        told = cli.run(*words.split()).check(code)
        assert not told.out
        assert told.err.startswith(b"inturn: ")


def test_what_a_user_typed_cannot_steer_the_terminal(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "true").check()
    nasty = "a\x1b[31m\x07\nb"
    words = [[verb, nasty] for verb in ("show", "why", "logs", "status", "wait", "cancel", nasty)]
    words += [["list", "--queue", nasty], ["run", nasty], ["run", "--pool", nasty, "true"], ["--dir", nasty]]
    for each in words:
        told = cli.run(*each)
        assert b"\x1b" not in told.err + told.out
        assert b"\x07" not in told.err + told.out


def test_a_document_of_a_store_that_does_not_exist_is_one_too_and_nothing_is_created(cli: Cli) -> None:
    for words in ("list", "status", "events", "pools"):
        assert cli.run(*words.split(), "--json").check().json["schema_version"] == 1
    assert not cli.store.exists()
