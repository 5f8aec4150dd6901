"""A time without an offset is local time, also where local times are missing or come twice."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta

import pytest

from tests.e2e.harness import Cli

# The same rules by name and in full; the name needs the system's time zone database.
ZONES = ["Europe/Paris", "CET-1CEST,M3.5.0,M10.5.0/3"]

YEAR = datetime.now(UTC).year + 1  # so that what is tested never lies in the past


def last_sunday(month: int) -> date:
    """When the clocks change in Europe."""
    first_of_next = date(YEAR, month + 1, 1)
    return first_of_next - timedelta(days=first_of_next.weekday() + 1)


SPRING, AUTUMN = last_sunday(3), last_sunday(10)

# What was typed; the instant in UTC; and the same with its offset.
TIMES = {
    "a time that does not exist": (f"{SPRING} 02:30", f"{SPRING}T01:00:00Z", f"{SPRING} 03:00:00+02:00"),
    "just before it": (f"{SPRING} 01:59:59", f"{SPRING}T00:59:59Z", f"{SPRING} 01:59:59+01:00"),
    "just after it": (f"{SPRING}T03:00", f"{SPRING}T01:00:00Z", f"{SPRING} 03:00:00+02:00"),
    "a time that exists twice": (f"{AUTUMN} 02:30", f"{AUTUMN}T00:30:00Z", f"{AUTUMN} 02:30:00+02:00"),
    "just after it exists twice": (f"{AUTUMN} 03:00", f"{AUTUMN}T02:00:00Z", f"{AUTUMN} 03:00:00+01:00"),
    "a bare date in winter": (f"{YEAR}-12-24", f"{YEAR}-12-23T23:00:00Z", f"{YEAR}-12-24 00:00:00+01:00"),
    "a bare date in summer": (f"{YEAR}-07-01", f"{YEAR}-06-30T22:00:00Z", f"{YEAR}-07-01 00:00:00+02:00"),
}

# Instants that are the same everywhere.
INSTANTS = {
    f"{AUTUMN}T02:30:00+02:00": f"{AUTUMN}T00:30:00Z",
    f"{AUTUMN}T02:30:00+01:00": f"{AUTUMN}T01:30:00Z",
    f"{AUTUMN} 02:30-07:00": f"{AUTUMN}T09:30:00Z",
    f"{SPRING}T02:30:00Z": f"{SPRING}T02:30:00Z",
    "4102444800": "2100-01-01T00:00:00Z",
}

IMPOSSIBLE = [
    *(f"{YEAR}-02-30", f"{YEAR}-02-30 12:00", f"{YEAR}-13-01", f"{YEAR}-04-31", f"{YEAR}-06-01 25:00"),
    *(f"{YEAR}-06-01 12:60", f"{YEAR}-6-1", "tomorrow", "", "nan", "inf", "1e12", "99999999999999999999"),
]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> str:
    """A zone with summer time, as TZ."""
    name: str = request.param
    if "," not in name and not os.path.exists(f"/usr/share/zoneinfo/{name}"):
        pytest.skip("this system has no time zone database")
    return name


def test_a_local_time_is_stored_as_utc_and_echoed_with_its_offset(cli: Cli, verb: str, zone: str) -> None:
    for name, (typed, utc, local) in TIMES.items():
        told = cli.run(verb, "--at", typed, "--", "true", env={"TZ": zone})
        shown = cli.show(told.id)
        assert (shown["next_run_at"], shown["status"]) == (utc, "scheduled"), name
        assert f"--at: {local}" in told.err.decode(), name


def test_a_time_with_an_offset_is_the_same_everywhere(cli: Cli, verb: str) -> None:
    for typed, utc in INSTANTS.items():
        job = cli.run(verb, "--at", typed, "--", "true", env={"TZ": ZONES[1]}).id
        assert cli.show(job)["next_run_at"] == utc, typed


def test_a_past_time_means_now(cli: Cli, verb: str) -> None:
    for typed in ("2020-02-29", "2020-03-29 02:30", "2020-10-25T02:30:00+01:00", "0", "1.5"):
        before = datetime.now(UTC)
        job = cli.run(verb, "--wait", "--at", typed, "--", "true", env={"TZ": ZONES[1]}).id
        assert before - timedelta(seconds=1) <= datetime.fromisoformat(cli.show(job)["next_run_at"]), typed


def test_an_impossible_time_is_refused_and_nothing_is_stored(cli: Cli, verb: str) -> None:
    for option in ("--at", "--wait-until", "--wait-abort-at", "--retry-abort-at"):
        for typed in IMPOSSIBLE if option == "--at" else IMPOSSIBLE[:2]:
            told = cli.run(verb, option, typed, "--", "true", env={"TZ": ZONES[1]}).check(2)
            assert not told.out
            assert option in told.err.decode()
    assert cli.run("list", "--json").check().data == []


def test_every_time_is_echoed_where_it_was_written_as_local(cli: Cli, verb: str) -> None:
    typed, _, local = TIMES["a time that does not exist"]
    told = cli.run(
        *(verb, "--wait-until", typed, "--wait-abort-at", f"{YEAR}-12-24", "--", "true"), env={"TZ": ZONES[1]}
    ).check()
    assert f"--wait-until: {local}" in told.err.decode()
    assert f"--wait-abort-at: {YEAR}-12-24 00:00:00+01:00" in told.err.decode()


def test_a_time_and_a_delay_exclude_each_other(cli: Cli, verb: str) -> None:
    cli.run(verb, "--at", f"{YEAR}-06-01", "--after", "5m", "--", "true").check(2)
    assert cli.run("list", "--json").check().data == []
