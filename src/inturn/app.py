"""The composition root: with `inturn.supervision`, the only file that names every concrete part."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import NamedTuple

    from inturn.core.spec import Submission
    from inturn.host.store_dir import State
    from inturn.owners.recover import Finding
    from inturn.owners.worker import Orders
    from inturn.service.context import Context
    from inturn.service.standby import Standby
    from inturn.store.db import Store
else:
    from inturn.core.records import NamedTuple

# So many pieces of what is overdue are settled at most: a full disk must not keep a recovery for ever.
MOST_PIECES = 1000


class Beginning(NamedTuple):
    """A store that has been looked at: where it is, what was there, and what the user should know about it.

    `standby` is a supervisor that was started there in advance; whoever has it is to take or to dismiss it.
    """

    directory: str
    state: State
    warnings: list[str]
    supervisor: tuple[str, ...]
    standby: Standby | None = None


def begin(directory: str | None, create: bool, ahead: bool) -> Beginning:
    """Find the store and check its directory, or create that if `create`; see `open_context`.

    With `ahead`, a supervisor is started for the one job that is to be submitted, if there is a store
    already: of all that this takes, it takes longest. Raises InturnError `store_unusable` or
    `submission_failed`.
    """
    from inturn.host import store_dir

    path = store_dir.resolve_store(directory or store_dir.default_store_dir(os.environ))
    state, warnings = _prepare(path, create)
    begun = Beginning(path, state, warnings, supervisor_command())
    if state != "present" or not ahead:
        return begun
    from inturn.service import standby

    return begun._replace(standby=standby.start_ahead(path, begun.supervisor))


def open_context(
    directory: str | None,
    config: str | None,
    create: bool,
    notice: Callable[[str], None],
    ahead: bool = False,
    begun: Beginning | None = None,
) -> Context:
    """What a command works with. `directory` and `config` are the options, None if they were not given.

    Without `create`, a store that does not exist is left so, and the context has none. `notice` is called
    with what the user should know. With `ahead`, a supervisor is started as `begin` does it; `begun` is what
    that gave if it was called before. Whoever gets the context is to dismiss it; if this fails, it has been.
    Raises InturnError `store_unusable`, `store_busy`, `config_invalid` or `submission_failed`.
    """
    from inturn.config import locate
    from inturn.host import clock
    from inturn.service.context import Context

    try:
        config_path, origin = locate(config, os.environ)
        begun = begun or begin(directory, create, ahead)
        path, state, warnings, supervisor, standby = begun
        for warning in warnings:
            notice(warning)
        context = Context(path, None, clock.now, config_path, origin, supervisor, notice, standby)
        if state != "present" and not create:
            return context
        return context._replace(store=_open(path, create))
    except BaseException:
        if begun is not None:
            dismiss(begun.standby)
        raise


def dismiss(one: Standby | None) -> None:
    """Dismiss a supervisor that was started in advance, unless it was taken."""
    if one is not None:
        from inturn.service import standby

        standby.dismiss(one)


def _open(path: str, create: bool) -> Store:
    from inturn.host import wake
    from inturn.store.db import open_store

    return open_store(path, wake.ringer(path), create)


def _prepare(path: str, create: bool) -> tuple[State, list[str]]:
    """Check the directory of the store, or create it; returns what was there before, and warnings."""
    from inturn.errors import InturnError
    from inturn.host import store_dir

    state = store_dir.store_state(path)
    if state == "damaged":
        raise InturnError(
            "store_unusable",
            f"{path} holds logs, but its database is gone or empty",
            "Restore the database from a backup, or name another directory with --dir.",
        )
    if state != "present":
        if not create:
            return state, []
        store_dir.create_store_dirs(path)
    return state, store_dir.check_store_dir(path)


def supervisor_command() -> tuple[str, ...]:
    """How a supervisor is started: our own interpreter, isolated, without site-packages' start-up cost."""
    import sys

    # Finding apsw takes a fraction of loading it, which can wait.
    from _frozen_importlib_external import PathFinder

    import inturn

    found = PathFinder.find_spec("apsw")
    assert found is not None, "apsw is not installed"
    assert found.origin is not None
    script = os.path.join(os.path.dirname(os.path.abspath(inturn.__file__)), "supervise.py")
    libraries = os.path.dirname(os.path.dirname(os.path.abspath(found.origin)))
    ours = os.path.dirname(os.path.dirname(script))
    return (sys.executable, "-I", "-S", script, ":".join(dict.fromkeys((ours, libraries))))


