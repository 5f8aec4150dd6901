"""What commands and waiting supervisors cost, held by what they load and keep, and not by a stopwatch.

A module that is added here costs every submission, every listing or every waiting supervisor something: the
failed test says how much. Import it where it is used if that is seldom; else give it a line, with its reason.
`scripts/measure.py` has the times.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.app import open_context
from inturn.core.spec import Submission
from inturn.host import tree, wake
from inturn.service import submit
from inturn.service.context import Context
from tests.builders import make_spec
from tests.e2e.harness import Cli, until

# Modules that every interpreter has are left out: those of its start, and those that are compiled into it.
EVERYWHERE = """
__future__: annotations are texts
apsw: SQLite
fcntl: locks
inturn: the version
inturn.core: the package
inturn.core.admission: who may have slots
inturn.core.held: queues and pools that are paused as a whole
inturn.core.job: the records
inturn.core.layout: the name of the database
inturn.core.moment: times
inturn.core.records: named tuples without `typing`
inturn.core.retry: the policy, as a part of the specification
inturn.core.spec: the specification
inturn.core.transitions: the state machine
inturn.errors: the one exception
inturn.host: the package
inturn.host.clock: reads the clocks
inturn.host.paths: the store's files
inturn.host.wake: tells others after a commit
inturn.store: the package
inturn.store.admissions: slots and the line
inturn.store.due: who comes into the line, and when
inturn.store.db: the connection
inturn.store.gates: edges and conditions
inturn.store.held: what is paused as a whole
inturn.store.jobs: the commit
inturn.store.migrate: the version of the schema
inturn.store.rows: records to rows
inturn.store.overdue: whether there is anything for `settle`
inturn.store.specs: the unchanging part
inturn.store.transaction: the one helper
"""

ANY_COMMAND = """
inturn.host.store_dir: where the store is, and whether it is safe
errno: which error of the system it was
inturn.app: puts the parts together
inturn.cli.ending: what is said if it fails, the exit codes, and what becomes of its output
inturn.cli.frame: the frame
inturn.cli.main: the first instruction and the last
inturn.cli.options: takes words apart
inturn.cli.output: prints
inturn.cli.result: what a verb answers
inturn.cli.text: makes text fit for a terminal
inturn.cli.verbs: their names
inturn.cli: the package
inturn.config: where the configuration file is, and whether it has changed
inturn.core.duration: reads and writes durations and times
inturn.core.options: the table of options
inturn.core.text: escapes what a terminal would obey
inturn.core.values: reads the values of options
inturn.host.mounts: whether the store is on a network file system
inturn.service.context: what use cases work with
inturn.service: the package
inturn.store.settings: capacities
"""

SUBMISSION = """
binascii: the checksum of an environment
inturn.cli.echo: says what a local time was understood as
inturn.cli.submission: what `run` and `add` share
inturn.cli.verbs.run: the verb
inturn.core.environment: which variables are ours
inturn.core.graph: cycles within a submission
inturn.core.request: from options to a specification
inturn.host.detach: starts the supervisor
inturn.host.faults: crash points
inturn.host.identity: who a process is
inturn.host.locks: proof of life
inturn.service.configure: applies a changed configuration file
inturn.service.defaults: of options, from that file
inturn.service.dependencies: edges
inturn.service.intake: checks and stores
inturn.service.owned: stores a job with its owner
inturn.service.standby: the supervisor that waits
inturn.service.submit: the use case
inturn.service.surroundings: directory, environment, umask
inturn.store.newcomers: rows of new jobs
inturn.store.owners: the registry
select: waits for the supervisor's answer
"""

# What `run` loads before it starts the supervisor: everybody waits for that, and for this first.
BEFORE_THE_SUPERVISOR = """
__future__: annotations are texts
errno: which error of the system it was
fcntl: the supervisor's lock
inturn: the version
inturn.app: starts it
inturn.cli: the package
inturn.cli.main: sees that it will be wanted
inturn.core: the package
inturn.core.layout: the name of the database
inturn.core.records: named tuples without `typing`
inturn.errors: the one exception
inturn.host: the package
inturn.host.detach: starts processes
inturn.host.faults: crash points
inturn.host.locks: proof of life
inturn.host.mounts: whether the store is on a network file system
inturn.host.paths: the store's files
inturn.host.store_dir: where the store is, and whether it is safe
inturn.service: the package
inturn.service.standby: the supervisor that waits
"""

LISTING = """
inturn.cli.lines: lines for a pipe
inturn.cli.verbs.list: the verb
inturn.core.phrases: words for people
inturn.core.polling: how often to look
inturn.core.views: a job as it is shown
inturn.service.query: the use case
inturn.service.select: selectors of jobs
inturn.store.reads: joins for what is shown
"""

WAITING = """
_collections_abc: wanted by `os`
_stat: wanted by `os`
genericpath: wanted by `os`
inturn.core.decide: what its owner should do now
inturn.core.environment: of the run to come
inturn.core.polling: how often to look
inturn.engines.base: what a run needs
inturn.engines.local: starts the run
inturn.engines.orphans: whom it has left
inturn.engines.process: watches it
inturn.engines: the package
inturn.host.descriptors: keeps some free
inturn.host.detach: the descriptors that a supervisor is given
inturn.host.diary: where it says what it died of
inturn.host.faults: crash points
inturn.host.identity: who a process is
inturn.host.locks: proof of life
inturn.host.logs: the run's output
inturn.host.pulse: whether another owner lives
inturn.host.room: whether its output was lost for want of space
inturn.host.spawn: starts programs
inturn.host.tree: all processes of a run
inturn.owners.acceptance: answers the submitter
inturn.owners.admit: asks for slots
inturn.owners.gatekeeper: what a job waits for
inturn.owners.launching: what the engine is told
inturn.owners.owner: rounds of work and sleep
inturn.owners.signals: tells a run to end
inturn.owners.supervisor: its life
inturn.owners.task: its job
inturn.owners.tools: what it works with
inturn.owners.vigil: looks whether somebody has died who is in the way
inturn.owners: the package
inturn.store.owners: the registry
inturn.store.settle: what follows from the end of a job
inturn.supervision: puts a supervisor together
os: the system
posixpath: wanted by `os`
select: sleeps
stat: wanted by `os`
"""

# What loads modules on behalf of others is told by its name, with everything that is loaded so far.
SHOW_MODULES = """
import sys
before = set(sys.modules)
from inturn.cli.main import main
code = main(sys.argv[1:])
print(*set(sys.modules) - before, file=sys.stderr)
sys.exit(code)
"""

# The same, told when a supervisor has been started.
SHOW_MODULES_BEFORE_THE_SUPERVISOR = """
import sys
from inturn.host import faults
import inturn.host.crash_points
before = set(sys.modules) - {"inturn.host.faults", "inturn.host", "inturn", "__future__"}
faults.arm("submit.spawned", lambda: print(*set(sys.modules) - before, file=sys.stderr))
from inturn.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

