"""A whole graph in one submission: `--from-file`, all or nothing, one transaction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.harness import Cli, Result

VERBS = pytest.mark.parametrize("verb", ["add", "run"])


def write(cli: Cli, *lines: dict[str, Any] | str, name: str = "jobs.jsonl") -> str:
    """Write a file of jobs; returns its name."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (cli.root / name).write_text("\n".join(texts) + "\n")
    return name


def note(word: str, **line: Any) -> dict[str, Any]:
    """A line whose job writes a word down."""
    return {"command": ["sh", "-c", f"echo {word} >>order"], **line}


def order(cli: Cli) -> list[str]:
    return (cli.root / "order").read_text().split()


def refused(cli: Cli, code: int, verb: str, *lines: dict[str, Any] | str) -> str:
    """Submit a file that is refused, and see that nothing of it is left; what was said."""
    before = ids(cli)
    told = cli.run(verb, "--from-file", write(cli, *lines)).check(code)
    assert told.out == b""
    assert ids(cli) == before
    return told.err.decode()


def ids(cli: Cli) -> list[int]:
    return sorted(job["id"] for job in cli.run("list", "--all", "--json").check().data)


def finish(cli: Cli, verb: str, submitted: Result) -> list[int]:
    """Let the jobs of a submission run to their ends; their ids."""
    if verb == "add":
        cli.run("work", "--drain").check()
    else:
        cli.run("wait", *submitted.ids)
    return submitted.ids


@VERBS
def test_lines_wait_for_each_other_whichever_comes_first(cli: Cli, verb: str) -> None:
    file = write(
        cli,
        note("report", after_finish=["@left", "@right"]),
        note("prepare", ref="prepare"),
        note("left", ref="left", after_success=["@prepare"]),
        {"command": ["false"], "ref": "right", "after_outcome": ["@prepare=success,failure"]},
        note("never", after_success=["@right"]),
        note("sorry", after_failed=["@right"]),
    )
    report, prepare, left, right, never, sorry = finish(cli, verb, cli.run(verb, "--from-file", file))
    assert [report, prepare, left, right, never, sorry] == [1, 2, 3, 4, 5, 6]
    outcomes = [cli.show(job)["outcome"] for job in (report, prepare, left, right, never, sorry)]
    assert outcomes == ["success", "success", "success", "failure", "aborted", "success"]
    assert sorted(order(cli)) == sorted(["prepare", "left", "report", "sorry"])
    assert order(cli)[0] == "prepare"
    (edge, _) = cli.show(report)["dependencies"]
    assert (edge["job_id"], edge["observed_outcome"]) == (left, "success")


def test_ids_are_printed_one_a_line_in_the_order_of_the_file(cli: Cli) -> None:
    file = write(cli, *[note(str(number), priority=number) for number in range(5)])
    assert cli.run("add", "--from-file", file).check().out == b"1\n2\n3\n4\n5\n"
    assert cli.run("add", "--from-file", file, "--json").check().data == {"ids": [6, 7, 8, 9, 10]}


def test_a_dash_is_standard_input(cli: Cli) -> None:
    lines = json.dumps(note("a")) + "\n" + json.dumps(note("b"))
    assert cli.run("add", "--from-file", "-", input=lines).ids == [1, 2]
    told = cli.run("add", "--from-file", "-", input=lines + "\nx").check(2)
    assert b"standard input:3: " in told.err
    assert ids(cli) == [1, 2]


def test_options_beside_it_hold_for_every_line_that_does_not_say_otherwise(cli: Cli) -> None:
    file = write(cli, note("a"), note("b", queue="own", priority=-1))
    first, second = cli.run("add", "--queue", "all", "--priority", 7, "--from-file", file).ids
    assert [(cli.show(job)["queue"], cli.show(job)["priority"]) for job in (first, second)] == [
        ("all", 7),
        ("own", -1),
    ]


