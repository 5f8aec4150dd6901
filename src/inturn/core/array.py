"""Arrays: one submission, many jobs, one for each index."""

from __future__ import annotations

from inturn.core.duration import MAX_LIMIT, parse_integer, parse_limit, quoted
from inturn.core.spec import Spec
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inturn.core.spec import Submission

MOST_JOBS = 1_000_000

PLACEHOLDER = b"{}"


def parse_array(text: str, label: str) -> tuple[list[int], int | None]:
    """The indices of `1-4,7%2`, in the order written, and how many jobs may run at once (None: any number).

    Raises InturnError `invalid_value`, which begins with `label`: how the reader of the message wrote it.
    """
    try:
        spans, percent, limit = text.partition("%")
        at_once = parse_limit(limit) if percent else None
        indices: list[int] = []
        for span in spans.split(","):
            low, dash, high = span.partition("-")
            first = parse_integer(low, 0, MAX_LIMIT)
            last = parse_integer(high, 0, MAX_LIMIT) if dash else first
            if last < first or len(indices) + last - first >= MOST_JOBS:
                raise ValueError
            indices.extend(range(first, last + 1))
        if len(set(indices)) != len(indices):
            raise ValueError
    except (ValueError, InturnError) as problem:
        raise InturnError(
            "invalid_value",
            f"{label}: {quoted(text)} is not a list of indices",
            f"Write indices and ranges, each index once, at most {MOST_JOBS} of them: 1-4,7 or 1-100%8.",
        ) from problem
    return indices, at_once


def expand(submission: Submission, array: str, label: str = "array") -> list[Submission]:
    """The submissions of an array; `{}` in an argument stands for the index.

    Raises as parse_array, and `usage` for an array with a key.
    """
    indices, at_once = parse_array(array, label)
    if submission.key is not None:
        raise InturnError(
            "usage",
            f"{label}: it excludes a key, which all its jobs would share",
            "Give each job its own key, in the lines of a file: --from-file.",
        )
    pattern = submission._replace(array_size=len(indices), at_once=at_once)
    parts = [argument.split(PLACEHOLDER) for argument in submission.spec.argv]
    others = submission.spec[1:]
    jobs = []
    for index in indices:
        written = b"%d" % index
        argv = tuple([written.join(pieces) for pieces in parts])
        jobs.append(pattern._replace(spec=Spec._make((argv, *others)), array_index=index))
    return jobs
