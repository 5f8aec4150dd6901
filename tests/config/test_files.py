from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inturn import config
from inturn.errors import InturnError

TEXT = "schema_version: 1\ndefaults: {retries: 0}\n"


def test_the_file_is_named_by_option_then_environment_then_xdg() -> None:
    home = {"HOME": "/home/me"}
    xdg = {**home, "XDG_CONFIG_HOME": "/xdg"}
    named = {**xdg, "INTURN_CONFIG": "/named.yml"}
    assert config.locate("/given.yml", named) == ("/given.yml", "--config")
    assert config.locate(None, named) == ("/named.yml", "INTURN_CONFIG")
    assert config.locate(None, xdg) == ("/xdg/inturn/inturn.yml", "default")
    assert config.locate(None, home) == ("/home/me/.config/inturn/inturn.yml", "default")
    assert config.locate(None, named)[0] == "/named.yml"
    assert config.locate(None, xdg)[0] == "/xdg/inturn/inturn.yml"


@pytest.mark.parametrize("value", ["", "relative", "./x", "~/x"])
def test_an_xdg_directory_that_is_not_absolute_is_ignored(value: str) -> None:
    environ = {"HOME": "/home/me", "XDG_CONFIG_HOME": value, "INTURN_CONFIG": ""}
    assert config.locate(None, environ) == ("/home/me/.config/inturn/inturn.yml", "default")


def test_without_a_home_in_the_environment_the_file_is_still_absolute() -> None:
    assert os.path.isabs(config.locate(None, {})[0])


def test_a_relative_name_is_taken_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = str(tmp_path / "a.yml")
    assert config.locate("a.yml", {}) == (expected, "--config")
    assert config.locate(None, {"INTURN_CONFIG": "./a.yml"}) == (expected, "INTURN_CONFIG")
    (tmp_path / "a.yml").write_text(TEXT)
    assert config.load("a.yml").path == expected


def test_an_empty_option_is_refused() -> None:
    with pytest.raises(InturnError) as caught:
        config.locate("", {})
    assert caught.value.code == "invalid_value"


def test_the_signature_changes_with_the_file_and_is_none_without_one(tmp_path: Path) -> None:
    path = tmp_path / "inturn.yml"
    assert config.signature(str(path)) is None
    assert config.signature(str(path / "below")) is None
    path.write_text(TEXT)
    first = config.signature(str(path))
    assert first is not None
    assert config.signature(str(path)) == first
    assert config.signature(str(path / "below")) is None
    other = tmp_path / "other"
    other.write_text(TEXT)
    os.utime(other, ns=(first[0], first[0]))
    other.replace(path)
    assert config.signature(str(path)) != first


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path, tmp_path / "missing", loop, tmp_path / "nul\0"):
        with pytest.raises(InturnError) as caught:
            config.load(str(path))
        assert caught.value.code == "config_invalid"
        assert caught.value.message.startswith(f"{path}: cannot be read: ")
    with pytest.raises(InturnError) as caught:
        config.signature(str(loop))
    assert caught.value.code == "config_invalid"


def test_the_digest_is_of_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "inturn.yml"
    path.write_bytes(TEXT.encode())
    read = config.load(str(path))
    assert read.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(TEXT.encode() + b"# a comment\n")
    changed = config.load(str(path))
    assert changed.digest != read.digest
    assert changed._replace(digest="") == read._replace(digest="")


def test_a_submission_that_looks_whether_the_file_has_changed_loads_nothing_heavy() -> None:
    program = (
        f"import os, sys; sys.path.append({str(Path(config.__file__).parents[2])!r})\n"
        "from inturn import config\n"
        "config.signature(config.locate(None, os.environ)[0]); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    heavy = {
        "ruamel.yaml",
        "hashlib",
        "difflib",
        "typing",
        "re",
        "inturn.config.schema",
        "inturn.config.tree",
    }
    assert heavy.isdisjoint(done.stdout.split())
