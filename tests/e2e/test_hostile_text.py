"""Whatever words a job is made of, they cannot steer the terminal of those who look at it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.harness import Cli
from tests.e2e.terminal import at_a_terminal

# The title of the window, the colour, the bell, the beginning of the line, the other direction, a C1 control.
EVIL = "\x1b]0;owned\x07\x1b[31mred\r\x08\x9b2J\u202e!\n\t"

# What may not come out: all control characters but the newline and the tab between columns, and what turns
# the direction.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

LOOKS = (
    ("list", "--all"),
    ("status",),
    ("status", "1", "2", "3", "4"),
    *(("show", str(job), "--env-values") for job in range(1, 5)),
    *(("why", str(job)) for job in range(1, 5)),
    ("events",),
    ("queues",),
    ("pools",),
    ("workers",),
    ("doctor",),
    ("wait", "1", "2", "--timeout", "100ms"),
    ("config", "show"),
)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A store in a directory with such a name, with jobs that wait, have ended and could not be started."""
    there = tmp_path_factory.mktemp("evil") / f"dir {EVIL.strip()}"
    there.mkdir()
    cli = Cli(there)
    words = {"note": "a note", "env": [f"EVIL={EVIL}"], "cwd": str(there)}
    probe = shlex.join(["sh", "-c", 'printf "%s" "$EVIL"; exit 1'])
    for line in (
        {**words, "command": ["echo", EVIL], "wait_file": [EVIL], "wait_probe": [probe]},
        {**words, "command": [EVIL], "stdin_file": EVIL},
        {**words, "command": [EVIL]},
        {**words, "command": ["true", EVIL], "after_failed": [2], "key": "evil"},
    ):
        cli.run("run", "--from-file", "-", input=json.dumps(line)).check()
    cli.run("add", "--", EVIL).check()
    cli.run("wait", 2, 3)
    yield cli
    cli.end_everything()


def steering(text: str) -> list[str]:
    return [line for line in text.split("\n") if STEERING.search(line)]


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_nothing_that_is_shown_steers_the_reader(evil: Cli, words: tuple[str, ...]) -> None:
    done = evil.run(*words)
    assert done.out or done.err
    for text in (done.out.decode(), done.err.decode()):
        assert not steering(text)
    assert not steering(at_a_terminal(evil, *words).text)


@pytest.mark.parametrize(
    "words",
    [
        (EVIL,),
        ("show", EVIL),
        ("cancel", EVIL),
        ("run", f"--{EVIL}"),
        ("run", "--name", EVIL, "--", "true"),
        ("run", "--pool", EVIL, "--", "true"),
        ("run", "--slots", EVIL, "--", "true"),
        ("run", "--cwd", EVIL, "--env-file", EVIL, "--", "true"),
        ("run", "--after-success", EVIL, "--", "true"),
        ("add", "--queue", EVIL, "--", "true"),
        ("run", "--from-file", EVIL),
        ("config", "show", "--config", EVIL),
        ("pools", "set", EVIL, "3"),
        ("doctor", "--backup", f"nowhere{EVIL}/b"),
    ],
    ids=lambda words: " ".join(words[:2]).encode("ascii", "backslashreplace").decode()[:30],
)
def test_no_error_steers_the_reader(cli: Cli, words: tuple[str, ...]) -> None:
    done = cli.run(*words)
    assert done.code != 0
    assert done.err
    assert not steering(done.err.decode())
    assert not steering(at_a_terminal(cli, *words).text)
    document = cli.run(*words, "--json") if words[0] not in ("run", "add") else done
    assert not steering(document.out.decode())


def test_json_is_ascii_whatever_it_holds(evil: Cli) -> None:
    for words in (("list", "--all"), ("show", "1"), ("why", "1"), ("events",)):
        out = evil.run(*words, "--json").check().out
        assert out.isascii()
        assert not steering(out.decode())
    shown = evil.show(2)
    assert EVIL in json.dumps(shown, ensure_ascii=False).encode().decode("unicode_escape") or shown[
        "argv"
    ] == [EVIL]


def test_the_errors_of_a_supervisor_are_kept_private(cli: Cli) -> None:
    program = "import sys; from inturn.host import diary\nwith diary.keep(sys.argv[1]): raise ValueError('x')"
    cli.run("limit", 3).check()
    subprocess.run([sys.executable, "-c", program, str(cli.store)], stderr=subprocess.DEVNULL, check=False)
    assert Path(cli.store / "errors.log").stat().st_mode & 0o777 == 0o600
