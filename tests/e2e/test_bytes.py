"""Output need not be text: it is kept, shown and followed byte for byte."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from typing import IO

from tests.e2e.harness import DEADLINE, Cli, until

PRINTED = b"abc\xff\0def\n"
PRINT = "printf 'abc\\377\\000def\\n'"


def read_until(stream: IO[bytes], end: bytes) -> bytes:
    """What arrives on an unbuffered pipe, up to and with `end`."""
    os.set_blocking(stream.fileno(), False)
    seen = b""

    def arrived() -> bool:
        nonlocal seen
        seen += stream.read() or b""
        return seen.endswith(end)

    until(arrived, f"output that ends with {end!r}")
    return seen


def test_logs_are_exact(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "-c", PRINT).id
    assert cli.run("logs", job).check().out == PRINTED


def test_following_a_job_that_has_ended_shows_the_same(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "-c", PRINT).id
    assert cli.run("logs", "-f", job).check().out == PRINTED


def test_following_goes_on_after_bytes_that_are_no_text(cli: Cli, verb: str) -> None:
    go_on = "until [ -e go ]; do sleep 0.05; done"
    job = cli.run(verb, "-c", f"{PRINT}; {go_on}; printf '\\303\\251 \\376 end\\n'").id
    follower = cli.popen("logs", "-f", job)
    assert follower.stdout is not None
    assert read_until(follower.stdout, b"def\n") == PRINTED
    (cli.root / "go").touch()
    assert read_until(follower.stdout, b"end\n") == b"\xc3\xa9 \xfe end\n"
    assert follower.wait(DEADLINE) == 0


def test_a_character_that_arrives_in_two_parts_is_followed_as_it_comes(cli: Cli, verb: str) -> None:
    go_on = "until [ -e go ]; do sleep 0.05; done"
    job = cli.run(verb, "-c", f"printf 'x\\303'; {go_on}; printf '\\251\\n'").id
    follower = cli.popen("logs", "-f", job)
    assert follower.stdout is not None
    assert read_until(follower.stdout, b"\xc3") == b"x\xc3"
    (cli.root / "go").touch()
    assert read_until(follower.stdout, b"\n") == b"\xa9\n"
    assert follower.wait(DEADLINE) == 0


def test_every_document_about_such_a_job_is_valid_json(cli: Cli, verb: str) -> None:
    assert cli.run(verb, "--wait", "-c", PRINT).id == 1
    for words in ("show 1", "status", "status 1", "list", "events", "logs 1", "why 1"):
        told = cli.run(*words.split(), "--json").check()
        assert json.loads(told.out.decode("utf-8", "strict"))["schema_version"] == 1


def test_the_json_of_logs_has_a_readable_text_and_the_bytes(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "-c", PRINT).id
    segments = cli.run("logs", job, "--json").check().data["segments"]
    assert b"".join(base64.b64decode(segment["text_base64"]) for segment in segments) == PRINTED
    assert "".join(segment["text"] for segment in segments) == "abc\ufffd\0def\n"


def test_both_streams_and_their_parts_are_exact(cli: Cli, verb: str) -> None:
    job = cli.run(verb, "--wait", "-c", f"{PRINT}; {PRINT} >&2").id
    assert cli.run("logs", job, "--stream", "stdout").check().out == PRINTED
    assert cli.run("logs", job, "--stream", "stderr").check().out == PRINTED
    assert cli.run("logs", job, "-n", 1).check().out == PRINTED


def test_every_byte_there_is_arrives_through_a_pipe(cli: Cli, verb: str) -> None:
    every = bytes(range(256)) * 300
    (cli.root / "every").write_bytes(every)
    job = cli.run(verb, "--wait", "--", "cat", "every").id
    follower = cli.popen("logs", "-f", job, stdout=subprocess.PIPE)
    assert follower.communicate(timeout=DEADLINE)[0] == every
    assert cli.run("logs", job).check().out == every
