from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from inturn.host import spawn
from inturn.host.spawn import CannotStart
from tests.e2e.harness import until

PATH = os.environb[b"PATH"]


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    made = tmp_path / "cwd"
    made.mkdir()
    return made


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    yield
    for pid in list(spawn.awaited):
        os.kill(pid, signal.SIGKILL)
        finish(pid)


def program(path: Path, text: str | bytes = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)
    return path


def start(
    cwd: Path,
    *argv: str | bytes,
    executable: bytes | None = None,
    env: dict[bytes, bytes] | None = None,
    umask: int = 0o022,
    nice: int = 0,
) -> int:
    """Start it with stdout in the file `out` beside its directory."""
    words = tuple(map(os.fsencode, argv))
    place = os.fsencode(cwd)
    null = os.open(os.devnull, os.O_RDWR)
    out = os.open(cwd.parent / "out", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        found = spawn.resolve(words[0], PATH, place) if executable is None else executable
        return spawn.start(
            words, found, env or {}, cwd=place, umask=umask, nice=nice, stdin=null, stdout=out, stderr=out
        )
    finally:
        os.close(null)
        os.close(out)


def finish(pid: int) -> int:
    """Wait for the end; the exit code, or the negative number of a signal."""
    collected = until(lambda: spawn.collect(pid), "the end of the program")
    assert collected is not None
    return os.waitstatus_to_exitcode(collected[0])


def output(cwd: Path, *argv: str | bytes, umask: int = 0o022, nice: int = 0) -> bytes:
    assert finish(start(cwd, *argv, umask=umask, nice=nice)) == 0
    return (cwd.parent / "out").read_bytes()


def refusal(cwd: Path | str, *argv: str | bytes, path: bytes | None = PATH) -> tuple[str, str]:
    """Why this cannot be resolved or, if it can, started."""
    try:
        found = spawn.resolve(os.fsencode(argv[0]), path, os.fsencode(cwd))
        start(Path(cwd), *argv, executable=found)
    except CannotStart as refused:
        return refused.reason, refused.message
    pytest.fail("it was started")


# --- which file is meant


def test_the_first_executable_file_in_the_path_is_meant(cwd: Path, tmp_path: Path) -> None:
    program(tmp_path / "a" / "tool", mode=0o644)
    (tmp_path / "b" / "tool").mkdir(parents=True)
    program(tmp_path / "c" / "tool")
    program(tmp_path / "d" / "tool")
    path = b":".join(os.fsencode(tmp_path / name) for name in ("missing", "a", "b", "c", "d"))
    assert spawn.resolve(b"tool", path, os.fsencode(cwd)) == os.fsencode(tmp_path / "c" / "tool")


@pytest.mark.parametrize("path", [b"bin", b"/nowhere:bin"])
def test_a_relative_entry_of_the_path_counts_from_the_jobs_directory(cwd: Path, path: bytes) -> None:
    program(cwd / "bin" / "tool")
    assert spawn.resolve(b"tool", path, os.fsencode(cwd)) == b"bin/tool"


@pytest.mark.parametrize("path", [b"", b":/nowhere", b"/nowhere:"])
def test_an_empty_entry_of_the_path_is_the_jobs_directory(cwd: Path, path: bytes) -> None:
    program(cwd / "tool", "#!/bin/sh\necho here\n")
    found = spawn.resolve(b"tool", path, os.fsencode(cwd))
    assert finish(start(cwd, "tool", executable=found)) == 0
    assert (cwd.parent / "out").read_bytes() == b"here\n"


def test_without_a_path_the_systems_default_is_searched(cwd: Path) -> None:
    assert os.path.basename(spawn.resolve(b"sh", None, os.fsencode(cwd))) == b"sh"


def test_our_own_path_is_not_searched(cwd: Path) -> None:
    assert refusal(cwd, "sh", path=b"/nowhere")[0] == "command_not_found"


@pytest.mark.parametrize("word", ["./tool", "sub/../tool"])
def test_a_program_with_a_slash_is_not_searched(cwd: Path, word: str) -> None:
    program(cwd / "tool")
    (cwd / "sub").mkdir()
    assert spawn.resolve(os.fsencode(word), b"/nowhere", os.fsencode(cwd)) == os.fsencode(word)


# --- what is said when it cannot be started


def test_a_missing_directory_is_blamed_before_anything_else(tmp_path: Path) -> None:
    reason, message = refusal(tmp_path / "gone", "./no-such-command")
    assert reason == "cwd_missing"
    assert repr(str(tmp_path / "gone")) in message
    assert "no-such-command" not in message


def test_a_file_is_no_directory_to_run_in(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    reason, message = refusal(tmp_path / "file", "sh")
    assert (reason, "is not a directory" in message) == ("cwd_missing", True)


def test_a_directory_that_vanishes_after_the_look_is_blamed_too(tmp_path: Path) -> None:
    place = tmp_path / "gone" / "cwd"
    place.parent.mkdir()
    with pytest.raises(CannotStart) as refused:
        start(place, "sh", executable=b"/bin/sh")
    assert refused.value.reason == "cwd_missing"


def test_a_command_that_is_nowhere_is_named_with_the_path_that_was_searched(cwd: Path) -> None:
    reason, message = refusal(cwd, "no-such-command", path=b"/nowhere:/bin")
    assert reason == "command_not_found"
    assert "'no-such-command'" in message
    assert "'/nowhere:/bin'" in message


def test_an_empty_command_is_said_to_be_empty(cwd: Path) -> None:
    assert refusal(cwd, "") == ("command_not_found", "the command is empty")


@pytest.mark.parametrize(
    ("word", "reason", "words"),
    [
        ("./gone", "command_not_found", "no such file or directory"),
        ("./file/tool", "command_not_found", "not a directory"),
        ("./loop", "command_not_found", "too many levels of symbolic links"),
        ("./" + "x" * 300, "command_not_found", "file name too long"),
        ("./file", "not_executable", "is not executable"),
        ("./dir", "not_executable", "is a directory"),
        ("./pipe", "not_executable", "is not executable"),
    ],
)
def test_a_named_file_that_cannot_be_executed_is_shown(cwd: Path, word: str, reason: str, words: str) -> None:
    (cwd / "file").touch()
    (cwd / "dir").mkdir()
    (cwd / "loop").symlink_to("loop")
    os.mkfifo(cwd / "pipe", 0o755)
    said = refusal(cwd, word)
    assert said[0] == reason
    assert words in said[1]
    assert os.path.basename(word) in said[1]


def test_a_file_in_the_path_that_is_not_executable_is_not_called_missing(cwd: Path, tmp_path: Path) -> None:
    tool = program(tmp_path / "bin" / "tool", mode=0o644)
    reason, message = refusal(cwd, "tool", path=os.fsencode(tool.parent))
    assert reason == "not_executable"
    assert repr(str(tool)) in message


def test_a_missing_interpreter_is_blamed(cwd: Path) -> None:
    program(cwd / "tool", "#! /no/such/interpreter  --option\n")
    reason, message = refusal(cwd, "./tool")
    assert reason == "interpreter_missing"
    assert "'/no/such/interpreter'" in message
    assert "tool" in message


def test_the_interpreter_of_an_interpreter_is_blamed_if_that_one_is_missing(cwd: Path) -> None:
    program(cwd / "inner", "#!/no/such/interpreter\n")
    program(cwd / "tool", f"#!{cwd}/inner\n")
    reason, message = refusal(cwd, "./tool")
    assert reason == "interpreter_missing"
    assert "'/no/such/interpreter'" in message
    assert "inner" in message


def test_a_script_with_windows_line_endings_is_told_so(cwd: Path) -> None:
    program(cwd / "tool", "#!/bin/sh\r\necho\r\n")
    reason, message = refusal(cwd, "./tool")
    assert reason == "interpreter_missing"
    assert "as on Windows" in message


def test_an_interpreter_that_is_not_executable_is_blamed(cwd: Path) -> None:
    text = program(cwd / "text", mode=0o644)
    program(cwd / "tool", f"#!{text}\n")
    reason, message = refusal(cwd, "./tool")
    assert reason == "not_executable"
    assert message.startswith(repr(str(text)))


def test_a_program_whose_loader_is_missing_is_not_called_missing(cwd: Path) -> None:
    loader = b"/lib64/ld-linux-x86-64.so.2\0"
    binary = Path("/bin/true").read_bytes()
    if loader not in binary:
        pytest.skip("/bin/true is loaded in another way")
    program(cwd / "tool", binary.replace(loader, loader[:-3] + b"9\0\0"))
    reason, message = refusal(cwd, "./tool")
    assert reason == "interpreter_missing"
    assert "loader" in message


@pytest.mark.parametrize("text", [b"", b"echo no first line\n", b"\0\1\2", b"#!\n"])
def test_what_is_no_program_is_said_to_be_none(cwd: Path, text: bytes) -> None:
    program(cwd / "tool", text)
    reason, message = refusal(cwd, "./tool")
    assert reason == "not_a_program"
    assert "tool" in message


def test_arguments_beyond_the_limit_are_told(cwd: Path) -> None:
    assert refusal(cwd, "true", "x" * 200_000)[0] == "arguments_too_long"


def test_a_program_that_is_being_written_is_refused_with_the_reason(cwd: Path) -> None:
    program(cwd / "tool", Path("/bin/true").read_bytes())
    with open(cwd / "tool", "ab"):
        reason, message = refusal(cwd, "./tool")
    assert reason == "start_refused"
    assert os.strerror(errno.ETXTBSY).lower() in message


def test_a_message_can_be_printed_whatever_the_name_is_made_of(cwd: Path) -> None:
    _, message = refusal(cwd, b"./\xff\n")
    assert message.encode("ascii")
    assert "\n" not in message


# --- what is started


def test_arguments_and_environment_arrive_as_bytes(cwd: Path) -> None:
    pid = start(cwd, "env", b"-0", env={b"\xfe": b"\xff\n=", b"E": b""})
    assert finish(pid) == 0
    assert sorted((cwd.parent / "out").read_bytes().split(b"\0")) == [b"", b"E=", b"\xfe=\xff\n="]


def test_the_child_has_its_directory_and_umask_and_we_keep_ours(cwd: Path) -> None:
    before = os.getcwd()
    umask = os.umask(0o077)
    try:
        shown = output(cwd, "sh", "-c", "umask; pwd -P", umask=0o013)
        ours = os.umask(0o077)
    finally:
        os.umask(umask)
    assert shown == b"0013\n%s\n" % os.fsencode(cwd.resolve())
    assert (os.getcwd(), ours) == (before, 0o077)


def test_directory_and_umask_are_restored_also_when_the_start_fails(cwd: Path) -> None:
    before = os.getcwd()
    umask = os.umask(0o077)
    try:
        program(cwd / "tool", "no program")
        with pytest.raises(CannotStart):
            start(cwd, "./tool", umask=0o013)
        with pytest.raises(ValueError, match="null"):
            start(cwd, "true", b"\0", umask=0o013)
        ours = os.umask(0o077)
    finally:
        os.umask(umask)
    assert (os.getcwd(), ours) == (before, 0o077)


def test_we_return_to_a_directory_that_has_no_name_any_more(cwd: Path, tmp_path: Path) -> None:
    home = os.open(".", os.O_RDONLY)
    lost = tmp_path / "lost"
    lost.mkdir()
    os.chdir(lost)
    lost.rmdir()
    try:
        assert finish(start(cwd, "true")) == 0
        with pytest.raises(FileNotFoundError):
            os.getcwd()
    finally:
        os.fchdir(home)
        os.close(home)


def test_the_child_inherits_no_descriptor_that_we_have_opened(cwd: Path) -> None:
    (cwd / "ours").touch()
    extra = os.open(cwd / "ours", os.O_RDONLY)
    try:
        assert b"/ours" not in output(cwd, "ls", "-l", "/proc/self/fd")
    finally:
        os.close(extra)


def test_a_positive_niceness_is_added_to_ours(cwd: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    pid = start(cwd, "sleep", "600", nice=3)
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(own + 3, 19)
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Be, for one test, a user who must not raise priorities."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] != 0:
        pytest.skip("the limit of this user allows it")
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


@pytest.mark.usefixtures("unprivileged")
def test_a_niceness_that_needs_a_privilege_is_refused_before_anything_runs() -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    null = os.open(os.devnull, os.O_RDWR)
    with pytest.raises(CannotStart, match="needs a privilege") as refused:
        spawn.start(
            (b"true",), b"/bin/true", {}, cwd=b"/", umask=0, nice=-5, stdin=null, stdout=null, stderr=null
        )
    os.close(null)
    assert refused.value.reason == "start_refused"
    assert os.getpriority(os.PRIO_PROCESS, 0) == own
    assert not spawn.awaited


def test_an_allowed_negative_niceness_is_inherited_and_undone_with_us(cwd: Path) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        pid = start(cwd, "sleep", "600", nice=-3)
    except CannotStart:
        pytest.skip("this user may not raise priorities")
    assert os.getpriority(os.PRIO_PROCESS, pid) == max(own - 3, -20)
    assert os.getpriority(os.PRIO_PROCESS, 0) == own


# --- its end


def test_a_child_is_awaited_until_its_end_is_collected(cwd: Path) -> None:
    pid = start(cwd, "sh", "-c", "exit 7")
    assert pid in spawn.awaited
    assert finish(pid) == 7
    assert pid not in spawn.awaited


def test_collecting_does_not_wait_for_a_child_that_runs(cwd: Path) -> None:
    assert spawn.collect(start(cwd, "sleep", "600")) is None


def test_a_child_that_somebody_else_reaped_is_awaited_no_more(cwd: Path) -> None:
    pid = start(cwd, "true")
    os.waitpid(pid, 0)
    with pytest.raises(ChildProcessError):
        spawn.collect(pid)
    assert pid not in spawn.awaited
