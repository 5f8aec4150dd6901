"""What every use case needs, put together once by the composition root."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NamedTuple

    from inturn.core.moment import Now
    from inturn.service.standby import Standby
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple


class Context(NamedTuple):
    """The store, the clock and the configuration file of one command.

    `store` is None where a store that does not exist is only looked at. `config_origin` says what named the
    configuration file. `supervisor` is the command of a supervisor process, to be followed by the store's
    directory and the owner's token; `standby` is one that has been started in advance for the one job that is
    to be submitted. `notice` tells the user something, on stderr.
    """

    directory: str
    store: Store | None
    now: Callable[[], Now]
    config_path: str
    config_origin: str
    supervisor: tuple[str, ...]
    notice: Callable[[str], None]
    standby: Standby | None = None
