from __future__ import annotations

from pathlib import Path

import pytest

from inturn.core.spec import Submission, WantedCondition, WantedEdge
from inturn.errors import InturnError
from inturn.host import clock
from inturn.service.context import Context
from inturn.service.preview import Preview, defaults, preview
from inturn.store import settings
from inturn.store.settings import Pool
from tests.builders import make_spec, make_submission
from tests.service.scene import Scene


@pytest.fixture
def context(scene: Scene, tmp_path: Path) -> Context:
    return scene.context._replace(config_path=str(tmp_path / "inturn.yml"), config_origin="default")


def one(context: Context, submission: Submission) -> Preview:
    (only,) = preview(context, [submission])
    return only


def codes(found: Preview) -> list[str]:
    assert found.dossier is not None
    return [reason.code for reason in found.dossier.reasons]


def rows(scene: Scene) -> list[int]:
    tables = ("jobs", "specs", "environments", "keys", "tags", "edges", "conditions", "events", "pools")
    return [scene.store.row(f"SELECT count(*) FROM {table}")[0] for table in tables]


def test_a_job_that_waits_for_nothing_would_start(context: Context) -> None:
    assert one(context, make_submission()).starts


def test_nothing_of_it_stays(scene: Scene, context: Context) -> None:
    before = rows(scene)
    spec = make_spec(environment=(b"SOMETHING=new",))
    condition = WantedCondition("delay", time=1)
    one(context, make_submission(spec, key="k", tags=(("t", None),), conditions=(condition,)))
    assert rows(scene) == before
    assert not scene.rung
    assert scene.submit() == 1


def test_a_file_is_looked_at_and_a_probe_is_not_run(context: Context, tmp_path: Path) -> None:
    spec = make_spec(cwd=bytes(tmp_path))
    file = make_submission(spec, conditions=(WantedCondition("file", b"there"),))
    assert not one(context, file).starts
    (tmp_path / "there").touch()
    assert one(context, file).starts
    probe = make_submission(spec, conditions=(WantedCondition("probe", b"touch\0ran"),))
    found = one(context, probe)
    assert not found.starts
    assert found.dossier is not None
    assert found.dossier.view.conditions[0].diagnostic == "not run in a dry run"
    assert not (tmp_path / "ran").exists()


def test_a_time_that_has_come_is_no_obstacle_and_a_delay_is(context: Context) -> None:
    past = WantedCondition("until", time=clock.now().wall - 1)
    assert one(context, make_submission(conditions=(past,))).starts
    assert not one(context, make_submission(conditions=(WantedCondition("delay", time=10**12),))).starts
    assert codes(one(context, make_submission(delay=10**12))) != []


def test_a_dependency_is_judged_as_it_stands(scene: Scene, context: Context) -> None:
    parent = scene.submit("parent")
    after = make_submission(edges=(WantedEdge("parent", ("success",)),))
    assert codes(one(context, after)) == ["dependency"]
    scene.succeed(parent)
    assert one(context, after).starts
    never = one(context, make_submission(edges=(WantedEdge("parent", ("failure",)),)))
    assert never.dossier is not None
    assert never.dossier.view.job.reason == "dependency_unsatisfied"


def test_a_full_pool_is_named(scene: Scene, context: Context) -> None:
    with scene.store.writing():
        settings.set_pool(scene.store, Pool("", 1, False))
    scene.start(scene.submit()).close()
    found = one(context, make_submission())
    assert not found.starts
    assert codes(found) != []


def test_the_jobs_of_one_submission_know_each_other(context: Context) -> None:
    first = make_submission(ref="a")
    second = make_submission(edges=(WantedEdge("@a", ("success",)),))
    assert [each.starts for each in preview(context, [second, first])] == [False, True]


def test_what_would_be_refused_is_refused(context: Context) -> None:
    for submission, code in (
        (make_submission(pool="none"), "unknown_pool"),
        (make_submission(edges=(WantedEdge("nobody", ("success",)),)), "not_found"),
    ):
        with pytest.raises(InturnError) as caught:
            preview(context, [submission])
        assert caught.value.code == code


def test_a_changed_configuration_counts_and_is_not_applied(scene: Scene, context: Context) -> None:
    Path(context.config_path).write_text(
        "schema_version: 1\nconcurrency: {max_active_slots: 2}\ndefaults: {nice: 3}\n"
    )
    assert defaults(context) == {"nice": 3}
    with pytest.raises(InturnError, match="3 slots can never be given"):
        preview(context, [make_submission(slots=3)])
    assert settings.pools(scene.store) == []
    assert settings.applied(scene.store) is None


def test_without_a_store_none_is_made(context: Context, tmp_path: Path) -> None:
    nowhere = context._replace(directory=str(tmp_path / "none"), store=None)
    assert one(nowhere, make_submission()).starts
    assert not (tmp_path / "none").exists()
