from __future__ import annotations

from pathlib import Path

import pytest

from inturn.host import logind


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root directory of a machine that systemd has started."""
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    return tmp_path


def write(root: Path, place: str, *lines: str) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[Login]\n" + "".join(f"{line}\n" for line in lines))


def kills(root: Path, user: str = "me") -> bool | None:
    return logind.look(user, str(root)).kills


def test_without_systemd_nobody_is_ended(tmp_path: Path) -> None:
    assert logind.look("me", str(tmp_path)) == logind.Logout(False, False, None)


def test_where_nothing_is_set_it_cannot_be_told(root: Path) -> None:
    assert kills(root) is None


@pytest.mark.parametrize(("text", "expected"), [("yes", True), ("1", True), ("no", False), ("off", False)])
def test_the_main_file_decides(root: Path, text: str, expected: bool) -> None:
    write(root, "etc/systemd/logind.conf", f"KillUserProcesses={text}")
    assert kills(root) is expected


@pytest.mark.parametrize(("text", "expected"), [("yes", True), ("no", False)])
def test_what_the_file_mentions_in_a_comment_was_built_in(root: Path, text: str, expected: bool) -> None:
    write(root, "etc/systemd/logind.conf", f"#KillUserProcesses={text}", "#KillExcludeUsers=root")
    assert kills(root) is expected
    write(root, "etc/systemd/logind.conf.d/mine.conf", f"KillUserProcesses={'no' if expected else 'yes'}")
    assert kills(root) is not expected


def test_later_drop_ins_win_and_hide_those_of_the_same_name(root: Path) -> None:
    write(root, "etc/systemd/logind.conf", "KillUserProcesses=no")
    write(root, "usr/lib/systemd/logind.conf.d/50.conf", "KillUserProcesses=yes")
    assert kills(root) is True
    write(root, "etc/systemd/logind.conf.d/50.conf", "IdleAction=ignore")
    assert kills(root) is False
    write(root, "run/systemd/logind.conf.d/90.conf", "KillUserProcesses=yes")
    write(root, "run/systemd/logind.conf.d/99.txt", "KillUserProcesses=no")
    assert kills(root) is True


def test_some_users_are_spared(root: Path) -> None:
    write(root, "etc/systemd/logind.conf", "KillUserProcesses=yes")
    assert kills(root, "root") is False
    write(root, "etc/systemd/logind.conf", "KillUserProcesses=yes", "KillExcludeUsers=me you")
    assert kills(root, "me") is False
    assert kills(root, "root") is True
    write(root, "etc/systemd/logind.conf", "KillUserProcesses=yes", "KillOnlyUsers=you")
    assert kills(root, "me") is False
    assert kills(root, "you") is True


def test_lingering_shows_in_a_file_or_is_told_by_loginctl(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_directory = root / "bin"
    bin_directory.mkdir()
    monkeypatch.setenv("PATH", str(bin_directory))
    assert logind.lingers("me", str(root)) is None
    program = bin_directory / "loginctl"
    for answer, expected in (("Linger=no", False), ("Linger=yes", True), ("nonsense", None)):
        program.write_text(
            f"#!/bin/sh\n[ \"$1 $2 $3\" = 'show-user me --property=Linger' ] && echo {answer}\n"
        )
        program.chmod(0o755)
        assert logind.lingers("me", str(root)) is expected
    (root / "var/lib/systemd/linger").mkdir(parents=True)
    (root / "var/lib/systemd/linger/me").touch()
    assert logind.lingers("me", str(root)) is True
