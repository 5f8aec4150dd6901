"""Packs the source of a release, for the tests of upgrades: see tests/fixtures/README.md.

    python tools/pack_release.py tests/fixtures/schema-1.1.zip [SOURCE]

SOURCE is the directory of the package `inturn` (default: that of this tree). The same source gives the same
bytes: names are sorted, times and modes fixed.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "inturn"

# The earliest time that a ZIP file can hold; what is packed has no times of its own.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_READABLE_FILE = 0o100644 << 16


def files(source: Path) -> Iterator[Path]:
    """Yield the files of a package in a fixed order, without what the interpreter has made of them."""
    for directory, subdirectories, names in os.walk(source):
        subdirectories[:] = sorted(name for name in subdirectories if name != "__pycache__")
        yield from (Path(directory, name) for name in sorted(names))


def pack(target: Path, source: Path = SOURCE) -> None:
    """Write the package in `source` to the ZIP file `target`, as it would stand on a path of modules."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files(source):
            entry = zipfile.ZipInfo(str(Path("inturn") / path.relative_to(source)), _NO_TIME)
            entry.external_attr = _READABLE_FILE
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())


if __name__ == "__main__":
    pack(*map(Path, sys.argv[1:3]))
