from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inturn.core.admission import STORE
from inturn.core.reasons import Reason
from inturn.core.spec import Spec, Submission
from inturn.core.transitions import Event
from inturn.core.views import Filters, LedgerEntry, View
from inturn.errors import InturnError
from inturn.host import clock, identity, locks
from inturn.host.paths import OWNERS
from inturn.service import query
from inturn.service.facts import life
from inturn.store import gates, owners, reads, settings, specs
from inturn.store.settings import Pool
from tests.builders import insert_gates, insert_job, make_condition
from tests.service.scene import Scene


class _NothingMoreHappens(Exception):
    """Ends a follower, which has no end of its own."""


def _itself(view: View) -> View:
    return view


def _why(scene: Scene, selector: str | int) -> list[Reason]:
    """All reasons of a job, those below others included, apart from what its owner is."""

    def below(found: tuple[Reason, ...]) -> Iterator[Reason]:
        for reason in found:
            yield reason
            yield from below(reason.because)

    _, found = query.why(scene.context, str(selector))
    return [reason for reason in below(found) if not reason.code.startswith("owner")]


def _limit(scene: Scene, slots: int, name: str = STORE, declared: bool = False) -> None:
    with scene.store.writing():
        settings.set_pool(scene.store, Pool(name, slots, declared))


def _depends(scene: Scene, child: int, *parents: int, outcomes: tuple[str, ...] = ("success",)) -> None:
    with scene.store.writing():
        insert_gates(scene.store, child, dict.fromkeys(parents, outcomes), ())


def test_a_store_that_does_not_exist_has_nothing(tmp_path: Path, scene: Scene) -> None:
    nowhere = scene.context._replace(store=None)
    assert query.listing(nowhere, Filters(), 50, True, _itself) == []
    assert query.totals(nowhere).by_status() == {}
    assert [scope.slots for scope in query.capacities(nowhere)] == [None]
    assert query.events(nowhere, 0, None, str) == []
    assert query.look_at(nowhere, [], False) == []
    for ask in (query.describe, query.why):
        with pytest.raises(InturnError, match="there is no job"):
            ask(nowhere, "7")
    with pytest.raises(InturnError, match="there is no job"):
        query.events(nowhere, 0, "7", str)
    with pytest.raises(InturnError, match="there is no job"):
        query.look_at(nowhere, ["7"], False)


def test_a_listing_is_formed_while_it_is_read(scene: Scene) -> None:
    ids = [scene.submit() for _ in range(3)]
    assert query.listing(scene.context, Filters(), 2, False, lambda view: view.job.id) == ids[:0:-1]


def test_jobs_are_looked_at_in_the_order_in_which_they_were_named(scene: Scene) -> None:
    one, two = scene.submit("one"), scene.submit("two")
    views = query.look_at(scene.context, ["two", "one", str(two)], True)
    assert [view.job.id for view in views] == [two, one]


def test_totals_count_by_state_and_tell_the_capacities(scene: Scene) -> None:
    _limit(scene, 4)
    scene.succeed(scene.submit())
    scene.start(scene.submit()).close()
    scene.submit()
    found = query.totals(scene.context)
    assert found.by_status() == {"success": 1, "running": 1, "queued": 1}
    assert [(scope.slots, scope.used, scope.in_line) for scope in found.scopes] == [(4, 1, 1)]


def test_a_description_has_everything(scene: Scene) -> None:
    parent, job = scene.submit("parent"), scene.submit("child", gated=True)
    _depends(scene, job, parent)
    found = query.describe(scene.context, "child")
    assert found.view.job.id == job
    assert found.spec == Spec((b"true",), b"/", (), 0o077)
    assert [edge.parent_id for edge in found.view.edges] == [parent]
    assert [entry.kind for entry in found.entries] == ["submitted", "accepted"]
    assert found.holder is None
    assert "dependency" in [reason.code for reason in found.reasons]
    assert [edge.job_id for edge in query.describe(scene.context, "parent").dependents] == [job]
    scene.start(parent).close()
    holding = query.describe(scene.context, "parent")
    assert holding.holder is not None
    assert holding.holder.slots == 1


def test_why_follows_dependencies_to_what_really_is_in_the_way(scene: Scene) -> None:
    _limit(scene, 1)
    hog = scene.submit("hog")
    scene.start(hog).close()
    root = scene.submit("root")
    middle, leaf = scene.submit("middle", gated=True), scene.submit("leaf", gated=True)
    _depends(scene, middle, root)
    _depends(scene, leaf, middle)
    reasons = _why(scene, "leaf")
    assert [(reason.code, reason.job_id) for reason in reasons] == [
        ("dependency", middle),
        ("dependency", root),
        ("full", None),
        ("holder", hog),
    ]
    assert reasons[2].fix == "inturn limit 2"
    assert reasons[3].fix == f"inturn logs {hog}"


def test_why_tells_which_condition_is_open_and_what_it_last_saw(scene: Scene) -> None:
    job = scene.submit(gated=True)
    seen = make_condition(job_id=job)
    with scene.store.writing():
        insert_gates(scene.store, job, {}, [seen])
        gates.write_observation(
            scene.store, seen._replace(observed_at=clock.now().wall, diagnostic="Permission denied")
        )
    (reason,) = _why(scene, job)
    assert reason.code == "condition"
    assert "Permission denied" in reason.message


def test_why_names_the_file_that_declares_a_full_pool(scene: Scene) -> None:
    _limit(scene, 1, declared=True)
    with scene.store.writing():
        settings.note_applied(
            scene.store, settings.Applied("/etc/inturn.yml", "", (0, 0, 0), "", clock.now().wall)
        )
    scene.start(scene.submit()).close()
    full = _why(scene, scene.submit())[0]
    assert "/etc/inturn.yml declares that" in full.message
    assert full.fix == "inturn config apply"


