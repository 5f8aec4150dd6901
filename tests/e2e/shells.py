"""A shell in which `inturn` is a command, as its user has one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

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
