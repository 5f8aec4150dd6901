"""One module per verb, and their names."""

from __future__ import annotations

# In the order of the help.
VERBS = (
    *("run", "add", "work"),
    *("list", "status", "show", "logs", "wait", "cancel", "why", "events"),
    *("config", "pools", "limit", "demo"),
    *("pause", "resume", "retry", "rerun", "edit"),
    *("workers", "queues", "recover", "prune", "doctor"),
    *("top", "completion", "schema"),
)
ALIASES = {"ls": "list"}