# A supervisor that writes them down when it is asked to.
SHOW_MODULES_WHEN_ASKED = """
import sys
before = set(sys.modules)
import _signal
def show(*_):
    with open({file!r}, "w") as file:
        file.write(" ".join(set(sys.modules) - before) + " .")
_signal.signal(_signal.SIGUSR1, show)
script = sys.argv.pop(1)
with open(script) as file:
    exec(compile(file.read(), script, "exec"))
"""

# A process that forks supervisors; when one of these is asked to, it writes down what it has loaded itself.
SHOW_WHAT_CAME_AFTER_THE_FORK = """
import os, sys
import _signal
fork, loaded = os.fork, set()
def forking():
    pid = fork()
    if not pid:
        loaded.update(sys.modules)
    return pid
os.fork = forking
def show(*_):
    with open({file!r}, "w") as file:
        file.write(" ".join(set(sys.modules) - loaded) + " .")
_signal.signal(_signal.SIGUSR1, show)
sys.path[:0] = sys.argv[2].split(":")
from inturn.nursery import run_nursery
run_nursery(sys.argv[3], sys.argv[4], int(sys.argv[5]))
"""

MIB = 1024  # in the units of smaps_rollup


def named(*tables: str) -> set[str]:
    return {line.split(":")[0] for table in tables for line in table.strip().splitlines()}


def loaded_by(cli: Cli, *words: str, program: str = SHOW_MODULES) -> set[str]:
    """The modules that a command loads, those of the interpreter apart."""
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=cli.environment(), cwd=cli.root, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return relevant(done.stderr.split())


def relevant(modules: list[str]) -> set[str]:
    return set(modules) - {*sys.builtin_module_names, "os.path", "."}


def costs_of(modules: set[str]) -> str:
    """What it takes to load modules, each without what it loads itself, in microseconds."""
    if not modules:
        return ""
    program = "import " + ", ".join(["inturn.app", *sorted(modules)])
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program], capture_output=True, text=True, check=False
    )
    told = re.findall(r"^import time: +(\d+) \| +\d+ \| +(\S+)$", done.stderr, re.MULTILINE)
    own = {name: us for us, name in told}
    return ", ".join(f"{name} ({own.get(name, '?')} µs)" for name in sorted(modules))


def assert_loads_nothing_else(found: set[str], *tables: str) -> None:
    expected = named(*tables)
    added = found - expected
    assert not added, f"now also loaded, and paid for each time: {costs_of(added)}"
    # The interpreter's own modules differ from version to version.
    gone = {name for name in expected - found if name.startswith("inturn")}
    assert not gone, f"no longer loaded, and to be struck off the list: {sorted(gone)}"


def test_a_submission_loads_what_it_needs_and_nothing_else(cli: Cli) -> None:
    cli.run("run", "--", "true").check()
    found = loaded_by(cli, "run", "--", "true")
    assert_loads_nothing_else(found, EVERYWHERE, ANY_COMMAND, SUBMISSION)


def test_a_submission_loads_little_before_it_starts_the_supervisor(cli: Cli) -> None:
    cli.run("run", "--", "true").check()
    found = loaded_by(cli, "run", "--", "true", program=SHOW_MODULES_BEFORE_THE_SUPERVISOR)
    assert_loads_nothing_else(found, BEFORE_THE_SUPERVISOR)


