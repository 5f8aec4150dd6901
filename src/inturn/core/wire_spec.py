"""The JSON of a specification: what the user asked for."""

from __future__ import annotations

from inturn.core.environment import job_environment
from inturn.core.wire_values import base64, is_text, raw, seconds, text, timestamp, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from inturn.core.retry import Policy
    from inturn.core.spec import Spec
    from inturn.core.wire_values import Json


def spec(it: Spec, values: bool) -> Json:
    """What the user asked for. The values of environment variables only with `values`."""
    environment = job_environment(it)
    document: Json = {
        **words("argv", it.argv),
        **raw("cwd", it.cwd),
        "umask": f"{it.umask:04o}",
        **({"stdin_file": None} if it.stdin_file is None else raw("stdin_file", it.stdin_file)),
        "environment": sorted(text(name) for name in environment),
        "env_set": [text(change.partition(b"=")[0]) for change in it.env_changes if b"=" in change],
        "env_unset": [text(change) for change in it.env_changes if b"=" not in change],
        "merge_output": it.merge_output,
        "leave_children": it.leave_children,
        "nice": it.nice,
        "run_timeout": seconds(it.run_timeout),
        "job_timeout": seconds(it.job_timeout),
        "stop_grace": seconds(it.stop_grace),
        "max_crashes": it.max_crashes,
        "wait_mode": it.wait_mode,
        "wait_poll": seconds(it.wait_poll),
        "probe_timeout": seconds(it.probe_timeout),
        "wait_abort_at": timestamp(it.wait_abort_at),
        "note": it.note,
        "policy": policy(it.policy),
    }
    if values:
        document.update(_environment_values(environment))
    return document


def _environment_values(environment: Mapping[bytes, bytes]) -> Json:
    document: Json = {
        "environment_values": {text(name): text(value) for name, value in sorted(environment.items())}
    }
    odd = [b"=".join(entry) for entry in sorted(environment.items()) if not is_text(b"=".join(entry))]
    if odd:
        document["environment_base64"] = [base64(entry) for entry in odd]
    return document


def policy(it: Policy) -> Json:
    """When a run succeeds, and when another one follows."""
    return {
        "success_exit_codes": _ranges(it.success_codes),
        "retryable_exit_codes": _ranges(it.retry_codes),
        "retry_signals": _ranges(it.retry_signals),
        "retry_timeouts": it.retry_timeouts,
        "retry_start_failures": it.retry_start_failures,
        "success_target": it.success_target,
        "max_runs": it.run_limit,
        "failure_limit": it.failure_limit,
        "retry_delay": seconds(it.delay),
        "retry_backoff": it.backoff,
        "retry_max_delay": seconds(it.max_delay),
        "retry_jitter": seconds(it.jitter),
        "retry_abort_at": timestamp(it.abort_at),
    }


def _ranges(ranges: tuple[tuple[int, int], ...]) -> list[str]:
    return [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
