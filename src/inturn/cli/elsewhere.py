"""What tsp, nq, pueue, Slurm, docker and others call what our verbs do, for those who come from there."""

from __future__ import annotations

CALLED = {
    "cat": "logs",
    "clean": "prune",
    "clear": "prune",
    "create": "add",
    "delete": "cancel",
    "describe": "show",
    "drain": "work --drain",
    "enqueue": "add",
    "exec": "run",
    "follow": "logs -f",
    "gc": "prune",
    "history": "events",
    "hold": "pause",
    "info": "show",
    "inspect": "show",
    "jobs": "list",
    "kill": "cancel",
    "parallel": "limit",
    "ps": "list",
    "purge": "prune",
    "release": "resume",
    "remove": "cancel",
    "requeue": "retry",
    "restart": "retry",
    "rm": "cancel",
    "sacct": "events",
    "sbatch": "run",
    "scancel": "cancel",
    "sinfo": "pools",
    "squeue": "list",
    "srun": "run --wait",
    "start": "resume",
    "stop": "cancel",
    "submit": "run",
    "tail": "logs -f",
    "worker": "work",
}


def our_word(word: str) -> str:
    """` (did you mean X?)` for the verb of another tool, or an empty text."""
    word = word.lower()
    return f" (did you mean {CALLED[word]}?)" if word in CALLED else ""