def test_a_listing_loads_what_it_needs_and_nothing_else(cli: Cli) -> None:
    cli.run("run", "--wait", "--", "true").check()
    found = loaded_by(cli, "list")
    assert_loads_nothing_else(found, EVERYWHERE, ANY_COMMAND, LISTING)


@pytest.fixture
def context(cli: Cli) -> Iterator[Context]:
    """The store of `cli`, opened in this process."""
    opened = open_context(str(cli.store), str(cli.config), True, lambda _: None)
    yield opened
    assert opened.store is not None
    opened.store.close()
    cli.end_everything()
    tree.reap(())


def delayed(cli: Cli) -> Submission:
    spec = make_spec(cwd=os.fsencode(cli.root))._replace(environment=(b"PATH=/bin",))
    return Submission(spec, delay=3600 * 1_000_000)


def test_a_waiting_supervisor_has_loaded_what_it_needs_and_nothing_else(cli: Cli, context: Context) -> None:
    file = cli.root / "modules"
    python, *flags, script, libraries = context.supervisor
    program = SHOW_MODULES_WHEN_ASKED.format(file=str(file))
    supervisor = (python, *flags, "-c", program, script, libraries)
    (job_id,) = submit.run(context._replace(supervisor=supervisor), [delayed(cli)])
    pid = cli.show(job_id)["owner"]["pid"]

    def asleep() -> list[str]:
        os.kill(pid, signal.SIGUSR1)
        told = file.read_text().split() if file.exists() else []
        return told if told[-1:] == ["."] and "select" in told else []

    found = relevant(until(asleep, "the supervisor's first sleep"))
    assert_loads_nothing_else(found, EVERYWHERE, WAITING)


def memory(pid: int) -> int:
    """What a process alone keeps in memory, plus its share of what it has in common with others, in KiB.

    Files are left out: how many share those depends on what else runs on the machine.
    """
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss_Anon: +(\d+) kB$", text, re.MULTILINE)
    return int(found[1]) if found else int(re.findall(r"^Pss: +(\d+) kB$", text, re.MULTILINE)[0])


def sleeps(pid: int) -> int:
    """How often a process has gone to sleep."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"^voluntary_ctxt_switches:\s+(\d+)$", text, re.MULTILINE)[0])


def owner_pids(cli: Cli) -> list[int]:
    return [job["owner"]["pid"] for job in cli.run("list", "--all", "--json").check().data]


def supervisors(cli: Cli) -> list[int]:
    """The pids of all supervisors, once each has polled the store a few times."""
    pids = owner_pids(cli)
    before = {pid: sleeps(pid) for pid in pids}
    until(lambda: all(sleeps(pid) > before[pid] + 3 for pid in pids), "all have polled")
    return pids


def open_files(pid: int) -> list[str]:
    """The kinds of files that a process has open."""
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    return sorted(re.sub(r".*[./]|:.*", "", link) for link in links)


def average_memory(pids: list[int]) -> float:
    return sum(map(memory, pids)) / len(pids) / MIB


def test_thirty_waiting_supervisors_keep_five_megabytes_each_at_most(cli: Cli) -> None:
    first = cli.run("run", "--after", "1h", "--", "true").id
    for _ in range(29):
        cli.run("run", "--after-success", first, "--", "true").check()
    pids = supervisors(cli)
    assert len(pids) == 30
    for pid in pids:
        assert os.listdir(f"/proc/{pid}/task") == [str(pid)], "it has one thread"
        assert open_files(pid) == ["db", "db-shm", "db-wal", "lock", *["null"] * 3, "wake"]
    assert average_memory(pids) <= 5


def test_a_supervisor_of_an_array_loads_nothing_itself(cli: Cli, context: Context) -> None:
    file = cli.root / "modules"
    python, *flags, _, libraries = context.supervisor
    program = SHOW_WHAT_CAME_AFTER_THE_FORK.format(file=str(file))
    nursery = (python, *flags, "-c", program, "nursery", libraries)
    submit.run(context._replace(supervisor=nursery), [delayed(cli)] * 2)
    for fifo in (cli.store / "owners").glob("*.wake"):
        wake.ring(str(fifo))
    pid = supervisors(cli)[0]
    os.kill(pid, signal.SIGUSR1)
    found = until(
        lambda: file.exists() and file.read_text().endswith(" .") and file.read_text(), "its answer"
    )
    assert found == " .", "what each loads by itself, each keeps in memory by itself"


def test_the_supervisors_of_an_array_share_most_of_their_memory(cli: Cli, context: Context) -> None:
    submit.run(context, [delayed(cli)] * 30)
    pids = owner_pids(cli)
    assert len(pids) == 30
    # Neither the store nor anything else is open but the lock, the FIFO, and three pipes to the nurse.
    expected = ["lock", *["null"] * 3, *["pipe"] * 3, "wake"]
    until(lambda: all(open_files(pid) == expected for pid in pids), "all are asleep")
    assert average_memory(pids) <= 1.2