def test_a_line_takes_the_directory_and_environment_of_whoever_submits(cli: Cli) -> None:
    (cli.root / "sub").mkdir()
    file = write(cli, {"c": 'echo "$PWD $WORD $MORE" >told', "cwd": "sub", "env": ["MORE=2"]})
    cli.run("add", "--from-file", file, env={"WORD": "1"}).check()
    cli.run("work", "--drain").check()
    assert (cli.root / "sub" / "told").read_text() == f"{cli.root / 'sub'} 1 2\n"


@VERBS
@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        (2, "{", ":3: not JSON"),
        (2, {"command": ["x"], "priority": "high"}, ":3: priority"),
        (2, {"command": ["x"], "colour": "red"}, ':3: "colour"'),
        (2, {"command": ["x"], "after_success": ["@nobody"]}, ":3: no line has the ref 'nobody'"),
        (3, {"command": ["x"], "after_success": ["999"]}, ':3: there is no job "999"'),
        (3, {"command": ["x"], "after_success": ["nobody"]}, ':3: there is no job "nobody"'),
        (2, {"command": ["x"], "pool": "nowhere"}, ":3: there is no pool 'nowhere'"),
        (2, {"command": ["x"], "slots": 9}, ":3: 9 slots can never be given"),
        (2, {"command": ["x"], "ref": "a"}, ":3: the ref 'a' is that of jobs.jsonl:1"),
        (
            2,
            {"command": ["x"], "after_success": ["@a"], "after_failed": ["@a"]},
            ":3: the dependencies on @a",
        ),
        (
            3,
            {"command": ["x"], "array": "1-2", "each": True, "after_success": ["@a"]},
            ":3: @a has no job with",
        ),
    ],
)
def test_it_is_all_or_nothing_and_the_error_names_the_line(
    cli: Cli, verb: str, code: int, line: dict[str, Any] | str, said: str
) -> None:
    cli.run("limit", 4).check()
    told = refused(cli, code, verb, note("first", ref="a"), "", line, note("last"))
    assert told.startswith(f"inturn: jobs.jsonl{said}"), told
    cli.run("work", "--drain").check()
    assert not (cli.root / "order").exists()
    assert not list((cli.store / "owners").iterdir())


@VERBS
def test_a_circle_is_refused_and_told_with_its_way(cli: Cli, verb: str) -> None:
    told = refused(
        cli,
        2,
        verb,
        note("start", ref="start", after_success=["@a"]),
        note("a", ref="a", after_finish=["@b"]),
        note("b", ref="b", after_failed=["@c"]),
        note("c", ref="c", after_success=["@a"]),
    )
    assert "a (jobs.jsonl:2) -> b (jobs.jsonl:3) -> c (jobs.jsonl:4) -> a (jobs.jsonl:2)" in told


def test_a_line_that_waits_for_itself_is_a_circle(cli: Cli) -> None:
    assert "a (jobs.jsonl:1) -> a (jobs.jsonl:1)" in refused(
        cli, 2, "add", note("a", ref="a", after_success=["@a"])
    )


def test_a_name_means_a_job_that_is_there_already_and_never_the_one_that_is_being_submitted(cli: Cli) -> None:
    refused(cli, 3, "add", note("a", name="x"), note("b", after_success=["x"]))
    old = cli.run("add", "--name", "x", "--", "true").id
    for verb in ("add", "run"):
        new = cli.run(verb, "--name", "x", "--after-success", old, "--", "true").id
        assert [edge["job_id"] for edge in cli.show(new)["dependencies"]] == [old]
    cli.run("work", "--drain").check()
    again = cli.run("add", "--name", "x", "--after-finish", "x@latest", "--", "true").id
    assert [edge["job_id"] for edge in cli.show(again)["dependencies"]] == [again - 1]


def test_several_edges_to_one_job_are_joined(cli: Cli) -> None:
    file = write(cli, note("a", ref="a"), note("b", after_finish=["@a"], after_outcome=["@a=success,lost"]))
    _, child = cli.run("add", "--from-file", file).ids
    (edge,) = cli.show(child)["dependencies"]
    assert edge["outcomes"] == ["success", "lost"]


@VERBS
def test_a_line_whose_key_is_taken_gives_the_id_of_that_job_and_the_others_are_added(
    cli: Cli, verb: str
) -> None:
    lines: list[dict[str, Any]] = [
        {"command": ["sleep", "317"], "key": "k", "ref": "k"},
        {"command": ["sleep", "318"]},
        {"command": ["sleep", "317"], "key": "k"},
        {"command": ["true"], "after_finish": ["@k"]},
    ]
    file = write(cli, *lines)
    first, other, twin, child = cli.run(verb, "--from-file", file).ids
    assert (first, twin) == (1, 1)
    again = cli.run(verb, "--from-file", file).ids
    assert (again[0], again[2]) == (first, first)
    assert len({first, other, child, again[1], again[3]}) == 5
    assert [edge["job_id"] for edge in cli.show(again[3])["dependencies"]] == [first]
    for words in ((), ("--wait-delay", "1ms")):
        assert cli.run(verb, "--key", "k", *words, "--", "sleep", 317).id == first


@VERBS
def test_a_key_under_which_something_else_runs_is_a_conflict(cli: Cli, verb: str) -> None:
    one = {"command": ["sleep", "317"], "key": "k"}
    told = refused(cli, 5, verb, one, {"command": ["sleep", "318"], "key": "k"})
    assert told.startswith("inturn: jobs.jsonl:2: the key 'k' belongs to the job of jobs.jsonl:1")
    job = cli.run("add", "--key", "k", "--", "sleep", 318).id
    told = refused(cli, 5, verb, note("a"), one)
    assert told.startswith(f"inturn: jobs.jsonl:2: the key 'k' belongs to job {job}")


def test_a_reference_means_nothing_without_a_file(cli: Cli) -> None:
    for words in (("add",), ("add", "--dry-run"), ("run",), ("run", "--foreground")):
        told = cli.run(*words, "--after-success", "@a", "--", "true").check(2)
        assert b"'a'" in told.err
    assert ids(cli) == []


def test_a_dry_run_says_what_would_be_and_stores_nothing(cli: Cli) -> None:
    file = write(cli, note("a", ref="a"), note("b", after_success=["@a"]), note("c", key="k"))
    cli.run("add", "--dry-run", "--from-file", file).check()
    assert ids(cli) == []
    cli.run("add", "--dry-run", "--from-file", write(cli, note("a", after_success=["@b"]))).check(2)
    cli.run("add", "--dry-run", "--from-file", write(cli, note("a", after_success=["7"]))).check(3)


@pytest.mark.parametrize(
    "words",
    [
        ("--from-file", "jobs.jsonl", "--", "true"),
        ("--from-file", "jobs.jsonl", "-c", "true"),
        ("--from-file", "jobs.jsonl", "--array", "1-2"),
        ("--from-file", "jobs.jsonl", "--each"),
        ("--from-file", "nowhere.jsonl"),
        ("--from-file", "."),
        ("--from-file", "empty.jsonl"),
    ],
)
def test_what_makes_no_sense_beside_a_file_or_is_none_is_refused(cli: Cli, words: tuple[str, ...]) -> None:
    write(cli, note("a"))
    (cli.root / "empty.jsonl").write_text("\n\n")
    told = cli.run("add", *words).check(2)
    assert told.out == b""
    assert ids(cli) == []


@VERBS
def test_a_contradiction_on_a_job_of_the_same_file_calls_it_by_its_ref(cli: Cli, verb: str) -> None:
    line = {"command": ["true"], "after_success": ["@b"], "after_failed": ["@b"]}
    told = refused(cli, 2, verb, {"command": ["true"], "ref": "b"}, line)
    assert "jobs.jsonl:2: the dependencies on @b contradict each other" in told
    old = cli.run("add", "--", "true").id
    line = {"command": ["true"], "after_success": [str(old)], "after_failed": [str(old)]}
    assert f"jobs.jsonl:1: the dependencies on job {old} contradict" in refused(cli, 2, verb, line)
