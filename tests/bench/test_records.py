"""What is printed is computed right: medians, percentiles, ratios, tables, the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import page, table
from bench.place import arena
from bench.records import Case, Measurement, Record, percentile, ratio
from bench.rounds import measure


def record(unit: str = "ms", **fields: object) -> Record:
    wanted = {"tool": "inturn", "what": "it", "metric": "time", "rounds": [[2.0, 4.0], [9.0]], "ratios": {}}
    return Record(scenario="submit", unit=unit, **{**wanted, **fields})  # type: ignore[arg-type]


def test_the_ninety_fifth_percentile_is_on_the_bad_side_of_times_and_of_rates() -> None:
    values = [float(value) for value in range(1, 101)]
    assert percentile(values, 0.95) == 95
    assert record(rounds=[values]).p95 == 95
    assert record("jobs/s", rounds=[values]).p95 == 6
    assert percentile([7.0], 0.95) == 7


def test_the_median_is_that_of_the_samples_of_all_rounds() -> None:
    assert record().median == 4
    assert record().plain()["samples"] == 3


def test_a_ratio_compares_what_was_measured_in_the_same_round() -> None:
    # The machine was ten times slower in the second round, for both.
    assert ratio([[2.0], [20.0], [2.0]], [[1.0], [10.0], [1.0]]) == 2
    assert ratio([[2.0]], [[0.0]]) is None
    assert ratio([[]], [[]]) is None


def test_every_round_measures_every_case_once_and_in_another_order(tmp_path: Path) -> None:
    order: list[str] = []

    def noting(what: str, value: float) -> Case:
        def measured(_: object) -> list[Measurement]:
            order.append(what)
            return [Measurement("time", "ms", value)]

        return Case("inturn", what, measured, ("a",) if what == "b" else ())

    with arena(str(tmp_path)) as made:
        cases = [noting("a", 2), noting("b", 3), noting("c", 4)]
        records = measure("submit", cases, made, 3, lambda _: None)
    orders = {"".join(order[start : start + 3]) for start in (0, 3, 6)}
    assert len(orders) == 3
    assert {"".join(sorted(one)) for one in orders} == {"abc"}
    assert [(one.what, one.rounds) for one in records] == [
        (what, [[value]] * 3) for what, value in (("a", 2), ("b", 3), ("c", 4))
    ]
    assert [one.ratios for one in records] == [{}, {"a": 1.5}, {}]


def test_a_table_says_multiples_of_times_and_shares_of_rates() -> None:
    times = record(ratios={"a floor": 2.5})
    rates = record("jobs/s", metric="rate", ratios={"a loop": 0.68})
    text = table.markdown({"kernel": "Linux"}, {"submit": "Submitting"}, [times, rates])
    assert "| kernel | Linux |" in text
    assert "### Submitting (`submit`)" in text
    assert "| it | time | 4.00 ms | 9.00 | 3 | 2.50 × a floor |" in text
    assert "| it | rate | 4.00 jobs/s | 2.00 | 3 | 68 % of a loop |" in text


def test_a_page_is_filled_between_its_markers_and_nowhere_else() -> None:
    once = page.filled(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", "new")
    assert once == f"before\n{page.BEGIN}\n\nnew\n{page.END}\nafter\n"
    assert page.filled(once, "newer") == once.replace("new", "newer")
    with pytest.raises(ValueError, match="no place"):
        page.filled("a page without markers", "new")
