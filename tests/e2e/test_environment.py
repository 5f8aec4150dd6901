"""A job has the environment of whoever submitted it, byte for byte, and nothing in it is evaluated."""

from __future__ import annotations

import os

from tests.e2e.harness import Cli
from tests.e2e.shells import bash

OURS = {"INTURN_JOB_ID", "INTURN_RUN", "INTURN_ATTEMPT", "INTURN_JOB_NAME", "INTURN_QUEUE", "INTURN_POOL"}
OURS |= {"INTURN_SLOTS", "INTURN_DIR", "INTURN_COOKIE"}

DUMP = ("cat", "/proc/self/environ")

VALUES = [
    b"1\n2;id",
    b"a\xff\xfeb\n\xc3",
    b"$(touch evaluated) `touch evaluated` $HOME ${V} * ~",
    b"() { :; }; touch evaluated",
    b"\nPATH=/nowhere\nLD_PRELOAD=x",
    b"",
]


def environment_of_job(cli: Cli, job: int) -> dict[bytes, bytes]:
    entries = cli.run("logs", job).check().out.rstrip(b"\0").split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries)


def test_exported_functions_and_values_with_newlines_arrive(cli: Cli, verb: str) -> None:
    job = bash(
        cli,
        f"""f(){{ echo hi; }}; export -f f; export V=$'1\\n2;id'
        inturn {verb} --wait -- bash -c 'f; printf %s "$V" | od -An -c'""",
    ).id
    printed = cli.run("logs", job).check().text
    assert printed.split() == ["hi", *"1 \\n 2 ; i d".split()]


def test_an_exported_function_arrives_beside_a_value_that_is_not_utf8(cli: Cli, verb: str) -> None:
    job = bash(
        cli,
        f"""f(){{ echo hi; }}; export -f f; export V=$'a\\377\\n\\303'
        inturn {verb} --wait -- bash -c 'f; printf %s "$V"'""",
    ).id
    assert cli.run("logs", job).check().out == b"hi\na\xff\n\xc3"


def test_values_arrive_byte_for_byte_and_nothing_is_evaluated(cli: Cli, verb: str) -> None:
    values = {f"V{place}": os.fsdecode(value) for place, value in enumerate(VALUES)}
    job = cli.run(verb, "--wait", "--", *DUMP, env=values).id
    found = environment_of_job(cli, job)
    assert [found[name.encode()] for name in values] == VALUES
    assert not (cli.root / "evaluated").exists()


def test_a_job_has_the_environment_of_its_submitter_and_what_is_documented(cli: Cli, verb: str) -> None:
    submitter = cli.environment({"ONLY_HERE": "x"})
    job = cli.run(verb, "--wait", "--", *DUMP, env={"ONLY_HERE": "x"}).id
    found = {os.fsdecode(name): os.fsdecode(value) for name, value in environment_of_job(cli, job).items()}
    added = {name: value for name, value in found.items() if name in OURS}
    assert {name: value for name, value in found.items() if name not in OURS} == {
        name: value for name, value in submitter.items() if name not in OURS
    }
    assert {**added, "INTURN_COOKIE": ""} == {
        "INTURN_JOB_ID": str(job),
        "INTURN_RUN": "1",
        "INTURN_ATTEMPT": "1",
        "INTURN_SLOTS": "1",
        "INTURN_DIR": str(cli.store),
        "INTURN_COOKIE": "",
        **({"INTURN_QUEUE": "default"} if verb == "add" else {}),
    }


def test_a_job_has_the_directory_and_the_umask_of_its_submitter(cli: Cli, verb: str) -> None:
    (cli.root / "here\nand there").mkdir()
    job = bash(cli, f"cd 'here\nand there'; umask 0027; inturn {verb} --wait -- sh -c 'pwd; umask'").id
    assert cli.run("logs", job).check().text == f"{cli.root}/here\nand there\n0027\n"


def test_the_values_of_the_environment_are_shown_only_on_request(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "--", "true", env={"TOKEN": "se\ncret"}).id
    for options in ([], ["--json"]):
        shown = cli.run("show", job, *options).check().text
        assert "TOKEN" in shown
        assert "cret" not in shown
    assert "cret" in cli.run("show", job, "--env-values", "--json").check().text
