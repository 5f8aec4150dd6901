from __future__ import annotations

import os
from pathlib import Path

import pytest

from inturn.core.admission import STORE
from inturn.core.job import Job
from inturn.core.polling import LOOKS_PER_SECOND
from inturn.core.spec import Spec, Submission
from inturn.core.transitions import Event
from inturn.errors import InturnError
from inturn.host import clock
from inturn.service import capacity, configure
from inturn.service.configure import Change, Retuned
from inturn.service.context import Context
from inturn.service.defaults import submission_rules
from inturn.service.intake import store_job
from inturn.store import admissions, owners, settings
from inturn.store.settings import Pool
from tests.service.scene import Scene

FOUR_AND_TWO = "schema_version: 1\nconcurrency:\n  max_active_slots: 4\n  pools:\n    analysis: 2\n"
UNLIMITED = "schema_version: 1\nconcurrency: {max_active_slots: unlimited}\n"


class Configured:
    """A store, a configuration file, and what a command with both does."""

    def __init__(self, scene: Scene, file: Path, origin: str = "default") -> None:
        self.scene = scene
        self.file = file
        self.context: Context = scene.context._replace(config_path=str(file), config_origin=origin)
        self._edits = 0

    def write(self, yaml: str) -> None:
        """Write the file anew, as an editor does; never with the time of modification that it had."""
        self.file.write_text(yaml, encoding="utf-8")
        self._edits += 1
        os.utime(self.file, ns=(self._edits, self._edits))

    def analysis(self, slots: int | str) -> None:
        """Declare the pool alone, of this size."""
        self.write(f"schema_version: 1\nconcurrency: {{pools: {{analysis: {slots}}}}}\n")

    def before_submission(self) -> dict[str, object]:
        """Do what a submission does first; returns the defaults for it."""
        return configure.defaults(self.context, submission_rules(self.context))

    def apply(self) -> list[Change | Retuned]:
        """Do what `config apply` does."""
        return configure.apply(self.context, submission_rules(self.context))

    def capacities(self) -> dict[str, int | None]:
        """The capacities in the store."""
        return {pool.name: pool.slots for pool in settings.pools(self.scene.store)}

    def submit(self, pool: str = "analysis", slots: int = 1) -> Job:
        """A supervised job in line for the pool."""
        token = f"owner-{self.scene.store.row('SELECT count(*) FROM owners')[0]}"
        spec = Spec((b"true",), b"/", (), 0o077)
        with self.scene.store.writing():
            now = clock.now()
            owner = owners.register(self.scene.store, "supervisor", token, "1:1:boot:1", (1, 1), "0", now)
            job_id = store_job(self.context, Submission(spec, pool=pool, slots=slots), owner, now)
        return self.scene.happen(job_id, Event("accepted", "queued"))

    def would_be_admitted(self, job: Job) -> bool:
        """Whether the job gets its slots if it asks for them now."""
        with self.scene.store.writing():
            return admissions.settle(self.scene.store, self.scene.job(job.id), clock.now()).admitted


@pytest.fixture
def configured(scene: Scene, tmp_path: Path) -> Configured:
    return Configured(scene, tmp_path / "inturn.yml")


# --- when a file is applied


def test_the_first_file_is_applied_by_the_first_submission(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO)
    configured.before_submission()
    assert configured.capacities() == {STORE: 4, "analysis": 2}
    assert not configured.scene.notices


def test_a_changed_file_is_applied_by_the_next_submission(configured: Configured) -> None:
    configured.analysis(2)
    configured.before_submission()
    configured.analysis(3)
    configured.before_submission()
    assert configured.capacities() == {"analysis": 3}


def test_a_change_that_keeps_time_and_size_but_replaces_the_file_is_seen(configured: Configured) -> None:
    configured.analysis(2)
    configured.before_submission()
    seen = configured.file.stat()
    fresh = configured.file.with_suffix(".new")
    fresh.write_text(configured.file.read_text().replace("2", "3"))
    os.utime(fresh, ns=(seen.st_mtime_ns, seen.st_mtime_ns))
    fresh.rename(configured.file)
    configured.before_submission()
    assert configured.capacities() == {"analysis": 3}


