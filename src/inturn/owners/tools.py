"""What an owner works with, put together by the composition root."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.engines.base import Engine
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple


class Tools(NamedTuple):
    """What an owner works with. `draw` gives random numbers in [0, 1); `owner` is its row in the registry.

    `bury_the_dead` takes care of the jobs of owners that are proven dead.

    With `alone`, the owner ends with its job and retires in the transaction that completes it. With
    `keep_stdin`, targets read the owner's own standard input.
    """

    store: Store
    engine: Engine
    now: Callable[[], Now]
    draw: Callable[[], float]
    directory: str
    owner: int
    bury_the_dead: Callable[[], object]
    alone: bool = True
    keep_stdin: bool = False
