from __future__ import annotations

import hashlib

import pytest

from inturn import config
from inturn.config import Config, PoolConfig
from inturn.errors import InturnError

WHOLE = """\
schema_version: 1
concurrency:
  max_active_slots: 4
  pools:
    analysis: 2
    open: unlimited
    io: {slots: 3}
    gpu: {devices: [0, 1], per_device: 2, variable: GPUS, others: all}
    7: {devices: [GPU-8a56, "MIG-1"]}
polling: {looks_per_second: 20}
defaults: {retries: 0}
"""


def loads(text: str, allowed: frozenset[str] | None = None) -> Config:
    return config.loads(text.encode(), "a.yml", allowed)


def refusal(text: str, allowed: frozenset[str] | None = None) -> InturnError:
    with pytest.raises(InturnError) as caught:
        loads(text, allowed)
    assert caught.value.code == "config_invalid"
    assert "\n" not in caught.value.message
    return caught.value


def with_pools(pools: str) -> str:
    return f"schema_version: 1\nconcurrency:\n  pools: {pools}\n"


def with_defaults(defaults: str) -> str:
    return f"schema_version: 1\ndefaults: {defaults}\n"


def test_a_whole_file_is_read() -> None:
    assert loads(WHOLE) == Config(
        path="a.yml",
        digest=hashlib.sha256(WHOLE.encode()).hexdigest(),
        max_active_slots=4,
        pools=(
            PoolConfig("analysis", 2),
            PoolConfig("open", None),
            PoolConfig("io", 3),
            PoolConfig("gpu", 4, ("0", "1"), 2, "GPUS", "all"),
            PoolConfig("7", 2, ("GPU-8a56", "MIG-1"), 1, "CUDA_VISIBLE_DEVICES", "none"),
        ),
        defaults=(("retries", 0),),
        declares_limit=True,
        looks_per_second=20,
    )


@pytest.mark.parametrize(
    "text",
    [
        "schema_version: 1\n",
        "---\nschema_version: 1\n...\n",
        "\ufeffschema_version: 1",
        "# a comment\r\nschema_version: 1\r\nconcurrency: {max_active_slots: unlimited, pools: {}}\r\n",
        "schema_version: 1\ndefaults: {}\n",
    ],
)
def test_what_a_file_leaves_out_is_unlimited_or_empty(text: str) -> None:
    read = loads(text)
    assert (read.max_active_slots, read.pools, read.defaults) == (None, (), ())


@pytest.mark.parametrize(
    ("concurrency", "declared"),
    [("{max_active_slots: unlimited}", True), ("{max_active_slots: 2}", True), ("{pools: {a: 1}}", False)],
)
def test_a_file_that_says_unlimited_declares_the_limit(concurrency: str, declared: bool) -> None:
    assert loads(f"schema_version: 1\nconcurrency: {concurrency}\n").declares_limit is declared


@pytest.mark.parametrize(
    "value", ["0", "-1", "1e12", '""', "", "~", "true", "yes", "1.0", "1_000", "0x10", '"4"']
)
def test_a_nonsense_capacity_is_refused_with_its_place_and_path(value: str) -> None:
    pool = refusal(f"schema_version: 1\nconcurrency:\n  pools:\n    gpu: {value}\n")
    assert pool.message.startswith("a.yml:4: concurrency.pools.gpu: ")
    slots = refusal(f"schema_version: 1\nconcurrency:\n  pools:\n    gpu:\n      slots: {value}\n")
    assert slots.message.startswith("a.yml:5: concurrency.pools.gpu.slots: ")
    limit = refusal(f"schema_version: 1\nconcurrency:\n  max_active_slots: {value}\n")
    assert limit.message.startswith("a.yml:3: concurrency.max_active_slots: ")


