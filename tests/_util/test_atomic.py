"""Atomic file replacement: the old content or all of the new, whatever fails."""

import errno
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scwlearn._util import atomic, temporary
from scwlearn._util.atomic import atomic_file, write_atomically


@pytest.fixture
def old(tmp_path):
    """An existing file."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


def is_unchanged(old):
    return os.listdir(old.parent) == [old.name] and old.read_bytes() == b"old"


@pytest.mark.parametrize("content", [b"new", bytearray(b"new"), memoryview(b"new"), [b"n", b"", memoryview(b"ew")]])
def test_bytes_or_chunks_replace_the_old_content(content, old):
    write_atomically(old, content)
    assert old.read_bytes() == b"new"
    assert os.listdir(old.parent) == ["file"]


def test_a_new_file_has_the_default_mode(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_atomically(str(tmp_path / "new"), b"new")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "new")]
    assert modes[0] == modes[1]


def test_the_mode_of_the_old_file_is_kept(old):
    old.chmod(0o640)
    write_atomically(old, b"new")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


@pytest.mark.parametrize("before", [None, 0o600, 0o640, 0o666])
def test_a_file_is_private_until_it_is_complete(before, old):
    umask = os.umask(0o022)
    if before is None:
        old.unlink()
    else:
        old.chmod(before)
    try:
        with atomic_file(old) as file:
            file.write(b"new")
            names = [name for name in os.listdir(old.parent) if name != old.name]
            assert len(names) == 1
            assert re.fullmatch(r"\.[0-9a-f]{8}\.[0-9a-f]{8}\.[0-9a-f]{16}\.scwlearn\.tmp", names[0])
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
    finally:
        os.umask(umask)
    assert stat.S_IMODE(old.stat().st_mode) == (0o644 if before is None else before)
    assert os.listdir(old.parent) == [old.name]


def test_nobody_else_can_read_what_a_killed_process_leaves(tmp_path):
    code = f"""
import os, signal
from scwlearn._util.atomic import atomic_file
os.umask(0)
with atomic_file({str(tmp_path / "new")!r}) as file:
    file.write(b"secret" * 10_000)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(".scwlearn.tmp")
    assert stat.S_IMODE(left.stat().st_mode) == 0o600


