"""`pools detect`, with a program on the PATH that stands in for nvidia-smi."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.harness import Cli, Result

GPU = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"
MIG = "MIG-ffda444c-c706-57c6-98c9-67c441a0b109"
CARD = f"0, {GPU}, NVIDIA A100-SXM4-40GB, 40960 MiB"

# It answers to exactly what is documented of the real one, and fails at anything else.
ANSWERS = """\
case "$*" in
"--query-gpu=index,uuid,name,memory.total --format=csv,noheader") cat <<'TABLE'
{table}
TABLE
;;
-L) cat <<'LISTING'
{listing}
LISTING
;;
*) exit 2 ;;
esac
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    return directory


def _stand_in(programs: Path, script: str) -> None:
    path = programs / "nvidia-smi"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def _detect(cli: Cli, programs: Path, *words: str) -> Result:
    path = f"{programs}:{os.defpath}"
    return cli.run("pools", "detect", *words, env={"PATH": path})


def test_the_lines_that_it_prints_are_a_configuration_that_gives_the_jobs_their_devices(
    cli: Cli, programs: Path
) -> None:
    _stand_in(programs, ANSWERS.format(table=CARD, listing=f"GPU 0: NVIDIA A100 (UUID: {GPU})"))
    proposed = _detect(cli, programs).check()
    assert str(cli.config) in proposed.err.decode()
    assert "inturn config apply" in proposed.err.decode()
    assert not cli.store.exists()
    assert not cli.config.exists()
    cli.configure(proposed.text)
    cli.run("config", "apply").check()
    print_device = 'test "$CUDA_VISIBLE_DEVICES" = 0'
    cli.run("run", "--wait", "--pool", "gpu", "-c", print_device).check()
    assert cli.run("pools", "--json").check().data["pools"][0]["devices"] == ["0"]


def test_as_data_it_is_what_is_there_and_what_would_be_written(cli: Cli, programs: Path) -> None:
    listing = f"GPU 0: NVIDIA A100 (UUID: {GPU})\n  MIG 1g.5gb      Device  0: (UUID: {MIG})"
    _stand_in(programs, ANSWERS.format(table=CARD, listing=listing))
    found = _detect(cli, programs, "cards", "--json").check()
    assert found.err == b""
    assert (found.data["pool"], found.data["devices"]) == ("cards", [MIG])
    assert found.data["cards"] == [
        {
            "index": 0,
            "uuid": GPU,
            "name": "NVIDIA A100-SXM4-40GB",
            "memory": 40960 * 2**20,
            "parts": [{"uuid": MIG, "profile": "1g.5gb"}],
        }
    ]
    cli.configure(found.data["yaml"])
    cli.run("config", "validate").check()


def test_a_configuration_that_is_there_already_is_to_be_added_to(cli: Cli, programs: Path) -> None:
    _stand_in(programs, ANSWERS.format(table=CARD, listing=""))
    cli.configure("schema_version: 1\n")
    assert f"add this pool to {cli.config}" in _detect(cli, programs).check().err.decode()
    assert cli.config.read_text() == "schema_version: 1\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (None, "not on the PATH"),
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", "version mismatch"),
        ("echo 'no permission' >&2; exit 4", "exit 4: no permission"),
        ("exit 9", "exit 9"),
        ("true", "reports no graphics card"),
        ("echo 'No devices were found'", "No devices were found"),
    ],
)
def test_without_a_card_it_fails_and_says_what_is_wrong(
    cli: Cli, programs: Path, script: str | None, told: str
) -> None:
    if script is not None:
        _stand_in(programs, script)
    failed = _detect(cli, programs).check(1)
    assert failed.out == b""
    assert told in failed.err.decode()
    assert b"hint: " in failed.err
    assert _detect(cli, programs, "--json").check(1).json["error"]["code"] == "failed"


def test_a_name_that_no_pool_can_have_is_refused(cli: Cli, programs: Path) -> None:
    assert b"cannot be the name of a pool" in _detect(cli, programs, "a/b").check(2).err
    assert b"pools detect needs a name or nothing" in _detect(cli, programs, "a", "2").check(2).err
