"""Words that a user may be about to type: names, tags, queues and pools that begin with something.

Each is found by steps through an index, from one distinct value to the next: what a thousand jobs share is
looked at once, and a store of a million jobs answers as quickly as a small one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from inturn.store.db import Store

# What sorts behind every text that begins with the same characters.
_LAST = "\U0010ffff"


def names(store: Store, prefix: str, limit: int) -> list[str]:
    """The names of jobs that begin with `prefix`, at most `limit` of them, in their order."""
    return _distinct(store, "name", "jobs WHERE name IS NOT NULL", (), prefix, limit)


def tags(store: Store, prefix: str, limit: int) -> list[str]:
    """The tags, and their values as `TAG=VALUE`, that begin with `prefix`, at most `limit` of them."""
    tag, separator, value = prefix.partition("=")
    if separator:
        return [f"{tag}={one}" for one in _values(store, tag, value, limit)]
    found: list[str] = []
    for one in _distinct(store, "tag", "tags WHERE 1", (), tag, limit):
        found += [one, *(f"{one}={value}" for value in _values(store, one, "", limit))]
    return found[:limit]


def _values(store: Store, tag: str, prefix: str, limit: int) -> list[str]:
    return _distinct(store, "value", "tags WHERE tag = ? AND value IS NOT NULL", (tag,), prefix, limit)


def arrays(store: Store, limit: int) -> list[int]:
    """The ids of the newest arrays."""
    return [number for (number,) in store.execute("SELECT id FROM arrays ORDER BY id DESC LIMIT ?", (limit,))]


def queues(store: Store) -> list[str]:
    """The queues that have or had jobs, or are served."""
    source = "SELECT queue FROM tallies WHERE queue <> '' UNION SELECT queue FROM worker_queues ORDER BY 1"
    return [name for (name,) in store.execute(source)]


def _distinct(
    store: Store, column: str, source: str, values: tuple[Any, ...], prefix: str, limit: int
) -> list[str]:
    def steps() -> Iterator[str]:
        compared, after = ">=", prefix
        while True:
            row = store.row(
                f"SELECT {column} FROM {source} AND {column} {compared} ? AND {column} <= ?"
                f" ORDER BY {column} LIMIT 1",
                (*values, after, prefix + _LAST),
            )
            if row is None:
                return
            compared, after = ">", row[0]
            yield after

    found = []
    for one in steps():
        found.append(one)
        if len(found) == limit:
            break
    return found
