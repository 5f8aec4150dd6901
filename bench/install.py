"""Installing neighbours: those of Debian with apt-get, those of PyPI into an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from bench.tools.base import VENV, Tool, in_venv


def install(tools: Sequence[Tool]) -> None:
    """Install those that are not there. Raises CalledProcessError or FileNotFoundError if that fails."""
    missing = [tool for tool in tools if tool.version() is None]
    for command in commands(missing):
        print(f"$ {' '.join(command)}", file=sys.stderr)
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)


def commands(tools: Sequence[Tool]) -> list[list[str]]:
    """The commands that install these tools."""
    debian = [tool.package for tool in tools if not tool.from_pypi]
    pypi = [tool.package for tool in tools if tool.from_pypi]
    found = []
    if debian:
        as_root = [] if os.geteuid() == 0 else ["sudo"]
        found.append([*as_root, "apt-get", "install", "--yes", "--no-install-recommends", *debian])
    if pypi:
        if not os.path.exists(in_venv("python")):
            found.append([sys.executable, "-m", "venv", VENV])
        found.append([in_venv("python"), "-m", "pip", "--disable-pip-version-check", "install", *pypi])
    return found
