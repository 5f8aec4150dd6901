"""The composition root: the only file that names every concrete part and puts them together."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from inturn.owners.tools import Tools
    from inturn.service.context import Context
    from inturn.store.db import Store


def open_context(
    directory: str | None, config: str | None, create: bool, notice: Callable[[str], None]
) -> Context:
    """What a command works with. `directory` and `config` are the options, None if they were not given.

    Without `create`, a store that does not exist is left so, and the context has none. `notice` is called
    with what the user should know. Raises InturnError `store_unusable`, `store_busy` or `config_invalid`.
    """
    from inturn.config import locate
    from inturn.host import clock, paths
    from inturn.service.context import Context

    path = paths.resolve_store(directory or paths.default_store_dir(os.environ))
    config_path, origin = locate(config, os.environ)
    store = _open(path, create, notice)
    return Context(path, store, clock.now, config_path, origin, supervisor_command(), notice)


def _open(path: str, create: bool, notice: Callable[[str], None]) -> Store | None:
    from inturn.errors import InturnError
    from inturn.host import paths
    from inturn.store.db import open_store

    state = paths.store_state(path)
    if state == "damaged":
        raise InturnError(
            "store_unusable",
            f"{path} holds logs, but its database is gone or empty",
            "Restore the database from a backup, or name another directory with --dir.",
        )
    if state != "present":
        if not create:
            return None
        paths.create_store_dirs(path)
    for warning in paths.check_store_dir(path):
        notice(warning)
    return open_store(path, _ringer(path), create)


def _ringer(directory: str) -> Callable[[Iterable[str]], None]:
    """Tell owners, by their tokens, that a commit concerns them."""
    from inturn.host import paths, wake

    def ring(tokens: Iterable[str]) -> None:
        for token in tokens:
            wake.ring(os.path.join(directory, paths.OWNERS, token + ".wake"))

    return ring


def supervisor_command() -> tuple[str, ...]:
    """How a supervisor is started: our own interpreter, isolated, without site-packages' start-up cost."""
    import sys

    import apsw

    import inturn

    script = os.path.join(os.path.dirname(os.path.abspath(inturn.__file__)), "supervise.py")
    libraries = os.path.dirname(os.path.dirname(os.path.abspath(apsw.__file__)))
    ours = os.path.dirname(os.path.dirname(script))
    return (sys.executable, "-I", "-S", script, ":".join(dict.fromkeys((ours, libraries))))


def run_supervisor(directory: str, token: str) -> None:
    """The life of a supervisor process, from its first instruction in our code to its end.

    It waits for the submitting process to say that the job is stored; if that process died instead, it looks
    for a job of its own all the same.
    """
    from inturn.host import detach, paths, wake
    from inturn.owners import supervisor
    from inturn.store import owners
    from inturn.store.db import open_store

    detach.close_inherited()
    os.chdir("/")
    os.umask(0o077)
    os.read(detach.GO_FD, 1)
    os.close(detach.GO_FD)
    lock_path = os.path.join(directory, paths.OWNERS, token + ".lock")
    fifo_path = os.path.join(directory, paths.OWNERS, token + ".wake")
    try:
        store = open_store(directory, _ringer(directory), create=False)
        me = owners.by_token(store, token)
        if me is None:
            return
        fifo = wake.create(fifo_path)
        tools = _tools(store, directory, me.id)
        owner = supervisor.take_over(tools, fifo)
    except Exception as error:
        os.write(detach.ANSWER_FD, str(error).encode("utf-8", "replace")[:4000] or b"it failed")
        raise SystemExit(1) from error
    os.write(detach.ANSWER_FD, detach.READY)
    os.close(detach.ANSWER_FD)
    supervisor.supervise(tools, owner)
    store.close()
    for path in (fifo_path, lock_path):
        os.unlink(path)


def _tools(store: Store, directory: str, owner: int) -> Tools:
    from inturn.engines.local import LocalEngine
    from inturn.host import clock
    from inturn.owners.tools import Tools

    return Tools(store, LocalEngine(), clock.now, clock.draw, directory, owner)
