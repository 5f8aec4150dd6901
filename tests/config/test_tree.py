from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inturn import config
from inturn.errors import InturnError


def refusal(text: str | bytes) -> InturnError:
    with pytest.raises(InturnError) as caught:
        config.loads(text if isinstance(text, bytes) else text.encode(), "a.yml")
    assert caught.value.code == "config_invalid"
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("schema_version: 1\nschema_version: 1\n", "a.yml:2: schema_version: "),
        ("schema_version: 1\nconcurrency: {pools: {a: 1, a: 2}}\n", "a.yml:2: concurrency.pools.a: "),
        ("schema_version: 1\nconcurrency: {pools: {1: 1, '1': 2}}\n", "a.yml:2: concurrency.pools.1: "),
        (
            "schema_version: 1\nconcurrency:\n  pools:\n    a: 1\n    b: 1\n    a: 1",
            "a.yml:6: concurrency.pools.a: ",
        ),
        ("schema_version: 1\ndefaults:\n  name: a\n  name: b\n", "a.yml:4: defaults.name: "),
        (
            "schema_version: 1\ndefaults:\n  retry-delay: 1\n  retry_delay: 2\n",
            "a.yml:4: defaults.retry_delay: ",
        ),
    ],
)
def test_a_repeated_key_is_refused_where_it_is_repeated(text: str, place: str) -> None:
    problem = refusal(text)
    assert problem.message.startswith(place)
    assert "repeated key" in problem.message


@pytest.mark.parametrize(
    "text", ["", "\n\n", "# only a comment\n", "---\n", "--- # nothing\n...\n", "\ufeff"]
)
def test_an_empty_file_is_refused(text: str) -> None:
    problem = refusal(text)
    assert problem.message == "a.yml:1: the file is empty"
    assert "schema_version: 1" in problem.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- schema_version: 1\n", "a.yml:1: the file must be a mapping"),
        ("\n\nschema_version\n", "a.yml:3: the file must be a mapping"),
        ("schema_version: 1\nconcurrency:\n", "a.yml:2: concurrency: it must be a mapping"),
        ("schema_version: 1\nconcurrency: [1]\n", "a.yml:2: concurrency: it must be a mapping"),
        ("schema_version: 1\nconcurrency:\n  pools: 3\n", "a.yml:3: concurrency.pools: it must be a mapping"),
        ("schema_version: 1\ndefaults: retries\n", "a.yml:2: defaults: it must be a mapping"),
        ("schema_version: 1\n\tdefaults: {}\n", "a.yml:2: not valid YAML: "),
        ("schema_version: 1\ndefaults: {retries: 0\n", "a.yml:3: not valid YAML: "),
        ("schema_version: 1\ndefaults: a: b\n", "a.yml:2: not valid YAML: "),
        ("schema_version: 1\n---\nschema_version: 1\n", "a.yml:2: the file holds a second document"),
        ("schema_version: 1\n? [a]\n: 1\n", "a.yml:2: a key must be a plain word"),
        ("schema_version: &one 1\n", "a.yml:1: schema_version: anchors"),
        ("schema_version: 1\ndefaults: *nothing\n", "a.yml:2: defaults: anchors"),
        ("schema_version: !!int '1'\n", "a.yml:1: schema_version: tags"),
        ("!!python/object:os.system {}\n", "a.yml:1: tags"),
        (f"a: {'[' * 5000}", "a.yml:1: a[0]"),
        ('schema_version: 1\ndefaults: {name: "\\0"}\n', "a.yml:2: defaults.name: it contains a character"),
        (
            'schema_version: 1\ndefaults: {name: "\\ud800"}\n',
            "a.yml:2: defaults.name: it contains a character",
        ),
        ('schema_version: 1\ndefaults: {name: "\\UFFFFFFFF"}\n', "a.yml:2: not valid YAML: "),
        ("schema_version: 1\ndefaults: {name: \x01}\n", "a.yml:2: not valid YAML: "),
        (b"schema_version: 1\n\n# caf\xe9\n", "a.yml:3: the file is not UTF-8"),
        ("schema_version: 1\n".encode("utf-16"), "a.yml:1: the file is not UTF-8"),
        (b"#" * (2**20 + 1), "a.yml:1: the file is larger than 1 MiB"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(text: str | bytes, message: str) -> None:
    assert refusal(text).message.startswith(message)


def test_tabs_get_a_hint() -> None:
    assert "spaces" in refusal("schema_version: 1\ndefaults:\n\tretries: 0\n").hint


FRAGMENTS = [
    *(
        "schema_version: 1\n",
        "concurrency:",
        "pools:",
        "defaults:",
        " ",
        "\n",
        "\n  ",
        "- ",
        ", ",
        ": ",
        "? ",
    ),
    *(
        "[",
        "]",
        "{",
        "}",
        "a",
        "1",
        "'",
        '"',
        "\\",
        "\\u",
        "&a",
        "*a",
        "!",
        "!!int ",
        "|",
        ">",
        "%",
        "%YAML 1.1\n",
    ),
    *("---\n", "...\n", "#", "\t", "~", "@", "`", "\0", "\x85", "\u2028", "é", "\ufeff", "\r", "0x", "<<"),
]


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(lambda parts: "".join(parts).encode())
)
def test_any_bytes_are_a_configuration_or_refused_on_one_line(text: bytes) -> None:
    try:
        config.loads(text, "a.yml")
    except InturnError as problem:
        code, message = problem.code, problem.message
    else:
        return
    assert code == "config_invalid"
    assert message.startswith("a.yml:")
    assert "\n" not in message
