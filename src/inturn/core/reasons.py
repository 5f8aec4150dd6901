"""Why a job is where it is: one reason, and the process that answers for the job."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple


class Reason(NamedTuple):
    """One reason.

    `code` is stable for programs, `message` is for people: printable, without an end. `fix` is a command that
    shows more or would change it, empty if there is none. `job_id` is the job that it is about, and `because`
    why that is so.
    """

    code: str
    message: str
    fix: str = ""
    job_id: int | None = None
    because: tuple[Reason, ...] = ()


class Agent(NamedTuple):
    """The owner of a job: the kind of process, its pid, and whether it is `alive`, `dead` or `unknown`.

    One that lives may be `stopped`, and then it does nothing until somebody lets it go on.
    """

    kind: str
    pid: int
    life: str
    stopped: bool = False
