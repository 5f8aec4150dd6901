"""What a soak says of its samples: what has grown is told from what is steady, and shown as a table."""

from __future__ import annotations

import pytest

from bench.soak import report
from bench.soak.gauge import Sample
from bench.soak.verdict import MEASURES, Finding, judge, slope_per_hour

STEADY = Sample(
    at=0,
    pss=10,
    rss=17,
    cpu=12,
    descriptors=9,
    database=40,
    unused=2,
    wal=4,
    log_files=15_000,
    log_directories=20,
    logs=60,
    owner_files=2,
    jobs=16_000,
    waiting=5,
    free=100,
    rate=50,
    latency=7,
)

WARM_UP = 100.0


def course(**grown: float) -> list[Sample]:
    """Samples each 10 s, 9 of them of the warm-up; a field gets so much more from one to the next."""
    return [
        STEADY._replace(
            at=10.0 * number,
            **{field: getattr(STEADY, field) + more * number for field, more in grown.items()},
        )
        for number in range(1, 50)
    ]


def failed(samples: list[Sample]) -> list[str]:
    return [finding.what for finding in judge(samples, WARM_UP, 50) if not finding.fine]


def test_what_is_steady_passes() -> None:
    findings = judge(course(), WARM_UP, 50)
    assert [finding.what for finding in findings] == [*(measure.what for measure in MEASURES), "jobs done"]
    assert all(finding.fine for finding in findings)
    assert report.passed(findings, [])
    assert not report.passed(findings, ["a job was lost"])
    assert not report.passed([], [])


@pytest.mark.parametrize(
    ("field", "more", "what"),
    [
        ("pss", 0.1, "memory of the worker (PSS)"),
        ("rss", 0.1, "memory of the worker (RSS)"),
        ("descriptors", 1, "open files of the worker"),
        ("database", 1, "`inturn.db`"),
        ("log_files", 500, "files in `logs/`"),
        ("log_directories", 1, "directories in `logs/`"),
        ("logs", 1, "`logs/` on the disk"),
        ("owner_files", 1, "files in `owners/`"),
        ("jobs", 500, "jobs in the store"),
    ],
)
def test_what_grows_is_found(field: str, more: float, what: str) -> None:
    assert failed(course(**{field: more})) == [what]


def test_memory_may_differ_by_a_tenth_and_a_mebibyte() -> None:
    assert failed(course(pss=0.04)) == []


def test_what_is_not_judged_may_be_as_it_is() -> None:
    assert failed(course(cpu=10, unused=10, waiting=100, free=-1, latency=100)) == []


def test_what_comes_before_the_warm_up_is_over_counts_for_the_wal_alone() -> None:
    samples = course()
    samples[0] = samples[0]._replace(pss=1, jobs=0, rate=0)
    assert failed(samples) == []
    samples[0] = samples[0]._replace(wal=65)
    assert failed(samples) == ["`inturn.db-wal`"]


def test_one_long_moment_of_the_wal_is_too_much() -> None:
    samples = course()
    samples[30] = samples[30]._replace(wal=64.1)
    assert failed(samples) == ["`inturn.db-wal`"]


def test_a_twentieth_of_the_rate_may_be_missing_in_the_mean() -> None:
    assert failed([sample._replace(rate=48) for sample in course()]) == []
    assert failed([sample._replace(rate=47) for sample in course()]) == ["jobs done"]
    uneven = [sample._replace(rate=number % 2 * 100) for number, sample in enumerate(course())]
    assert failed(uneven) == []


def test_a_few_samples_are_no_reason_for_a_verdict() -> None:
    with pytest.raises(ValueError, match="7 samples after the warm-up are too few"):
        judge(course()[:16], WARM_UP, 50)
    assert judge(course()[:17], WARM_UP, 50)


def test_the_slope_is_that_of_the_hour() -> None:
    assert slope_per_hour(course(jobs=2), "jobs") == pytest.approx(720)
    assert slope_per_hour(course(), "jobs") == 0
    assert slope_per_hour([STEADY], "jobs") == 0


def test_the_table_has_a_row_for_each_thing_and_says_what_is_wrong() -> None:
    findings = judge(course(jobs=500), WARM_UP, 50)
    text = report.markdown({"kernel": "Linux"}, findings, ["3 jobs were lost"])
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "| kernel | Linux |" in rows
    assert "| `inturn.db-wal`, MiB | 4.00 | 4.00 | 4.00 | 4.00 | 0.00 | always ≤ 64 MiB | ok |" in rows, text
    (jobs,) = [line for line in rows if line.startswith("| jobs in the store |")]
    assert jobs.endswith("| +180,000 | last ≤ 1.15 × second | **no** |")
    assert "* 3 jobs were lost\n\n**Failed.**\n" in text
    assert report.markdown({}, judge(course(), WARM_UP, 50), []).endswith("\n\n**Passed.**\n")


def test_a_line_of_a_sample_stands_below_its_titles() -> None:
    wide = report.line(STEADY._replace(at=3600))
    assert len(wide) == len(report.title())
    assert wide.split()[0] == "60.0"


def test_a_finding_that_nothing_is_asked_of_is_fine() -> None:
    assert all(finding.fine for finding in judge(course(), WARM_UP, 50) if not finding.bound)
    assert Finding("it", "", judge(course(), WARM_UP, 50)[0].quarters, 0).fine
