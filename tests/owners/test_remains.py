"""What the dead leave behind apart from their jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.app import open_context, recover
from inturn.host import clock, locks, paths
from inturn.owners import remains
from inturn.service.context import Context
from inturn.store import owners
from inturn.store.db import Store
from tests.builders import add_owner
from tests.e2e.harness import Cli, until

PAST = 3600.0


@pytest.fixture
def context(cli: Cli) -> Iterator[Context]:
    opened = open_context(str(cli.store), str(cli.config), True, lambda _: None)
    yield opened
    assert opened.store is not None
    opened.store.close()


def files(context: Context, token: str, age: float = PAST) -> tuple[Path, Path]:
    """The lock and the FIFO of somebody, made so many seconds ago."""
    lock, fifo = map(Path, paths.owner_files(context.directory, token))
    lock.touch(mode=0o600)
    os.mkfifo(fifo, 0o600)
    for path in (lock, fifo):
        os.utime(path, (time.time() - age, time.time() - age))
    return lock, fifo


def store_of(context: Context) -> Store:
    assert context.store is not None
    return context.store


def sweep(context: Context) -> None:
    remains.sweep(store_of(context), context.directory, clock.now())


def test_files_of_somebody_who_died_outside_the_registry_are_removed(context: Context) -> None:
    lock, fifo = files(context, "dead")
    sweep(context)
    assert not lock.exists()
    assert not fifo.exists()


@pytest.mark.parametrize("left", [0, 1])
def test_one_file_alone_is_removed_as_well(context: Context, left: int) -> None:
    both = files(context, "dead")
    both[1 - left].unlink()
    sweep(context)
    assert not both[left].exists()


def test_files_of_somebody_in_the_registry_stay(context: Context) -> None:
    store = store_of(context)
    with store.writing():
        add_owner(store, "known")
    both = files(context, "known")
    sweep(context)
    assert all(path.exists() for path in both)


def test_files_of_somebody_who_lives_and_is_not_registered_yet_stay(context: Context) -> None:
    lock_path, _ = paths.owner_files(context.directory, "early")
    held = locks.create(lock_path)
    os.utime(lock_path, (0, 0))
    sweep(context)
    assert os.path.exists(lock_path)
    os.close(held)
    sweep(context)
    assert not os.path.exists(lock_path)


def test_files_that_are_young_may_be_about_to_be_locked(context: Context) -> None:
    both = files(context, "young", age=0)
    sweep(context)
    assert all(path.exists() for path in both)


@pytest.mark.parametrize("name", ["notes.txt", "dead.lock.bak"])
def test_files_that_are_none_of_ours_stay(context: Context, name: str) -> None:
    path = Path(context.directory, paths.OWNERS, name)
    path.touch()
    os.utime(path, (0, 0))
    sweep(context)
    assert path.exists()


def test_something_else_in_the_place_of_a_lock_stays(context: Context, tmp_path: Path) -> None:
    lock, fifo = files(context, "odd")
    lock.unlink()
    lock.symlink_to(tmp_path)
    os.utime(lock, (0, 0), follow_symlinks=False)
    sweep(context)
    assert lock.is_symlink()
    assert fifo.exists()


# --- probes


def probing(cli: Cli) -> set[int]:
    """The probes that run: each is a `sleep` of its own length."""
    return {pid for pid, command in cli.processes().items() if command == "sleep 6789"}


def test_the_probe_of_a_dead_supervisor_is_ended_before_another_one_is_started(
    cli: Cli, context: Context
) -> None:
    job = cli.run("run", "--wait-probe", "sleep 6789", "--probe-timeout", "1h", "--", "true").id
    (first,) = until(lambda: probing(cli), "the first probe")
    supervisor = cli.show(job)["owner"]["pid"]
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: supervisor not in cli.processes(), "its end")
    assert probing(cli) == {first}
    recover(context)
    until(lambda: probing(cli) and first not in probing(cli), "another probe, and not the first one")
    assert len(probing(cli)) == 1


def test_only_what_carries_the_mark_of_a_dead_owner_is_ended(cli: Cli, context: Context) -> None:
    mark = remains.probe_cookie("alive").decode()
    with subprocess.Popen(["sleep", "600"], env={"INTURN_COOKIE": mark}) as bystander:
        store = store_of(context)
        with store.writing():
            add_owner(store, "dead")
        dead = owners.by_token(store, "dead")
        assert dead is not None
        remains.end_probes([dead])
        assert bystander.poll() is None
        bystander.kill()
