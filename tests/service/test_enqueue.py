"""Large submissions are laid out before the write lock is taken; they are stored as small ones are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inturn.core.array import expand
from inturn.core.job import OUTCOMES
from inturn.core.moment import HOUR, MINUTE
from inturn.core.retry import Policy
from inturn.core.spec import Spec, Submission, WantedCondition, WantedEdge
from inturn.errors import InturnError
from inturn.service import capacity, enqueue, intake
from inturn.store import bulk, newcomers
from inturn.store.db import Store
from tests.builders import START, counted, make_spec, tallies
from tests.service.scene import Scene

# Of the jobs in the scene: one has ended well, one badly, one is in line and has a key.
GOOD, BAD, KEYED = "1", "2", "3"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(Path(tmp_path_factory.mktemp("large")) / "store")
    capacity.set_pool(made.context, "p", 2)
    made.succeed(made.submit("good"))
    made.start(made.submit("bad")).close()
    made.end(2, "failure")
    enqueue.add(made.context, [Submission(make_spec(argv=(b"a",)), key="taken", queue="q")])
    yield made
    made.close()


few = st.sampled_from
SPECS = st.builds(
    make_spec,
    policy=few([Policy(), Policy(success_codes=((0, 0), (3, 5)), run_limit=4, delay=MINUTE)]),
    argv=few([(b"a",), (b"a",), (b"b", b"{}", b"\xff")]),
    cwd=few([b"/", b"/\xff"]),
    environment=few([(), (b"A=1",)]),
    umask=few([0o22, 0o77]),
    env_changes=few([(), (b"A", b"B=2")]),
    stdin_file=few([None, b"in"]),
    merge_output=st.booleans(),
    job_timeout=few([None, None, HOUR]),
    wait_abort_at=few([None, None, START.wall + MINUTE]),
    note=few([None, "why"]),
)
SELECTORS = few([GOOD, GOOD, BAD, KEYED, "good", "@a", "@b", "@c"])
EDGES = st.builds(WantedEdge, SELECTORS, few([("success",), ("failure",), OUTCOMES]))
CONDITIONS = few(
    [
        WantedCondition("file", b"/there"),
        WantedCondition("delay", time=MINUTE),
        WantedCondition("until", time=START.wall + 1),
    ]
)
TAGS = few([(), (), (("k", "v"), ("t", None))])


def several(one: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Mostly none."""
    return st.just(()) | st.lists(one, max_size=2).map(tuple)


SUBMISSIONS = st.builds(
    Submission,
    spec=SPECS,
    name=few([None, None, "x"]),
    queue=few(["q", "q", "r"]),
    pool=few(["", "", "p"]),
    slots=few([1, 1, 1, 2, 2]),
    priority=few([0, 5]),
    delay=few([0, 0, MINUTE]),
    at=few([None, None, START.wall + HOUR]),
    tags=TAGS,
    edges=several(EDGES),
    conditions=several(CONDITIONS),
)
VARIED = (
    "queue",
    "pool",
    "slots",
    "priority",
    "delay",
    "at",
    "edges",
    "edges",
    "conditions",
    "conditions",
    *["spec"] * 5,
)
KEYS = few([None, None, None, "taken", "k", "l"])
ARRAYS = few(["", "", "", "", "3,1%1", "1-3"])


@st.composite
def relatives(draw: st.DrawFn) -> list[Submission]:
    """Submissions of which some are alike in all but one thing."""
    bases = draw(st.lists(SUBMISSIONS, min_size=1, max_size=2))
    found: list[Submission] = []
    for other in draw(st.lists(SUBMISSIONS, min_size=1, max_size=9)):
        one, field = draw(few(bases)), draw(few(VARIED))
        change = getattr(other, field)
        if field == "spec":
            field_of_it = draw(few(Spec._fields))
            change = one.spec._replace(**{field_of_it: getattr(other.spec, field_of_it)})
        found.append(one._replace(**{field: change}))
    return found


@st.composite
def batches(draw: st.DrawFn) -> list[Submission]:
    """A file: the first lines have the refs a, b and c, and some are arrays."""
    batch: list[Submission] = []
    among_themselves = draw(st.booleans())
    for number, one in enumerate(draw(relatives())):
        ref = "abc"[number] if number < 3 else None
        line = one._replace(ref=ref, origin=f"file:{number + 1}", index_by_index=draw(st.booleans()))
        if among_themselves:
            line = line._replace(edges=tuple(edge for edge in line.edges if edge.selector.startswith("@")))
        array = draw(ARRAYS)
        batch += expand(line, array) if array else [line._replace(key=draw(KEYS), index_by_index=False)]
    return batch


class _Undo(Exception):
    pass


def stored(scene: Scene, batch: list[Submission], lay_out: bool) -> Any:
    """All that is in the store after a submission, and its answer, or why it was refused; it is undone."""
    try:
        drafts = intake.draft_all(batch, owned=False, now=START)
        nobody = [None] * len(drafts)
        if not lay_out:
            by_themselves = [
                newcomers.draft(one, bool(one.edges or one.conditions), False, START) for one in batch
            ]
            with scene.store.writing():
                answer = intake.store_all(scene.context, by_themselves, nobody, START)
                told = answer.ids, set(answer.twins), contents(scene.store)
                raise _Undo
        ahead = intake.look_ahead(drafts, START)
        with bulk.laid_out(scene.store, drafts, ahead.gates), scene.store.writing():
            answer = intake.store_all(scene.context, drafts, nobody, START, ahead)
            told = answer.ids, set(answer.twins), contents(scene.store)
            assert tallies(scene.store) == counted(scene.store)
            raise _Undo
    except InturnError as error:
        return error.code, error.message, error.hint
    except _Undo:
        return told


def contents(store: Store) -> dict[str, list[Any]]:
    """All rows of all tables."""
    tables = store.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY 1").fetchall()
    return {str(name): sorted(store.execute(f"SELECT * FROM main.{name}"), key=repr) for (name,) in tables}


@settings(max_examples=200, deadline=None)
@given(batch=batches())
def test_what_is_stored_of_a_batch_does_not_depend_on_how(scene: Scene, batch: list[Submission]) -> None:
    told = stored(scene, batch, lay_out=True)
    assert told == stored(scene, batch, lay_out=False)
    assert told[0] != "failed"


def test_a_large_batch_goes_that_way_and_leaves_nothing_behind(scene: Scene) -> None:
    before = contents(scene.store)
    like = Submission(make_spec(), queue="large", edges=(WantedEdge(BAD, ("success",)),))
    keyed = Submission(make_spec(argv=(b"a",)), queue="large", key="taken")
    ids = enqueue.add(scene.context, [like, keyed, *[like._replace(edges=())] * enqueue.MANY])
    assert ids == [4, int(KEYED), *range(5, 5 + enqueue.MANY)]
    assert scene.job(4).outcome == "aborted"
    assert tallies(scene.store) == counted(scene.store)
    assert scene.store.execute("SELECT name FROM sqlite_temp_schema").fetchall() == []
    with pytest.raises(InturnError, match="file:7: there is no pool 'none'"):
        enqueue.add(scene.context, [like] * enqueue.MANY + [like._replace(pool="none", origin="file:7")])
    assert len(contents(scene.store)["jobs"]) == len(before["jobs"]) + 1 + enqueue.MANY
    assert scene.store.execute("SELECT name FROM sqlite_temp_schema").fetchall() == []