def recover(context: Context) -> list[Finding]:
    """Take care of the jobs of all owners that are proven dead, and of what is overdue."""
    from inturn.engines.local import LocalEngine
    from inturn.host import clock
    from inturn.owners import recover, remains
    from inturn.service.relaunch import relaunch
    from inturn.store import jobs, owners

    store = context.store
    if store is None:
        return []
    kit = recover.Kit(
        store,
        LocalEngine(),
        context.now,
        clock.draw,
        context.directory,
        lambda orphans: relaunch(context, orphans),
        remains.end_probes,
    )
    findings = recover.reconcile(kit, owners.all_of_them(store))
    remains.sweep(store, context.directory, context.now())
    for _ in range(MOST_PIECES):
        if not jobs.catch_up(store, context.now):
            break
    return findings


def tidy(context: Context, thorough: bool = True) -> None:
    """Settle what is overdue, and recover in passing if one of a few suspicious owners is found to be dead.

    Not `thorough`: only if one is late with its lease, which a look at the store tells. What fails here is
    left to the next who looks: it is not what the user has asked for.
    """
    if context.store is not None:
        store = context.store
        _in_passing(lambda: _tidy(context, store, thorough))


def _tidy(context: Context, store: Store, thorough: bool) -> None:
    from inturn.store import jobs, owners

    jobs.catch_up(store, context.now)
    if not (thorough or owners.is_anyone_late(store, context.now())):
        return
    from inturn.host import clock
    from inturn.owners.vigil import anyone_dead

    if anyone_dead(store, context.directory, context.now(), clock.draw()):
        recover(context)


def tend(context: Context, job_ids: Collection[int]) -> None:
    """As `tidy`, for somebody who waits for these jobs: their own owners are looked at as well."""
    if context.store is not None:
        store = context.store
        _in_passing(lambda: _tend(context, store, job_ids))


def _tend(context: Context, store: Store, job_ids: Collection[int]) -> None:
    from inturn.owners.vigil import any_dead_owner_of

    if any_dead_owner_of(store, context.directory, job_ids):
        recover(context)
    else:
        _tidy(context, store, thorough=True)


def bury_the_dead(store: Store, directory: str) -> None:
    """Recover on behalf of an owner that is held up by somebody who has died."""
    from inturn.host import clock
    from inturn.service.context import Context

    context = Context(directory, store, clock.now, "", "", supervisor_command(), lambda _: None)
    _in_passing(lambda: recover(context))


def _in_passing(settle: Callable[[], object]) -> None:
    """Do what is not what was asked for: whoever comes next tries again, and no call fails for it."""
    from inturn.errors import InturnError
    from inturn.store.transaction import CommitUnknown

    try:
        settle()
    except (InturnError, CommitUnknown, OSError):
        pass


def run_foreground(context: Context, submission: Submission) -> tuple[int, OSError | None]:
    """Submit a job and be its owner until it ends; returns its id, and why its output could not be shown.

    Raises as a submission does, and InturnError `conflict` if a job with its key is under way.
    """
    from inturn.errors import InturnError
    from inturn.host import detach, faults
    from inturn.owners import supervisor
    from inturn.owners.foreground import Foreground
    from inturn.owners.presence import Presence
    from inturn.service import intake
    from inturn.supervision import equip

    store = context.store
    assert store is not None
    detach.keep_inherited_from_children()
    with Presence(context.directory) as here:
        now = context.now()
        with faults.commit("submit", store.writing()):
            me = here.register(store, "foreground", now)
            try:
                job_id = intake.store_job(context, submission, me, now)
            except intake.AlreadyThere as twin:
                raise InturnError(
                    "conflict",
                    f"job {twin.job_id} is under way with this key, and has another owner",
                    f"Wait for its end: inturn wait {twin.job_id}",
                ) from None
        tools = equip(store, context.directory, me)._replace(keep_stdin=True)
        owner = Foreground(tools, here.fifo)
        here.on_stop_signals(owner.interrupt)
        if supervisor.take_over(tools, owner):
            owner.watch()
        supervisor.say_goodbye(tools)
    return job_id, owner.refusal()


def run_worker(context: Context, orders: Orders) -> None:
    """Be a worker until the orders are fulfilled or a stop is asked for."""
    import gc

    from inturn.host import detach, faults
    from inturn.host.spares import Spares
    from inturn.owners.presence import Presence
    from inturn.owners.worker import Worker
    from inturn.supervision import equip

    store = context.store
    assert store is not None
    detach.keep_inherited_from_children()
    # Jobs leave no cycles behind, so what has been loaded need not be looked through for every few of them.
    gc.freeze()
    with Presence(context.directory) as here:
        with faults.commit("present", store.writing()):
            me = here.register(store, "worker", context.now())
        worker = Worker(
            equip(store, context.directory, me, Spares())._replace(alone=False), here.fifo, orders
        )
        here.on_stop_signals(worker.ask_to_stop)
        worker.work()