def test_an_unchanged_file_is_not_even_read(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO + "defaults: {retries: 2, retry_delay: 1s}\n")
    expected = configured.before_submission()
    seen = configured.file.stat()
    with configured.file.open("r+") as file:  # in place: inode and size stay, and then the time as well
        file.write(FOUR_AND_TWO.replace("2", "3"))
    os.utime(configured.file, ns=(seen.st_mtime_ns, seen.st_mtime_ns))
    assert configured.before_submission() == expected == {"retries": 2, "retry_delay": "1s"}
    assert configured.capacities() == {STORE: 4, "analysis": 2}


def test_another_file_gives_its_defaults_but_its_limits_pools_and_polling_need_to_be_applied(
    configured: Configured, tmp_path: Path
) -> None:
    configured.analysis(2)
    configured.before_submission()
    other = Configured(configured.scene, tmp_path / "other.yml", "--config")
    other.write("schema_version: 1\nconcurrency: {pools: {gpu: 1}}\ndefaults: {priority: 3}\n")
    assert other.before_submission() == {"priority": 3}
    assert other.capacities() == {"analysis": 2}
    (notice,) = other.scene.notices
    assert str(configured.file) in notice
    assert f"to use those of {other.file}: inturn config apply" in notice

    other.apply()
    assert other.capacities() == {"gpu": 1}
    other.scene.notices.clear()
    other.before_submission()
    assert not other.scene.notices


def test_no_file_changes_nothing(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO + "defaults: {retries: 2}\n")
    configured.before_submission()
    configured.file.unlink()
    assert configured.before_submission() == {}
    assert configured.capacities() == {STORE: 4, "analysis": 2}
    assert not configured.scene.notices


@pytest.mark.parametrize("origin", ["--config", "INTURN_CONFIG"])
def test_a_file_that_was_named_has_to_be_there(scene: Scene, tmp_path: Path, origin: str) -> None:
    named = Configured(scene, tmp_path / "none.yml", origin)
    with pytest.raises(InturnError, match=f"none.yml: there is no such file .named by {origin}.") as caught:
        named.before_submission()
    assert caught.value.code == "config_invalid"


def test_applying_a_file_that_is_not_there_is_refused(configured: Configured) -> None:
    with pytest.raises(InturnError, match="there is no such file") as caught:
        configured.apply()
    assert caught.value.code == "config_invalid"


# --- what applying changes


def test_applying_tells_what_has_changed_and_nothing_else(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO)
    assert configured.apply() == [
        Change("analysis", None, Pool("analysis", 2, True)),
        Change(STORE, None, Pool(STORE, 4, True)),
    ]
    assert configured.apply() == []
    configured.analysis(3)
    assert configured.apply() == [
        Change(STORE, Pool(STORE, 4, True), None),
        Change("analysis", Pool("analysis", 2, True), Pool("analysis", 3, True)),
    ]


def test_how_often_all_look_is_applied_told_once_and_taken_back(configured: Configured) -> None:
    configured.write("schema_version: 1\npolling: {looks_per_second: 40}\n")
    assert configured.apply() == [Retuned(LOOKS_PER_SECOND, 40)]
    assert owners.crowd(configured.scene.store)[1] == 40
    assert configured.apply() == []
    configured.write("schema_version: 1\n")
    configured.before_submission()
    assert owners.crowd(configured.scene.store)[1] is None
    assert configured.apply() == []


def test_what_a_command_has_set_stays_unless_the_file_declares_it(configured: Configured) -> None:
    settings.set_pool(configured.scene.store, Pool("disk", 7, False))
    settings.set_pool(configured.scene.store, Pool("analysis", 9, False))
    configured.analysis(2)
    assert configured.apply() == [Change("analysis", Pool("analysis", 9, False), Pool("analysis", 2, True))]
    assert configured.capacities() == {"analysis": 2, "disk": 7}


def test_unlimited_is_a_capacity_without_a_number(configured: Configured) -> None:
    configured.analysis("unlimited")
    configured.apply()
    assert configured.capacities() == {"analysis": None}
    assert configured.would_be_admitted(configured.submit(slots=2**31 - 1))


