"""Which job is meant: an id, a name, or `name@latest`."""

from __future__ import annotations

from inturn.core.duration import quoted
from inturn.core.job import LATEST
from inturn.errors import InturnError
from inturn.store import jobs, reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from inturn.service.context import Context
    from inturn.store.db import Store

# A message names at most so many of the jobs that have the name.
CANDIDATES = 10

# No id can be larger: SQLite's integers have 64 bits.
LARGEST_ID = 2**63 - 1


def resolve(context: Context, selector: str) -> int:
    """The id of the one job that a selector means; inside the caller's transaction if one is open.

    Digits are an id. Else it is a name; of several jobs that have it, the only one that has not ended.
    `name@latest` is the newest, unless an old job is called exactly so. Raises InturnError `not_found`, or
    `ambiguous` with the candidates.
    """
    if context.store is None:
        raise not_found(selector)
    if selector.isascii() and selector.isdigit():
        return _by_id(context.store, selector)
    return _by_name(context.store, selector)


def resolve_members(context: Context, selector: str) -> list[int]:
    """The ids that a dependency on `selector` means: all of an array, if it is the array's id or its name.

    `ID_INDEX` is the job of an array with that index, as with Slurm. Raises InturnError `not_found` or
    `ambiguous`.
    """
    array, index = _array_meant(context, selector)
    if array is None:
        return [resolve(context, selector)]
    assert context.store is not None
    if index is not None:
        return [resolve_index(context, str(array), index)]
    return reads.array_members(context.store, array)


def resolve_index(context: Context, selector: str, index: int) -> int:
    """The job with this index of the array that `selector` means. Raises InturnError `not_found`."""
    array, _ = _array_meant(context, selector)
    found = None
    if array is not None:
        assert context.store is not None
        found = reads.array_member(context.store, array, index)
    if found is None:
        what = f"array {array}" if array is not None else quoted(selector) + ", which is no array,"
        raise InturnError("not_found", f"{what} has no job with index {index}", "See the jobs: inturn list")
    return found


def _array_meant(context: Context, selector: str) -> tuple[int | None, int | None]:
    """The array that a selector means, if it means one, and the index in `ID_INDEX`."""
    store = context.store
    if store is None:
        return None, None
    array, separator, index = selector.rpartition("_")
    if separator and _is_number(array) and _is_number(index):
        return (int(array), int(index)) if reads.is_array(store, int(array)) else (None, None)
    if _is_number(selector):
        return (int(selector), None) if reads.is_array(store, int(selector)) else (None, None)
    return reads.array_named(store, selector), None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < len(str(LARGEST_ID))


def resolve_many(context: Context, selectors: Iterable[str]) -> list[int]:
    """The ids that selectors mean, each once, in the order of their first mention. Raises as `resolve`."""
    return list(dict.fromkeys(resolve(context, selector) for selector in selectors))


def not_found(selector: str) -> InturnError:
    """The error for a selector that means no job."""
    return InturnError("not_found", f"there is no job {quoted(selector)}", "See which there are: inturn list")


def _by_id(store: Store, digits: str) -> int:
    job_id = int(digits) if len(digits) <= len(str(LARGEST_ID)) else 0
    if not 0 < job_id <= LARGEST_ID or jobs.load(store, job_id) is None:
        raise not_found(digits)
    return job_id


def _check_utf8(name: str) -> None:
    """Words of the command line may hold bytes that are not UTF-8: no job is called so."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise not_found(name) from None


def _by_name(store: Store, name: str) -> int:
    _check_utf8(name)
    found = reads.named(store, name, CANDIDATES + 1)
    if not found and name.endswith(LATEST):
        newest = reads.newest_named(store, name.removesuffix(LATEST))
        if newest is None:
            raise not_found(name)
        return newest
    if not found:
        raise not_found(name)
    live = [job_id for job_id, _, ended in found if not ended]
    if len(live) == 1:
        return live[0]
    if len(found) == 1:
        return found[0][0]
    raise _ambiguous(name, found, len(live))


def _ambiguous(name: str, found: list[tuple[int, str, bool]], live: int) -> InturnError:
    shown = ", ".join(f"{job_id} ({status})" for job_id, status, _ in found[:CANDIDATES])
    if len(found) > CANDIDATES:
        shown += ", …"
    how = "several jobs that have not ended have the name" if live else "several jobs had the name"
    return InturnError(
        "ambiguous",
        f"{how} {quoted(name)}: {shown}",
        f"Give an id, or write {quoted(name + LATEST)} for the newest.",
    )
