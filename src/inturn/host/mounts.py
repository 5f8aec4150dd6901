"""Which file system a directory lies on. Python has no statfs, so the kernel's list of mounts has to tell."""

from __future__ import annotations

import os

_MOUNTS_FILE = "/proc/self/mountinfo"

# SQLite's WAL needs memory shared by all its processes, and flock must reach them all: neither is so here.
NETWORK_FILE_SYSTEMS = frozenset(
    (
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p"),
        *("ceph", "glusterfs", "lustre", "beegfs", "gpfs", "panfs", "orangefs", "pvfs2", "davfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.davfs", "fuse.davfs2"),
        *("fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.goofys", "fuse.juicefs", "fuse.curlftpfs"),
        *("fuse.mfs", "fuse.moosefs", "fuse.lizardfs", "fuse.nfs", "fuse.smbnetfs", "fuse.gvfsd-fuse"),
    )
)


def network_file_system(path: str, dev: int) -> str:
    """The type of the network file system that holds `path`, or "" if it is a local one.

    `path` is absolute and without links, `dev` its st_dev. Raises OSError if the kernel does not tell.
    """
    # File systems without a block device, the network ones among them, get numbers with the major 0. The list
    # can be long on a machine full of containers, so a disk is recognised without it.
    if os.major(dev):
        return ""
    kind = file_system(path, dev, read_mounts())
    return kind if kind in NETWORK_FILE_SYSTEMS else ""


def read_mounts() -> bytes:
    """The mounts that this process sees, in the format of /proc/self/mountinfo (proc_pid_mountinfo(5))."""
    fd = os.open(_MOUNTS_FILE, os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = []
        while chunk := os.read(fd, 65_536):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(fd)


def file_system(path: str, dev: int, mounts: bytes) -> str:
    """The type of the file system that holds `path`, or "" if no mount does.

    It is the one with the longest mount point above `path`, a later one hiding an earlier; mounts with the
    device `dev` come first, because a longer mount point may itself be hidden. Without such a one (the
    subvolumes of btrfs have numbers of their own) the mount point alone decides.
    """
    wanted_device = b"%d:%d" % (os.major(dev), os.minor(dev))
    wanted_path = os.fsencode(path)
    best = (False, -1)
    kind = b""
    for line in mounts.splitlines():
        fields = line.split(b" ")
        mount_point = _unescaped(fields[4])
        if _is_within(wanted_path, mount_point):
            rank = (fields[2] == wanted_device, len(mount_point))
            if rank >= best:
                best = rank
                kind = line.partition(b" - ")[2].split(b" ")[0]
    return os.fsdecode(kind)


def _is_within(path: bytes, mount_point: bytes) -> bool:
    return path == mount_point or path.startswith(mount_point.rstrip(b"/") + b"/")


def _unescaped(field: bytes) -> bytes:
    """Blanks, line ends and backslashes stand in the list as a backslash and three octal digits."""
    first, *others = field.split(b"\\")
    return first + b"".join(bytes((int(part[:3], 8),)) + part[3:] for part in others)
