"""Other releases of inturn, to be run beside the present one on the same store."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path
from typing import NamedTuple

from inturn.store import migrate
from tests.arch.sources import ROOT, SRC

KEPT = sorted((ROOT / "tests" / "fixtures").glob("schema-*.zip"))

# What a later minor version may do: add. Every table gets a column, so that no statement of an older release
# may do without naming its own. Not `tallies`, which only triggers write: they are the schema's own.
LATER_TABLES = (
    *(
        "migrations",
        "owners",
        "worker_queues",
        "environments",
        "jobs",
        "specs",
        "arrays",
        "deadlines",
        "tags",
    ),
    *("keys", "edges", "unsettled", "conditions", "runs", "admissions", "events", "pools", "held"),
    "configuration",
)
LATER_SQL = (
    "\n".join(
        f"ALTER TABLE {table} ADD COLUMN later TEXT NOT NULL DEFAULT 'as it came';" for table in LATER_TABLES
    )
    + """
CREATE TABLE later_phases (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id INTEGER NOT NULL,
    phase TEXT NOT NULL
) STRICT;
CREATE INDEX jobs_later ON jobs (later, id);
CREATE TRIGGER jobs_later_phase AFTER UPDATE OF phase ON jobs WHEN new.phase <> old.phase
BEGIN
    INSERT INTO later_phases (job_id, phase) VALUES (new.id, new.phase);
END;
"""
)


class Release(NamedTuple):
    """A release by the directory that its package is in, and what its schema's version is."""

    place: Path
    version: int

    @property
    def env(self) -> dict[str, str | None]:
        """The environment in which `inturn` is this release."""
        return {"PYTHONPATH": str(self.place)}


def unpacked(archive: Path, place: Path) -> Release:
    """Return a release that was kept; its file's name says which schema it has."""
    major, minor = archive.stem.removeprefix("schema-").split(".")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(place)
    return Release(place, int(major) * 1000 + int(minor))


def later_minor(place: Path) -> Release:
    """Return the present release with one more migration, which only adds."""
    _copy(place)
    name = f"{len(migrate.MIGRATIONS) + 1:04}.sql"
    (place / "inturn" / "store" / "migrations" / name).write_text(LATER_SQL, encoding="utf-8")
    _replace(place, r"^MIGRATIONS = .*$", f"MIGRATIONS = {(*migrate.MIGRATIONS, name)!r}")
    return Release(place, migrate.CURRENT + 1)


def later_major(place: Path) -> Release:
    """Return the present release as it would be if its stores were no longer fit for older ones."""
    _copy(place)
    _replace(place, r"^MAJOR = .*$", f"MAJOR = {migrate.MAJOR + 1}")
    return Release(place, migrate.CURRENT + 1000)


def _copy(place: Path) -> None:
    shutil.copytree(SRC / "inturn", place / "inturn", ignore=shutil.ignore_patterns("__pycache__"))


def _replace(place: Path, pattern: str, line: str) -> None:
    module = place / "inturn" / "store" / "migrate.py"
    text, count = re.subn(pattern, line, module.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert count == 1, pattern
    module.write_text(text, encoding="utf-8")
