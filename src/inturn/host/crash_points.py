"""The names of all crash points; see `inturn.host.faults`.

`docs/crash-points.md` says of each what is left behind, and how it is put right. They are apart because only
who arms one needs them: in a waiting supervisor they would be memory.
"""

from __future__ import annotations

# What is done outside of transactions, in the order in which a job meets it.
ACTS = (
    # The submitting process, with one supervisor or with many.
    *("submit.locked", "submit.spawned", "submit.told", "submit.answered"),
    *("nursery.locked", "nursery.spawned", "nursery.hatched", "nursery.told", "nursery.answered"),
    # The process that forks supervisors, those, and the one that looks at the store while they sleep.
    *("nursery.forked", "nursling.locked", "nursling.reported", "nursling.present", "nursling.woken"),
    *("nursery.engaged", "nurse.started", "nurse.visited"),
    # A supervisor, from its first instruction to its last.
    *("supervisor.started", "supervisor.told", "supervisor.unneeded", "supervisor.present"),
    *("supervisor.accepted", "supervisor.answered", "supervisor.done", "supervisor.left"),
    # A worker, or a command that is its own supervisor.
    *("presence.locked", "presence.complete", "presence.left"),
    # A run.
    *("run.launching", "run.logs_open", "run.spawned", "run.launched"),
    *("run.found", "run.closing", "run.closed"),
    *("signal.halt", "signal.continue", "signal.terminate", "signal.kill"),
    *("signalled.halt", "signalled.continue", "signalled.terminate", "signalled.kill"),
    # Whoever takes care of the jobs of the dead.
    *("recover.adopting", "recover.relaunching", "recover.forgotten", "recover.sweeping"),
    # A command that removes what has ended.
    "prune.sweeping",
)

# Write transactions. `X.commit` is passed when all of X is written but not committed, `X.committed` when it
# is, and nothing has been done about it yet.
COMMITS = (
    *("submit", "give_up", "enqueue", "rerun", "retry"),
    *("cancel", "act", "hold", "release", "limit", "configure", "prune", "repair"),
    *("present", "serve", "stop_accepting", "retire", "renew"),
    *("admit", "claim", "watch", "receipts", "observe", "identify"),
    # What an owner commits of its job: the events of the state machine.
    *("task.accepted", "task.gates_opened", "task.aborted", "task.timed_out", "task.cancelled"),
    *("task.started", "task.stop_requested", "task.leftovers_found"),
    *("task.ended", "task.repeated", "task.lost", "task.withdrawn"),
    *("bury", "resolve", "relaunch", "forget"),
)

POINTS = (
    *ACTS,
    *(f"{name}.commit" for name in COMMITS),
    *(f"{name}.committed" for name in COMMITS),
)
