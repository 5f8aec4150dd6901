"""What a run needs from the place where it executes, whatever that place is: no pid appears here.

Everything about policy (timeouts, grace periods, retries) stays with the owner. All engines pass the same
tests (`tests/contract/test_engine.py`).
"""

from __future__ import annotations

from inturn.core.decide import Ended
from inturn.host.spawn import CannotStart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple, Protocol
else:
    from inturn.core.records import NamedTuple

__all__ = ["Ended", "Launch", "OutOfResources", "StartFailed"]

#: Nothing was started. Its reasons, beside those of `host.spawn`: stdin_missing, log_unavailable.
StartFailed = CannotStart

#: The reason of OutOfResources, by which such a run is known in the store.
OUT_OF_RESOURCES = "out_of_resources"


class OutOfResources(StartFailed):
    """Nothing was started, through no fault of the job: its owner or the machine lacked something just now.

    Descriptors, processes, memory, room for the logs. `message` says what, and perhaps which limit to see.
    """

    def __init__(self, message: str) -> None:
        super().__init__(OUT_OF_RESOURCES, message)


class Launch(NamedTuple):
    """Everything that defines one run. Bytes reach the program untouched.

    `cwd` is absolute. `nice` is added to the owner's niceness. `stdin` is the path of a file, relative to
    `cwd`; None is /dev/null. With `keep_stdin` the program reads what its owner would read (the terminal),
    and `stdin` is not looked at. With `merge` both streams go to the first file. `log` is the path of the
    logs without their suffixes (`host.logs`), in an existing directory. `token` is a random word that belongs
    to this run alone.
    """

    argv: tuple[bytes, ...]
    cwd: bytes
    env: dict[bytes, bytes]
    umask: int
    nice: int
    stdin: bytes | None
    keep_stdin: bool
    merge: bool
    log: str
    token: str


class Found(NamedTuple):
    """What became of a run whose owner died.

    `state` is `alive` (then `running` takes care of it: of its leader, or of what that left behind), `gone`
    (nothing of it lives), `never` (nothing was ever started) or `unknown` (it cannot be told from here).
    `rebooted` says that what is gone went with an earlier boot of the machine.
    """

    state: str
    running: Running | None = None
    rebooted: bool = False


if TYPE_CHECKING:

    class Running(Protocol):
        """One run that was started. The *leader* is the program itself; its end is the end of the run."""

        @property
        def native_id(self) -> str:
            """By which the engine could find this run again: to be stored, and opaque to everyone else."""

        @property
        def executable(self) -> str:
            """The file that is executed."""

        @property
        def log_incomplete(self) -> bool:
            """Whether there was no room for what it wrote, as far as that could be seen by now."""

        def fileno(self) -> int:
            """A descriptor that becomes readable, and stays so, when the leader has ended."""

        def poll(self) -> Ended | None:
            """The end of the leader, or None while it runs. Never blocks; says the same ever after."""

        def signal(self, sig: int) -> None:
            """Signal the process group of the leader. Does nothing once `poll` has reported the end."""

        def leftovers(self) -> bool:
            """Is anything of this run still alive? True while the leader is.

            Costs next to nothing when the owner has no other children, so it may be asked after every run.
            """

        def signal_tree(self, sig: int) -> bool:
            """Signal everything of this run, each process once: the group, and whoever left it.

            Returns whether those that left it stood still before: who is being stopped may have got away.
            """

        def sample(self) -> None:
            """Note how long the logs are by now, so that the order of the streams can be told. Cheap."""

        def close(self, over: bool = True) -> None:
            """Give up all descriptors; logs that nobody can write to any more are removed if empty.

            Unless `over`, they stay: until the result is stored they prove that something was started, and
            whether it is alive. Ends nothing: what is still running goes on. May be repeated.
            """

    class Engine(Protocol):
        """A place where runs execute."""

        @property
        def name(self) -> str:
            """The word that is stored with the runs of this engine."""

        def prepare(self) -> None:
            """Do what takes its time before the first start. May be left out, and may be repeated."""

        def start(self, launch: Launch) -> Running:
            """Start the program. Raises StartFailed, and then nothing was started and no log remains.

            Where that says nothing of the job, it is OutOfResources: another start may well succeed.
            """

        def rest(self) -> None:
            """Give up what is kept for the next start: nothing runs, and none follows at once."""

        def find(self, native_id: str, token: str, log: str) -> Found:
            """Find a run that another process started, by what was stored of it.

            `native_id` is empty if its owner died before it was known. Only what is proven is told.
            """
