"""Devices, pipes and open files are written directly."""

import os
from threading import Thread

import pytest

from scwlearn._util.atomic import atomic_file, write_atomically
from scwlearn._util.special import is_special, open_descriptor, open_special

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs the open files of Linux")


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("/dev/stdin", 0),
        ("/dev/stdout", 1),
        ("/dev/stderr", 2),
        ("/dev/fd/1", 1),
        ("/dev/fd/63", 63),
        ("/dev/../dev/fd/1", 1),
        ("/proc/self/fd/1", 1),
        ("/proc/thread-self/fd/1", 1),
        ("/proc/{pid}/fd/1", 1),
        ("/dev/null", None),
        ("/dev/fd", None),
        ("/dev/fd/one", None),
        ("/dev/fd/\N{ARABIC-INDIC DIGIT ONE}", None),
        ("1", None),
        ("none/at/all", None),
    ],
)
def test_a_path_of_an_open_file_is_known(path, number):
    assert open_descriptor(path.replace("{pid}", str(os.getpid()))) == number


def test_links_to_open_files_are_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.symlink("/dev/stdout", "first")
    os.symlink("first", "second")
    assert open_descriptor("second") == 1
    os.symlink("loop", "loop")
    assert open_descriptor("loop") is None
    assert not is_special("loop")


@pytest.mark.parametrize("write", [lambda path, text: open_special(path).write(text), write_atomically])
def test_an_open_file_is_continued(tmp_path, write):
    path = tmp_path / "log"
    path.write_bytes(b"before\n")
    with path.open("ab") as log:
        write(f"/dev/fd/{log.fileno()}", b"new\n")
    assert path.read_bytes() == b"before\nnew\n"
    assert os.listdir(tmp_path) == ["log"]


def test_a_closed_descriptor_is_an_error():
    with pytest.raises(OSError, match="Bad file descriptor") as error:
        open_special("/dev/fd/1234")
    assert error.value.filename == "/dev/fd/1234"


def test_a_device_stays_a_device():
    write_atomically("/dev/null", b"new")
    assert is_special("/dev/null")
    with pytest.raises(OSError, match="No space left on device") as error:
        write_atomically("/dev/full", b"new")
    assert error.value.filename == "/dev/full"


def test_a_pipe_gets_content_that_is_complete(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with pytest.raises(TypeError), atomic_file(pipe) as file:
        file.writelines([b"half", None])
    with atomic_file(pipe) as file:
        file.write(b"0123")
        file.seek(0)
        file.write(b"9")
    reader.join()
    assert got == [b"9123"]
    assert os.listdir(tmp_path) == ["pipe"]


def test_other_paths_are_not_special(tmp_path):
    assert open_special(tmp_path / "none") is None
    assert open_special(tmp_path) is None
    (tmp_path / "1").write_bytes(b"")
    assert open_special(tmp_path / "1") is None
