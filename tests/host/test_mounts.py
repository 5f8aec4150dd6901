from __future__ import annotations

import os

import pytest

from inturn.host import mounts

ROOT_DISK = os.makedev(254, 0)


def line(dev: str, mount_point: str, kind: str, optional: str = "") -> str:
    return f"27 1 {dev} / {mount_point} rw,relatime {optional}- {kind} source rw\n"


def found(path: str, dev: int, *lines: str) -> str:
    return mounts.file_system(path, dev, "".join(lines).encode())


def test_the_longest_mount_point_above_a_path_decides() -> None:
    table = (
        line("254:0", "/", "ext4"),
        line("0:40", "/home", "nfs4"),
        line("0:41", "/home/ann/data", "tmpfs"),
    )
    assert found("/var/lib/x", ROOT_DISK, *table) == "ext4"
    assert found("/home/ann", os.makedev(0, 40), *table) == "nfs4"
    assert found("/home/ann/data/x", os.makedev(0, 41), *table) == "tmpfs"
    assert found("/home", os.makedev(0, 40), *table) == "nfs4"


def test_a_mount_point_is_above_whole_names_only() -> None:
    table = (line("254:0", "/", "ext4"), line("0:40", "/home", "nfs4"))
    assert found("/home2/x", os.makedev(0, 99), *table) == "ext4"


def test_a_later_mount_hides_an_earlier_one_at_the_same_place() -> None:
    assert found("/s/x", os.makedev(0, 40), line("0:40", "/s", "tmpfs"), line("0:40", "/s", "nfs")) == "nfs"


def test_a_mount_that_another_one_hides_is_told_by_its_device() -> None:
    table = (line("0:40", "/a/b", "nfs"), line("0:41", "/a", "tmpfs"))
    assert found("/a/b", os.makedev(0, 41), *table) == "tmpfs"


def test_without_a_mount_of_that_device_the_mount_point_decides() -> None:
    assert (
        found("/data/x", os.makedev(0, 77), line("0:40", "/", "ext4"), line("0:50", "/data", "btrfs"))
        == "btrfs"
    )


@pytest.mark.parametrize("optional", ["", "master:1 ", "shared:7 master:1 "])
def test_optional_fields_in_the_list_of_mounts_do_not_matter(optional: str) -> None:
    assert found("/x", ROOT_DISK, line("254:0", "/", "xfs", optional)) == "xfs"


def test_blanks_and_backslashes_in_a_mount_point_are_read_as_the_kernel_writes_them() -> None:
    written = line("0:40", r"/my\040disk\134\011\012x", "cifs")
    assert found("/my disk\\\t\nx/store", os.makedev(0, 40), line("254:0", "/", "ext4"), written) == "cifs"


def test_no_mount_no_answer() -> None:
    assert found("/x", ROOT_DISK) == ""


def test_the_kernels_own_list_is_understood() -> None:
    assert mounts.file_system("/proc", os.stat("/proc").st_dev, mounts.read_mounts()) == "proc"


def test_a_network_file_system_is_told_by_its_type(monkeypatch: pytest.MonkeyPatch) -> None:
    device = os.stat("/proc").st_dev
    assert mounts.network_file_system("/proc", device) == ""
    monkeypatch.setattr(mounts, "NETWORK_FILE_SYSTEMS", frozenset(["proc"]))
    assert mounts.network_file_system("/proc", device) == "proc"


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "lustre", "fuse.sshfs"])
def test_the_usual_network_file_systems_are_known(kind: str) -> None:
    assert kind in mounts.NETWORK_FILE_SYSTEMS


def test_a_disk_is_known_to_be_local_without_the_list_of_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "_MOUNTS_FILE", "/proc/there-is-no-such-list")
    assert mounts.network_file_system("/anywhere", ROOT_DISK) == ""
