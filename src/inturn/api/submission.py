"""From keyword arguments to stored jobs: the way of the command line, with the same checks and defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from inturn import app
from inturn.api import values
from inturn.core.lines import submissions
from inturn.errors import InturnError
from inturn.service import configure, enqueue, submit
from inturn.service.defaults import submission_rules
from inturn.service.surroundings import capture, read_env_files

if TYPE_CHECKING:
    from typing import Any

    from inturn.core.moment import Now
    from inturn.core.request import Surroundings
    from inturn.core.spec import Submission
    from inturn.service.context import Context


_COMMAND = 'Write ["make", "test"], or c="make test" for a shell.'
_LINE = 'Write [{"command": ["make", "test"]}]: a mapping for each job.'


class _Reader:
    """Makes submissions of lines; what is the same for all of them is found out once."""

    def __init__(self, context: Context, supervised: bool) -> None:
        self._directory = context.directory
        self._now: Now = context.now()
        self._defaults = configure.defaults(context, submission_rules(context))
        self._surroundings: Surroundings = capture((), supervised)

    def read(self, line: Mapping[str, object], origin: str) -> list[Submission]:
        """The jobs of one line; the complaints about it begin with `origin`."""
        try:
            if not isinstance(line, Mapping):
                raise InturnError("usage", f"{line!r} is no job", _LINE)
            plain: dict[str, Any] = values.line(line, self._directory)
            if not plain.get("command") and "c" not in plain:
                raise InturnError("usage", "the command is missing", _COMMAND)
            return submissions(plain, origin, self._defaults, self._surroundings, self._now, read_env_files)
        except InturnError as problem:
            if not origin:
                raise
            raise InturnError(problem.code, f"{origin}: {problem.message}", problem.hint) from None


def submit_one(context: Context, line: Mapping[str, object], supervised: bool) -> list[int]:
    """Submit a job, or an array of them; returns the ids. Raises InturnError as the command line does."""
    app.tidy(context, thorough=False)
    return _store(context, _Reader(context, supervised).read(line, ""), supervised)


def submit_many(context: Context, lines: Iterable[Mapping[str, object]], supervised: bool) -> list[int]:
    """Submit jobs in one transaction, all or none; returns the ids. Complaints name the line as `jobs[2]`."""
    if isinstance(lines, Mapping | str | bytes) or not isinstance(lines, Iterable):
        raise InturnError("usage", "a list of jobs is wanted", _LINE)
    app.tidy(context, thorough=False)
    reader = _Reader(context, supervised)
    found = [one for number, line in enumerate(lines) for one in reader.read(line, f"jobs[{number}]")]
    return _store(context, found, supervised) if found else []


def _store(context: Context, wanted: list[Submission], supervised: bool) -> list[int]:
    if supervised:
        return submit.run(context, wanted, staying=True)
    return enqueue.add(context, wanted)