def test_why_tells_the_place_in_line(scene: Scene) -> None:
    _limit(scene, 1)
    scene.start(scene.submit()).close()
    first, second = scene.submit("first"), scene.submit()
    last = _why(scene, second)[-1]
    assert last.code == "place"
    assert last.message == f'it is number 2 in line, after job {first} ("first")'


def test_why_tells_how_a_job_ended(scene: Scene) -> None:
    job = scene.submit()
    scene.succeed(job)
    assert [reason.code for reason in _why(scene, job)] == ["ended", "run"]


def test_why_of_a_wide_graph_stays_readable_and_ends(scene: Scene) -> None:
    with scene.store.writing():
        environment = specs.environment_id(scene.store, ())
        spec = Spec((b"true",), b"/", (), 0o077)
        now = clock.now()

        def add(gated: bool) -> int:
            submission = Submission(spec, queue="default")
            return insert_job(scene.store, submission, gated, None, environment, now).id

        layer = [add(False) for _ in range(30)]
        for _ in range(10):
            above = [add(True) for _ in range(30)]
            for job in above:
                insert_gates(scene.store, job, dict.fromkeys(layer, ("success",)), ())
            layer = above
    assert len(_why(scene, layer[0])) < 10_000


def _register(scene: Scene, who: str, lock: tuple[int, int], token: str = "t") -> int:
    with scene.store.writing():
        return owners.register(scene.store, "supervisor", token, who, lock, "0", clock.now())


def _life(scene: Scene, owner: int) -> str:
    with scene.store.reading():
        (keeper,) = reads.keepers(scene.store, {owner}).values()
    return life(str(scene.directory), keeper)


def test_a_held_lock_proves_an_owner_alive_and_a_free_one_dead(scene: Scene) -> None:
    fd = locks.create(str(scene.directory / OWNERS / "t.lock"))
    # Its process is of another boot, which the lock outranks.
    owner = _register(scene, "1:1:other-boot:1", locks.file_id(fd))
    assert _life(scene, owner) == "alive"
    os.close(fd)
    assert _life(scene, owner) == "dead"


def test_without_its_lock_an_owner_is_judged_by_its_identity(scene: Scene) -> None:
    me = identity.of(os.getpid())
    assert me is not None
    assert _life(scene, _register(scene, me.text(), (1, 1))) == "alive"
    assert _life(scene, _register(scene, "1:1:other-boot:1", (1, 1), "u")) == "dead"
    assert _life(scene, _register(scene, me._replace(ns=1).text(), (1, 1), "v")) == "unknown"
    assert _life(scene, _register(scene, "nonsense", (1, 1), "w")) == "unknown"


def test_an_owner_that_was_buried_is_dead(scene: Scene) -> None:
    me = identity.of(os.getpid())
    assert me is not None
    owner = _register(scene, me.text(), (1, 1))
    with scene.store.writing():
        owners.bury(scene.store, owner, clock.now())
    assert _life(scene, owner) == "dead"


def test_why_says_that_the_owner_is_dead(scene: Scene) -> None:
    job = scene.submit()  # its owner is a process of another boot
    _, found = query.why(scene.context, str(job))
    assert found[0].code == "owner_dead"
    agent = query.describe(scene.context, str(job)).agent
    assert agent is not None
    assert agent.life == "dead"


def test_the_ledger_is_told_from_an_event_on_and_of_one_job(scene: Scene) -> None:
    one, two = scene.submit(), scene.submit("two")
    scene.succeed(one)
    everything = query.events(scene.context, 0, None, lambda entry: entry)
    assert [entry.job_id for entry in everything] == [one, one, two, two, one, one, one]
    later = query.events(scene.context, everything[3].id, None, lambda entry: entry.kind)
    assert later == ["admitted", "started", "ended"]
    assert query.events(scene.context, 0, "two", lambda entry: entry.kind) == ["submitted", "accepted"]


def test_following_the_ledger_misses_nothing_and_repeats_nothing(scene: Scene) -> None:
    """Another connection commits while the follower sleeps, and between two of its looks."""
    first = scene.submit()
    other = Scene(scene.directory)
    steps: Iterator[Callable[[], object]] = iter(
        [
            lambda: other.succeed(first),
            lambda: None,
            lambda: (other.submit(), other.submit()),
        ]
    )

    def pause(us: int) -> None:
        assert 45_000 <= us <= 55_000
        step = next(steps, None)
        if step is None:
            raise _NothingMoreHappens
        step()

    seen: list[LedgerEntry] = []
    with pytest.raises(_NothingMoreHappens):
        seen.extend(query.follow(scene.context, 0, None, pause))
    assert seen == query.events(scene.context, 0, None, lambda entry: entry)
    other.close()


def test_following_one_job_tells_nothing_of_others(scene: Scene) -> None:
    job = scene.submit("mine")
    scene.submit("other")
    steps = iter([Event("cancelled", "completed", "requested", "cancelled")])
    other = Scene(scene.directory)

    def pause(_us: int) -> None:
        event = next(steps, None)
        if event is None:
            raise _NothingMoreHappens
        other.happen(job, event)

    seen: list[LedgerEntry] = []
    with pytest.raises(_NothingMoreHappens):
        seen.extend(query.follow(scene.context, 0, "mine", pause))
    assert [(entry.job_id, entry.kind) for entry in seen] == [
        (job, "submitted"),
        (job, "accepted"),
        (job, "cancelled"),
    ]
    other.close()
