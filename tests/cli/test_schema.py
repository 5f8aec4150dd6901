"""What is written as JSON is what `inturn schema` says, to the last key; and so is what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from inturn.cli import schemas
from inturn.cli.verbs import VERBS
from inturn.core.lines import OWN_KEYS
from inturn.core.options import OPTIONS
from inturn.core.wire_schema import DEFINITIONS
from tests.e2e.harness import Cli

# They draw or work, and answer nothing.
SILENT = {"work", "top"}


def judge(name: str, document: object) -> None:
    """Fail if the document is not as the schema of that name has it."""
    Draft202012Validator(schemas.document(name)).validate(document)


def answered(cli: Cli, *words: str | int, code: int = 0, **how: Any) -> Any:
    """What a verb answers with --json, found to be as its schema has it."""
    verb, *rest = words
    document = cli.run(verb, "--json", *rest, **how).check(code).json
    judge(str(verb), document)
    return document.get("data")


@pytest.mark.parametrize("name", schemas.names())
def test_every_schema_is_one_and_complete_in_itself(name: str) -> None:
    document = schemas.document(name)
    Draft202012Validator.check_schema(document)
    assert document["title"]
    assert document["$id"].endswith(f":{name}")


def test_the_document_of_all_schemas_is_one_and_has_each() -> None:
    whole = schemas.everything()
    Draft202012Validator.check_schema(whole)
    assert len(whole["anyOf"]) == len(schemas.names())
    assert {one["$ref"].removeprefix("#/$defs/") for one in whole["anyOf"]} <= set(whole["$defs"])
    Draft202012Validator(whole).validate({"schema_version": 1, "data": {"id": 1}})


def test_every_verb_that_answers_has_a_schema() -> None:
    assert set(VERBS) - set(schemas.names()) <= SILENT


def test_every_object_is_closed_and_every_definition_used() -> None:
    def objects(schema: object) -> Any:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for value in schema.values():
                yield from objects(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from objects(value)

    whole = schemas.everything()
    open_ones = [it for it in objects(whole) if "additionalProperties" not in it]
    assert open_ones == [{"type": "object"}], "only a schema itself may be anything"
    assert set(DEFINITIONS) <= set(whole["$defs"])


def test_a_key_that_is_missing_or_unknown_or_of_another_kind_is_found_out(cli: Cli) -> None:
    cli.run("add", "--", "true").check()
    document = cli.run("show", 1, "--json").check().json
    judge("show", document)
    for spoilt in ({"attempts": "0"}, {"colour": "red"}, {"status": "idle"}):
        with pytest.raises(ValidationError):
            judge("show", {**document, "data": {**document["data"], **spoilt}})
    del document["data"]["round"]
    with pytest.raises(ValidationError):
        judge("show", document)


@pytest.fixture
def busy(cli: Cli) -> Cli:
    """A store with jobs in many states: ended in each way, running, waiting for all kinds of things."""
    cli.configure(
        "schema_version: 1\nconcurrency:\n  max_active_slots: 9\n  pools:\n    analysis: 2\n"
        "    gpu: {devices: [0, 1], per_device: 2}\ndefaults: {stop_grace: 1s, env: [A=b]}\n"
    )
    cli.run("run", "--wait", "--name", "good", "--tag", "a=b", "--tag", "c", "--pool", "gpu", "true").check()
    cli.run("run", "--wait", "--retries", "1", "-c", "echo out; echo err >&2; exit 3").check(3)
    cli.run("run", "--wait", "--", "./is-not-there").check(127)
    cli.run("add", "--after-success", "2", "--", "true").check()
    cli.run("run", "--name", "runs", "--pool", "analysis", "--", "sleep", "3600").check()
    cli.run(
        "add", "--after", "1h", "--key", "k", "--note", "n", "--env", "B=c", "--unset-env", "X", "true"
    ).check()
    cli.run(
        *("run", "--wait-file", "is-not-there", "--wait-probe", "false", "--wait-delay", "1h"),
        *("--wait-until", "2100-01-01", "--wait-mode", "any", "--after-finish", "runs"),
        *("--run-timeout", "1h", "--retry-signal", "TERM", "--", "true"),
    ).check()  # fmt: skip
    cli.run(
        "add",
        "--array",
        "1-3%2",
        "--queue",
        "other",
        "--",
        "echo",
        b"\xff".decode("utf-8", "surrogateescape"),
    )
    cli.wait_phase("runs", "running")
    return cli


def test_what_only_looks_answers_as_its_schema_says(busy: Cli) -> None:
    jobs = [job["id"] for job in answered(busy, "list", "--all")]
    assert len(jobs) == 10
    for job in jobs:
        answered(busy, "show", job)
        answered(busy, "show", job, "--env-values")
        answered(busy, "why", job)
        answered(busy, "logs", job, "--run", "all")
    answered(busy, "status")
    answered(busy, "status", *jobs)
    for verb in ("events", "pools", "limit", "workers", "queues"):
        assert answered(busy, verb)
    for action in ("path", "validate", "show", "apply"):
        assert answered(busy, "config", action)
    answered(busy, "doctor", code=busy.run("doctor").code)
    answered(busy, "recover", "--at-boot", "status")
    answered(busy, "completion", "bash")
    answered(busy, "schema", "list")
    answered(busy, "show", 99, code=3)


def test_what_acts_answers_as_its_schema_says(busy: Cli) -> None:
    answered(busy, "wait", 1, 2, code=6)
    answered(busy, "pause", 6)
    answered(busy, "pause", "--queue", "other")
    answered(busy, "pause", 6, "runs", code=6)
    answered(busy, "resume", 6, "runs")
    answered(busy, "resume", "--queue", "other")
    answered(busy, "edit", 6, "--priority", 7)
    answered(busy, "edit", 1, 6, "--priority", 8, code=6)
    answered(busy, "cancel", 1, 6, "runs", code=6)
    busy.run("wait", "runs").check(6)
    answered(busy, "retry", 4, 6)
    answered(busy, "rerun", 1)
    answered(busy, "prune")
    answered(busy, "prune", "--status", "success", "--force")
    answered(busy, "pools", "set", "more", 3)
    answered(busy, "doctor", "--backup", "copy.db")
    answered(busy, "recover")


def test_submissions_answer_as_their_schemas_say(busy: Cli) -> None:
    lines = '{"command": ["true"]}\n{"command": ["true"]}\n'
    for verb in ("run", "add"):
        answered(busy, verb, "--after", "1h", "--", "true")
        answered(busy, verb, "--after", "1h", "--array", "1-2", "--", "true")
        answered(busy, verb, "--dry-run", "--", "true")
        answered(busy, verb, "--dry-run", "--key", "k", "--after", "1h", "--", "true")
        answered(
            busy, verb, "--dry-run", "--after-success", "runs", "--wait-file", "x", "--array", "1-2", "true"
        )
        answered(busy, verb, "--dry-run", "--from-file", "-", input=lines)
        answered(busy, verb, "--pool", "nowhere", "--", "true", code=2)


def test_the_demonstration_answers_as_its_schema_says(cli: Cli) -> None:
    answered(cli, "demo", env={"TMPDIR": str(cli.root)})


def test_the_ledger_that_is_followed_has_lines_as_their_schema_says(cli: Cli) -> None:
    cli.run("add", "--", "true").check()
    process = cli.popen("events", "--follow", "--json")
    assert process.stdout is not None
    judge("event", json.loads(process.stdout.readline()))


# --- a line of a submitted file


def test_a_line_may_have_exactly_what_is_read_of_it() -> None:
    assert set(schemas.document("from-file")["properties"]) == {*OPTIONS, *OWN_KEYS}


@pytest.mark.parametrize(
    "line",
    [
        {"command": ["make", "test"]},
        {"c": "make test", "retries": 2, "retry_delay": "10s", "retry_backoff": "linear"},
        {"command": ["true"], "tag": ["a=b", "c"], "after_success": "@x", "slots": "2", "priority": -1},
        {"command": ["true"], "retry_delay": 1.5, "max_runs": "unlimited", "failure_limit": 3},
        {"command": ["true"], "array": "1-4%2", "each": True, "merge_output": True},
        {"command": ["true"], "ref": "x", "nice": 19, "wait_mode": "any", "wait_file": ["a", "b"]},
        {"command": ["true"], "retryable_exit_code": [1, "3-5"], "retry_signal": "TERM"},
    ],
)
def test_a_line_that_is_accepted_is_as_the_schema_has_it(line: dict[str, object], cli: Cli) -> None:
    judge("from-file", line)
    first = {"ref": "y" if line.get("ref") == "x" else "x", "command": ["true"]}
    text = f"{json.dumps(first)}\n{json.dumps(line)}\n"
    cli.run("add", "--after", "1h", "--from-file", "-", input=text).check()


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"command": []},
        {"command": "make"},
        {"command": ["true"], "retry": 2},
        {"command": ["true"], "c": "true"},
        {"command": ["true"], "merge_output": "yes"},
        {"command": ["true"], "slots": 0},
        {"command": ["true"], "slots": [1]},
        {"command": ["true"], "retry_backoff": "cubic"},
        {"command": ["true"], "pool": "a b"},
        {"command": ["true"], "ref": ""},
        {"command": ["true"], "nice": 20},
        {"command": ["true"], "max_runs": "many"},
        {"command": ["true"], "note": None},
        [],
    ],
)
def test_a_line_that_the_schema_refuses_is_refused(line: object, cli: Cli) -> None:
    with pytest.raises(ValidationError):
        judge("from-file", line)
    cli.run("add", "--from-file", "-", input=json.dumps(line)).check(2)


# --- the verb


def test_the_verb_prints_a_schema_alone_or_in_our_envelope(cli: Cli) -> None:
    assert cli.run("schema", "show").check().json == schemas.document("show")
    assert cli.run("schema").check().json == schemas.everything()
    assert cli.run("schema", "ls", "--json").check().data == schemas.document("list")


def test_what_has_no_schema_is_refused_with_what_may_have_been_meant(cli: Cli) -> None:
    assert b"(did you mean list?)" in cli.run("schema", "lst").check(2).err
    assert b"has no schema" in cli.run("schema", "work").check(2).err