@pytest.mark.parametrize(
    "value", ["[1]", "[]", "{}", "{per_device: 2}", "{slots: 1, others: all}", "{slots: [1]}"]
)
def test_a_pool_that_is_neither_a_limit_nor_devices_is_refused(value: str) -> None:
    assert refusal(with_pools(f"{{gpu: {value}}}")).message.startswith("a.yml:3: concurrency.pools.gpu")


@pytest.mark.parametrize(
    ("entry", "path"),
    [
        ("devices: 2", "devices"),
        ("devices: []", "devices"),
        ("devices: {a: 1}", "devices"),
        ("devices: [0, 0]", "devices[1]"),
        ("devices: [0, '0']", "devices[1]"),
        ("devices: [0, 00]", "devices[1]"),
        ("devices: [true]", "devices[0]"),
        ("devices: [~]", "devices[0]"),
        ("devices: [-1]", "devices[0]"),
        ("devices: [[0]]", "devices[0]"),
        ("devices: ['']", "devices[0]"),
        ("devices: ['0,1']", "devices[0]"),
        ("devices: ['0 1']", "devices[0]"),
        ('devices: ["a\\tb"]', "devices[0]"),
        ("devices: [0], per_device: 0", "per_device"),
        ("devices: [0], per_device: true", "per_device"),
        ("devices: [0], per_device: unlimited", "per_device"),
        ("devices: [0, 1], per_device: 2147483647", "per_device"),
        ("devices: [0], slots: 1", "slots"),
        ("devices: [0], variable: 1A", "variable"),
        ("devices: [0], variable: A-B", "variable"),
        ("devices: [0], variable: ''", "variable"),
        ("devices: [0], variable: É", "variable"),
        ("devices: [0], variable: [A]", "variable"),
        ("devices: [0], others: some", "others"),
        ("devices: [0], others: ~", "others"),
    ],
)
def test_a_wrong_device_pool_is_refused_where_it_is_wrong(entry: str, path: str) -> None:
    problem = refusal(with_pools(f"{{gpu: {{{entry}}}}}"))
    assert problem.message.startswith(f"a.yml:3: concurrency.pools.gpu.{path}: ")


@pytest.mark.parametrize("value", ["0", "-1", "unlimited", "'20'", "1.5", "10001", "~", "[]", "10s"])
def test_nonsense_about_polling_is_refused_with_its_place(value: str) -> None:
    problem = refusal(f"schema_version: 1\npolling:\n  looks_per_second: {value}\n")
    assert problem.message.startswith("a.yml:3: polling.looks_per_second: ")
    assert "number" in problem.message
    assert "unlimited" not in f"{problem.message.replace(value, '')} {problem.hint}"


@pytest.mark.parametrize(("said", "looks"), [("{}", None), ("{looks_per_second: 10000}", 10_000)])
def test_how_often_all_look_may_be_said_or_left_out(said: str, looks: int | None) -> None:
    assert loads(f"schema_version: 1\npolling: {said}\n").looks_per_second == looks


@pytest.mark.parametrize("name", ["a", "7", "1.0", "null", "true", "A.b_c-d", "x" * 64])
def test_a_pool_name_may_look_like_something_else(name: str) -> None:
    assert loads(with_pools(f"{{{name}: 1}}")).pools == (PoolConfig(name, 1),)


@pytest.mark.parametrize("name", ["''", "-a", ".a", "_a", "a b", "a/b", "é", "x" * 65, '"a\\n"', "<<"])
def test_a_wrong_pool_name_is_refused(name: str) -> None:
    assert refusal(with_pools(f"{{{name}: 1}}")).message.startswith("a.yml:3: concurrency.pools.")


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("schema_version: 1\nconcurency: {}\n", "a.yml:2: concurency: ", "Did you mean concurrency?"),
        (
            "schema_version: 1\nzzz: 1\n",
            "a.yml:2: zzz: ",
            "Known here: concurrency, defaults, polling, schema_version.",
        ),
        ("schema_version: 1\n? ''\n: 1\n", 'a.yml:2: "": ', "Known here: "),
        ("schema_version: 1\n<<: {defaults: {}}\n", "a.yml:2: <<: ", "Known here: "),
        (
            "schema_version: 1\nconcurrency:\n  max-active-slots: 1\n",
            "a.yml:3: concurrency.max-active-slots: ",
            "Did you mean max_active_slots?",
        ),
        (with_pools("{g: {device: [0]}}"), "a.yml:3: concurrency.pools.g.device: ", "Did you mean devices?"),
    ],
)
def test_an_unknown_key_is_refused_with_its_place(text: str, place: str, hint: str) -> None:
    problem = refusal(text)
    assert problem.message.startswith(place)
    assert problem.hint.startswith(hint)


