from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inturn.core.environment import OWN_VARIABLES
from inturn.errors import InturnError
from inturn.service.surroundings import capture, read_env_files


def test_directory_umask_and_command_are_those_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(odd)
    monkeypatch.chdir(os.fsdecode(odd))
    before = os.umask(0o027)
    try:
        found = capture(["echo", "", "a b\n", "\udcff"], supervised=True)
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert found.argv == (b"echo", b"", b"a b\n", b"\xff")
    assert (found.cwd, found.umask, found.supervised) == (odd, 0o027, True)


def test_no_words_are_no_command() -> None:
    assert capture([], supervised=False).argv is None


def test_what_a_run_is_told_of_itself_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OWN_VARIABLES:
        monkeypatch.setenv(name.decode(), "1")
    monkeypatch.setenv("INTURN_DIR", "/store")
    names = {entry.partition(b"=")[0] for entry in capture([], supervised=True).environment}
    assert not names.intersection(OWN_VARIABLES)
    assert b"INTURN_DIR" in names


def test_the_environment_is_the_submitters_byte_for_byte() -> None:
    program = (
        "import json; from inturn.service.surroundings import capture;"
        "print(json.dumps([e.decode('latin-1') for e in capture([], True).environment]))"
    )
    wanted = {b"V": b"1\n2;id", b"ODD": b"\xff", b"BASH_FUNC_f%%": b"() { echo hi; }", b"EMPTY": b""}
    done = subprocess.run([sys.executable, "-c", program], env=wanted, capture_output=True, check=True)
    found = [entry.encode("latin-1") for entry in json.loads(done.stdout)]
    # Nothing is added either: in the C locale Python sets LC_CTYPE for itself.
    assert found == sorted(name + b"=" + value for name, value in wanted.items())


def test_a_locale_that_the_submitter_chose_is_kept() -> None:
    program = "from inturn.service.surroundings import capture; print(capture([], True).environment)"
    env = {"LC_CTYPE": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True)
    assert done.stdout == b"(b'LC_CTYPE=C.UTF-8',)\n"


def test_a_directory_that_is_gone_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InturnError, match="present directory"):
        capture(["true"], supervised=True)


def test_files_of_variables_stand_before_single_ones(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"A=1\nB=\xff\n")
    (tmp_path / "b").write_bytes(b"A=2\n")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    values = {"env_file": files, "env": ["A=3"], "name": "x"}
    assert read_env_files(values) == {"env": ["A=1", "B=\udcff", "A=2", "A=3"], "name": "x"}
    assert read_env_files({"env_file": files[1], "env": "A=3"}) == {"env": ["A=2", "A=3"]}
    assert read_env_files({"env": ["A=3"]}) == {"env": ["A=3"]}


@pytest.mark.parametrize("path", ["nowhere", "", ".", "a\0b"])
def test_a_file_of_variables_that_cannot_be_read_is_refused(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InturnError) as caught:
        read_env_files({"env_file": [path]})
    assert caught.value.code == "invalid_value"
    assert caught.value.message.startswith("--env-file: ")
