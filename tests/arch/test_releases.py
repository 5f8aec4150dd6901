"""The kept releases that the tests of upgrades run: none is missing, and they can be made again."""

from __future__ import annotations

from pathlib import Path

from inturn.store import migrate
from tests.arch.sources import ROOT, SRC
from tools.pack_release import pack

FIXTURES = ROOT / "tests" / "fixtures"


def test_a_release_of_every_earlier_schema_is_kept_and_one_of_the_first_anyway() -> None:
    kept = {path.name for path in FIXTURES.glob("schema-*.zip")}
    wanted = {f"schema-{migrate.MAJOR}.{n}.zip" for n in range(1, max(len(migrate.MIGRATIONS), 2))}
    assert wanted <= kept, "see tests/fixtures/README.md"


def test_the_same_source_packs_to_the_same_bytes(tmp_path: Path) -> None:
    for name in ("once.zip", "again.zip"):
        pack(tmp_path / name, SRC / "inturn")
    assert (tmp_path / "once.zip").read_bytes() == (tmp_path / "again.zip").read_bytes()
