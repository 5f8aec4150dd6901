from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from inturn.cli import complete, manual
from inturn.cli.parser import build
from inturn.cli.verbs import VERBS
from inturn.core.job import STATUSES
from inturn.core.views import UMBRELLAS
from tests.e2e.harness import Cli


def asked(cli: Cli, *words: str) -> tuple[list[str], list[str]]:
    """The directive for these words, the last of which is being typed, and what is offered."""
    head, *lines = cli.run("__complete", "--", *words).check().text.split("\n")
    assert lines.pop() == ""
    return head.split("\t"), [line.split("\t")[0] for line in lines]


def offered(cli: Cli, *words: str) -> list[str]:
    head, found = asked(cli, *words)
    assert head[0] == "words"
    return found


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    cli.run("pools", "set", "analysis", 2).check()
    cli.run("run", "--wait", "--name", "done", "--", "true").check()
    cli.run(
        "add", "--queue", "gpu", "--name", "my job", "--tag", "project=x", "--tag", "quick", "true"
    ).check()
    cli.run("add", "--name", "prepare", "--after", "1h", "--array", "1-2", "true").check()
    return cli


def test_verbs_are_offered_with_what_they_do(cli: Cli) -> None:
    assert offered(cli, "") == [*VERBS, "help"]
    assert offered(cli, "--json", "--dir", "x", "re") == [verb for verb in VERBS if verb.startswith("re")]
    assert offered(cli, "help", "que") == ["queues"]
    assert "que\t" not in cli.run("__complete", "--", "que").text


def test_the_newest_jobs_are_offered_first_by_id_and_by_name(stocked: Cli) -> None:
    assert offered(stocked, "show", "") == ["4", "prepare", "3", "2", "my job", "1", "done"]
    assert offered(stocked, "show", "my") == ["my job"]
    assert offered(stocked, "wait", "2", "pre") == ["prepare"]


def test_only_such_jobs_are_offered_as_the_verb_can_act_on(stocked: Cli) -> None:
    assert "1" not in offered(stocked, "cancel", "")
    assert offered(stocked, "retry", "") == ["1", "done"]
    assert offered(stocked, "resume", "") == []
    stocked.run("pause", "my job").check()
    assert offered(stocked, "resume", "") == ["2", "my job"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["add", "--queue", ""], ["default", "gpu"]),
        (["add", "--queue=g"], ["gpu"]),
        (["work", "--queue", "d"], ["default"]),
        (["list", "--queue", "g"], ["gpu"]),
        (["run", "--pool", ""], ["analysis"]),
        (["pools", "remove", ""], ["analysis"]),
        (["list", "--tag", ""], ["project", "project=x", "quick"]),
        (["list", "--tag", "project="], ["project=x"]),
        (["list", "--array", ""], ["3"]),
        (["list", "--name", "p"], ["prepare"]),
        (["run", "--name", ""], []),
        (["run", "--after-success", "pre"], ["prepare"]),
        (["run", "--after-outcome", "don"], ["done="]),
        (["run", "--after-outcome", "done=success,f"], ["done=success,failure"]),
        (["events", "--job", "don"], ["done"]),
        (["run", "--wait-mode", ""], ["all", "any"]),
        (["run", "--max-runs", ""], ["unlimited"]),
        (["run", "--retry-signal", "TER"], ["TERM"]),
        (["logs", "--run", ""], ["all"]),
        (["logs", "--stream", "std"], ["stdout", "stderr"]),
        (["config", "va"], ["validate"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["schema", "from"], ["from-file"]),
        (["recover", "--at-boot", "in"], ["install"]),
        (["run", "--unset-env", "INTURN_D"], ["INTURN_DIR"]),
    ],
)
def test_values_are_offered_for_what_they_belong_to(stocked: Cli, words: list[str], found: list[str]) -> None:
    assert offered(stocked, *words) == found


def test_every_status_and_every_word_for_several_is_offered(cli: Cli) -> None:
    for verb in ("list", "cancel"):
        assert offered(cli, verb, "--status", "") == [*STATUSES, *UMBRELLAS]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_every_verb_is_offered(verb: str, cli: Cli) -> None:
    page = manual.read(build(verb, import_module(f"inturn.cli.verbs.{verb}")))
    assert offered(cli, verb, "-") == [one for entry in page.entries for one in entry.switches]


