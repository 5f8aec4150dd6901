"""Whoever dies at whatever point: recovery puts it right, and each job ends once, as its policy allows.

Each play leads a process to a point where it kills itself. Then somebody else recovers, everything comes to
its end, and nothing is left. docs/crash-points.md says of each point what there is to be put right.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from inturn.host.crash_points import POINTS
from inturn.service import control
from tests.e2e.harness import until
from tests.e2e.scene import Play, Scene, always, both, perform_all

# What died here may have run its command to the end, and nobody knows.
UNCERTAIN = {
    *("run.logs_open", "run.spawned", "run.launched", "task.started.commit", "task.started.committed"),
    # By then the run that follows has been started.
    *("run.closing", "run.closed"),
    *("task.repeated.commit", "task.leftovers_found.commit", "task.ended.commit"),
}
NOT_TAKEN_OVER = ("supervisor.started", "supervisor.told", "supervisor.present", "task.accepted.commit")

# Fails, and is run again; the second run succeeds and leaves something behind, which has to be ended.
TWICE = "sleep 0.2; [ $INTURN_ATTEMPT != 1 ] || exit 1"
LEFTOVER = "sleep 600 &"
UNTIL_GO = "touch begun; until [ -e go ]; do sleep 0.05; done"


def once_or_lost(point: str) -> set[str]:
    """Where a run is never repeated without being asked, it may be lost."""
    if point in NOT_TAKEN_OVER:
        return {"submission_failed"}
    return {"success", "lost"} if point in UNCERTAIN else {"success"}


# --- submitting


def submit_one(scene: Scene) -> None:
    scene.command("run", *scene.target("sleep 0.2"))


def submit_one_with_nobody(scene: Scene) -> None:
    scene.command("run", *scene.target(), children="nobody")


def submit_one_in_vain(scene: Scene) -> None:
    """The command dies before it has stored anything, and then its supervisor does."""
    first = scene.dies("command", "submit.spawned", "first", children=scene.dies("supervisor"))
    scene.start(first, "run", *scene.target()).wait()


def submit_many(scene: Scene) -> None:
    scene.command("run", "--array", "1-3", *scene.target("sleep 0.2"))


def submit_many_to_mortals(scene: Scene) -> None:
    scene.with_mortals("run", "--array", "1-3", *scene.target("sleep 0.2"))


def have_many_wait(scene: Scene) -> None:
    """For another job, while somebody changes the store."""
    scene.safe("run", *scene.target(UNTIL_GO))
    scene.with_mortals("run", "--after-success", "1", "--array", "1-3", *scene.target("sleep 0.2"))
    scene.safe("limit", "50")
    if not scene.point.startswith("nursling"):
        scene.await_death()
    scene.go()


def enqueue(scene: Scene) -> None:
    scene.command("add", *scene.target())
    scene.start(scene.dies("command", ""), "work", "--drain")


SUBMITTING = (
    Play(
        "a command submits",
        ("submit.locked", "submit.spawned", *both("submit"), "submit.told", "submit.answered"),
        submit_one,
        always("success"),
        nothing_after=("submit.locked", "submit.spawned", "submit.commit"),
    ),
    Play(
        "a command submits and has no supervisor",
        both("give_up"),
        submit_one_with_nobody,
        always("submission_failed"),
    ),
    Play(
        "a supervisor finds nothing to do",
        ("supervisor.unneeded",),
        submit_one_in_vain,
        always(),
        nothing_after=("supervisor.unneeded",),
    ),
    Play(
        "a command submits many",
        (
            *("nursery.locked", "nursery.spawned", "nursery.hatched"),
            *both("submit"),
            *("nursery.told", "nursery.answered"),
        ),
        submit_many,
        always("success"),
        nothing_after=("nursery.locked", "nursery.spawned", "nursery.hatched", "submit.commit"),
    ),
    Play(
        "many supervisors are forked",
        ("nursery.forked",),
        submit_many_to_mortals,
        always(),
        nothing_after=("nursery.forked",),
        skip=1,
    ),
    Play(
        "one of many supervisors",
        ("nursling.locked", "nursling.reported", "nursling.present"),
        submit_many_to_mortals,
        always("success", "submission_failed"),
        nothing_after=("nursling.locked",),
    ),
    Play(
        "one of many supervisors, whose jobs others have accepted",
        (*both("task.accepted"), "nursling.woken", "supervisor.told", "supervisor.present"),
        submit_many_to_mortals,
        always("success"),
    ),
    Play(
        "many supervisors wait",
        ("nursery.engaged", "nurse.started", "nurse.visited", "nursling.woken"),
        have_many_wait,
        always("success"),
    ),
    Play(
        "a command puts a job into a queue",
        both("enqueue"),
        enqueue,
        always("success"),
        nothing_after=("enqueue.commit",),
    ),
)

# --- supervisors


def supervise(*options: str) -> Callable[[Scene], None]:
    def act(scene: Scene) -> None:
        scene.with_mortals("run", "--retries", "1", *options, *scene.target(TWICE, LEFTOVER))

    return act


def supervise_at_the_gates(scene: Scene) -> None:
    scene.safe("run", "--wait", *scene.target())
    gates = ("--after-success", "1", "--wait-probe", "true")
    scene.with_mortals("run", *gates, *scene.target("sleep 0.2"))


def supervise_in_vain(scene: Scene) -> None:
    scene.safe("run", "--wait", *scene.target())
    # The edge is judged by the supervisor: when it is stored, its parent has ended.
    scene.with_mortals("run", "--after-failed", "1", *scene.target())


def supervise_too_long(scene: Scene) -> None:
    scene.with_mortals("run", "--wait-file", "nowhere", "--job-timeout", "300ms", *scene.target())


def supervise_a_stubborn_one(scene: Scene) -> None:
    limits = ("--run-timeout", "300ms", "--stop-grace", "200ms")
    scene.with_mortals("run", *limits, *scene.target('trap "" TERM; sleep 600'))


def supervise_for_long(scene: Scene) -> None:
    """The first lease is part of the admission."""
    scene.with_mortals("run", *scene.target(UNTIL_GO))
    scene.await_file("begun")
    scene.await_death()
    scene.recover()
    scene.go()


def supervise_and_pause(scene: Scene) -> None:
    scene.with_mortals("run", *scene.target(UNTIL_GO))
    scene.await_file("begun")
    scene.await_phase("running")
    scene.safe("pause", "1")
    if scene.point.endswith("continue"):
        scene.safe("resume", "1")
    scene.await_death()
    scene.recover()
    scene.go()
    scene.safe("resume", "1")


BEFORE_A_RUN = (
    *("supervisor.started", "supervisor.told", "supervisor.present"),
    *both("task.accepted"),
    *("supervisor.accepted", "supervisor.answered"),
)
STARTING = (
    *both("admit"),
    *("run.launching", "run.logs_open", "run.spawned", "run.launched"),
    *both("task.started"),
)
ENDING = (
    *both("task.repeated"),
    *("run.closing", "run.closed"),
    *both("task.leftovers_found"),
    *("signal.terminate", "signalled.terminate"),
    *both("task.ended"),
)

SUPERVISORS = (
    Play("a supervisor comes", BEFORE_A_RUN, supervise(), once_or_lost),
    Play("a supervisor starts a run", STARTING, supervise(), once_or_lost),
    Play(
        "a supervisor ends a run",
        (*ENDING, "supervisor.done", "supervisor.left"),
        supervise(),
        once_or_lost,
    ),
    Play(
        "a supervisor whose runs may be repeated",
        tuple(point for point in (*STARTING, *ENDING) if point in UNCERTAIN),
        supervise("--max-crashes", "3"),
        always("success"),
    ),
    Play("a supervisor renews its lease", both("renew"), supervise_for_long, always("success")),
    Play(
        "a supervisor at the gates",
        both("receipts", "observe", "task.gates_opened"),
        supervise_at_the_gates,
        always("success"),
    ),
    Play(
        "a supervisor whose dependency has failed",
        both("task.aborted"),
        supervise_in_vain,
        always("success", "aborted"),
    ),
    Play(
        "a supervisor whose job has no more time",
        both("task.timed_out"),
        supervise_too_long,
        always("timed_out"),
    ),
    Play(
        "a supervisor kills",
        (
            *both("task.stop_requested"),
            *("signal.terminate", "signalled.terminate", "signal.kill", "signalled.kill"),
        ),
        supervise_a_stubborn_one,
        always("timed_out"),
    ),
    Play(
        "a supervisor pauses",
        ("signal.halt", "signalled.halt", "signal.continue", "signalled.continue"),
        supervise_and_pause,
        always("success"),
    ),
)

# --- workers, and commands that are their own supervisors


def work(scene: Scene) -> None:
    for _ in range(2):
        scene.safe("add", "--retries", "1", *scene.target(TWICE, LEFTOVER))
    _one_dies_another_works(scene)


def work_at_the_gates(scene: Scene) -> None:
    scene.safe("add", "--wait-probe", "true", *scene.target())
    _one_dies_another_works(scene)


def work_until_stopped(scene: Scene) -> None:
    scene.safe("add", *scene.target("touch begun"))
    worker = scene.start(scene.dies("command"), "work")
    scene.await_file("begun")
    scene.await_phase("completed")
    worker.send_signal(signal.SIGTERM)


def work_unheard(scene: Scene) -> None:
    """The worker is told that its claim has failed, and finds out that it has not."""
    scene.safe("add", *scene.target())
    _one_dies_another_works(scene, unheard="claim.commit")


def _one_dies_another_works(scene: Scene, **extra: str) -> None:
    scene.start(scene.dies("command", **extra), "work", "--drain")
    scene.await_death()
    scene.start(scene.dies("command", ""), "work", "--drain")


def foreground(scene: Scene) -> None:
    scene.command("run", "--foreground", "--retries", "1", *scene.target(TWICE))


def foreground_cancelled(scene: Scene) -> None:
    waits = scene.start(
        scene.dies("command"), "run", "--foreground", "--wait-file", "nowhere", *scene.target()
    )
    scene.await_phase("waiting")
    waits.send_signal(signal.SIGINT)
    scene.await_death()
    scene.recover()
    scene.safe("cancel", "1")


PRESENCE = ("presence.locked", "presence.complete")

WORKERS = (
    Play(
        "a worker comes",
        (*PRESENCE, *both("present", "serve", "claim")),
        work,
        always("success"),
    ),
    Play(
        "a worker runs jobs",
        (*(point for point in STARTING if not point.startswith("admit")), *ENDING),
        work,
        always("success"),
    ),
    Play("a worker at the gates", both("watch", "observe"), work_at_the_gates, always("success")),
    Play(
        "a worker goes",
        (*both("stop_accepting", "retire"), "presence.left"),
        work_until_stopped,
        always("success"),
    ),
    Play(
        "a worker withdraws a run that it never started",
        both("task.withdrawn"),
        work_unheard,
        always("success"),
    ),
    Play(
        "a command is its own supervisor",
        (*PRESENCE, *both("submit", "task.accepted"), "run.spawned", *both("task.ended"), "presence.left"),
        foreground,
        lambda point: {"submission_failed"} if point == "submit.committed" else once_or_lost(point),
        nothing_after=(*PRESENCE, "submit.commit"),
    ),
    Play(
        "a command that is its own supervisor is interrupted",
        both("task.cancelled"),
        foreground_cancelled,
        always("cancelled"),
    ),
)

# --- those who act on jobs


def act(*words: str, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> Callable[[Scene], None]:
    """A command dies that acts on a job which waits; it is given again, and then the job may go on."""

    def play(scene: Scene) -> None:
        scene.safe("run", "--wait-file", "go", *scene.target())
        if before:
            scene.safe(*before)
        scene.command(*words)
        scene.await_death()
        scene.safe(*words)
        if after:
            scene.safe(*after)
        scene.go()

    return play


def act_on_an_ended_one(*words: str) -> Callable[[Scene], None]:
    """A command dies that acts on a job which has ended."""

    def play(scene: Scene) -> None:
        scene.safe("run", "--wait", *scene.target())
        scene.command(*words)

    return play


def prune_a_thousand(scene: Scene) -> None:
    """A command dies that removes the last job of a thousand; what was left of it is removed by others."""
    scene.safe("run", "--wait", *scene.target("echo out"))
    scene.give_ids_up_to(999)
    scene.safe("run", "--wait", *scene.target("echo out"))
    prune = ("prune", "--keep", "1", "--force")
    scene.command(*prune)
    scene.await_death()
    logs = scene.cli.store / "logs"
    assert sorted(os.listdir(logs)) == ["0", "1"]
    scene.safe("doctor", "--repair")
    assert sorted(os.listdir(logs)) == (["0", "1"] if scene.point == "prune.commit" else ["1"])
    scene.safe(*prune)
    assert sorted(os.listdir(logs)) == ["1"]


def rerun_both_kinds(scene: Scene) -> None:
    scene.safe("run", "--wait", *scene.target())
    scene.safe("add", *scene.target())
    scene.command("rerun", "1", "2")
    scene.start(scene.dies("command", ""), "work", "--drain")


def configure(scene: Scene) -> None:
    scene.safe("run", "--wait-file", "go", *scene.target())
    scene.cli.configure("schema_version: 1\nconcurrency: {max_active_slots: 3}\n")
    scene.command("config", "apply")
    scene.await_death()
    scene.safe("config", "apply")
    scene.go()


ACTING = (
    Play("a command cancels", both("cancel"), act("cancel", "1"), always("cancelled")),
    Play("a command pauses", both("act"), act("pause", "1", after=("resume", "1")), always("success")),
    Play(
        "a command pauses a pool",
        both("hold"),
        act("pause", "--pool", "p", before=("pools", "set", "p", "2")),
        always("success"),
    ),
    Play(
        "a command lets a pool go on",
        both("release"),
        act("resume", "--pool", "p", before=("pools", "set", "p", "2")),
        always("success"),
    ),
    Play("a command sets a limit", both("limit"), act("limit", "3"), always("success")),
    Play("a command applies the configuration", both("configure"), configure, always("success")),
    Play("a command repairs", both("repair"), act("doctor", "--repair"), always("success")),
    Play(
        "a command has a job run again",
        both("retry"),
        act_on_an_ended_one("retry", "1"),
        always("success"),
    ),
    Play("a command runs an old job anew", both("rerun"), rerun_both_kinds, always("success")),
    Play("a command prunes", (*both("prune"), "prune.sweeping"), prune_a_thousand, always("success")),
)

# --- recovery


def die_all_over(scene: Scene) -> None:
    """Leave something of each kind behind: a job that waits, one that runs, two that were about to."""
    scene.safe("run", "--wait-file", "go", *scene.target())
    scene.safe("run", *scene.target(UNTIL_GO))
    # The latter last: when its lease is over, the next submission would take care of it in passing.
    for point in ("supervisor.accepted", "run.launching"):
        scene.safe("run", *scene.target(), children=scene.dies("supervisor", point, point))
        scene.await_death(point)
    scene.await_file("begun")
    scene.await_phase("running", job_id=2)
    for job_id in (1, 2):
        scene.kill_owner(job_id)
    stray = scene.cli.store / "owners" / "0123456789abcdef.lock"
    stray.touch()
    os.utime(stray, (0, time.time() - 3600))


def recover(scene: Scene) -> None:
    die_all_over(scene)
    scene.command("recover")
    scene.await_death()
    scene.recover()
    scene.go()


def adopt(scene: Scene) -> None:
    """A run outlives its supervisor, and then the one that has adopted it."""
    scene.safe("run", *scene.target(UNTIL_GO))
    scene.await_file("begun")
    scene.await_phase("running")
    scene.kill_owner()
    scene.with_mortals("recover")
    if scene.point.startswith(("task.ended", "run.clos", "supervisor.done")):
        scene.go()
    scene.await_death()
    scene.recover()
    scene.go()


def adopt_an_unknown_one(scene: Scene) -> None:
    """A stop is asked for while nobody knows yet which process the run is."""
    first = scene.dies("supervisor", "run.spawned", "first")
    scene.safe("run", *scene.target(UNTIL_GO), children=first)
    scene.await_death("first")
    context = scene.open()
    control.cancel(context, [1])  # The verb would recover as well.
    assert context.store is not None
    context.store.close()
    scene.with_mortals("recover")


def adopt_an_orphan(scene: Scene) -> None:
    """Nobody knows how the leader ended; somebody whom it started lives on."""
    leftover = "(exec 9>&-; until [ -e died ]; do sleep 0.05; done) &"
    child = f"echo $$ > begun; {leftover} until [ -e go ]; do sleep 0.05; done"
    scene.safe("run", "--leave-children", *scene.target(child))
    scene.await_file("begun")
    scene.await_phase("running")
    scene.kill_owner()
    scene.go()
    leader = int((scene.cli.root / "begun").read_text())
    until(lambda: not os.path.exists(f"/proc/{leader}"), "somebody to bury the leader")
    scene.with_mortals("recover")


RECOVERY = (
    Play(
        "somebody recovers",
        (
            *both("bury", "resolve"),
            *("recover.adopting", "recover.relaunching"),
            *("nursery.locked", "nursery.spawned", "nursery.hatched"),
            *both("relaunch"),
            *("nursery.told", "nursery.answered"),
            *both("forget"),
            *("recover.forgotten", "recover.sweeping"),
        ),
        recover,
        always("success"),
    ),
    Play(
        "an adopted run loses its supervisor again",
        (
            *("supervisor.told", "supervisor.present", "supervisor.accepted", "supervisor.answered"),
            *("run.found", *both("task.ended"), "run.closing", "run.closed", "supervisor.done"),
        ),
        adopt,
        lambda point: {"success", "lost"} if point == "task.ended.commit" else {"success"},
    ),
    Play(
        "a run is identified after a stop was asked for",
        both("identify"),
        adopt_an_unknown_one,
        always("cancelled"),
    ),
    Play("a run is declared lost by its heir", both("task.lost"), adopt_an_orphan, always("lost")),
)

PLAYS = (*SUBMITTING, *SUPERVISORS, *WORKERS, *ACTING, *RECOVERY)


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.name)
def test_a_death_is_put_right(play: Play, tmp_path: Path) -> None:
    perform_all(play, tmp_path)


def test_somebody_dies_at_every_point() -> None:
    assert {point for play in PLAYS for point in play.points} == set(POINTS)


def test_of_many_who_recover_at_once_one_takes_care_of_each_job(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "it", "")
    try:
        die_all_over(scene)
        several = [scene.start(scene.dies("command", ""), "recover") for _ in range(4)]
        assert [one.wait(timeout=120) for one in several] == [0] * 4
        scene.go()
        assert [job.outcome for job in scene.wait()] == ["success"] * 4
        assert [job.runs for job in scene.jobs()] == [1, 1, 1, 2]
        scene.assert_sound()
    finally:
        scene.close()
