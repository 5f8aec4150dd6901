from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.duration import (
    DAY,
    MAX_DURATION,
    MAX_LIMIT,
    WEEK,
    clamp_to_now,
    format_duration,
    format_time_local,
    format_time_utc,
    parse_codes,
    parse_duration,
    parse_integer,
    parse_limit,
    parse_signal,
    parse_time,
    quoted,
)
from inturn.core.moment import HOUR, MILLISECOND, MINUTE, SECOND
from inturn.errors import InturnError

NOW = 1_800_000_000 * SECOND  # 2027-01-15T08:00:00Z

# Rules instead of names, so that the tests do not depend on the machine's time zone files.
PARIS = "CET-1CEST,M3.5.0,M10.5.0/3"
LORD_HOWE = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"
NEW_YORK = "EST5EDT,M3.2.0,M11.1.0"
GAP_AT_MIDNIGHT = "<-04>4<-03>,M9.1.6/24,M4.1.6/24"  # Santiago
DAY_SKIPPED = "<-10>10<+14>-14,M12.5.4/24,M3.1.0"  # as Samoa did once, every year
ZONES = (PARIS, LORD_HOWE, NEW_YORK, GAP_AT_MIDNIGHT, DAY_SKIPPED, "UTC0", "<+2459>-24:59", "<-12>12")

NOT_DURATIONS = [
    *"s h1 -1 +1 1S 1H 1M 1min 1us 1mo 1y 1h30 30m1h 1s1s 1ms1s .5 5. 1..5s 1.2.3 1,5h 1.5.5h".split(),
    *"nan inf infinity 1e3 0x10 1_000 ٣ ² １s".split(),
    *("", " ", " 1", "1 ", "1\n", "1 s", "1h 30m", "1\0s", "\udcff"),
]

NOT_TIMES = [
    *"now tomorrow -1 +1 1. .5 1e9 nan inf 10:00 2027-3-28 27-03-28 2027/03/28 2027-W12-7 2027-087".split(),
    *"2027-03-28T 2027-03-28T1 2027-03-28T10 2027-03-28T10:00: 2027-03-28_10:00 2027-03-28T24:00".split(),
    *"2027-03-28T23:60 2027-03-28T23:59:60 2027-03-28T10:00.5 2027-03-28T10:00:00. 2027-03-28Z".split(),
    *"2027-03-28T10:00:00.x 2027-03-28T10:00+ 2027-03-28T10:00+1 2027-03-28T10:00+24:00 ２027-03-28".split(),
    *"2027-03-28T10:00+01:60 2027-03-28T10:00+01:00Z 2027-03-28T10:00+01:00+01:00".split(),
    *("", " 2027-03-28", "2027-03-28 ", "2027-03-28  10:00", "2027-03-28T10:00 Z"),
]


@contextmanager
def local_zone(name: str) -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = name
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def local(zone: str, text: str) -> str:
    with local_zone(zone):
        return format_time_local(parse_time(text, NOW))


def refusal(parse: Callable[[], object]) -> InturnError:
    with pytest.raises(InturnError) as caught:
        parse()
    assert caught.value.code == "invalid_value"
    assert caught.value.hint
    return caught.value


def outcome(parse: Callable[[], int]) -> int | InturnError:
    try:
        return parse()
    except InturnError as problem:
        return problem


durations = st.integers(0, MAX_DURATION)
instants = st.integers(0, NOW + MAX_DURATION)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("90", 90 * SECOND),
        ("90s", 90 * SECOND),
        ("5m", 5 * MINUTE),
        ("1h30m", 90 * MINUTE),
        ("1.5h", 90 * MINUTE),
        ("500ms", 500 * MILLISECOND),
        ("2d", 2 * DAY),
        ("1w", WEEK),
        ("1w2d3h4m5s6ms", WEEK + 2 * DAY + 3 * HOUR + 4 * MINUTE + 5 * SECOND + 6 * MILLISECOND),
        ("0", 0),
        ("0ms", 0),
        ("0.5", 500 * MILLISECOND),
        ("007", 7 * SECOND),
        ("0.1ms", 100),
        ("36525d", MAX_DURATION),
    ],
)
def test_a_duration_is_read_exactly(text: str, us: int) -> None:
    assert parse_duration(text) == us


def test_a_decimal_fraction_never_passes_through_a_float() -> None:
    assert parse_duration("3155759999.999999") == MAX_DURATION - 1


def test_what_lies_below_a_microsecond_is_rounded_half_up() -> None:
    assert parse_duration("0.0000004") == 0
    assert parse_duration("0.0000005") == 1
    assert parse_duration("0.33333333333333333333h") == 20 * MINUTE


@pytest.mark.parametrize("text", NOT_DURATIONS)
def test_what_is_not_a_duration_is_refused_and_quoted(text: str) -> None:
    problem = refusal(lambda: parse_duration(text))
    assert problem.message.startswith(f"{quoted(text)} is not a duration: ")


@pytest.mark.parametrize(
    "text", ["36525.0001d", "1e400", "9" * 30, "9" * 5000, "0." + "9" * 5000, "9" * 90 + "w"]
)
def test_a_duration_that_does_not_fit_is_refused(text: str) -> None:
    refusal(lambda: parse_duration(text))


@given(durations)
def test_a_formatted_duration_parses_back(us: int) -> None:
    assert parse_duration(format_duration(us)) == us


@given(st.text(max_size=30) | st.text("0123456789.wdhms", max_size=12))
def test_any_text_is_a_duration_within_bounds_or_refused(text: str) -> None:
    result = outcome(lambda: parse_duration(text))
    assert isinstance(result, InturnError) or 0 <= result <= MAX_DURATION < 2**53


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0s"),
        (1, "0.001ms"),
        (90 * MILLISECOND, "90ms"),
        (1_500_000, "1.5s"),
        (90 * MINUTE, "1h30m"),
        (MINUTE + 1, "1m0.000001s"),
        (DAY + SECOND, "1d1s"),
        (WEEK, "7d"),
        (-2 * SECOND, "-2s"),
    ],
)
def test_a_duration_is_shown_in_its_short_form(us: int, text: str) -> None:
    assert format_duration(us) == text


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("0", 0),
        ("1806195600", 1_806_195_600 * SECOND),
        ("1806195600.25", 1_806_195_600_250_000),
        ("2027-03-28T01:00:00Z", 1_806_195_600 * SECOND),
        ("2027-03-28t01:00:00z", 1_806_195_600 * SECOND),
        ("2027-03-28 03:00+02:00", 1_806_195_600 * SECOND),
        ("2027-03-28T03:00:00+0200", 1_806_195_600 * SECOND),
        ("2027-03-27T20:30:00-04:30", 1_806_195_600 * SECOND),
        ("2027-03-28T01:00:00.000001Z", 1_806_195_600_000_001),
        ("2027-03-28T01:00:00,123456789Z", 1_806_195_600_123_457),
        ("2027-03-28T01:00:00.9999999Z", 1_806_195_601_000_000),
        ("1969-12-31T23:59:59Z", -SECOND),
        ("2028-02-29T00:00:00Z", 1_835_395_200 * SECOND),
    ],
)
def test_a_time_with_an_offset_or_in_epoch_seconds_is_exact(text: str, us: int) -> None:
    with local_zone(LORD_HOWE):
        assert parse_time(text, NOW) == us


@pytest.mark.parametrize(
    ("zone", "text", "effective"),
    [
        (PARIS, "2027-03-28 01:59:59.5", "2027-03-28 01:59:59.500000+01:00"),
        (PARIS, "2027-03-28 02:00", "2027-03-28 03:00:00+02:00"),
        (PARIS, "2027-03-28 02:30", "2027-03-28 03:00:00+02:00"),
        (PARIS, "2027-03-28 02:59:59.999999", "2027-03-28 03:00:00+02:00"),
        (PARIS, "2027-03-28 03:00", "2027-03-28 03:00:00+02:00"),
        (LORD_HOWE, "2027-10-03 02:15", "2027-10-03 02:30:00+11:00"),
        (NEW_YORK, "2027-03-14T02:30", "2027-03-14 03:00:00-04:00"),
        (GAP_AT_MIDNIGHT, "2027-09-05", "2027-09-05 01:00:00-03:00"),
        (DAY_SKIPPED, "2027-12-31 12:00", "2028-01-01 00:00:00+14:00"),
    ],
)
def test_a_local_time_in_a_gap_becomes_the_first_that_exists(zone: str, text: str, effective: str) -> None:
    assert local(zone, text) == effective


@pytest.mark.parametrize(
    ("zone", "text", "effective"),
    [
        (PARIS, "2027-10-31 01:59:59", "2027-10-31 01:59:59+02:00"),
        (PARIS, "2027-10-31 02:00", "2027-10-31 02:00:00+02:00"),
        (PARIS, "2027-10-31 02:30", "2027-10-31 02:30:00+02:00"),
        (PARIS, "2027-10-31 02:59:59.5", "2027-10-31 02:59:59.500000+02:00"),
        (PARIS, "2027-10-31 03:00", "2027-10-31 03:00:00+01:00"),
        (LORD_HOWE, "2027-04-04 01:45", "2027-04-04 01:45:00+11:00"),
        (NEW_YORK, "2027-11-07 01:30", "2027-11-07 01:30:00-04:00"),
        (DAY_SKIPPED, "2027-03-06 12:00", "2027-03-06 12:00:00+14:00"),
    ],
)
def test_a_local_time_that_exists_twice_is_the_first(zone: str, text: str, effective: str) -> None:
    assert local(zone, text) == effective


def test_a_bare_date_is_its_local_midnight() -> None:
    assert local(PARIS, "2027-07-01") == "2027-07-01 00:00:00+02:00"
    assert local(PARIS, "2027-03-28") == "2027-03-28 00:00:00+01:00"


@pytest.mark.skipif(not os.path.exists("/usr/share/zoneinfo/Europe/Paris"), reason="no time zone files here")
def test_a_zone_known_by_name_is_followed() -> None:
    assert local("Europe/Paris", "2027-03-28 02:30") == "2027-03-28 03:00:00+02:00"
    assert local("Europe/Paris", "2027-10-31 02:30") == "2027-10-31 02:30:00+02:00"


@given(st.sampled_from(ZONES), st.datetimes(datetime(1975, 1, 1), datetime(2120, 1, 1)))
def test_a_local_time_is_the_earliest_instant_that_shows_it(zone: str, wanted: datetime) -> None:
    with local_zone(zone):
        instant = parse_time(wanted.isoformat(" ", "microseconds"), NOW)
        shown = local_of(instant)
        before = local_of(instant - 1)
    assert shown >= wanted
    assert before < wanted
    assert shown == wanted or shown - before > timedelta(
        microseconds=1
    )  # the latter only at the end of a gap


def local_of(instant: int) -> datetime:
    """What a clock on the wall shows; datetime refuses the offset of 24:59."""
    second, fraction = divmod(instant, SECOND)
    return datetime(*time.localtime(second)[:6]) + timedelta(microseconds=fraction)


@given(st.sampled_from(ZONES), instants)
def test_the_local_echo_with_its_offset_parses_back(zone: str, instant: int) -> None:
    with local_zone(zone):
        # An offset beyond 23:59 exists only in TZ strings and is not ISO 8601.
        if "2459" not in zone:
            assert parse_time(format_time_local(instant), NOW) == instant


@given(instants)
def test_utc_text_parses_back_and_is_what_datetime_says(instant: int) -> None:
    text = format_time_utc(instant)
    assert parse_time(text, NOW) == instant
    assert datetime.fromisoformat(text) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)


def test_utc_text_has_a_fraction_only_when_there_is_one() -> None:
    assert format_time_utc(0) == "1970-01-01T00:00:00Z"
    assert format_time_utc(NOW + 1) == "2027-01-15T08:00:00.000001Z"


@pytest.mark.parametrize(
    "text", ["2027-02-30", "2027-13-01", "2027-00-10", "2027-01-00", "0000-01-01", "2027-02-29"]
)
def test_an_impossible_date_is_refused_and_quoted(text: str) -> None:
    assert quoted(text) in refusal(lambda: parse_time(text, NOW)).message


@pytest.mark.parametrize("text", NOT_TIMES)
def test_what_is_not_a_time_is_refused_and_quoted(text: str) -> None:
    assert refusal(lambda: parse_time(text, NOW)).message.startswith(f"{quoted(text)} is not a time: ")


@pytest.mark.parametrize("text", ["1800000000000", "9999-12-31", "9999-12-31T23:59:59-23:59", "9" * 500])
def test_a_time_beyond_a_hundred_years_is_refused(text: str) -> None:
    refusal(lambda: parse_time(text, NOW))


@given(st.text(max_size=30) | st.text("0123456789-:.,TZ+ ", max_size=30))
def test_any_text_is_a_time_within_bounds_or_refused(text: str) -> None:
    result = outcome(lambda: parse_time(text, NOW))
    assert isinstance(result, InturnError) or result <= NOW + MAX_DURATION < 2**53


def test_a_past_time_means_now() -> None:
    assert clamp_to_now(NOW - 1, NOW) == NOW
    assert clamp_to_now(NOW + 1, NOW) == NOW + 1
    assert clamp_to_now(parse_time("0001-01-01", NOW), NOW) == NOW


def test_a_limit_is_a_positive_integer_or_unlimited() -> None:
    assert parse_limit("1") == 1
    assert parse_limit(str(MAX_LIMIT)) == MAX_LIMIT
    assert parse_limit("unlimited") is None


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "+1", "1e12", "", " ", "1.0", "Unlimited", "inf", "none", str(MAX_LIMIT + 1), "٣", "1_0"],
)
def test_what_is_not_a_limit_is_refused_and_quoted(text: str) -> None:
    assert refusal(lambda: parse_limit(text)).message.startswith(f"{quoted(text)} is not a limit: ")


@given(st.integers(-(2**31), 2**31 - 1))
def test_an_integer_within_its_range_is_read(value: int) -> None:
    assert parse_integer(str(value), -(2**31), 2**31 - 1) == value


@pytest.mark.parametrize(
    "text", ["", "-", "--1", "+1", " 1", "1 ", "1.0", "1e1", "0x1", "1_0", "٣", "11", "-11", "9" * 999]
)
def test_what_is_not_an_integer_in_range_is_refused_and_quoted(text: str) -> None:
    assert refusal(lambda: parse_integer(text, -10, 10)).message.startswith(f"{quoted(text)} is not ")


def test_exit_codes_are_read_as_ranges() -> None:
    assert parse_codes("0") == ((0, 0),)
    assert parse_codes("75") == ((75, 75),)
    assert parse_codes("64-78") == ((64, 78),)
    assert parse_codes("0-255") == ((0, 255),)


@pytest.mark.parametrize("text", ["", "-", "-1", "1-", "256", "0-256", "5-1", "1-2-3", "1,2", "1 - 2", "a"])
def test_what_is_not_an_exit_code_is_refused_and_quoted(text: str) -> None:
    assert quoted(text) in refusal(lambda: parse_codes(text)).message


@pytest.mark.parametrize("text", ["TERM", "SIGTERM", "15", "term"])
def test_a_signal_is_known_by_name_and_number(text: str) -> None:
    assert parse_signal(text) == signal.SIGTERM


@pytest.mark.parametrize(
    "text", ["", "SIG", "0", "-15", "999", "NOSUCH", "SIGSIGTERM", "ſigterm", "_DFL", "9" * 5000]
)
def test_an_unknown_signal_is_refused_and_quoted(text: str) -> None:
    assert refusal(lambda: parse_signal(text)).message.startswith(f"{quoted(text)} is not a signal: ")


@given(st.text())
def test_a_quoted_text_can_always_be_printed_on_one_line(text: str) -> None:
    shown = quoted(text + "\n\udcff\x1b")
    assert shown.isprintable()
    assert len(shown) < 1100