def test_a_file_that_says_unlimited_lifts_a_limit_that_a_command_has_set(configured: Configured) -> None:
    capacity.set_limit(configured.context, 1)
    configured.write(UNLIMITED)
    assert configured.apply() == [Change(STORE, Pool(STORE, 1, False), Pool(STORE, None, True))]
    assert configured.apply() == []
    assert configured.would_be_admitted(configured.submit(pool="", slots=5))


def test_a_limit_that_is_declared_to_be_unlimited_is_not_changed_live(configured: Configured) -> None:
    configured.write(UNLIMITED)
    configured.before_submission()
    for slots in (1, None):
        with pytest.raises(InturnError, match="the store-wide limit is declared in") as caught:
            capacity.set_limit(configured.context, slots)
        assert caught.value.code == "conflict"
    assert configured.capacities() == {STORE: None}


def test_a_limit_that_is_no_longer_declared_may_be_changed_live_again(configured: Configured) -> None:
    configured.write(UNLIMITED)
    configured.apply()
    configured.write("schema_version: 1\n")
    assert configured.apply() == [Change(STORE, Pool(STORE, None, True), None)]
    capacity.set_limit(configured.context, 1)
    configured.before_submission()
    assert configured.capacities() == {STORE: 1}


# --- a pool that is no longer declared


def test_a_pool_that_nobody_names_is_removed(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO)
    configured.apply()
    configured.scene.succeed(configured.submit().id)
    configured.write("schema_version: 1\nconcurrency: {max_active_slots: 4}\n")
    configured.before_submission()
    assert configured.capacities() == {STORE: 4}


def test_removing_a_pool_that_live_jobs_name_is_a_conflict_when_applied(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO)
    configured.apply()
    job = configured.submit()
    configured.write("schema_version: 1\nconcurrency: {max_active_slots: 9}\n")
    with pytest.raises(InturnError, match="no longer declares pool 'analysis', but 1 live") as caught:
        configured.apply()
    assert caught.value.code == "conflict"
    assert configured.capacities() == {STORE: 4, "analysis": 2}

    configured.scene.succeed(job.id)
    configured.apply()
    assert configured.capacities() == {STORE: 9}


def test_a_submission_keeps_a_pool_that_live_jobs_name_and_says_so(configured: Configured) -> None:
    configured.write(FOUR_AND_TWO)
    configured.before_submission()
    job = configured.submit()
    configured.write("schema_version: 1\nconcurrency: {max_active_slots: 9}\n")
    configured.before_submission()
    assert configured.capacities() == {STORE: 9, "analysis": 2}
    (notice,) = configured.scene.notices
    assert "pool 'analysis'" in notice
    assert "kept as it was" in notice

    configured.scene.succeed(job.id)
    assert configured.apply() == [Change("analysis", Pool("analysis", 2, True), None)]


# --- what a change does to those who wait and to those who run


def test_raising_a_limit_wakes_those_in_line_who_fit_now(configured: Configured) -> None:
    configured.analysis(1)
    configured.apply()
    running, second, third = configured.submit(), configured.submit(), configured.submit()
    configured.scene.admit(running.id)
    assert not configured.would_be_admitted(second)
    configured.scene.rung.clear()

    configured.analysis(2)
    configured.apply()
    assert configured.scene.rung == ["owner-1"]
    assert configured.would_be_admitted(second)
    assert not configured.would_be_admitted(third)


def test_a_submission_that_brings_a_higher_limit_wakes_them_too(configured: Configured) -> None:
    configured.analysis(1)
    configured.before_submission()
    running, _ = configured.submit(), configured.submit()
    configured.scene.admit(running.id)
    configured.scene.rung.clear()
    configured.analysis(2)
    configured.before_submission()
    assert configured.scene.rung == ["owner-1"]


