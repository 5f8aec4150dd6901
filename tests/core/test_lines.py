"""A file of submissions: what a line may say, and how it is told which line is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn.core.lines import OWN_KEYS, parse_lines
from inturn.core.moment import SECOND
from inturn.core.options import OPTIONS
from inturn.core.request import Surroundings
from inturn.core.spec import Submission, WantedEdge
from inturn.errors import InturnError
from inturn.service.surroundings import read_env_files
from tests.builders import START

HERE = Surroundings(None, b"/home", (b"PATH=/bin",), 0o22, supervised=False)


def parse(text: str | bytes, supervised: bool = False, **defaults: object) -> list[Submission]:
    data = text.encode() if isinstance(text, str) else text
    return parse_lines(data, "jobs", defaults, HERE._replace(supervised=supervised), START, _read_nothing)


def _read_nothing(values: Mapping[str, object]) -> Mapping[str, object]:
    assert "env_file" not in values
    return values


def one(supervised: bool = False, **line: object) -> Submission:
    (found,) = parse(json.dumps({"command": ["true"], **line}), supervised)
    return found


def refusal(text: str | bytes, **options: Any) -> InturnError:
    with pytest.raises(InturnError) as caught:
        parse(text, **options)
    return caught.value


def test_each_line_is_a_job_in_the_order_of_the_file() -> None:
    found = parse('{"command": ["a", "b c"]}\n\n  \n{"c": "d | e"}\n')
    assert [job.spec.argv for job in found] == [(b"a", b"b c"), (b"sh", b"-c", b"d | e")]
    assert [job.origin for job in found] == ["jobs:1", "jobs:4"]
    assert {job.queue for job in found} == {"default"}


def test_the_last_line_need_not_end_and_lines_may_end_as_elsewhere() -> None:
    assert len(parse('{"command": ["a"]}\r\n{"command": ["b"]}')) == 2


def test_keys_are_the_long_options_with_underscores_and_repeatable_ones_are_lists() -> None:
    job = one(
        name="x",
        queue="gpu",
        priority=-7,
        slots="2",
        after="1m",
        retries=3,
        retry_delay=1.5,
        merge_output=True,
        tag=["k=v", "l"],
        env=["A=1", "B=2"],
        after_success=["7", "prepare"],
        after_outcome=["8=lost,failure"],
    )
    assert (job.name, job.queue, job.priority, job.slots, job.delay) == ("x", "gpu", -7, 2, 60 * SECOND)
    assert (job.spec.policy.run_limit, job.spec.policy.delay) == (4, 1_500_000)
    assert (job.spec.merge_output, job.tags) == (True, (("k", "v"), ("l", None)))
    assert job.spec.env_changes == (b"A=1", b"B=2")
    assert job.edges == (
        WantedEdge("7", ("success",)),
        WantedEdge("prepare", ("success",)),
        WantedEdge("8", ("failure", "lost")),
    )


def test_what_a_line_leaves_open_is_taken_from_the_defaults() -> None:
    text = '{"command": ["a"]}\n{"command": ["b"], "priority": 1, "tag": ["own"]}'
    first, second = parse(text, priority="5", tag=["all"])
    assert (first.priority, first.tags) == (5, (("all", None),))
    assert (second.priority, second.tags) == (1, (("own", None),))


def test_a_default_that_a_line_excludes_is_passed_over() -> None:
    job = parse('{"command": ["a"], "at": "2001-01-01"}', after="1h")[0]
    assert (job.delay, job.at) == (0, START.wall)


def test_a_ref_names_a_line_for_others() -> None:
    first, second = parse('{"command": ["a"], "after_success": ["@b"]}\n{"command": ["b"], "ref": "b"}')
    assert first.edges == (WantedEdge("@b", ("success",)),)
    assert (first.ref, second.ref) == (None, "b")


def test_a_line_may_be_an_array_and_go_index_by_index() -> None:
    found = parse('{"command": ["a", "{}"], "array": "1-3%2", "each": true, "ref": "r"}')
    assert [job.spec.argv[1] for job in found] == [b"1", b"2", b"3"]
    assert {(job.ref, job.origin, job.at_once, job.index_by_index) for job in found} == {
        ("r", "jobs:1", 2, True)
    }
    (single,) = parse('{"command": ["a", "{}"], "array": 7}')
    assert (single.spec.argv[1], single.index_by_index) == (b"7", False)


def test_words_reach_the_job_byte_for_byte() -> None:
    assert one(command=["é", "\udcff", "a\nb", ""]).spec.argv == ("é".encode(), b"\xff", b"a\nb", b"")


WRONG = [
    ("usage", '{"command": ["a"]', "not JSON"),
    ("usage", '{"command": ["a"]} {}', "not JSON"),
    ("usage", "['a']", "not JSON"),
    ("usage", '["a"]', "not a JSON object"),
    ("usage", '"a"', "not a JSON object"),
    ("usage", "7", "not a JSON object"),
    ("usage", "null", "not a JSON object"),
    ("usage", '{"command": ["a"], "command": ["b"]}', "a key stands twice"),
    ("usage", '{"command": ["a"], "name": "x", "name": "x"}', "a key stands twice"),
    ("usage", '{"command": ["a"], "prioriti": 1}', '"prioriti"'),
    ("usage", '{"command": ["a"], "retry-delay": "1s"}', '"retry-delay"'),
    ("usage", '{"command": ["a"], "wait": true}', '"wait"'),
    ("usage", '{"command": ["a"], "": 1}', '""'),
    ("usage", "{}", "command"),
    ("usage", '{"command": ["a"], "c": "b"}', "c"),
    ("invalid_value", '{"command": "a"}', "command"),
    ("invalid_value", '{"command": []}', "command"),
    ("invalid_value", '{"command": ["a", 1]}', "command"),
    ("invalid_value", '{"command": null}', "command"),
    ("invalid_value", '{"command": ["a\\u0000b"]}', "NUL"),
    ("invalid_value", '{"command": ["a", "\\ud800"]}', "command: "),
    ("invalid_value", '{"command": ["a"], "priority": "high"}', "priority"),
    ("invalid_value", '{"command": ["a"], "priority": 2147483648}', "priority"),
    ("invalid_value", '{"command": ["a"], "priority": 1.5}', "priority"),
    ("invalid_value", '{"command": ["a"], "priority": true}', "priority"),
    ("invalid_value", '{"command": ["a"], "priority": null}', "priority"),
    ("invalid_value", '{"command": ["a"], "priority": [1]}', "priority"),
    ("invalid_value", '{"command": ["a"], "merge_output": "yes"}', "merge_output"),
    ("invalid_value", '{"command": ["a"], "env": {"A": "1"}}', "env"),
    ("invalid_value", '{"command": ["a"], "queue": "a b"}', "queue"),
    ("usage", '{"command": ["a"], "after": "1s", "at": 0}', "after"),
    ("invalid_value", '{"command": ["a"], "ref": ""}', "ref"),
    ("invalid_value", '{"command": ["a"], "ref": 7}', "ref"),
    ("invalid_value", '{"command": ["a"], "ref": "a\\nb"}', "ref"),
    ("invalid_value", '{"command": ["a"], "array": "4-1"}', '"4-1"'),
    ("invalid_value", '{"command": ["a"], "array": [1, 2]}', "array"),
    ("invalid_value", '{"command": ["a"], "array": null}', "array"),
    ("invalid_value", '{"command": ["a"], "array": true}', "array"),
    ("usage", '{"command": ["a"], "array": "1-2", "key": "k"}', "key"),
    ("usage", '{"command": ["a"], "each": true}', "each"),
    ("usage", '{"command": ["a"], "array": "1-2", "each": "yes"}', "each"),
]


@pytest.mark.parametrize(("code", "line", "about"), WRONG)
def test_an_error_names_the_file_the_line_and_what_is_wrong(code: str, line: str, about: str) -> None:
    error = refusal('{"command": ["fine"]}\n\n' + line)
    assert error.code == code
    assert error.message.startswith("jobs:3: ")
    assert about in error.message
    assert error.message.isprintable()


@pytest.mark.parametrize("line", [b'{"command": ["\xff"]}', b"\xfe\xff", b"[" * 100_000, b'{"a": ' * 100_000])
def test_what_no_reader_of_json_takes_is_an_error_like_any_other(line: bytes) -> None:
    error = refusal(b'{"command": ["fine"]}\n' + line)
    assert (error.code, error.message.startswith("jobs:2: ")) == ("usage", True)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n"])
def test_a_file_without_a_job_is_an_error(text: str) -> None:
    assert refusal(text).code == "usage"


def test_a_supervised_job_stands_in_no_queue() -> None:
    assert one(supervised=True).queue == ""
    assert refusal('{"command": ["a"], "queue": "q"}', supervised=True).code == "usage"
    assert parse('{"command": ["a"]}', supervised=True, queue="q")[0].queue == ""


@given(st.binary(max_size=60))
def test_any_file_is_jobs_or_an_error_that_can_be_shown(data: bytes) -> None:
    try:
        found: list[Submission] | None = parse(data)
    except InturnError as error:
        found = None
        told = error.message
    assert found or told.isprintable()


def mostly(
    *usual: dict[str, object], seldom: tuple[dict[str, object], ...]
) -> st.SearchStrategy[dict[str, object]]:
    return st.sampled_from([*usual * 6, *seldom])


COMMANDS = mostly(
    {"command": ["a"]}, {"command": ["b", "\udcff", ""]}, {"c": "a | b"},
    seldom=(
        {"command": ["a\0b"]}, {"command": []}, {"c": 7}, {"command": "ab"}, {"command": ["a", 1]},
        {"command": ["a"], "c": "a"}, {"command": {"a": 1}}, {"c": None}, {},
    ),
)  # fmt: skip
NAMES = mostly({}, {"name": "x"}, {"name": "y"}, seldom=({"name": "7"}, {"name": None}))
KEYS = mostly({}, {"key": "k"}, {"key": "l"}, seldom=({"key": 1}, {"key": ["k"]}))
REFS = mostly({}, {"ref": "r"}, {"ref": None}, seldom=({"ref": ""}, {"ref": 1}))
OTHERS = mostly(
    {}, {"slots": 1}, {"slots": 2}, {"slots": "1"}, {"tag": ["t"]}, {"after_success": ["@r"]},
    seldom=({"slots": True}, {"slots": 1.0}, {"tag": []}, {"array": "1-2"}, {"each": False}, {"slot": 1}),
)  # fmt: skip
LINES = st.builds(
    lambda *parts: {key: part[key] for part in parts for key in part}, NAMES, COMMANDS, REFS, OTHERS
)
LINES = LINES | st.builds(lambda line, key: {**line, **key}, LINES, KEYS)


def test_lines_that_differ_in_little_are_told_apart() -> None:
    lines = [{"command": [word], "name": word, "key": word, "ref": word} for word in ("a", "b", "a b")]
    for word, found in zip(("a", "b", "a b"), parse("\n".join(map(json.dumps, lines))), strict=True):
        assert (found.spec.argv, found.name, found.key, found.ref) == ((word.encode(),), word, word, word)
    first = '{"c": "a", "slots": 1}\n'
    for wrong in ("true", "[1]", "0"):
        assert refusal(first + f'{{"c": "a", "slots": {wrong}}}').message.startswith("jobs:2: slots")
    assert [one.name for one in parse('{"c": "a", "name": "x"}\n{"c": "a"}')] == ["x", None]


def understood(text: str) -> list[str] | str:
    """What there is to know of the submissions of a file, or of the error."""
    try:
        return [repr(one) for one in parse(text, name="given")]
    except InturnError as error:
        return f"{error.code} {error.message} {error.hint}"


@given(st.lists(LINES, min_size=1, max_size=12))
def test_a_line_means_the_same_whatever_lines_stand_before_it(lines: list[dict[str, object]]) -> None:
    texts = [json.dumps(line) for line in lines]
    alone = [understood("\n" * number + text) for number, text in enumerate(texts)]
    wrong = [number for number, told in enumerate(alone) if isinstance(told, str)]
    if wrong:
        assert understood("\n".join(texts)) == alone[wrong[0]]
        # And whatever is right before and after it.
        texts = ["" if number in wrong else text for number, text in enumerate(texts)]
    right = [one for told in alone if isinstance(told, list) for one in told]
    assert understood("\n".join(texts)) == right or not right


HALF = "\ud800"  # JSON can write half a character, which nothing else knows


def _half(name: str) -> object:
    """A value of this key that nothing is wrong with but that."""
    if name == "command":
        return ["true", HALF]
    kind = OPTIONS[name].kind if name in OPTIONS else ""
    text = {"assignment": f"A={HALF}", "job outcomes": f"{HALF}=success"}.get(kind, HALF)
    return [text] if name in OPTIONS and OPTIONS[name].repeatable else text


@pytest.mark.parametrize("verb", ["add", "run"])
@pytest.mark.parametrize("name", [*OPTIONS, *OWN_KEYS])
def test_half_a_character_is_refused_whatever_the_key(name: str, verb: str) -> None:
    command = {} if name in ("command", "c") else {"command": ["true"]}
    line = json.dumps({**command, name: _half(name)})
    with pytest.raises(InturnError) as caught:
        # The second line is like the first, which is a quicker way.
        parse_lines(f"{line}\n{line}".encode(), "jobs", {}, _of(verb), START, read_env_files)
    assert caught.value.code in ("invalid_value", "usage")
    assert caught.value.message.startswith("jobs:1: ")
    assert name.replace("_", "-") in caught.value.message.replace("_", "-")


@pytest.mark.parametrize("name", ["command", "c", "name", "key", "ref"])
def test_half_a_character_is_refused_in_what_differs_from_an_earlier_line(name: str) -> None:
    sound: dict[str, object] = {"c": "true"} if name == "c" else {"command": ["true"]}
    if name in ("name", "key", "ref"):
        sound[name] = "a"
    error = refusal(f"{json.dumps(sound)}\n{json.dumps({**sound, name: _half(name)})}")
    assert error.code == "invalid_value"
    assert error.message.startswith(f"jobs:2: {name}: ")


def _of(verb: str) -> Surroundings:
    return HERE._replace(supervised=verb == "run")
