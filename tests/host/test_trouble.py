from __future__ import annotations

import errno
import os

import pytest

from inturn.errors import InturnError
from inturn.host import trouble


@pytest.mark.parametrize(
    ("number", "code", "hint"),
    [
        (errno.EROFS, "store_unusable", "mount"),
        (errno.EACCES, "store_unusable", "inturn doctor"),
        (errno.ENOSPC, "failed", "space"),
        (errno.EMFILE, "failed", "ulimit -n"),
    ],
)
@pytest.mark.parametrize("part", ["", "/owners/x.lock"])
def test_an_error_about_a_file_of_the_store_says_what_and_what_to_do(
    part: str, number: int, code: str, hint: str
) -> None:
    with pytest.raises(InturnError) as caught, trouble.explaining("/a/store"):
        raise OSError(number, os.strerror(number), "/a/store" + part)
    assert caught.value.code == code
    assert f"/a/store{part} cannot be" in caught.value.message
    assert os.strerror(number) in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("path", ["/a/storehouse/file", "/elsewhere", None])
def test_an_error_about_anything_else_passes_untouched(path: str | None) -> None:
    problem = OSError(errno.EROFS, "no", path)
    with pytest.raises(OSError, match="no") as caught, trouble.explaining("/a/store"):
        raise problem
    assert caught.value is problem
