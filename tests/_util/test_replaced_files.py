"""Which file a path replaces, and who may use the new one."""

import errno
import os
import stat
import struct

import pytest

from scwlearn._util.atomic import _ACCESS_LIST, write_atomically

# The parties of an access list, as in <linux/posix_acl.h>; only a named user or group has a number.
OWNER, USER, GROUP, MASK, OTHERS, NOBODY = 1, 2, 4, 16, 32, 0xFFFFFFFF
# user:1234:rw-, group::---
SHARED = [(OWNER, 6, NOBODY), (USER, 6, 1234), (GROUP, 0, NOBODY), (MASK, 6, NOBODY), (OTHERS, 0, NOBODY)]


@pytest.fixture
def old(tmp_path):
    """An existing file, where files may have access lists."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    try:
        os.setxattr(path, _ACCESS_LIST, access_list(SHARED))
    except (AttributeError, OSError):
        pytest.skip("no access lists here")
    os.removexattr(path, _ACCESS_LIST)
    path.chmod(0o600)
    return path


def access_list(entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_access_list_is_kept(old):
    os.setxattr(old, _ACCESS_LIST, access_list(SHARED))
    # The bits of the group are the most that anybody in the list may do.
    assert mode_of(old) == 0o660
    write_atomically(old, b"new")
    assert os.getxattr(old, _ACCESS_LIST) == access_list(SHARED)
    assert (old.read_bytes(), mode_of(old)) == (b"new", 0o660)


@pytest.mark.parametrize("call", ["setxattr", "fchown"])
def test_without_its_access_list_a_file_is_for_its_owner_alone(call, old, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    if call == "fchown":
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        os.chown(old, -1, 4321)
    os.setxattr(old, _ACCESS_LIST, access_list([*SHARED[:-1], (OTHERS, 4, NOBODY)]))
    monkeypatch.setattr(os, call, refuse)
    write_atomically(old, b"new")
    assert mode_of(old) == 0o600
    assert _ACCESS_LIST not in os.listxattr(old)


def test_a_file_without_an_access_list_takes_none_from_its_directory(old):
    old.chmod(0o640)
    os.setxattr(old.parent, "system.posix_acl_default", access_list(SHARED))
    write_atomically(old, b"new")
    assert _ACCESS_LIST not in os.listxattr(old)
    assert mode_of(old) == 0o640
    new = old.parent / "new"
    write_atomically(new, b"new")
    assert os.getxattr(new, _ACCESS_LIST) == access_list(SHARED)


@pytest.mark.parametrize("end", ["/", "//", "/.", "/..", "/./"])
@pytest.mark.parametrize("name", ["file", "link", "new"])
def test_a_path_that_names_a_directory_is_never_written(name, end, tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(IsADirectoryError) as error:
        write_atomically(f"{tmp_path / name}{end}", b"new")
    assert error.value.filename == f"{tmp_path / name}{end}"
    assert (tmp_path / "file").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_a_link_to_a_path_that_names_a_directory_is_not_followed(tmp_path):
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("file/")
    with pytest.raises(IsADirectoryError):
        write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_full_path_is_written_although_the_current_directory_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    write_atomically(tmp_path / "new", b"new")
    assert (tmp_path / "new").read_bytes() == b"new"
