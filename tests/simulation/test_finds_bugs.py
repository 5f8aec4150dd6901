"""The simulation is worth something only if it finds faults: here some are planted, and each is found."""

from __future__ import annotations

from typing import Any

import pytest

from inturn.core.moment import Now
from inturn.engines.base import Found
from inturn.owners import claim, recover, task, vigil
from inturn.owners import owner as owner_module
from inturn.owners.recover import Kit
from inturn.owners.task import Task
from inturn.store import admissions, due, gates
from inturn.store.db import Store
from inturn.store.owners import Owner
from tests.simulation.engine import SimulatedEngine
from tests.simulation.history import histories

# Most are found within a few dozen histories.
SEEDS = 500


def assert_found(*words: str, hints: bool = True) -> None:
    """Some history is wrong, and the first that is says why."""
    for history in histories(range(1, SEEDS + 1), hints):
        if history.problem:
            first_line = history.problem.splitlines()[0]
            assert any(word in first_line for word in words), str(history)
            return
    pytest.fail(f"{SEEDS} histories, and nothing was found")


def test_slots_that_are_kept_between_two_runs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    release = admissions.release

    def only_at_the_end(store: Store, job_id: int) -> None:
        if store.row("SELECT phase FROM jobs WHERE id = ?", (job_id,))[0] == "completed":
            release(store, job_id)

    monkeypatch.setattr(admissions, "release", only_at_the_end)
    assert_found("slots_are_held_exactly_by_active_jobs", "UNIQUE constraint failed: admissions.job_id")


def test_an_owner_that_is_taken_for_dead_because_its_lease_is_over_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reconcile, verdict = recover.reconcile, vigil.verdict

    def hasty(kit: Kit, suspects: Any) -> Any:
        now = kit.now()

        def judge(directory: str, owner: Owner) -> str:
            over = owner.lease_boot == now.boot and owner.lease_mono < now.mono
            return "dead" if over else verdict(directory, owner)

        monkeypatch.setattr(recover, "verdict", judge)
        return reconcile(kit, suspects)

    monkeypatch.setattr(recover, "reconcile", hasty)
    assert_found(
        "which is not in its hands", "by another than its owner", "nobody has died who had it", "FOREIGN KEY"
    )


def test_a_bypass_that_is_not_counted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admissions, "count_bypass", lambda _store, _passed: None)
    assert_found("the_line_is_kept")


def test_an_adoption_that_starts_the_command_anew_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def start_it(self: Task, now: Now) -> bool:
        self._launch(now)
        return True

    monkeypatch.setattr(task.Task, "_find", start_it)
    assert_found("is started again")


def test_receipts_that_are_written_anew_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    write = gates.write_receipts

    def rewrite(store: Store, job_id: int, now: Now, parent_id: int | None = None) -> None:
        store.execute("DROP TRIGGER IF EXISTS edges_receipt_once")
        store.execute(
            "UPDATE edges SET observed_outcome = NULL, observed_at = NULL WHERE job_id = ?", (job_id,)
        )
        write(store, job_id, now, parent_id)

    monkeypatch.setattr(gates, "write_receipts", rewrite)
    assert_found("receipts_are_written_once_a_round")


def test_a_delay_that_follows_the_wall_clock_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    promote = due.promote

    def by_the_wall(store: Store, now: Now) -> int:
        store.execute(
            "UPDATE jobs SET in_line = 1 WHERE phase = 'queued' AND in_line = 0 AND next_run_at <= ?",
            (now.wall,),
        )
        return promote(store, now)

    monkeypatch.setattr(due, "promote", by_the_wall)
    assert_found("nobody_enters_the_line_before_its_time")


def test_a_recovery_that_does_not_ask_whether_anything_lives_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = SimulatedEngine.find

    def careless(self: SimulatedEngine, native_id: str, token: str, log: str) -> Found:
        found = find(self, native_id, token, log)
        return Found("gone") if found.running is not None else found

    monkeypatch.setattr(SimulatedEngine, "find", careless)
    assert_found("what_lives_has_its_slots")


def test_a_ceiling_that_is_not_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "_full", lambda _store, _queue, _ceiling: False)
    assert_found("workers_keep_to_their_orders")


def test_an_owner_that_looks_at_the_store_only_when_it_is_told_to_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take_notice = owner_module.Owner._take_notice

    def at_first(self: owner_module.Owner) -> None:
        if self._version == owner_module.UNREAD or self._tools.store.stirred:
            take_notice(self)

    monkeypatch.setattr(owner_module.Owner, "_take_notice", at_first)
    assert_found("these jobs never end", hints=False)
