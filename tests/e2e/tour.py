"""Somebody who types the shell commands of a page, one after the other, in a home of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.e2e.harness import INTURN, Cli, until
from tests.pages import blocks, script

_LONGEST = 120  # seconds; a page takes a few


def follow(page: Path, cli: Cli) -> str:
    """Run the `sh` blocks of a page in one shell, and return what they print; fail where one of them fails.

    Nothing reads the terminal, the store is that of `cli`, and the first command that fails stops the shell.
    """
    home = cli.root / "home"
    home.mkdir()
    file = cli.root / "page.sh"
    file.write_text(script(blocks(page, "sh")), encoding="utf-8")
    path = f"{os.path.dirname(INTURN)}:{os.environ['PATH']}"
    own = {"HOME": str(home), "PATH": path, "XDG_CONFIG_HOME": None, "XDG_STATE_HOME": None}
    done = subprocess.run(
        ["sh", "-eu", str(file)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=cli.environment(own),
        cwd=home,
        timeout=_LONGEST,
        check=False,
    )
    printed = done.stdout.decode()
    assert done.returncode == 0, f"exit code {done.returncode} after:\n{done.stderr.decode()}{printed}"
    return printed


def left_behind(root: Path) -> dict[int, str]:
    """Return the processes that still belong to any store below a directory, after they had time to leave."""
    everything = Cli(root)
    everything.store = root
    try:
        until(lambda: not everything.processes(), "the end of what the page has started", deadline=20)
    except AssertionError:
        return everything.processes()
    return {}


def clean_up(root: Path) -> None:
    """End what a page has left in any store below a directory."""
    for database in root.rglob("inturn.db"):
        found = Cli(root)
        found.store = database.parent
        if found.processes():
            found.end_everything()
