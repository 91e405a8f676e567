"""Data and the names of its features are written together: after an error, both files are as they were."""

import errno
import io
import os

import pytest

from scwlearn._util import atomic
from scwlearn.data.io import output
from scwlearn.data.reading import read_batches
from scwlearn.data.writing import write_batches


def batches(text):
    return read_batches([io.BytesIO(text)])[1]


def fail(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(*_, **__):
    raise KeyboardInterrupt


class Broken(io.BytesIO):
    """A compressor that fails when it ends."""

    def __init__(self, happens):
        super().__init__()
        self.happens = happens

    def __exit__(self, *_):
        self.happens()


def written(directory, suffix):
    """Write old data and names; return their paths, and what they hold."""
    paths = directory / f"data.libsvm{suffix}", directory / "names.txt"
    write_batches(batches(b"1 | a b\n-1 | c\n"), paths[0], "libsvm", names=paths[1])
    return *paths, [path.read_bytes() for path in paths]


def assert_unchanged(directory, *paths, content):
    assert [path.read_bytes() for path in paths] == content
    assert len(os.listdir(directory)) == len(paths)


@pytest.mark.parametrize("happens", [fail, interrupt])
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("place", ["fsync", "chmod"])
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_an_error_of_either_file_changes_none(tmp_path, monkeypatch, suffix, place, number, happens):
    data, names, content = written(tmp_path, suffix)
    real, calls = getattr(os, place), []

    def some(*arguments, **how):
        calls.append(arguments)
        return happens() if len(calls) == number else real(*arguments, **how)

    monkeypatch.setattr(atomic.os, place, some)
    with pytest.raises((OSError, KeyboardInterrupt)) as caught:
        write_batches(batches(b"1 | x y\n-1 | z\n"), data, "libsvm", names=names)
    monkeypatch.undo()
    if happens is fail:
        assert caught.value.filename == str([data, names][number - 1])
    assert_unchanged(tmp_path, data, names, content=content)


@pytest.mark.parametrize("happens", [fail, interrupt])
def test_an_error_of_the_compressor_changes_no_file(tmp_path, monkeypatch, happens):
    data, names, content = written(tmp_path, ".gz")
    monkeypatch.setitem(output._COMPRESSORS, ".gz", lambda file: Broken(happens))
    with pytest.raises((OSError, KeyboardInterrupt)):
        write_batches(batches(b"1 | x y\n-1 | z\n"), data, "libsvm", names=names)
    assert_unchanged(tmp_path, data, names, content=content)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_that_is_full_is_named_and_the_other_file_stays(tmp_path):
    data, names, content = written(tmp_path, "")
    new = b"1 | x y\n-1 | z\n"
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_batches(batches(new), data, "libsvm", names="/dev/full")
    assert_unchanged(tmp_path, data, names, content=content)
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_batches(batches(new), "/dev/full", "libsvm", names=names)
    assert_unchanged(tmp_path, data, names, content=content)
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_batches(batches(new), "/dev/full", "vw")


def test_names_follow_data_that_are_written_to_an_open_file(tmp_path):
    target = io.BytesIO()
    write_batches(batches(b"1 | x y\n"), target, "libsvm", names=tmp_path / "names")
    assert (target.getvalue(), (tmp_path / "names").read_text()) == (b"1 1:1 2:1\n", "x\ny\n")