@pytest.mark.parametrize("version", ["2", "0", "1.0", "'1'", "true", "~", "[1]", "one"])
def test_another_schema_version_is_refused_whatever_else_the_file_holds(version: str) -> None:
    problem = refusal(f"new_key: 1\nschema_version: {version}\n")
    assert problem.message.startswith("a.yml:2: schema_version: ")


def test_a_missing_schema_version_is_refused() -> None:
    assert refusal("defaults: {}\n").message == "a.yml:1: schema_version is missing"


def test_defaults_keep_what_was_written() -> None:
    text = """\
schema_version: 1
defaults:
  retries: 3
  priority: -5
  run-timeout: 1.5
  retry_delay: 1m
  job_timeout: 1e3
  name: 007
  note: "12"
  merge_output: true
  leave-children: False
  cwd: yes
  at: 2027-03-28
  pool: ''
  max_runs: 99999999999999999999
  retryable_exit_code: [75, 64-78]
  tag: []
  env:
    - A=b
    - "C=d # e"
"""
    assert loads(text).defaults == (
        ("retries", 3),
        ("priority", -5),
        ("run_timeout", "1.5"),
        ("retry_delay", "1m"),
        ("job_timeout", "1e3"),
        ("name", "007"),
        ("note", "12"),
        ("merge_output", True),
        ("leave_children", False),
        ("cwd", "yes"),
        ("at", "2027-03-28"),
        ("pool", ""),
        ("max_runs", "99999999999999999999"),
        ("retryable_exit_code", ["75", "64-78"]),
        ("tag", []),
        ("env", ["A=b", "C=d # e"]),
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [("", ""), ("~", ""), ("{A: b}", ""), ("[[a]]", "[0]"), ("[a, ~]", "[1]"), ("[{a: b}]", "[0]")],
)
def test_a_default_is_a_scalar_or_a_list_of_scalars(value: str, path: str) -> None:
    assert refusal(with_defaults(f"{{env: {value}}}")).message.startswith(f"a.yml:2: defaults.env{path}: ")


def test_a_default_must_be_a_known_option_in_either_spelling() -> None:
    known = frozenset({"retries", "retry_delay"})
    assert loads(with_defaults("{retry-delay: 1s}"), known).defaults == (("retry_delay", "1s"),)
    assert loads(with_defaults("{retry_delay: 1s}"), known).defaults == (("retry_delay", "1s"),)
    problem = refusal(with_defaults("{retry-dely: 1s}"), known)
    assert problem.message.startswith("a.yml:2: defaults.retry-dely: ")
    assert problem.hint == "Did you mean retry_delay?"


def test_a_value_that_the_option_does_not_take_is_refused_with_its_place() -> None:
    def check(name: str, value: object) -> None:
        if (name, value) == ("retries", "many"):
            raise InturnError("invalid_value", '"many" is not a limit', "Write a number.")

    text = b"schema_version: 1\ndefaults:\n  name: many\n  retries: many\n"
    with pytest.raises(InturnError) as caught:
        config.loads(text, "a.yml", None, check)
    assert caught.value.code == "config_invalid"
    assert caught.value.message == 'a.yml:4: defaults.retries: "many" is not a limit'
    assert caught.value.hint == "Write a number."
