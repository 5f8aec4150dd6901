"""The scripts for shells, in the shells: what a press of the tab key would do to a line."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from inturn.cli.verbs.completion import SHELLS, script
from tests.e2e.harness import Cli
from tests.e2e.shells import bash

# A line is completed as bash does it: it splits the words, calls the function, and takes COMPREPLY.
DRIVER = r"""
source <(inturn completion bash)
complete_line() {
    COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    local function=$(complete -p inturn | sed 's/.*-F \([^ ]*\).*/\1/')
    "$function" inturn "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    for reply in "${COMPREPLY[@]}"; do printf '<%s>' "$reply"; done
}
"""

# zsh and fish are not everywhere, and a test cannot install them; what the scripts ask, test_complete tests.
PRESENT = [shell for shell in SHELLS if shutil.which(shell)]


def pressed(cli: Cli, line: str, *words: str, setup: str = "") -> str:
    """The replies to a tab at the end of the line, which bash has split into these words."""
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in (line, *words))
    return bash(cli, f"{DRIVER}\n{setup}\ncomplete_line {quoted}").check().text


@pytest.mark.parametrize("shell", PRESENT)
def test_each_script_is_one_for_its_shell(shell: str) -> None:
    done = subprocess.run([shell, "-n", script(shell)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_printed_as_it_is_or_in_a_document(shell: str, cli: Cli) -> None:
    with open(script(shell), encoding="utf-8") as file:
        text = file.read()
    assert cli.run("completion", shell).check().text == text
    assert cli.run("completion", shell, "--json").check().data == {"shell": shell, "script": text}


def test_another_shell_is_refused_with_what_there_is(cli: Cli) -> None:
    told = cli.run("completion", "bsh").check(2).err.decode()
    assert "did you mean bash?" in told
    assert "bash or zsh or fish" in told


def test_verbs_options_and_jobs_are_completed(cli: Cli) -> None:
    cli.run("add", "--name", "prepare", "--", "true").check()
    assert pressed(cli, "inturn can", "inturn", "can") == "<cancel>"
    assert pressed(cli, "inturn run --retries", "inturn", "run", "--retries") == "<--retries>"
    assert pressed(cli, "inturn show ", "inturn", "show", "") == "<1><prepare>"
    assert pressed(cli, "inturn show x", "inturn", "show", "x") == ""


def test_it_works_where_only_the_words_are_known(cli: Cli) -> None:
    told = bash(
        cli, f"{DRIVER}\nCOMP_WORDS=(inturn conf) COMP_CWORD=1\n_inturn\necho ${{COMPREPLY[@]}}"
    ).check()
    assert told.text == "config\n"


def test_what_bash_has_split_at_an_equals_sign_is_one_word(cli: Cli) -> None:
    cli.run("add", "--queue", "gpu", "--tag", "a=b", "--", "true").check()
    assert pressed(cli, "inturn add --queue=g", "inturn", "add", "--queue", "=", "g") == "<gpu>"
    assert "<gpu>" in pressed(cli, "inturn add --queue=", "inturn", "add", "--queue", "=", "")
    assert pressed(cli, "inturn list --tag a=", "inturn", "list", "--tag", "a", "=", "") == "<b>"


def test_names_are_quoted_and_never_executed(cli: Cli) -> None:
    for name in ("my job", "$(touch harm)", "`touch harm`", "it's"):
        cli.run("add", "--name", name, "--", "true").check()
    assert pressed(cli, "inturn show my", "inturn", "show", "my") == r"<my\ job>"
    assert pressed(cli, r"inturn show my\ j", "inturn", "show", r"my\ j") == r"<my\ job>"
    assert pressed(cli, "inturn show 'my j", "inturn", "show", "'my j") == "<my job>"
    assert r"<\$\(touch\ harm\)><\`touch\ harm\`>" in pressed(
        cli, "inturn list --name ", "inturn", "list", "--name", ""
    )
    assert not (cli.root / "harm").exists()


def test_files_are_completed_where_files_are_meant(cli: Cli) -> None:
    (cli.root / "jobs.jsonl").touch()
    (cli.root / "job-directory").mkdir()
    line = ("inturn", "add", "--from-file", "jobs")
    assert pressed(cli, "inturn add --from-file jobs", *line) == "<jobs.jsonl>"
    assert pressed(cli, "inturn run --cwd=jo", "inturn", "run", "--cwd", "=", "jo") == "<job-directory>"


def test_the_command_is_completed_as_if_it_stood_alone(cli: Cli) -> None:
    setup = """
    _tool() { COMPREPLY=("$COMP_CWORD:$COMP_LINE:$COMP_POINT:$1:$2:$3"); }
    complete -F _tool tool
    """
    found = pressed(
        cli, "inturn run --retries=3 -- tool --job x", *("inturn", "run", "--retries", "=", "3"),
        *("--", "tool", "--job", "x"), setup=setup,
    )  # fmt: skip
    assert found == "<2:tool --job x:12:tool:x:--job>"


def test_the_name_of_a_command_is_completed(cli: Cli) -> None:
    tool = cli.root / "a-tool-for-this-test"
    tool.touch()
    tool.chmod(0o755)
    setup = f"PATH={cli.root}:$PATH"
    assert pressed(cli, "inturn run a-tool-f", "inturn", "run", "a-tool-f", setup=setup) == f"<{tool.name}>"
    assert pressed(cli, "inturn run ./a-t", "inturn", "run", "./a-t") == f"<./{tool.name}>"
    assert pressed(cli, "inturn run cat a-t", "inturn", "run", "cat", "a-t") == f"<{tool.name}>"


def test_where_bash_completion_is_loaded_it_completes_the_command(cli: Cli) -> None:
    setup = '_comp_command_offset() { COMPREPLY=("offset $1"); }'
    line = ("inturn", "edit", "7", "--", "ls", "")
    assert pressed(cli, "inturn edit 7 -- ls ", *line, setup=setup) == "<offset 4>"


def test_a_store_that_cannot_be_read_is_no_noise_on_the_line(cli: Cli) -> None:
    cli.run("add", "--", "true").check()
    (cli.store / "inturn.db").write_bytes(b"no database, and longer than a header would be" * 9)
    assert pressed(cli, "inturn show ", "inturn", "show", "") == ""
