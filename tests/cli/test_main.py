"""The command line's first instruction and its last."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from inturn import __version__
from tests.e2e.harness import INTURN, Cli


def test_python_can_run_the_package(cli: Cli) -> None:
    python = Path(INTURN).with_name("python")
    done = subprocess.run(
        [python, "-m", "inturn", "--version"], capture_output=True, env=cli.environment(), check=True
    )
    assert done.stdout == f"inturn {__version__}\n".encode()


def test_a_reader_that_has_gone_ends_it_quietly(cli: Cli) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = cli.popen("run", "--help", stdout=writer)
    os.close(writer)
    assert process.communicate(timeout=60)[1] == b""
    assert process.returncode == 0


def test_closed_streams_do_no_harm(cli: Cli) -> None:
    for redirection, code in ((">&-", 0), (">&- 2>&-", 0)):
        done = subprocess.run(
            ["sh", "-c", f'"$0" --version {redirection}', INTURN], capture_output=True, env=cli.environment()
        )
        assert (done.returncode, done.stderr) == (code, b"")
