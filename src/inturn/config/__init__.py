"""The configuration file: which one it is, whether it has changed, and what it says.

A submission calls `locate` and `signature` alone; what reads and checks a file is imported when one is read.
"""

from __future__ import annotations

import os

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import NamedTuple
else:
    from inturn.core.records import NamedTuple

MAX_BYTES = 2**20


class PoolConfig(NamedTuple):
    """A declared pool. `slots` is None for unlimited, and devices times `per_device` for a pool with devices.

    `devices` is empty for a plain pool. `variable` is the environment variable that gets a job's devices;
    `others` is `none` (it is empty for jobs outside the pool) or `all` (they keep it as it is).
    """

    name: str
    slots: int | None
    devices: tuple[str, ...] = ()
    per_device: int = 1
    variable: str = ""
    others: str = "none"


class Config(NamedTuple):
    """What a file says. `digest` is the SHA-256 of its bytes in hex; limits are None for unlimited.

    `defaults` holds names of options with underscores, and str, int, bool or list[str], in the file's order.
    `declares_limit` tells a file that says `unlimited` from one that says nothing of the store-wide limit.
    `looks_per_second` is how often all who wait look at the store together, or None.
    """

    path: str
    digest: str
    max_active_slots: int | None
    pools: tuple[PoolConfig, ...]
    defaults: tuple[tuple[str, object], ...]
    declares_limit: bool = False
    looks_per_second: int | None = None


def locate(explicit: str | None, environ: Mapping[str, str]) -> tuple[str, str]:
    """The absolute path of the configuration file, which need not exist, and what names it.

    That is `--config` (whose value is `explicit`), `INTURN_CONFIG` or `default`. A relative $XDG_CONFIG_HOME
    is ignored, as the XDG Base Directory Specification demands. Raises invalid_value for an empty `explicit`.
    """
    if explicit is not None:
        if not explicit:
            raise InturnError("invalid_value", "--config is empty", "Name a file, or leave the option out.")
        return _absolute(explicit), "--config"
    if environ.get("INTURN_CONFIG"):
        return _absolute(environ["INTURN_CONFIG"]), "INTURN_CONFIG"
    base = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".config")
    return _absolute(os.path.join(base, "inturn", "inturn.yml")), "default"


def signature(path: str) -> tuple[int, int, int] | None:
    """Modification time in nanoseconds, size in bytes and inode; None if there is no such file.

    Take it before `load`: a change in between then shows at the next look instead of never. Raises
    config_invalid if the system does not let us look.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem) from None
    return found.st_mtime_ns, found.st_size, found.st_ino


def load(
    path: str,
    allowed_defaults: Collection[str] | None = None,
    check_default: Callable[[str, object], object] | None = None,
) -> Config:
    """Read and check the file at `path`; see `loads`. Raises config_invalid if it cannot be read, too."""
    path = _absolute(path)
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem) from None
    return loads(text, path, allowed_defaults, check_default)


def loads(
    text: bytes,
    path: str,
    allowed_defaults: Collection[str] | None = None,
    check_default: Callable[[str, object], object] | None = None,
) -> Config:
    """Check the contents of a file; `path` names it in messages.

    `allowed_defaults` are the names, with underscores, that `defaults` may have; None allows any. For each
    of them `check_default(name, value)` may raise InturnError if the option does not take the value. Raises
    config_invalid with "FILE:LINE: PATH: what is wrong".
    """
    from hashlib import sha256

    from inturn.config.schema import check
    from inturn.config.tree import read

    if len(text) > MAX_BYTES:
        raise InturnError("config_invalid", f"{path}:1: the file is larger than 1 MiB")
    return Config(path, sha256(text).hexdigest(), *check(read(text, path), allowed_defaults, check_default))


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # the working directory is gone; opening the file will say so
        return path


def _unreadable(path: str, problem: OSError | ValueError) -> InturnError:
    reason = getattr(problem, "strerror", None) or str(problem)
    hint = "Name a readable file with --config or INTURN_CONFIG."
    return InturnError("config_invalid", f"{path}: cannot be read: {reason}", hint)
