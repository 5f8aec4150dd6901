"""A shell in which `inturn` is a command, as its user has one."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.e2e.harness import DEADLINE, INTURN, Cli, Result


def environment(cli: Cli, changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The environment of a shell that finds the `inturn` of this environment."""
    path = f"{os.path.dirname(INTURN)}:{os.environ['PATH']}"
    return cli.environment({"PATH": path, **(changes or {})})


def bash(cli: Cli, script: str, env: Mapping[str, str | None] | None = None) -> Result:
    """Run a script to its end."""
    done = subprocess.run(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=environment(cli, env),
        cwd=cli.root,
        timeout=DEADLINE,
        check=False,
    )
    result = Result(("…", script), done.returncode, done.stdout, done.stderr)
    print(result.told(), end="")
    return result


@contextmanager
def started(cli: Cli, *argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command whose output is read, in a session of its own; at the end it is killed."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=environment(cli),
        cwd=cli.root,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()


def first_line(process: subprocess.Popen[bytes]) -> bytes:
    """The first line of the output of a process that is still running."""
    assert process.stdout is not None
    return process.stdout.readline()
