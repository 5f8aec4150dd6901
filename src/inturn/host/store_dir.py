"""Where the store is, how it comes into being, and whether it is safe to use.

It is apart from `inturn.host.paths`: a supervisor, which is told where its store is, has no use for it.
"""

from __future__ import annotations

import os
import stat

from inturn.core.layout import DATABASE
from inturn.errors import InturnError
from inturn.host.paths import DIRECTORIES, LOGS, make, refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    State = Literal["absent", "empty", "present", "damaged"]

_FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm")


def default_store_dir(environ: Mapping[str, str]) -> str:
    """The absolute path of the store when no option names one: INTURN_DIR, or the XDG state directory.

    An XDG_STATE_HOME that is empty or relative is ignored, as the XDG Base Directory Specification asks.
    Raises InturnError `store_unusable` if there is no home directory to fall back on.
    """
    named = environ.get("INTURN_DIR", "")
    if named:
        return _absolute(named)
    state_home = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state_home):
        state_home = os.path.join(_home(environ), ".local", "state")
    return os.path.join(state_home, "inturn")


def resolve_store(path: str) -> str:
    """The real, absolute path of a store; call it once and use the result from then on.

    A link at `path` is followed if it is the user's own: whoever may place a link in a shared directory must
    not choose where our jobs go. Raises InturnError `store_unusable`.
    """
    path = _absolute(path)
    try:
        foreign = os.path.islink(path) and os.lstat(path).st_uid != os.geteuid()
        resolved = os.path.realpath(path)
    except OSError as error:
        raise _cannot("follow", path, error) from error
    if foreign:
        raise refused(f"{path} is a symbolic link that belongs to another user", "Name the directory itself.")
    if not _is_utf8(resolved):
        raise refused(
            f"{resolved!r} is not UTF-8, and SQLite opens no file whose path is not",
            "Name another directory with --dir or INTURN_DIR.",
        )
    return resolved


def _is_utf8(path: str) -> bool:
    """Whether SQLite, which takes paths in UTF-8, would open what we open under this name."""
    try:
        return path.encode() == os.fsencode(path)
    except UnicodeEncodeError:
        return False


def create_store_dirs(path: str) -> None:
    """Create what is missing of the store's directories and their parents, private (0700) from the first on.

    `path` is what `resolve_store` gave. Nothing that exists is changed, and nothing is created in a directory
    that `check_store_dir` refuses. Any number of processes may do it at once. Raises InturnError
    `store_unusable`.
    """
    try:
        _make_with_parents(path)
        check_store_dir(path)
        for name in DIRECTORIES:
            make(os.path.join(path, name))
    except OSError as error:
        raise _cannot("create", path, error) from error


def check_store_dir(path: str) -> list[str]:
    """Refuse a store that is not safe to use; returns warnings about what is merely unwise.

    `path` is what `resolve_store` gave. Refused (InturnError `store_unusable`) is one that is no directory,
    belongs to another user, can be written by others, lies on a network file system, or has a link or a wrong
    kind of file where its parts belong. Parts that do not exist yet are no fault.
    """
    try:
        directory = os.lstat(path)
        if not stat.S_ISDIR(directory.st_mode):
            raise refused(f"{path} is not a directory", "Name another directory with --dir or INTURN_DIR.")
        _refuse_others(path, directory)
        warnings = _check_file_system(path, directory.st_dev)
        for name in DIRECTORIES + _FILES:
            _check_part(path, name, directory.st_dev)
    except OSError as error:
        raise _cannot("use", path, error) from error
    if directory.st_mode & (stat.S_IRGRP | stat.S_IROTH | stat.S_IXGRP | stat.S_IXOTH):
        warnings.append(
            f"others can look into {path}, commands and their output included; chmod 700 makes it private"
        )
    return warnings


def store_state(path: str) -> State:
    """What is there of a store, told from its files alone.

    "absent": nothing yet. "empty": the database has no content because someone is creating it at this moment.
    "present": it has content. "damaged": it has none, or is gone, although there are logs, and a log is only
    written once the database has content. Raises InturnError `store_unusable` if that cannot be seen.
    """
    try:
        size = _database_size(path)
        if size:
            return "present"
        if not _has_entries(os.path.join(path, LOGS)):
            return "absent" if size is None else "empty"
        # Between the two looks it may have been filled, and a first job have written its log.
        return "present" if _database_size(path) else "damaged"
    except OSError as error:
        raise _cannot("read", path, error) from error


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise _cannot("find the present directory for", path, error) from error


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        return home
    import pwd  # rarely needed

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise refused(
            "there is no place for the store: HOME is not set and the user has no home directory",
            "Name a directory with --dir or INTURN_DIR.",
        ) from None


def _make_with_parents(path: str) -> None:
    parent = os.path.dirname(path) or os.curdir
    if not os.path.isdir(parent):
        _make_with_parents(parent)
    make(path)


def _check_part(store: str, name: str, store_dev: int) -> None:
    path = os.path.join(store, name)
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise refused(
            f"{path} is a symbolic link", "A store must hold its own files; put them back in place."
        )
    if name in DIRECTORIES and not stat.S_ISDIR(found.st_mode):
        raise refused(f"{path} is not a directory", "Move it away, or name another store.")
    if name in _FILES and not stat.S_ISREG(found.st_mode):
        raise refused(f"{path} is not a regular file", "Move it away, or name another store.")
    _refuse_others(path, found)
    if found.st_dev != store_dev:
        _check_file_system(path, found.st_dev)


def _refuse_others(path: str, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise refused(f"{path} belongs to another user (uid {found.st_uid})", "Use a store of your own.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise refused(f"{path} can be written by other users", f"If that was not meant: chmod go-w {path}")


def _check_file_system(path: str, dev: int) -> list[str]:
    try:
        from inturn.host.mounts import network_file_system  # only who opens the store by its name asks

        kind = network_file_system(path, dev)
    except OSError:
        return [f"cannot tell whether {path} is on a network file system, where it would not be safe"]
    if kind:
        raise refused(
            f"{path} is on a network file system ({kind}), where locks and shared memory cannot be trusted",
            "Name a directory on a local disk with --dir or INTURN_DIR.",
        )
    return []


def _database_size(path: str) -> int | None:
    try:
        return os.lstat(os.path.join(path, DATABASE)).st_size
    except FileNotFoundError:
        return None


def _has_entries(path: str) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is not None
    except FileNotFoundError:
        return False


def _cannot(verb: str, path: str, error: OSError) -> InturnError:
    where = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else path
    return InturnError(
        "store_unusable",
        f"cannot {verb} the store {path}: {where}: {error.strerror}",
        "Name another directory with --dir or INTURN_DIR.",
    )
