"""Looks at the store in a thread of its own, so that the screen never waits for it."""

from __future__ import annotations

from threading import Condition, Thread
from time import monotonic

from inturn.cli.top.model import Detail, Snapshot, Wanted
from inturn.cli.unexpected import described
from inturn.core.views import Filters, Totals
from inturn.errors import InturnError
from inturn.service import board, family, query
from inturn.service.output import load_job
from inturn.service.tail import tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from inturn.service.context import Context
    from inturn.service.tail import Tail

# How often it asks whether the store has changed, and how often it tells about times all the same (seconds).
_LOOK_EVERY = 0.2
_TELL_EVERY = 1.0

# A job's time may come without anybody writing that down: all is read again after so long (seconds).
_READ_EVERY = 5.0

# Looks at a large store may take one part in so many of the time.
_SHARE = 5

ROWS = 200
_LOG_BYTES = 64 * 1024

_NOTHING = Totals({}, ())


class Reader(Thread):
    """Tells a snapshot whenever the store or what is wanted has changed, and else once a second.

    `reopen` opens the store: at first, after a failure, and when another file has taken its place. `tell` is
    called in this thread. It ends with the process, or soon after `stop`.
    """

    def __init__(self, reopen: Callable[[], Context], tell: Callable[[Snapshot], None]) -> None:
        super().__init__(name="reader", daemon=True)
        self._reopen = reopen
        self._tell = tell
        self._context: Context | None = None
        self._version: object = None
        self._read_at = 0.0
        self._filters: Wanted | None = None
        self._page = board.Page()
        self._totals = _NOTHING
        self._tail: Tail | None = None
        self._condition = Condition()
        self._wanted = Wanted()
        self._asked = True
        self._stopped = False

    def want(self, wanted: Wanted) -> None:
        """Have something else read from now on."""
        with self._condition:
            self._wanted = wanted
            self._asked = True
            self._condition.notify()

    def stop(self) -> None:
        """Have it end."""
        with self._condition:
            self._stopped = True
            self._condition.notify()

    def run(self) -> None:
        """Look, until it is stopped."""
        told, pause = 0.0, 0.0
        while (asked := self._sleep(pause)) is not None:
            wanted, anew = asked
            begun = monotonic()
            if anew or begun - told >= _TELL_EVERY or self._changed():
                self._tell(self._look(wanted))
                told = monotonic()
            pause = max(_LOOK_EVERY, _SHARE * (monotonic() - begun))
        self._close()

    def _sleep(self, seconds: float) -> tuple[Wanted, bool] | None:
        """Sleep, not beyond the next wish; what is wanted and whether that is new, None at the end."""
        with self._condition:
            self._condition.wait_for(lambda: self._asked or self._stopped, seconds)
            anew, self._asked = self._asked, False
            return None if self._stopped else (self._wanted, anew)

    def _changed(self) -> bool:
        try:
            return self._is_gone() or self._latest() != self._version
        except Exception:
            return True  # The look that follows tells what is wrong.

    def _latest(self) -> object:
        store = None if self._context is None else self._context.store
        return None if store is None else store.version()

    def _look(self, wanted: Wanted) -> Snapshot:
        try:
            return self._read(self._open(), wanted)
        except Exception as error:
            # Whatever it was: without this thread, the screen would show the past as if it were the present.
            self._close()
            return Snapshot(wanted, board.Page(), _NOTHING, None, described(error).message)

    def _open(self) -> Context:
        if self._is_gone():
            self._close()
        if self._context is None or self._context.store is None:
            self._context = self._reopen()
        return self._context

    def _is_gone(self) -> bool:
        """Whether the file that was opened is there no more: SQLite would go on with it for ever."""
        return (
            self._context is not None
            and self._context.store is not None
            and not self._context.store.is_in_place()
        )

    def _close(self) -> None:
        context, self._context = self._context, None
        self._version, self._tail = None, None
        if context is not None and context.store is not None:
            context.store.close()

    def _read(self, context: Context, wanted: Wanted) -> Snapshot:
        latest = self._latest()  # before the look: a later commit will show as another one
        if self._is_stale(latest, wanted):
            filters = Filters(statuses=(wanted.status,) if wanted.status else (), below=wanted.below)
            self._page = board.page(context, filters, wanted.text, ROWS)
            self._totals = query.totals(context)
            self._version, self._read_at = latest, monotonic()
            self._filters = wanted._replace(selected=None)
        problem = "" if context.store is not None else f"there is no store in {context.directory} yet"
        detail = self._detail(context, wanted)
        return Snapshot(wanted, self._page, self._totals, detail, problem)

    def _is_stale(self, latest: object, wanted: Wanted) -> bool:
        """Whether the page that was read is not what it would be now; another selection changes nothing."""
        return (
            latest is None
            or latest != self._version
            or wanted._replace(selected=None) != self._filters
            or monotonic() - self._read_at >= _READ_EVERY
        )

    def _detail(self, context: Context, wanted: Wanted) -> Detail | None:
        if wanted.selected is None or context.store is None:
            return None
        try:
            job, reasons = query.why(context, str(wanted.selected))
            kin = family.family(context, job.id)
            self._tail = tail(context, load_job(context, job.id), _LOG_BYTES, self._tail)
        except InturnError as error:
            if error.code != "not_found":
                raise
            return None  # it was pruned
        return Detail(job, reasons, kin, self._tail)
