from __future__ import annotations

import os
import pwd
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.errors import InturnError
from inturn.host import mounts, store_dir

PARTS = (*("logs", "owners"), *("inturn.db", "inturn.db-wal", "inturn.db-shm"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The place of a store that does not exist yet, below a directory that does not either."""
    return tmp_path.resolve() / "state" / "inturn"


@pytest.fixture
def made(store: Path) -> Path:
    """A store with its directories and a database."""
    store_dir.create_store_dirs(str(store))
    (store / "inturn.db").write_bytes(b"content")
    (store / "inturn.db").chmod(0o600)
    return store


@pytest.fixture
def restored_umask() -> Iterator[None]:
    umask = os.umask(0o022)
    yield
    os.umask(umask)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refusal(store: Path) -> InturnError:
    with pytest.raises(InturnError) as caught:
        store_dir.check_store_dir(str(store))
    assert caught.value.code == "store_unusable"
    assert caught.value.hint
    return caught.value


# Where the store is


def test_the_variable_names_the_store() -> None:
    environ = {"INTURN_DIR": "/there/it/is", "XDG_STATE_HOME": "/state", "HOME": "/home/ann"}
    assert store_dir.default_store_dir(environ) == "/there/it/is"


def test_a_relative_name_in_the_variable_is_relative_to_the_present_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_dir.default_store_dir({"INTURN_DIR": "jobs/../store"}) == f"{os.getcwd()}/store"


def test_without_the_variable_the_store_is_in_the_state_directory() -> None:
    assert store_dir.default_store_dir({"XDG_STATE_HOME": "/state", "HOME": "/home/ann"}) == "/state/inturn"
    assert store_dir.default_store_dir({"INTURN_DIR": "", "XDG_STATE_HOME": "/state"}) == "/state/inturn"


@pytest.mark.parametrize("state_home", [None, "", "relative/state"])
def test_a_state_directory_that_is_empty_or_relative_is_ignored(state_home: str | None) -> None:
    environ = {"HOME": "/home/ann"} | ({} if state_home is None else {"XDG_STATE_HOME": state_home})
    assert store_dir.default_store_dir(environ) == "/home/ann/.local/state/inturn"


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_usable_home_variable_the_users_home_directory_counts(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = pwd.getpwuid(0).pw_dir  # the tests themselves may run as a user who has none
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert store_dir.default_store_dir(environ) == f"{home}/.local/state/inturn"


def test_a_user_without_any_home_is_told_to_name_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_000)
    with pytest.raises(InturnError) as caught:
        store_dir.default_store_dir({})
    assert caught.value.code == "store_unusable"
    assert "INTURN_DIR" in caught.value.hint


def test_a_relative_name_in_a_directory_that_was_removed_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InturnError, match="present directory"):
        store_dir.default_store_dir({"INTURN_DIR": "store"})
    with pytest.raises(InturnError, match="present directory"):
        store_dir.resolve_store("store")


def test_the_users_own_link_to_a_store_is_resolved(made: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(made)
    assert store_dir.resolve_store(str(link)) == str(made)
    assert store_dir.resolve_store(f"{link}/") == str(made)
    assert store_dir.check_store_dir(store_dir.resolve_store(str(link))) == []


def test_a_link_may_lead_to_a_store_that_is_still_to_be_created(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(store)
    store_dir.create_store_dirs(store_dir.resolve_store(str(link)))
    assert store.is_dir()
    assert link.is_symlink()


def test_a_link_that_someone_else_placed_is_not_followed(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(made)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(InturnError, match="another user") as caught:
        store_dir.resolve_store(str(link))
    assert caught.value.code == "store_unusable"


def test_a_relative_path_is_made_absolute(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made.parent)
    assert store_dir.resolve_store("inturn") == str(made)
    assert store_dir.resolve_store(".") == str(made.parent)


def test_a_link_that_leads_to_itself_is_refused_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InturnError) as caught:
        store_dir.create_store_dirs(store_dir.resolve_store(str(tmp_path / "loop")))
    assert caught.value.code == "store_unusable"


# Creating it


@pytest.mark.usefixtures("restored_umask")
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_a_new_store_and_its_parents_are_private_whatever_the_umask(store: Path, umask: int) -> None:
    os.umask(umask)
    store_dir.create_store_dirs(str(store))
    os.umask(0o022)
    for created in (store.parent, store, store / "logs", store / "owners"):
        assert mode(created) == 0o700
    assert sorted(os.listdir(store)) == ["logs", "owners"]
    assert store_dir.check_store_dir(str(store)) == []


def test_to_create_a_store_that_exists_changes_nothing(made: Path) -> None:
    made.parent.chmod(0o755)
    made.chmod(0o750)
    (made / "logs").chmod(0o750)
    store_dir.create_store_dirs(str(made))
    assert [mode(path) for path in (made.parent, made, made / "logs")] == [0o755, 0o750, 0o750]
    assert (made / "inturn.db").read_bytes() == b"content"


def test_what_is_missing_of_a_store_is_created(made: Path) -> None:
    (made / "owners").rmdir()
    store_dir.create_store_dirs(str(made))
    assert mode(made / "owners") == 0o700


def test_nothing_is_created_in_a_directory_that_others_can_write(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(InturnError, match="written by other users"):
        store_dir.create_store_dirs(str(shared))
    assert os.listdir(shared) == []


@pytest.mark.parametrize("below", ["", "inturn", "a/b"])
def test_a_file_in_the_way_is_an_error_that_names_it(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(InturnError, match=str(file)) as caught:
        store_dir.create_store_dirs(str(file / below))
    assert caught.value.code == "store_unusable"
    assert file.read_text() == "mine"


def test_a_place_where_nothing_can_be_created_is_an_error_that_names_it() -> None:
    with pytest.raises(InturnError, match="/proc/inturn") as caught:
        store_dir.create_store_dirs("/proc/inturn/store")
    assert caught.value.code == "store_unusable"


def test_many_processes_may_create_one_store_at_once(store: Path) -> None:
    program = """if True:
        import sys
        from inturn.host import paths, store_dir
        print("ready", flush=True)
        sys.stdin.read()
        store_dir.create_store_dirs(sys.argv[1])
        assert store_dir.check_store_dir(sys.argv[1]) == []
    """
    command = [sys.executable, "-c", program, str(store)]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(6)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == b"ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
        racer.stdin = None
    complaints = [racer.communicate()[1] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * len(racers), complaints


# Whether it is safe


def test_a_private_store_is_accepted_without_a_warning(made: Path) -> None:
    assert store_dir.check_store_dir(str(made)) == []


@pytest.mark.parametrize("bits", [0o750, 0o705, 0o711])
def test_a_store_that_others_can_look_into_is_warned_about(made: Path, bits: int) -> None:
    made.chmod(bits)
    (warning,) = store_dir.check_store_dir(str(made))
    assert str(made) in warning


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777, 0o1777])
def test_a_store_that_others_can_write_is_refused(made: Path, bits: int) -> None:
    made.chmod(bits)
    assert str(made) in refusal(made).message


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_others_can_write_is_refused(made: Path, name: str) -> None:
    part = made / name
    if not part.exists():
        part.write_text("")
    part.chmod(0o722)
    assert str(part) in refusal(made).message


def test_the_store_of_another_user_is_refused(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "another user" in refusal(made).message


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for path in (file, link):
        assert "not a directory" in refusal(path).message


def test_a_path_where_nothing_is_is_refused(store: Path) -> None:
    assert str(store) in refusal(store).message


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("target", ["right", "dangling"])
def test_a_link_inside_a_store_is_refused(made: Path, tmp_path: Path, name: str, target: str) -> None:
    part = made / name
    outside = tmp_path / "outside"
    if not part.exists():
        part.write_text("")
    part.rename(outside if target == "right" else tmp_path / "moved")
    part.symlink_to(outside)
    error = refusal(made)
    assert str(part) in error.message
    assert "link" in error.message


@pytest.mark.parametrize("name", ["logs", "owners"])
def test_a_file_in_place_of_a_directory_is_refused(made: Path, name: str) -> None:
    (made / name).rmdir()
    (made / name).write_text("")
    assert str(made / name) in refusal(made).message


def test_a_directory_a_pipe_or_a_socket_in_place_of_the_database_is_refused(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = made / "inturn.db"
    database.unlink()
    database.mkdir(0o700)
    assert "regular file" in refusal(made).message
    database.rmdir()
    os.mkfifo(database, 0o600)
    assert "regular file" in refusal(made).message
    database.unlink()
    monkeypatch.chdir(made)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(database.name)
        database.chmod(0o600)
        assert "regular file" in refusal(made).message


def test_a_store_on_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        kind = mounts.file_system(place, os.stat(place).st_dev, mounts.read_mounts())
        assert store_dir.check_store_dir(place) == []
        monkeypatch.setattr(mounts, "NETWORK_FILE_SYSTEMS", frozenset([kind]))
        message = refusal(Path(place)).message
        assert f"network file system ({kind})" in message
        assert place in message


def test_where_the_kernel_does_not_tell_the_file_system_the_store_is_used_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mounts, "_MOUNTS_FILE", "/proc/there-is-no-such-list")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        (warning,) = store_dir.check_store_dir(place)
        assert "network file system" in warning


# What is there of it


def test_a_place_without_a_database_and_logs_holds_no_store(store: Path) -> None:
    assert store_dir.store_state(str(store)) == "absent"
    store.mkdir(parents=True)
    assert store_dir.store_state(str(store)) == "absent"
    (store / "logs").mkdir()
    (store / "owners").mkdir()
    assert store_dir.store_state(str(store)) == "absent"


def test_a_database_without_content_and_without_logs_is_just_being_created(made: Path) -> None:
    (made / "inturn.db").write_bytes(b"")
    assert store_dir.store_state(str(made)) == "empty"
    (made / "logs").rmdir()
    assert store_dir.store_state(str(made)) == "empty"


def test_a_database_with_content_is_a_store_with_and_without_logs(made: Path) -> None:
    assert store_dir.store_state(str(made)) == "present"
    (made / "logs" / "1.1.out").write_text("")
    assert store_dir.store_state(str(made)) == "present"


def test_an_empty_or_missing_database_beside_logs_is_damage(made: Path) -> None:
    (made / "logs" / "1.1.out").write_text("")
    (made / "inturn.db").write_bytes(b"")
    assert store_dir.store_state(str(made)) == "damaged"
    (made / "inturn.db").unlink()
    assert store_dir.store_state(str(made)) == "damaged"


def test_a_file_in_place_of_the_store_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(InturnError) as caught:
        store_dir.store_state(str(file))
    assert caught.value.code == "store_unusable"


def test_a_store_that_is_just_being_created_is_never_taken_for_a_damaged_one(tmp_path: Path) -> None:
    stores = [tmp_path / str(number) for number in range(200)]

    def create_them() -> None:
        for store in stores:
            store_dir.create_store_dirs(str(store))
            with (store / "inturn.db").open("wb", buffering=0) as database:
                database.write(b"content")
            (store / "logs" / "1.1.out").write_text("")

    creator = threading.Thread(target=create_them)
    creator.start()
    seen: set[str] = set()
    for store in stores:
        while (state := store_dir.store_state(str(store))) != "present" and creator.is_alive():
            seen.add(state)
    creator.join()
    assert seen <= {"absent", "empty"}
    assert {store_dir.store_state(str(store)) for store in stores} == {"present"}


def test_a_place_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InturnError) as caught:
        store_dir.resolve_store(f"{tmp_path}/od\udcffd")
    assert caught.value.code == "store_unusable"
    assert "not UTF-8" in caught.value.message
    assert store_dir.resolve_store(f"{tmp_path}/größer").endswith("größer")
