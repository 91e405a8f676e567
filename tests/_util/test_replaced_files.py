"""Which file a path replaces."""

import os

import pytest

from scwlearn._util.atomic import write_atomically


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
