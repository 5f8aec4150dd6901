"""A release that is replaced under its jobs: what it began it finishes, on a store with a newer schema."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.e2e.harness import Cli, Result, until
from tests.e2e.releases import KEPT, LATER_TABLES, Release, later_major, later_minor, unpacked

TWO_POOLS = "schema_version: 1\nconcurrency:\n  max_active_slots: {}\n  pools: {{one: 1, wide: {}}}\n"

# Fails in its first run, which lasts until the file `go` is there: its second one is won on the newer store.
SECOND_TIME = 'until [ -e go ]; do sleep 0.02; done; echo "run $INTURN_RUN"; [ "$INTURN_RUN" = 2 ]'


@pytest.fixture(params=KEPT, ids=lambda path: str(path.stem))
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Release:
    """An older release, as it was kept."""
    archive: Path = request.param
    return unpacked(archive, tmp_path / "old")


@pytest.fixture
def newer(tmp_path: Path) -> Release:
    """A release with a schema of the next minor version."""
    return later_minor(tmp_path / "newer")


class Store:
    """The database as the test sees it, whatever its schema."""

    def __init__(self, cli: Cli) -> None:
        self._connection = apsw.Connection(str(cli.store / "inturn.db"))
        self._connection.set_busy_timeout(20_000)

    def version(self) -> int:
        return int(self._connection.pragma("user_version"))

    def mark(self) -> None:
        """Have every row say that it was there when the schema was changed."""
        with self._connection:
            for table in LATER_TABLES:
                if table != "events":  # the ledger is append-only
                    self._connection.execute(f"UPDATE {table} SET later = 'marked'")

    def later(self, table: str, column: str) -> dict[object, object]:
        """What the column that was added holds, by another column."""
        rows = self._connection.execute(f"SELECT {column}, later FROM {table}")
        return {row[0]: row[1] for row in rows}

    def phases(self, job: int) -> list[str]:
        """Into which phases a job has come since the schema was changed, as the new trigger saw it.

        Not whether it was seen running: a short run has ended by the time that it could be.
        """
        query = "SELECT phase FROM later_phases WHERE job_id = ? AND phase <> 'running' ORDER BY number"
        return [str(phase) for (phase,) in self._connection.execute(query, (job,))]

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def store(cli: Cli, old: Release) -> Iterator[Store]:
    """A store that the older release has made, with its capacities."""
    cli.configure(TWO_POOLS.format(8, 4))
    by(cli, old, "config", "apply").check()
    seen = Store(cli)
    yield seen
    seen.close()


def by(cli: Cli, release: Release, *words: str | int) -> Result:
    """Run one command of a release."""
    return cli.run(*words, env=release.env)


def serve(cli: Cli, release: Release, *options: str | int) -> subprocess.Popen[bytes]:
    """Start a worker of a release."""
    return cli.popen("work", *options, env=release.env)


def upgrade(cli: Cli, newer: Release, store: Store) -> None:
    """Look at the store with the newer release once: that brings it up to date."""
    by(cli, newer, "status").check()
    assert store.version() == newer.version
    store.mark()


def owners(cli: Cli, release: Release) -> list[str]:
    """The command lines of the supervisors that are of this release."""
    return [line for line in cli.processes().values() if f"{release.place}/inturn/supervise.py" in line]


def assert_sound(cli: Cli, *releases: Release) -> None:
    """Check that no release finds fault with the store."""
    for release in releases:
        by(cli, release, "doctor").check()


def go(cli: Cli) -> None:
    """Let the jobs end."""
    (cli.root / "go").touch()


def test_every_release_that_was_kept_runs_as_itself(cli: Cli, old: Release, store: Store) -> None:
    assert store.version() == old.version
    job = by(cli, old, "run", "-c", SECOND_TIME).id
    assert len(owners(cli, old)) == 1
    go(cli)
    by(cli, old, "wait", job).check(6)


def test_supervisors_of_an_older_release_finish_their_jobs_on_a_newer_store(
    cli: Cli, old: Release, newer: Release, store: Store
) -> None:
    running = by(cli, old, "run", "--pool", "one", "--retries", 3, "-c", SECOND_TIME).id
    cli.wait_phase(running, "running")
    blocked = by(cli, old, "run", "--pool", "one", "--", "true").id
    waiting = by(cli, old, "run", "--after-success", running, "--tag", "kept", "--", "echo", "after").id
    gated = by(cli, old, "run", "--wait-file", "go", "--wait-poll", "50ms", "--", "true").id
    unwanted = by(cli, old, "run", "--after-success", running, "--", "true").id
    jobs = (running, blocked, waiting, gated)
    assert len(owners(cli, old)) == 5
    upgrade(cli, newer, store)

    by(cli, newer, "cancel", unwanted).check()
    late = by(cli, newer, "run", "--after-success", waiting, "--", "true").id
    assert len(owners(cli, old)) == 4, "and none has noticed anything"
    go(cli)
    by(cli, newer, "wait", *jobs, late).check()
    assert [cli.show(job)["outcome"] for job in jobs] == ["success"] * 4
    assert by(cli, newer, "logs", running, "--run", "all").text == "run 1\nrun 2\n"
    assert by(cli, old, "logs", waiting).text == "after\n"
    assert cli.show(unwanted)["outcome"] == "cancelled"

    assert store.phases(running) == ["queued", "starting", "completed"]
    assert store.phases(waiting) == ["queued", "starting", "completed"]
    marked = store.later("jobs", "id")
    assert {marked[job] for job in jobs} == {"marked"}
    assert marked[late] == "as it came"
    until(lambda: not owners(cli, old), "the end of the older supervisors")
    assert_sound(cli, old, newer)


def test_a_worker_of_an_older_release_goes_on_serving_a_newer_store(
    cli: Cli, old: Release, newer: Release, store: Store
) -> None:
    worker = serve(cli, old, "-j", 2)
    running = by(cli, old, "add", "--pool", "one", "--retries", 3, "-c", SECOND_TIME).id
    cli.wait_phase(running, "running")
    queued = by(cli, old, "add", "--pool", "one", "--job-timeout", "1h", "--", "true").id
    waiting = by(cli, old, "add", "--after-success", queued, "--", "true").id
    gated = by(cli, old, "add", "--wait-file", "go", "--wait-poll", "50ms", "--", "true").id
    jobs = (running, queued, waiting, gated)
    upgrade(cli, newer, store)

    by_the_newer = by(cli, newer, "add", "--pool", "wide", "--after-success", gated, "--", "true").id
    by_the_older = by(cli, old, "add", "--key", "once", "--after", "50ms", "--", "true").id
    assert worker.poll() is None
    go(cli)
    by(cli, old, "wait", *jobs, by_the_newer, by_the_older).check()
    assert {store.later("jobs", "id")[job] for job in jobs} == {"marked"}
    assert store.phases(queued) == ["starting", "completed"]

    worker.terminate()
    assert worker.wait(timeout=60) == 0
    assert worker.stderr is not None
    assert worker.stderr.read() == b""
    assert_sound(cli, old, newer)


def test_an_older_worker_that_is_killed_leaves_its_job_to_a_newer_one(
    cli: Cli, old: Release, newer: Release, store: Store
) -> None:
    worker = serve(cli, old)
    running = by(cli, old, "add", "--retries", 3, "-c", SECOND_TIME).id
    cli.wait_phase(running, "running")
    upgrade(cli, newer, store)
    worker.kill()
    worker.wait()
    by(cli, newer, "recover").check()
    serve(cli, newer)
    go(cli)
    by(cli, newer, "wait", running).check()
    assert store.phases(running) == ["queued", "starting", "completed"]
    assert_sound(cli, old, newer)


def test_commands_of_an_older_release_keep_what_a_newer_one_has_added(
    cli: Cli, old: Release, newer: Release, store: Store
) -> None:
    by(cli, old, "pools", "set", "live", 3).check()
    upgrade(cli, newer, store)
    cli.configure(TWO_POOLS.format(6, 5))
    by(cli, old, "pools", "set", "live", 4).check()
    by(cli, old, "pause", "--queue", "default").check()
    job = by(cli, old, "add", "--tag", "a=b", "--key", "k", "--pool", "wide", "--", "true").id
    by(cli, old, "edit", job, "--priority", 7).check()
    array = by(cli, old, "add", "--array", "1-3%1", "--after-success", job, "--", "echo", "{}").ids
    by(cli, old, "resume", "--queue", "default").check()
    assert store.later("pools", "name") == {
        "": "marked",
        "live": "marked",
        "one": "marked",
        "wide": "marked",
    }
    assert store.later("configuration", "id") == {1: "marked"}
    pools = by(cli, newer, "pools", "--json").data["pools"]
    assert {pool["name"]: pool["slots"] for pool in pools} == {"live": 4, "one": 1, "wide": 5}

    by(cli, old, "work", "--drain").check()
    by(cli, newer, "wait", job, *array).check()
    by(cli, old, "retry", job).check()
    by(cli, newer, "work", "--drain").check()
    assert cli.show(job)["outcome"] == "success"
    by(cli, old, "prune", "--force", "--older-than", "0s").check()
    assert store.later("jobs", "id") == {}
    assert_sound(cli, old, newer)


def test_what_a_file_said_that_an_older_release_has_replaced_is_no_longer_in_force(
    cli: Cli, old: Release, store: Store
) -> None:
    def looks() -> tuple[object, object]:
        settings = {one["name"]: one for one in cli.run("config", "show", "--json").check().data["settings"]}
        return settings["polling.looks_per_second"]["value"], settings["polling.looks_per_second"]["origin"]

    polling = "schema_version: 1\npolling: {looks_per_second: 40}\n"
    cli.configure(polling)
    cli.run("config", "apply").check()
    assert looks() == (40, str(cli.config))
    for command in (("config", "apply"), ("add", "--", "true")):
        cli.configure(TWO_POOLS.format(6, 5))
        by(cli, old, *command).check()
        assert looks() == (10, "default")
        # What the older release would not have understood is read by the next that does.
        cli.configure(polling)
        cli.run("add", "--", "true").check()
        assert looks() == (40, str(cli.config))
    assert_sound(cli, old)
    cli.run("doctor").check()


def test_the_store_of_a_newer_major_version_is_refused_without_writing(
    cli: Cli, old: Release, tmp_path: Path
) -> None:
    major = later_major(tmp_path / "major")
    by(cli, major, "add", "--", "true").check()
    until(lambda: not cli.processes(), "the end of every process")
    before = contents(cli.store)
    for words in (
        ("status",),
        ("add", "--", "true"),
        ("run", "--", "true"),
        ("work", "--once"),
        ("cancel", "1"),
        ("recover",),
        ("doctor", "--repair"),
        ("prune", "--force", "--older-than", "0s"),
    ):
        for refused in (by(cli, old, *words), cli.run(*words)):
            refused.check(1)
            assert b"newer inturn" in refused.err + refused.out
    assert contents(cli.store) == before
    by(cli, major, "work", "--drain").check()
    assert by(cli, major, "status", "1", "--json").data[0]["outcome"] == "success"


def contents(directory: Path) -> dict[str, str]:
    """Every file of a store with a digest of what is in it.

    Not the index of the WAL: whoever opens the store first rebuilds that, and nothing that counts is in it.
    """
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }
