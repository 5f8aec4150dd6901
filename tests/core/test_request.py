from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inturn.core.duration import DAY, MAX_LIMIT
from inturn.core.job import OUTCOMES
from inturn.core.moment import HOUR, MILLISECOND, MINUTE, SECOND, Now
from inturn.core.options import GROUPS, OPTIONS, switch
from inturn.core.request import EXCLUSIONS, Surroundings, apply_defaults, build, parse_env_file
from inturn.core.spec import Spec, Submission, WantedCondition, WantedEdge
from inturn.errors import InturnError

NOW = Now(1_800_000_000 * SECOND, 500 * SECOND, "boot")  # 2027-01-15T08:00:00Z
HERE = Surroundings((b"true",), b"/home/me", (b"PATH=/bin", b"HOME=/home/me"), 0o022, True)
QUEUED = HERE._replace(supervised=False)

TOO_LONG = "x" * 256
RANGE = "from 1 to 2147483647"

# Every option with values that make no sense: what is raised, and a part of what is said.
NONSENSE: list[tuple[str, object, str, str]] = [
    ("name", "", "invalid_value", "empty"),
    ("name", "7", "invalid_value", "integer"),
    ("name", " -7 ", "invalid_value", "integer"),
    ("name", "+7", "invalid_value", "integer"),
    ("name", 7, "invalid_value", "integer"),
    ("name", "٣", "invalid_value", "integer"),
    ("name", "a\nb", "invalid_value", "control character"),
    ("name", "job@latest", "invalid_value", "ends in @latest"),
    ("name", "@latest", "invalid_value", "ends in @latest"),
    ("name", "a\x1b[31m", "invalid_value", r"\x1b"),
    ("name", "a\x9bb", "invalid_value", "control character"),
    ("name", "a\u2028b", "invalid_value", "line break"),
    ("name", "\udcff", "invalid_value", "UTF-8"),
    ("name", TOO_LONG, "invalid_value", "longer than 255"),
    ("name", True, "invalid_value", "text or a number"),
    ("name", None, "invalid_value", "null"),
    ("name", ["a"], "invalid_value", "a list"),
    ("name", {"a": 1}, "invalid_value", "a mapping"),
    ("tag", "", "invalid_value", "no key"),
    ("tag", "=v", "invalid_value", "no key"),
    ("tag", "k=a\tb", "invalid_value", "control character"),
    ("tag", "k=" + TOO_LONG, "invalid_value", "longer"),
    ("tag", [["k"]], "invalid_value", "a list"),
    ("note", "a\0b", "invalid_value", "NUL"),
    ("note", "\udcff", "invalid_value", "UTF-8"),
    ("key", "", "invalid_value", "empty"),
    ("key", "a\nb", "invalid_value", "control character"),
    ("key", TOO_LONG, "invalid_value", "longer"),
    ("c", "echo \0", "invalid_value", "NUL"),
    ("c", "echo \ud800", "invalid_value", "half a character"),
    ("cwd", "", "invalid_value", "empty"),
    ("cwd", "a\0", "invalid_value", "NUL"),
    ("env", "A", "invalid_value", "NAME=VALUE"),
    ("env", "=1", "invalid_value", "NAME=VALUE"),
    ("env", "A=\0", "invalid_value", "NUL"),
    ("unset_env", "", "invalid_value", "name of a variable"),
    ("unset_env", "A=1", "invalid_value", "name of a variable"),
    ("unset_env", "A\0", "invalid_value", "NUL"),
    ("stdin_file", "", "invalid_value", "empty"),
    ("after_success", "", "invalid_value", "empty"),
    ("after_failed", "a\nb", "invalid_value", "control character"),
    ("after_finish", "\udcff", "invalid_value", "UTF-8"),
    ("after_outcome", "7", "invalid_value", "job and outcomes"),
    ("after_outcome", "=success", "invalid_value", "job and outcomes"),
    ("after_outcome", "7=", "invalid_value", "not an outcome"),
    ("after_outcome", "7=success,", "invalid_value", "not an outcome"),
    ("after_outcome", "7=failed", "invalid_value", '"failed" is not an outcome'),
    ("wait_until", "tomorrow", "invalid_value", "not a time"),
    ("wait_until", "2027-02-30", "invalid_value", "not a time"),
    ("wait_delay", "-1", "invalid_value", "not a duration"),
    ("wait_file", "", "invalid_value", "empty"),
    ("wait_file", "a\0", "invalid_value", "NUL"),
    ("wait_probe", "", "invalid_value", "empty"),
    ("wait_probe", "  ", "invalid_value", "empty"),
    ("wait_probe", "test 'x", "invalid_value", "no closing quotation"),
    ("wait_probe", "test x\\", "invalid_value", "no escaped character"),
    ("wait_probe", "test \0", "invalid_value", "NUL"),
    ("wait_mode", "some", "invalid_value", "not one of its values"),
    ("wait_mode", "ALL", "invalid_value", "not one of its values"),
    ("wait_poll", "0", "invalid_value", "too short"),
    ("wait_poll", "soon", "invalid_value", "not a duration"),
    ("wait_abort_at", "25:00", "invalid_value", "not a time"),
    ("probe_timeout", "0s", "invalid_value", "too short"),
    ("after", "1 h", "invalid_value", "not a duration"),
    ("after", "nan", "invalid_value", "not a duration"),
    ("after", "1e12w", "invalid_value", "not a duration"),
    ("after", True, "invalid_value", "text or a number"),
    ("at", "", "invalid_value", "not a time"),
    ("at", "1e9", "invalid_value", "not a time"),
    ("priority", "2147483648", "invalid_value", "from -2147483648 to 2147483647"),
    ("priority", "-2147483649", "invalid_value", "from -2147483648 to 2147483647"),
    ("priority", "high", "invalid_value", "number"),
    ("priority", "+1", "invalid_value", "number"),
    ("priority", 1.5, "invalid_value", "number"),
    ("pool", "", "invalid_value", "not a name"),
    ("pool", "-x", "invalid_value", "not a name"),
    ("pool", "a b", "invalid_value", "not a name"),
    ("pool", "é", "invalid_value", "not a name"),
    ("pool", "x" * 65, "invalid_value", "not a name"),
    ("slots", "0", "invalid_value", RANGE),
    ("slots", "-1", "invalid_value", RANGE),
    ("slots", "unlimited", "invalid_value", "number"),
    ("slots", "1e12", "invalid_value", "number"),
    ("slots", "9" * 5000, "invalid_value", "number"),
    ("retries", "-1", "invalid_value", "from 0"),
    ("retries", "unlimited", "invalid_value", "number"),
    ("retries", "2147483647", "invalid_value", "from 0 to 2147483646"),
    ("retryable_exit_code", "256", "invalid_value", "0 to 255"),
    ("retryable_exit_code", "5-3", "invalid_value", "smaller to its larger"),
    ("retryable_exit_code", "1,2", "invalid_value", "exit code"),
    ("retryable_exit_code", "0", "usage", "0 is a success already"),
    ("retry_signal", "SIGNOPE", "invalid_value", "not a signal"),
    ("retry_signal", "0", "invalid_value", "not a signal"),
    ("retry_timeouts", "yes", "invalid_value", "true or false"),
    ("retry_start_failures", 1, "invalid_value", "true or false"),
    ("retry_delay", "1x", "invalid_value", "not a duration"),
    ("retry_backoff", "quadratic", "invalid_value", "constant or linear or exponential"),
    ("retry_max_delay", "", "invalid_value", "not a duration"),
    ("retry_jitter", "inf", "invalid_value", "not a duration"),
    ("retry_abort_at", "never", "invalid_value", "not a time"),
    ("success_exit_code", "-1", "invalid_value", "exit code"),
    ("max_runs", "0", "invalid_value", "not a limit"),
    ("max_runs", "-1", "invalid_value", "not a limit"),
    ("max_runs", "Unlimited", "invalid_value", "not a limit"),
    ("success_target", "0", "invalid_value", "not a limit"),
    ("failure_limit", "1.5", "invalid_value", "not a limit"),
    ("max_crashes", "-1", "invalid_value", "number"),
    ("max_crashes", "many", "invalid_value", "or unlimited"),
    ("run_timeout", "0", "invalid_value", "too short"),
    ("run_timeout", "1h30", "invalid_value", "not a duration"),
    ("job_timeout", "0ms", "invalid_value", "too short"),
    ("stop_grace", "-1s", "invalid_value", "not a duration"),
    ("merge_output", "true", "invalid_value", "true or false"),
    ("leave_children", None, "invalid_value", "true or false"),
    ("nice", "20", "invalid_value", "from -20 to 19"),
    ("nice", "-21", "invalid_value", "from -20 to 19"),
    ("queue", "default", "usage", "a supervised job has none"),
    ("colour", "red", "usage", "no such option"),
]

# Every option with a value that makes sense, for the tests that want one of each.
SENSE: dict[str, object] = {
    "name": "prepare", "tag": ["a", "b=c"], "note": "x", "key": "k", "c": "true", "cwd": "/tmp",
    "env": ["A=1"], "unset_env": ["B"], "stdin_file": "in", "after_success": ["1"], "after_failed": ["2"],
    "after_finish": ["3"], "after_outcome": ["4=lost"], "wait_until": ["2030-01-01"], "wait_delay": ["1s"],
    "wait_file": ["f"], "wait_probe": ["true"], "wait_mode": "any", "wait_poll": "2s",
    "wait_abort_at": "2030-01-01", "probe_timeout": "1s", "after": "1s", "at": "2030-01-01", "priority": "5",
    "queue": "gpu", "pool": "p", "slots": "2", "retries": "2", "retryable_exit_code": ["75"],
    "retry_signal": ["TERM"], "retry_timeouts": True, "retry_start_failures": True, "retry_delay": "1s",
    "retry_backoff": "linear", "retry_max_delay": "9s", "retry_jitter": "1s", "retry_abort_at": "2030-01-01",
    "success_exit_code": ["0", "3-5"], "max_runs": "2", "success_target": "2", "failure_limit": "2",
    "max_crashes": "1", "run_timeout": "1m", "job_timeout": "2d", "stop_grace": "1s", "merge_output": True,
    "leave_children": True, "nice": "5",
}  # fmt: skip


def submission(surroundings: Surroundings = HERE, /, **values: object) -> Submission:
    return build(values, surroundings, NOW, switch)


def refused(values: Mapping[str, object], surroundings: Surroundings = HERE) -> InturnError:
    with pytest.raises(InturnError) as caught:
        build(values, surroundings, NOW, switch)
    return caught.value


@pytest.mark.parametrize(("name", "value", "code", "part"), NONSENSE)
def test_nonsense_is_refused_and_named(name: str, value: object, code: str, part: str) -> None:
    error = refused({name: value})
    assert error.code == code
    assert error.message.startswith(f"{switch(name)}: ")
    assert part in error.message + error.hint
    assert (error.message + error.hint).isprintable()


def test_the_table_of_nonsense_leaves_no_option_out() -> None:
    # What is in a file of variables is read before; a queue is tried with queued jobs below.
    assert {name for name, *_ in NONSENSE} | {"env_file"} >= set(OPTIONS)


@pytest.mark.parametrize("name", SENSE)
def test_each_option_is_taken_alone(name: str) -> None:
    surroundings = QUEUED if name == "queue" else HERE
    build({name: SENSE[name]}, surroundings._replace(argv=None) if name == "c" else surroundings, NOW, switch)


def test_every_option_has_a_known_group_a_help_text_and_a_metavar_unless_it_is_a_flag() -> None:
    assert set(SENSE) | {"env_file"} == set(OPTIONS)
    for option in OPTIONS.values():
        assert option.group in dict(GROUPS)
        assert option.help
        assert bool(option.metavar) != (option.kind == "flag")


def test_what_is_not_said_has_its_default() -> None:
    plain = submission()
    assert plain == Submission(Spec((b"true",), b"/home/me", HERE.environment, 0o022))


def test_a_queued_job_stands_in_the_default_queue_and_survives_three_crashes() -> None:
    plain = submission(QUEUED)
    assert (plain.queue, plain.spec.max_crashes) == ("default", 3)
    assert submission(QUEUED, queue="7", max_crashes="unlimited").queue == "7"
    assert submission(QUEUED, max_crashes=0).spec.max_crashes == 0


@pytest.mark.parametrize("queue", ["", ".x", "a/b", "x" * 65])
def test_a_queue_has_a_proper_name(queue: str) -> None:
    assert refused({"queue": queue}, QUEUED).message.startswith("--queue: ")


@pytest.mark.parametrize("pair", EXCLUSIONS)
def test_options_that_exclude_each_other_are_refused_together(pair: tuple[str, str]) -> None:
    error = refused({name: SENSE[name] for name in pair})
    assert error.code == "usage"
    assert all(switch(name) in error.message for name in pair)


@pytest.mark.parametrize("argv", [None, ()])
def test_a_command_is_needed(argv: tuple[bytes, ...] | None) -> None:
    error = refused({}, HERE._replace(argv=argv))
    assert (error.code, error.message) == ("usage", "the command is missing")


def test_a_shell_command_excludes_an_argument_vector() -> None:
    assert submission(HERE._replace(argv=None), c="echo $HOME").spec.argv == (b"sh", b"-c", b"echo $HOME")
    assert refused({"c": "true"}).code == "usage"


def test_a_nul_in_an_argument_is_refused() -> None:
    assert refused({}, HERE._replace(argv=(b"a", b"\0"))).code == "invalid_value"


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ({}, (1, 1, 1)),
        ({"retries": "0"}, (1, 1, 1)),
        ({"retries": "2"}, (1, 3, 3)),
        ({"max_runs": "5"}, (1, 5, None)),
        ({"max_runs": "unlimited"}, (1, None, None)),
        ({"failure_limit": "5"}, (1, None, 5)),
        ({"failure_limit": "unlimited"}, (1, None, None)),
        ({"success_target": "3"}, (3, None, 1)),
        ({"success_target": "unlimited"}, (None, None, 1)),
        ({"success_target": "3", "max_runs": "2"}, (3, 2, None)),
        ({"success_target": "3", "failure_limit": "2"}, (3, None, 2)),
        ({"max_runs": "5", "failure_limit": "2"}, (1, 5, 2)),
        ({"success_target": "3", "max_runs": "5", "failure_limit": "2"}, (3, 5, 2)),
    ],
)
def test_the_limits_that_are_not_given_follow_from_those_that_are(
    values: dict[str, object], limits: tuple[int | None, ...]
) -> None:
    policy = build(values, HERE, NOW, switch).spec.policy
    assert (policy.success_target, policy.run_limit, policy.failure_limit) == limits


def test_a_code_is_success_or_retryable_but_not_both() -> None:
    policy = submission(success_exit_code=["0", "3-5"], retryable_exit_code=["1-2", "6"]).spec.policy
    assert policy.success_codes == ((0, 0), (3, 5))
    assert policy.retry_codes == ((1, 2), (6, 6))
    error = refused({"success_exit_code": ["3-5"], "retryable_exit_code": ["1", "5-9"]})
    assert error.code == "usage"
    assert "5 is a success already" in error.message
    assert submission(success_exit_code=["3"], retryable_exit_code=["0"]).spec.policy.retry_codes == ((0, 0),)


def test_every_retry_option_arrives_in_the_policy() -> None:
    policy = submission(
        retry_delay="1s",
        retry_backoff="exponential",
        retry_max_delay="1m",
        retry_jitter="100ms",
        retry_abort_at="2030-01-01T00:00:00Z",
        retry_signal=["KILL", "15"],
        retry_timeouts=True,
        retry_start_failures=True,
    ).spec.policy
    assert (policy.delay, policy.backoff, policy.max_delay) == (SECOND, "exponential", MINUTE)
    assert (policy.jitter, policy.abort_at) == (100 * MILLISECOND, 1_893_456_000 * SECOND)
    assert policy.retry_signals == ((9, 9), (15, 15))
    assert policy.retry_timeouts
    assert policy.retry_start_failures


def test_every_other_option_arrives_in_the_specification() -> None:
    spec = submission(
        stdin_file="in",
        merge_output=True,
        leave_children=True,
        nice="-5",
        run_timeout="1m",
        job_timeout="1h",
        stop_grace="0",
        max_crashes="2",
        wait_mode="any",
        wait_poll="5s",
        probe_timeout="2s",
        note="first line\nsecond line",
    ).spec
    assert spec.stdin_file == b"in"
    assert (spec.merge_output, spec.leave_children, spec.nice) == (True, True, -5)
    assert (spec.run_timeout, spec.job_timeout, spec.stop_grace) == (MINUTE, HOUR, 0)
    assert (spec.max_crashes, spec.wait_mode, spec.wait_poll) == (2, "any", 5 * SECOND)
    assert (spec.probe_timeout, spec.note) == (2 * SECOND, "first line\nsecond line")


def test_a_past_time_means_now() -> None:
    past = submission(at="2001-01-01", wait_until=["0"], wait_abort_at="1", retry_abort_at="2")
    assert past.at == NOW.wall
    assert past.conditions == (WantedCondition("until", time=NOW.wall),)
    assert (past.spec.wait_abort_at, past.spec.policy.abort_at) == (NOW.wall, NOW.wall)


def test_a_job_timeout_is_not_shorter_than_the_delay() -> None:
    assert refused({"after": "2h", "job_timeout": "1h"}).message.startswith("--job-timeout: 1h ")
    assert refused({"at": str(NOW.wall // SECOND + 7200), "job_timeout": "1h"}).code == "invalid_value"
    assert submission(after="1h", job_timeout="1h").delay == HOUR
    # A wait condition is no delay: what waits in vain is ended by the timeout.
    assert submission(wait_delay=["2h"], job_timeout="1h").spec.job_timeout == HOUR


def test_wait_options_without_conditions_are_harmless() -> None:
    assert submission(wait_mode="any", wait_poll="1s", probe_timeout="1s").conditions == ()


def test_conditions_keep_their_bytes_and_probes_their_arguments() -> None:
    conditions = submission(
        wait_file=["../a b\udcff"], wait_probe=["""test -s "my file" 'a$b' \\* ''"""], wait_delay=["1s", 2]
    ).conditions
    assert conditions == (
        WantedCondition("delay", time=SECOND),
        WantedCondition("delay", time=2 * SECOND),
        WantedCondition("file", argument=b"../a b\xff"),
        WantedCondition("probe", argument=b"test\0-s\0my file\0a$b\0*\0"),
    )


def test_dependencies_name_the_outcomes_that_satisfy_them() -> None:
    edges = submission(
        after_success=["prepare", 7],
        after_failed=["b"],
        after_finish=["c@latest"],
        after_outcome=["a=b=lost,failure,lost"],
    ).edges
    assert edges == (
        WantedEdge("prepare", ("success",)),
        WantedEdge("7", ("success",)),
        WantedEdge("b", ("failure",)),
        WantedEdge("c@latest", OUTCOMES),
        WantedEdge("a=b", ("failure", "lost")),
    )


def test_a_tag_may_have_a_value_and_the_last_one_counts() -> None:
    assert submission(tag=["a", "b=1", "c=", "b=2=3"]).tags == (("a", None), ("b", "2=3"), ("c", ""))
    assert submission(tag="alone").tags == (("alone", None),)


def test_a_variable_that_is_removed_and_set_is_set() -> None:
    changes = submission(env=["A=1", "B=\udcff=2"], unset_env=["A", "C"]).spec.env_changes
    assert changes == (b"A", b"C", b"A=1", b"B=\xff=2")


@pytest.mark.parametrize(
    ("cwd", "whole"),
    [
        ("/tmp/./x/", b"/tmp/x"),
        ("sub", b"/home/me/sub"),
        (".", b"/home/me"),
        ("..", b"/home/me/.."),
        ("/", b"/"),
        ("\udcff", b"/home/me/\xff"),
    ],
)
def test_the_directory_starts_from_the_submitters(cwd: str, whole: bytes) -> None:
    assert submission(cwd=cwd).spec.cwd == whole


def test_names_may_hold_anything_that_can_be_shown() -> None:
    for name in ("a b", "näme", "7a", "-x", "1.5", "👩‍🔬", "a=b", "x" * 255):
        assert submission(name=name).name == name


def test_numbers_of_json_are_taken_where_text_is() -> None:
    given = submission(priority=-5, slots=2, after=1.5, retries=3, key=5, max_crashes=1)
    assert (given.priority, given.slots, given.delay, given.key) == (-5, 2, 1_500_000, "5")
    assert given.spec.policy.run_limit == 4


def test_a_flag_that_is_false_is_off() -> None:
    assert not submission(merge_output=False).spec.merge_output


def test_a_message_calls_an_option_as_its_reader_wrote_it() -> None:
    with pytest.raises(InturnError, match=r"^line 3, retry_delay: "):
        build({"retry_delay": "x"}, HERE, NOW, "line 3, {}".format)


def test_the_largest_numbers_fit() -> None:
    given = submission(slots=MAX_LIMIT, retries=MAX_LIMIT - 1, priority=2**31 - 1, after="36525d")
    assert given.spec.policy.run_limit == MAX_LIMIT
    assert given.delay == 36_525 * DAY


def test_defaults_fill_gaps_and_nothing_else() -> None:
    filled = apply_defaults({"slots": "2", "tag": ["a"]}, {"slots": 1, "tag": ["b"], "nice": 5}, True)
    assert filled == {"slots": "2", "tag": ["a"], "nice": 5}


@pytest.mark.parametrize("pair", EXCLUSIONS)
def test_a_default_gives_way_to_an_option_that_excludes_it(pair: tuple[str, str]) -> None:
    for explicit, default in (pair, pair[::-1]):
        assert apply_defaults({explicit: "1"}, {default: "2"}, True) == {explicit: "1"}


def test_a_default_is_passed_over_by_jobs_that_do_not_have_the_option() -> None:
    assert apply_defaults({}, {"queue": "gpu", "vanished": 1}, supervised=True) == {}
    assert apply_defaults({}, {"queue": "gpu"}, supervised=False) == {"queue": "gpu"}


def test_a_file_of_variables_is_taken_as_it_stands() -> None:
    text = b"\xef\xbb\xbf# a comment\n\nA=1\n  export B='x $A' \r\nD=\n\t# another\nE==\xff\nexport=yes"
    assert parse_env_file(text, "f") == [b"A=1", b"B='x $A' ", b"D=", b"E==\xff", b"export=yes"]


@pytest.mark.parametrize("line", [b"A", b"=1", b"A =1", b"export A", b"A\0=1", b"A=\0", b"if [ x ]; then"])
def test_a_line_that_sets_no_variable_is_refused_with_its_number(line: bytes) -> None:
    with pytest.raises(InturnError) as caught:
        parse_env_file(b"A=1\n\n" + line + b"\n", "vars.env")
    assert caught.value.code == "invalid_value"
    assert caught.value.message.startswith("vars.env:3: ")
    assert caught.value.message.isprintable()


_ANYTHING = st.text() | st.integers() | st.floats() | st.booleans() | st.none()


# The first text that Hypothesis makes is slow, and so is a shared machine.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from([*SENSE, "x"]), _ANYTHING | st.lists(_ANYTHING, max_size=2), max_size=4)
)
def test_whatever_is_asked_for_is_either_taken_or_refused_in_words(values: dict[str, object]) -> None:
    result = answer(values)
    assert isinstance(result, Submission) or result.code in ("usage", "invalid_value")


def answer(values: Mapping[str, object]) -> Submission | InturnError:
    try:
        return build(values, HERE, NOW, switch)
    except InturnError as error:
        return error
