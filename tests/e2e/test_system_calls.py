"""What a submission and a drained job ask of the system, as strace counts it: a cost that no load can change.

What is found to be too much costs every submission, or every job of a worker, something. To see which calls
they are, in a store that is there: `strace inturn add -- true`, `strace inturn work --drain`.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.harness import INTURN, Cli
from tests.e2e.test_cost import loaded_by

# At most so many calls: about a tenth more than there are. Whoever has made it cheaper lowers the number.
# A submission is counted beyond what an interpreter does that loads the same modules, which test_cost.py
# lists; it syncs the log of the database, and the directory of that. A drained job is one commit with one
# sync. Its command has ended at the first look, or is waited for: the numbers are for whichever takes more.
ADD = {"all": 265, "fdatasync": 2, "pwrite64": 29, "pread64": 97, "openat": 9, "fcntl": 38, "clone": 0}
RUN = {"all": 315, "fdatasync": 2, "pwrite64": 35, "pread64": 100, "openat": 11, "fcntl": 41, "clone": 1}
JOB = {"all": 86, "fdatasync": 1, "pwrite64": 23, "pread64": 1, "openat": 5, "fcntl": 13, "clone": 1}

# The same call has other names on other machines.
NAMES = {"fsync": "fdatasync", "open": "openat", "clone3": "clone", "vfork": "clone", "fork": "clone"}

# Memory is the interpreter's own affair.
NOT_COUNTED = {"brk", "mmap", "munmap", "mprotect", "mremap", "madvise", "total"}

# So few that the log of the database does not come to its checkpoint.
FEW, MANY = 10, 30

# A worker that has time: however slow the machine, a command that does nothing counts as a short run, whose
# start and end are one commit. And it looks for what others do as if there were very many of them.
UNHURRIED_WORKER = """
import sys
from inturn.owners import owner, task
assert task.BIND_AFTER and owner.poll_interval
task.BIND_AFTER = 10**9
owner.poll_interval = lambda owners, looks: 10**9
from inturn.cli.main import main
sys.exit(main(["work", "--drain"]))
"""

ATTEMPTS = 5


@functools.cache
def obstacle() -> str:
    """Why nothing can be counted here; empty if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed (on Debian: apt install strace)"
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, text=True, check=False)
    return f"strace cannot trace here: {tried.stderr.strip()}" if tried.returncode else ""


@pytest.fixture(autouse=True)
def strace() -> None:
    if obstacle():
        pytest.skip(obstacle())


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Callable[[], Cli]]:
    """New stores, one after the other."""
    made: list[Cli] = []

    def make() -> Cli:
        root = tmp_path / str(len(made))
        root.mkdir()
        made.append(Cli(root))
        return made[-1]

    yield make
    killed = [cli.end_everything() for cli in made]
    assert not any(killed), killed


def calls(cli: Cli, *command: str) -> Counter[str]:
    """The system calls of a process, without those of its children."""
    told = cli.root / "calls"
    subprocess.run(
        ["strace", "-c", "-o", str(told), *command],
        env=cli.environment(), cwd=cli.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        check=True, timeout=120,
    )  # fmt: skip
    found: Counter[str] = Counter()
    for line in told.read_text().splitlines():
        # % time, seconds, microseconds a call, calls, perhaps errors, the name
        fields = line.split()
        if len(fields) >= 5 and fields[3].isdigit() and fields[-1] not in NOT_COUNTED:
            found[NAMES.get(fields[-1], fields[-1])] += int(fields[3])
    return found


def difference(more: Counter[str], less: Counter[str], over: int = 1) -> dict[str, float]:
    """What there is more of, divided among so many; `all` is the sum."""
    found = {name: (more[name] - less[name]) / over for name in {*more, *less}}
    return {"all": sum(found.values()), **found}


def assert_frugal(measure: Callable[[], dict[str, float]], most: Mapping[str, float]) -> None:
    """Some measurement keeps to the bounds: whoever has to wait on a busy machine asks more often."""
    for _ in range(ATTEMPTS):
        found = measure()
        over = {name: found.get(name, 0) for name in most if found.get(name, 0) > most[name]}
        # What must not be repeated is on the disk. Where this is divided, jobs may have shared a commit.
        if not over and found["fdatasync"] >= 1:
            return
    told = ", ".join(f"{name} {count:g}" for name, count in sorted(found.items(), key=lambda one: -one[1]))
    pytest.fail(f"more system calls than {most}, or no sync: {over}, of {told}")


@pytest.mark.parametrize(("verb", "most"), [("add", ADD), ("run", RUN)])
def test_a_submission_asks_no_more_of_the_system_than_it_has_to(
    stores: Callable[[], Cli], verb: str, most: Mapping[str, float]
) -> None:
    cli = stores()
    cli.run(verb, "--", "true").check()  # compiles what is not compiled
    # A script, as inturn is one: what stands after `-c` looks for modules in the present directory as well.
    # The package of the store comes first: it sees to it that apsw loads little.
    loads = cli.root / "loads.py"
    loads.write_text(", ".join(["import inturn.store", *sorted(loaded_by(cli, verb, "--", "true"))]))

    def measure() -> dict[str, float]:
        cli = stores()
        cli.run("add", "--", "true").check()
        found = calls(cli, INTURN, verb, "--", "true")
        assert found["fdatasync"] >= 1, "what a user was told is on the disk, each time"
        return difference(found, calls(cli, sys.executable, str(loads)))

    assert_frugal(measure, most)


def test_a_drained_job_asks_no_more_of_the_system_than_it_has_to(stores: Callable[[], Cli]) -> None:
    def drain(count: int) -> Counter[str]:
        cli = stores()
        cli.run("add", "--array", f"1-{count}", "--", "/bin/true").check()
        found = calls(cli, sys.executable, "-c", UNHURRIED_WORKER)
        assert cli.run("status", "--json").check().data["success"] == count
        return found

    assert_frugal(lambda: difference(drain(MANY), drain(FEW), MANY - FEW), JOB)
