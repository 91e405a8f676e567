"""Temporary directories and locks: what a killed process leaves is found, and nothing else is removed."""

import os
from pathlib import Path

import pytest

from scwlearn._util import temporary
from scwlearn._util.temporary import lock_file, make_locked_directory, remove_leftovers

pytestmark = pytest.mark.skipif(not temporary.HAS_LOCKS, reason="needs locks")


def test_a_file_is_locked_until_it_is_closed(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"")
    first, second = path.open("rb"), path.open("rb")
    with second:
        with first:
            assert lock_file(first)
            assert not lock_file(second)
        assert lock_file(second, wait=True)


def test_a_directory_is_removed_with_its_content_once_its_lock_is_gone(tmp_path):
    path, lock = make_locked_directory(str(tmp_path), "mark-")
    Path(path, "content").write_bytes(b"content")
    remove_leftovers(str(tmp_path), "mark-")
    assert os.listdir(path) == ["content"]
    os.close(lock)
    remove_leftovers(str(tmp_path), "other-")
    assert os.listdir(path) == ["content"]
    remove_leftovers(str(tmp_path), "mark-")
    assert os.listdir(tmp_path) == []


def test_a_directory_that_is_taken_for_a_leftover_as_it_is_made_is_made_again(tmp_path, monkeypatch):
    make, open_, taken = os.mkdir, os.open, []

    def taken_after(function):
        def call(path, *how):
            done = function(path, *how)
            if len(taken) < 4 and str(path).startswith(str(tmp_path)) and path not in taken:
                taken.append(path)
                with monkeypatch.context() as patch:
                    patch.setattr(os, "open", open_)
                    remove_leftovers(str(tmp_path), "mark-")
            return done

        return call

    monkeypatch.setattr(os, "mkdir", taken_after(make))
    lock = make_locked_directory(str(tmp_path), "mark-")[1]
    os.close(lock)
    taken.clear()
    monkeypatch.setattr(os, "mkdir", make)
    monkeypatch.setattr(os, "open", taken_after(open_))
    other, lock = make_locked_directory(str(tmp_path), "mark-")
    assert len(taken) == 4
    assert sorted(tmp_path.iterdir()) == sorted([Path(other)])
    os.close(lock)


def test_other_users_directories_and_links_to_directories_stay(tmp_path, monkeypatch):
    path, lock = make_locked_directory(str(tmp_path), "mark-")
    os.close(lock)
    link = Path(temporary.temporary_path(str(tmp_path), "mark-"))
    precious = tmp_path / "precious"
    precious.mkdir()
    link.symlink_to(precious)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.stat(path).st_uid + 1)
        remove_leftovers(str(tmp_path), "mark-")
    assert sorted(tmp_path.iterdir()) == sorted([Path(path), link, precious])
    remove_leftovers(str(tmp_path), "mark-")
    assert sorted(tmp_path.iterdir()) == sorted([link, precious])
