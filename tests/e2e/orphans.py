"""Jobs whose owners are killed, and a look at what the store knows of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from inturn.app import open_context
from inturn.store.db import Store
from tests.e2e.conftest import start_worker
from tests.e2e.foster import Foster, await_death
from tests.e2e.harness import Cli, until

# Runs until the file `go` appears in its directory, and then says so and exits with 7.
PATIENT = "echo begun; until [ -e go ]; do sleep 0.02; done; echo done; exit 7"


class Orphanage:
    """The command line of one store, its processes in the care of a Foster, and the store itself."""

    def __init__(self, cli: Cli, foster: Foster) -> None:
        self.cli = cli
        self.foster = foster
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """A connection of the test's own."""
        if self._store is None:
            self._store = open_context(str(self.cli.store), str(self.cli.config), True, lambda _: None).store
        assert self._store is not None
        return self._store

    def close(self) -> None:
        """Close the connection."""
        if self._store is not None:
            self._store.close()

    def begin(self, kind: str, script: str = PATIENT, *options: str | int) -> int:
        """Submit a job that runs when this returns, with a supervisor (`run`) or a new worker (`add`)."""
        if kind == "add":
            start_worker(self.cli)
        job = self.cli.run(kind, *options, "-c", script).id
        self.cli.wait_phase(job, "running")
        return job

    def owner(self, job: int) -> int:
        """The pid of a job's owner."""
        pid: int = self.cli.show(job)["owner"]["pid"]
        return pid

    def kill_owner(self, job: int) -> int:
        """Kill the owner with -9; returns the pid that it had."""
        pid = self.owner(job)
        self.foster.kill(pid)
        return pid

    def kill_owners(self, jobs: Iterable[int]) -> None:
        """Kill several owners with -9 as if at one instant: none of them sees another one dead."""
        pids = [self.owner(job) for job in jobs]
        for pid in pids:
            self.foster.stop(pid)
        for pid in pids:
            self.foster.kill(pid)

    def target(self, job: int) -> int:
        """The pid of the leader of the present run."""
        native_id = self.row("SELECT native_id FROM runs WHERE job_id = ? ORDER BY number DESC", job)[0]
        return int(native_id.split(":")[0])

    def kill_target(self, job: int) -> None:
        """Kill the whole group of the present run with -9, and bury its leader if it has come to us."""
        pid = self.target(job)
        os.killpg(pid, 9)
        await_death(pid)
        self.foster.bury()

    def go(self) -> None:
        """Let the patient jobs end."""
        (self.cli.root / "go").touch()

    def recover(self) -> dict[int, str]:
        """What `inturn recover` says it did, by job."""
        return {one["id"]: one["result"] for one in self.cli.run("recover", "--json").check().data}

    def row(self, query: str, *bindings: Any) -> Any:
        """The first row of a query."""
        return self.store.row(query, bindings)

    def identities(self) -> list[str]:
        """The stored identities of all owners."""
        return [str(text) for (text,) in self.store.execute("SELECT identity FROM owners")]

    def rewrite(self, statement: str, *bindings: Any) -> None:
        """Change the store behind inturn's back."""
        with self.store.writing():
            self.store.execute(statement, bindings)

    def let_leases_expire(self) -> None:
        """As if more time had passed than any owner may keep still."""
        self.rewrite("UPDATE owners SET lease_mono = 1, lease_wall = 1 WHERE lease_boot <> ''")

    def supervisors(self) -> list[int]:
        """The pids of the supervisors of this store that live."""
        return [pid for pid, line in self.cli.processes().items() if "supervise.py" in line]

    def await_idle(self) -> None:
        """Wait until no process of the store is left."""
        until(lambda: not self.cli.processes(), "the end of every process")


def orphanage(cli: Cli) -> Iterator[Orphanage]:
    """For a fixture: an Orphanage, closed at the end."""
    foster = Foster()
    found = Orphanage(cli, foster)
    try:
        yield found
    finally:
        found.close()
        cli.end_everything()
        foster.close()