def test_an_option_that_was_given_is_not_offered_again_unless_it_is_repeatable(cli: Cli) -> None:
    found = offered(cli, "run", "--name=x", "--json", "--tag", "a", "--")
    assert {"--tag", "--retries"} <= set(found)
    assert not {"--name", "--json"} & set(found)


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["run", ""], 1),
        (["run", "ma"], 1),
        (["run", "--retries", "3", "make", "--ret"], 3),
        (["run", "--retries=3", "--", "--json", ""], 3),
        (["--json", "add", "--merge-output", "make", "-"], 3),
        (["edit", "7", "--", "ls", "--al"], 3),
        (["edit", "7", "ls", "--nam"], None),
        (["run", "-c", "true", "--na"], None),
    ],
)
def test_a_command_begins_where_options_end(words: list[str], at: int | None, cli: Cli) -> None:
    head, found = asked(cli, *words)
    assert head == (["words", ""] if at is None else ["command", str(at)])
    assert (at is None) == bool(found)


@pytest.mark.parametrize(
    ("words", "head"),
    [
        (["--config", ""], ["files", ""]),
        (["--dir=x"], ["directories", "--dir="]),
        (["run", "--cwd", "x"], ["directories", ""]),
        (["run", "--from-file=a"], ["files", "--from-file="]),
        (["config", "validate", ""], ["files", ""]),
        (["doctor", "--backup", ""], ["files", ""]),
    ],
)
def test_files_are_left_to_the_shell(words: list[str], head: list[str], cli: Cli) -> None:
    assert asked(cli, *words) == (head, [])


def test_another_store_may_be_named_before_or_after_the_verb(stocked: Cli) -> None:
    elsewhere = {"INTURN_DIR": str(stocked.root / "elsewhere")}
    for words in (["--dir", str(stocked.store), "show"], ["show", f"--dir={stocked.store}"]):
        told = stocked.run("__complete", "--", *words, "don", env=elsewhere).check()
        assert told.text == "words\t\ndone\tsuccess 1\n"


def test_a_store_that_does_not_exist_offers_nothing_and_is_not_created(cli: Cli) -> None:
    for words in (["show", ""], ["add", "--queue", ""], ["list", "--tag", ""], ["list", "--array", ""]):
        assert offered(cli, *words) == []
    assert not cli.store.exists()


def test_names_that_only_old_jobs_have_are_offered_too(cli: Cli) -> None:
    cli.run("add", "--name", "ancient", "--", "true").check()
    cli.run("add", "--array", "1-1100", "--name", "many", "--", "true").check()
    assert offered(cli, "show", "anc") == ["ancient"]
    assert offered(cli, "list", "--name", "") == ["ancient", "many"]


def test_what_cannot_stand_in_a_line_is_not_offered(cli: Cli) -> None:
    cli.run("add", "--tag", "a=\u202eb", "--tag", "c", "--", "true").check()
    assert offered(cli, "list", "--tag", "") == ["a", "c"]


def test_nonsense_is_answered_with_nothing(cli: Cli) -> None:
    for words in (
        ["nope", ""],
        ["nope", "--x"],
        ["run", "--nope=x"],
        ["list", "--status="],
        ["--nope", "--"],
    ):
        head, _ = asked(cli, *words)
        assert head[0] == "words"


def test_each_place_of_each_example_is_understood(cli: Cli) -> None:
    for verb in VERBS:
        for example in import_module(f"inturn.cli.verbs.{verb}").EXAMPLES:
            words = [word.strip("'") for word in example.split()]
            if words[0] == "inturn":
                for end in range(2, len(words) + 1):
                    assert complete.answer([*words[1 : end - 1], ""]).split("\t")[0] in (
                        *("words", "files", "directories"),
                        "command",
                    )


def test_what_takes_long_to_load_is_not_loaded(stocked: Cli) -> None:
    program = (
        "import sys; from inturn.cli.main import main; main(sys.argv[1:]);"
        "print(*sys.modules, file=sys.stderr)"
    )
    for words in (["show", ""], ["run", "--queue", ""], ["cancel", "--"]):
        done = subprocess.run(
            [sys.executable, "-c", program, "__complete", "--", *words],
            env=stocked.environment(), cwd=stocked.root, capture_output=True, text=True, check=True,
        )  # fmt: skip
        loaded = set(done.stderr.split())
        assert "inturn.cli.complete" in loaded
        heavy = {"rich", "ruamel", "subprocess", "dataclasses", "typing", "json", "difflib", "textwrap"}
        assert not loaded & heavy


def test_the_options_before_the_verb_are_those_of_the_frame(cli: Cli) -> None:
    assert offered(cli, "--") == ["--dir", "--config", "--json", "--help", "--version"]
