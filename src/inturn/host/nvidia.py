"""Asking `nvidia-smi`, which comes with the driver."""

from __future__ import annotations

from inturn.errors import InturnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "nvidia-smi"

_HINT = "Without it, write the pool by hand: see docs/configuration.md, pools with devices."

# A driver that hangs must not hang us (seconds). With many cards and no persistence mode, it is slow.
_PATIENCE = 60


def ask(options: Sequence[str]) -> str:
    """What it prints. Raises InturnError `failed` if it is not there, has failed or does not answer."""
    import subprocess

    command = " ".join((PROGRAM, *options))
    try:
        done = subprocess.run(
            [PROGRAM, *options],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError:
        raise InturnError(
            "failed",
            f"{PROGRAM} is not on the PATH: it comes with the driver of NVIDIA's graphics cards",
            _HINT,
        ) from None
    except subprocess.TimeoutExpired:
        raise InturnError("failed", f"{command} has not answered within {_PATIENCE} s", _HINT) from None
    except OSError as problem:
        raise InturnError("failed", f"{PROGRAM} cannot be run: {problem.strerror}", _HINT) from None
    out = done.stdout.decode("utf-8", "replace")
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip() or out.strip() or "it said nothing"
        raise InturnError("failed", f"{command} has failed, exit {done.returncode}: {said}", _HINT)
    return out
