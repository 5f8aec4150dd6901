"""What a submission takes from the process that submits: its directory, environment and umask."""

from __future__ import annotations

import os

from inturn.core.environment import OWN_VARIABLES
from inturn.core.request import Surroundings, parse_env_file
from inturn.core.values import encode
from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# In the C locale Python puts one of these into its own environment (PEP 538): no wish of the submitter's.
_COERCED = (b"C.UTF-8", b"C.utf8", b"UTF-8")


def capture(command: Sequence[str], supervised: bool) -> Surroundings:
    """The surroundings of this process, with the words of a command, which reach the job byte for byte.

    Raises InturnError `failed` if the present directory is gone.
    """
    try:
        cwd = os.getcwdb()
    except OSError as problem:
        raise InturnError(
            "failed", f"the present directory cannot be told: {problem.strerror}", "Go to one that exists."
        ) from problem
    argv = tuple(os.fsencode(word) for word in command) or None
    return Surroundings(argv, cwd, _environment(), _umask(), supervised)


def _umask() -> int:
    # To ask the system for it is to change it, for an instant in which another thread may create a file.
    try:
        with open("/proc/self/status", "rb") as file:
            for line in file:
                if line.startswith(b"Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _environment() -> tuple[bytes, ...]:
    # A job may submit others: they are not this job. INTURN_DIR stays, so that they join it in its store.
    left_out = {*OWN_VARIABLES}
    if os.environb.get(b"LC_CTYPE") in _COERCED and not _started_with(b"LC_CTYPE"):
        left_out.add(b"LC_CTYPE")
    # In a fixed order, so that equal environments are stored once.
    return tuple(name + b"=" + value for name, value in sorted(os.environb.items()) if name not in left_out)


def _started_with(name: bytes) -> bool:
    """Whether a variable was in the environment that this process was started with."""
    try:
        with open("/proc/self/environ", "rb") as file:
            return any(entry.startswith(name + b"=") for entry in file.read().split(b"\0"))
    except OSError:
        return True


def read_env_files(values: Mapping[str, object]) -> dict[str, object]:
    """`values` with the files of `env_file` read into `env`, in front of what is set one by one.

    Relative paths start from the present directory. Raises InturnError `invalid_value` for a file that cannot
    be read or that holds something else.
    """
    merged = dict(values)
    entries: list[object] = []
    for path in _as_list(merged.pop("env_file", [])):
        entries.extend(entry.decode("utf-8", "surrogateescape") for entry in _read_env_file(str(path)))
    if entries:
        merged["env"] = entries + _as_list(merged.get("env", []))
    return merged


def _as_list(value: object) -> list[object]:
    # The defaults of a configuration file may give a single value of a repeatable option.
    return value if isinstance(value, list) else [value]


def _read_env_file(path: str) -> list[bytes]:
    try:
        with open(encode(path), "rb") as file:
            text = file.read()
    except InturnError as problem:
        raise InturnError(problem.code, f"--env-file: {problem.message}", problem.hint) from None
    except OSError as problem:
        raise InturnError(
            "invalid_value", f"--env-file: {path or 'the empty path'} cannot be read: {problem.strerror}"
        ) from None
    return parse_env_file(text, path)