def test_lowering_a_limit_below_what_is_in_use_stops_nothing_and_admits_nothing(
    configured: Configured,
) -> None:
    configured.analysis(2)
    configured.apply()
    first, second, third = configured.submit(), configured.submit(), configured.submit()
    configured.scene.start(first.id).close()
    configured.scene.start(second.id).close()
    configured.analysis(1)
    configured.apply()
    assert [configured.scene.job(job.id).phase for job in (first, second)] == ["running", "running"]
    assert not configured.would_be_admitted(third)
    configured.scene.end(first.id)
    assert not configured.would_be_admitted(third)
    configured.scene.end(second.id)
    assert configured.would_be_admitted(third)


def test_a_request_that_has_become_too_large_holds_nobody_back(configured: Configured) -> None:
    configured.analysis(3)
    configured.apply()
    large, small = configured.submit(slots=3), configured.submit()
    configured.analysis(2)
    configured.apply()
    assert not configured.would_be_admitted(large)
    assert configured.would_be_admitted(small)
    configured.analysis(3)
    configured.apply()
    assert configured.would_be_admitted(large)


# --- what is refused


@pytest.mark.parametrize("value", ["0", "-1", "1e12", "''", "2.5", "'2'", "99999999999", "[1]", "~", "yes"])
@pytest.mark.parametrize(
    ("yaml", "line", "path"),
    [
        ("schema_version: 1\nconcurrency:\n  max_active_slots: {}\n", 3, "concurrency.max_active_slots"),
        (
            "schema_version: 1\nconcurrency:\n  pools:\n    analysis: {}\n",
            4,
            "concurrency.pools.analysis",
        ),
    ],
)
def test_a_nonsense_capacity_is_refused_with_file_line_and_path(
    configured: Configured, value: str, yaml: str, line: int, path: str
) -> None:
    configured.analysis(2)
    configured.apply()
    configured.write(yaml.format(value))
    for act in (configured.before_submission, configured.apply):
        with pytest.raises(InturnError) as caught:
            act()
        assert caught.value.code == "config_invalid"
        assert caught.value.message.startswith(f"{configured.file}:{line}: {path}: ")
    assert configured.capacities() == {"analysis": 2}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("retry_dealy: 1s", "defaults.retry_dealy: unknown key"),
        ("c: echo", "defaults.c: unknown key"),
        ("retry_delay: soon", 'defaults.retry_delay: "soon" is not a duration'),
        ("retries: -1", "defaults.retries: "),
        ("retries: yes please", "defaults.retries: "),
        ("merge_output: 1", "defaults.merge_output: it must be true or false"),
        ("priority: [1, 2]", "defaults.priority: it must be a text or a number, not a list"),
        ("retryable_exit_code: [1, 256]", "defaults.retryable_exit_code: "),
    ],
)
def test_a_default_that_no_submission_would_take_is_refused(
    configured: Configured, entry: str, said: str
) -> None:
    configured.write(f"schema_version: 1\ndefaults:\n  {entry}\n")
    with pytest.raises(InturnError) as caught:
        configured.before_submission()
    assert caught.value.code == "config_invalid"
    assert caught.value.message.startswith(f"{configured.file}:3: {said}")


def test_defaults_that_exclude_each_other_are_refused_before_they_spoil_every_submission(
    configured: Configured,
) -> None:
    configured.write("schema_version: 1\ndefaults: {retries: 2, max_runs: 5}\n")
    with pytest.raises(InturnError, match=r"defaults\.retries: it excludes defaults\.max_runs") as caught:
        configured.before_submission()
    assert caught.value.code == "config_invalid"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("retry_delay: 1.5s", {"retry_delay": "1.5s"}),
        ("retryable-exit-code: [1, 64-78]", {"retryable_exit_code": ["1", "64-78"]}),
        ("merge_output: true", {"merge_output": True}),
        ("queue: gpu", {"queue": "gpu"}),
        ("tag: project=x", {"tag": "project=x"}),
        ("env_file: common.env", {"env_file": "common.env"}),
        ("run_timeout: 90", {"run_timeout": 90}),
    ],
)
def test_a_default_is_handed_on_as_it_was_written(
    configured: Configured, entry: str, expected: dict[str, object]
) -> None:
    configured.write(f"schema_version: 1\ndefaults: {{{entry}}}\n")
    assert configured.before_submission() == expected
    assert configured.before_submission() == expected, "from the store, too"