def leave(path, directory):
    """Kill a process while it replaces a file, and return the path of what it leaves."""
    before = set(directory.iterdir())
    code = f"""
import os, signal
from scwlearn._util.atomic import atomic_file
with atomic_file({str(path)!r}) as file:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    (left,) = set(directory.iterdir()) - before
    return left


def test_what_killed_processes_left_is_removed_when_the_same_file_is_replaced(tmp_path):
    new, other = tmp_path / "new", tmp_path / "other"
    left = [leave(new, tmp_path), leave(new, tmp_path)]
    kept = leave(other, tmp_path)
    write_atomically(new, b"new")
    assert not any(path.exists() for path in left)
    assert sorted(tmp_path.iterdir()) == sorted([new, kept])
    write_atomically(other, b"new")
    assert sorted(tmp_path.iterdir()) == [new, other]


def test_what_is_being_written_is_not_removed(tmp_path):
    new = tmp_path / "new"
    with atomic_file(new) as first:
        first.write(b"first")
        write_atomically(new, b"second")
        assert new.read_bytes() == b"second"
    assert new.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["new"]


def test_a_file_that_is_taken_for_a_leftover_as_it_is_made_is_made_again(tmp_path, monkeypatch):
    new, create, taken = tmp_path / "new", temporary.create_file, []

    def taken_away(path, mode):
        descriptor = create(path, mode)
        if mode == 0o600 and len(taken) < 3:
            taken.append(path)
            temporary.remove_leftovers(str(tmp_path), atomic._mark_of(str(new)))
        return descriptor

    monkeypatch.setattr(temporary, "create_file", taken_away)
    write_atomically(new, b"new")
    assert len(taken) == 3
    assert new.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["new"]


@pytest.mark.parametrize(("age", "is_removed"), [(0, False), (3600, False), (25 * 3600, True)])
def test_what_another_machine_left_is_removed_after_a_day(age, is_removed, tmp_path, monkeypatch):
    new = tmp_path / "new"
    with monkeypatch.context() as patch:
        patch.setattr(temporary, "_machine", lambda: "01234567")
        left = leave_here(new)
    then = time.time() - age
    os.utime(left, (then, then))
    write_atomically(new, b"new")
    assert left.exists() != is_removed


def temporary_name(path):
    return Path(temporary.temporary_path(str(path.parent), atomic._mark_of(str(path))))


def leave_here(path):
    left = temporary_name(path)
    left.write_bytes(b"unfinished")
    return left


def test_links_and_pipes_with_the_name_of_a_leftover_stay(tmp_path):
    new, precious = tmp_path / "new", tmp_path / "precious"
    precious.write_bytes(b"precious")
    link, pipe = temporary_name(new), temporary_name(new)
    link.symlink_to(precious)
    os.mkfifo(pipe)
    write_atomically(new, b"new")
    assert sorted(tmp_path.iterdir()) == sorted([new, precious, link, pipe])
    assert precious.read_bytes() == b"precious"


def test_a_symbolic_link_is_followed(old, tmp_path):
    for name, target in (("one", old), ("two", tmp_path / "one"), ("dangling", tmp_path / "not there")):
        link = tmp_path / name
        link.symlink_to(target)
        write_atomically(link, name.encode())
        assert link.is_symlink()
        assert target.read_bytes() == name.encode()
    assert old.read_bytes() == b"two"


def test_a_loop_of_symbolic_links_is_an_error(tmp_path):
    for name, target in (("one", "two"), ("two", "one")):
        (tmp_path / name).symlink_to(target)
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write_atomically(tmp_path / "one", b"new")
    assert {path.is_symlink() for path in tmp_path.iterdir()} == {True}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can own a link as another user")
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    ("mode", "directory_owner", "link_owner", "follows"),
    [
        (0o1777, 0, 0, True),
        (0o1777, 0, 1234, False),
        (0o1777, 1234, 1234, True),
        (0o1777, 4321, 1234, False),
        (0o1777, 4321, 0, True),
        (0o0777, 0, 1234, True),
        (0o1775, 0, 1234, True),
    ],
)
def test_a_link_of_another_user_in_a_shared_directory_is_not_followed(
    mode, directory_owner, link_owner, follows, steps, tmp_path
):
    private, shared = tmp_path / "private", tmp_path / "shared"
    shared.mkdir()
    private.write_bytes(b"old")
    target = private
    for step in range(steps):
        link = shared / f"link {step}"
        link.symlink_to(target)
        os.lchown(link, link_owner, link_owner)
        target = link
    os.chown(shared, directory_owner, directory_owner)
    shared.chmod(mode)
    if follows:
        write_atomically(target, b"new")
    else:
        with pytest.raises(PermissionError, match=r"a symbolic link of another user \(uid 1234\) in a directory that"):
            write_atomically(target, b"new")
    assert private.read_bytes() == (b"new" if follows else b"old")
    assert len(os.listdir(shared)) == steps


as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")


@as_root
@pytest.mark.parametrize(
    ("mode", "directory_owner", "owner", "is_replaced"),
    [
        (0o1777, 0, 0, True),
        (0o1777, 0, 1234, False),
        (0o1777, 1234, 1234, True),
        (0o0777, 0, 1234, True),
        (0o1775, 0, 1234, True),
    ],
)
def test_a_file_of_another_user_in_a_shared_directory_is_not_replaced(
    mode, directory_owner, owner, is_replaced, tmp_path
):
    shared = tmp_path / "shared"
    shared.mkdir()
    target = shared / "file"
    target.write_bytes(b"old")
    target.chmod(0o666)
    os.chown(target, owner, owner)
    os.chown(shared, directory_owner, directory_owner)
    shared.chmod(mode)
    if is_replaced:
        write_atomically(target, b"new")
    else:
        with pytest.raises(PermissionError, match=r"a file of another user \(uid 1234\) in a directory that"):
            write_atomically(target, b"new")
    assert target.read_bytes() == (b"new" if is_replaced else b"old")
    assert os.listdir(shared) == ["file"]


@as_root
def test_the_owner_and_the_group_of_the_old_file_are_kept(old):
    os.chown(old, 1234, 4321)
    old.chmod(0o640)
    write_atomically(old, b"new")
    found = old.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1234, 4321, 0o640)
    assert old.read_bytes() == b"new"


@as_root
@pytest.mark.parametrize(
    ("before", "after"), [(0o640, 0o600), (0o660, 0o600), (0o664, 0o644), (0o646, 0o666), (0o6755, 0o755)]
)
def test_a_group_that_cannot_be_kept_gives_no_rights_to_another(before, after, old, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    os.chown(old, 1234, 4321)
    old.chmod(before)
    monkeypatch.setattr(os, "fchown", refuse)
    write_atomically(old, b"new")
    found = old.stat()
    assert (found.st_uid, found.st_gid) == (os.geteuid(), os.getegid())
    assert stat.S_IMODE(found.st_mode) == after


def failing_chunks():
    yield b"new"
    raise RuntimeError("no more")


def test_an_error_keeps_the_old_file(old):
    with pytest.raises(RuntimeError, match="no more"):
        write_atomically(old, failing_chunks())
    assert is_unchanged(old)


def test_ctrl_c_keeps_the_old_file(old):
    def interrupted():
        with atomic_file(old) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert is_unchanged(old)


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_a_failing_system_call_keeps_the_old_file(call, old, monkeypatch):
    def fails(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic.os, call, fails)
    with pytest.raises(OSError, match="No space left on device") as error:
        write_atomically(old, b"new")
    assert error.value.filename == str(old)
    assert error.value.errno == errno.ENOSPC
    assert is_unchanged(old)


def test_a_full_disk_keeps_the_old_file(old):
    code = f"""
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from scwlearn._util.atomic import write_atomically
setrlimit(RLIMIT_FSIZE, (10_000, getrlimit(RLIMIT_FSIZE)[1]))
try:
    write_atomically({str(old)!r}, [b"x" * 1000] * 100)
