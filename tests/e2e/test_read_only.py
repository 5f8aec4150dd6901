"""A store on a file system that is mounted read-only: what changes it is refused with a word of advice."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.harness import Cli


@pytest.fixture
def read_only(cli: Cli) -> Iterator[Cli]:
    """A store with one job, on a file system that nothing can be written to any more."""
    cli.store.mkdir(mode=0o700)
    options = ["-o", "size=8m,mode=0700"]
    mounted = subprocess.run(["mount", "-t", "tmpfs", *options, "store", cli.store], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        # In the foreground: no supervisor that is about to end has a file open there.
        cli.run("run", "--foreground", "--", "echo", "hi").check()
        subprocess.run(["mount", "-o", "remount,ro", cli.store], check=True)
        yield cli
    finally:
        subprocess.run(["umount", "--lazy", cli.store], check=True)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--", "true"),
        ("run", "--foreground", "--", "true"),
        ("run", "--array", "1-3", "--", "true"),
        ("add", "--", "true"),
        ("work", "--once"),
        ("retry", "1"),
        ("rerun", "1"),
        ("doctor", "--repair"),
    ],
)
def test_what_would_change_it_is_refused(read_only: Cli, words: tuple[str, ...]) -> None:
    refused = read_only.run("--json", *words).check(1).json["error"]
    assert refused["code"] == "store_unusable"
    assert str(read_only.store) in refused["message"]
    assert "cannot be written" in refused["message"]
    assert "mount" in refused["hint"]


def test_it_can_be_looked_at(read_only: Cli) -> None:
    assert read_only.run("logs", 1).check().out == b"hi\n"
    assert [job["id"] for job in read_only.run("list", "--all", "--json").check().data] == [1]


def test_the_examination_names_it(read_only: Cli) -> None:
    found = read_only.run("doctor", "--json").check(1).data["findings"]
    (problem,) = [one for one in found if one["severity"] == "problem"]
    assert (problem["check"], "nothing can be written" in problem["message"]) == ("permissions", True)
    assert problem["fix"]
