from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from inturn.errors import InturnError
from inturn.host import store_dir
from inturn.service import standby


@pytest.mark.parametrize(
    ("lack", "hint"),
    [
        ("EMFILE", "ulimit -n"),
        ("ENFILE", "on this machine"),
        ("EAGAIN", "ulimit -u"),
        ("ENOMEM", "memory"),
        ("EPERM", "ulimit -u"),
    ],
)
@pytest.mark.parametrize("call", ["pipe", "posix_spawn"])
def test_what_is_lacking_to_start_a_supervisor_is_what_its_hint_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, lack: str, hint: str
) -> None:
    number = getattr(errno, lack)
    store_dir.create_store_dirs(str(tmp_path / "store"))

    def fail(*args: object, **fields: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(InturnError) as refused:
        standby.start(str(tmp_path / "store"), ("/bin/true",))
    assert refused.value.code == "submission_failed"
    assert os.strerror(number) in refused.value.message
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("Nothing was submitted.")
    assert hint in refused.value.hint
    assert ("ulimit -u" in refused.value.hint) == (hint == "ulimit -u")
    assert list((tmp_path / "store" / "owners").iterdir()) == []