except OSError as error:
    print(error)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == f"[Errno 27] File too large: {str(old)!r}\n"
    assert is_unchanged(old)


def test_the_content_is_synced_before_the_replacement_and_the_name_after(old, monkeypatch):
    calls = []
    for call in ("fsync", "replace"):
        do = getattr(os, call)
        monkeypatch.setattr(
            atomic.os, call, lambda *given, call=call, do=do: (calls.append((call, old.read_bytes())), do(*given))[1]
        )
    write_atomically(old, b"new")
    assert calls == [("fsync", b"old"), ("replace", b"old"), ("fsync", b"new")]


def test_a_directory_that_cannot_be_synced_is_no_error(old, monkeypatch):
    sync = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(atomic.os, "fsync", fsync)
    write_atomically(old, b"new")
    assert old.read_bytes() == b"new"


def test_a_missing_directory_is_an_error(tmp_path):
    path = tmp_path / "none" / "file"
    with pytest.raises(FileNotFoundError) as error:
        write_atomically(path, b"new")
    assert error.value.filename == str(path)


def test_directories_and_sockets_are_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        write_atomically(tmp_path, b"new")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match="Not a regular file; only regular files can be replaced"):
            write_atomically(tmp_path / "socket", b"new")
    assert os.listdir(tmp_path) == ["socket"]


def test_the_longest_file_name_works(tmp_path):
    path = tmp_path / ("n" * 255)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
