"""Messages between processes: large bytes go through files, which never outlive those who need them."""

import errno
import gc
import io
import os
import signal
import subprocess
import sys
from mmap import mmap

import pytest

from scwlearn.distributed import messages
from scwlearn.distributed.messages import OwnStorage, StoredBytes, receive, send

LARGE, SMALL = os.urandom(200_000), b"small"


@pytest.fixture
def storage():
    own = OwnStorage()
    yield own
    own.close()


def sent(message, storage, **options):
    file = io.BytesIO()
    send(file, message, storage)
    file.seek(0)
    assert len(file.getvalue()) < 1000
    return receive(file, **options)


def files(storage):
    return [name for directory in storage.directories for name in os.listdir(directory)]


def test_large_bytes_are_mapped_from_a_file_and_small_ones_are_sent(storage):
    large, small = sent((LARGE, SMALL), storage)
    assert isinstance(large, mmap)
    assert (large[:], small) == (LARGE, SMALL)
    with pytest.raises(TypeError):
        large[0] = 1


def test_who_passes_bytes_on_does_not_read_them_and_removes_the_file(storage):
    kept = sent(LARGE, storage, keep=True)
    assert isinstance(kept, StoredBytes)
    assert len(files(storage)) == 1
    assert sent([kept], None)[0][:] == bytes(kept) == LARGE
    del kept
    gc.collect()
    assert files(storage) == []


def test_without_storage_all_bytes_are_sent():
    file = io.BytesIO()
    send(file, LARGE)
    file.seek(0)
    assert receive(file) == LARGE


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_when_a_directory_is_full_the_next_is_used(storage, monkeypatch, tmp_path, code):
    storage.directories = [str(tmp_path), *storage.directories]
    write = messages._write

    def write_where_there_is_room(raw, content):
        if os.path.samefile(os.path.dirname(os.readlink(f"/proc/self/fd/{raw.fileno()}")), tmp_path):
            raw.write(content[:10])
            raise OSError(code, "no room")
        write(raw, content)

    monkeypatch.setattr(messages, "_write", write_where_there_is_room)
    assert sent(LARGE, storage)[:] == LARGE
    assert os.listdir(tmp_path) == []
    storage.directories = [str(tmp_path)]
    with pytest.raises(OSError, match="no room"):
        sent(LARGE, storage)
    assert os.listdir(tmp_path) == []


def test_other_errors_are_raised(storage, tmp_path):
    storage.directories = [str(tmp_path / "missing"), *storage.directories]
    with pytest.raises(FileNotFoundError):
        sent(LARGE, storage)


def test_the_directories_are_private_and_removed(storage):
    modes = {os.stat(directory).st_mode & 0o777 for directory in storage.directories}
    assert modes == {0o700}
    sent(LARGE, storage, keep=True)
    storage.close()
    assert not any(os.path.exists(directory) for directory in storage.directories)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_what_a_killed_process_has_stored_is_removed_by_the_next_one(monkeypatch, tmp_path):
    code = f"""
import os, signal, tempfile
from scwlearn.distributed import messages
tempfile.tempdir = messages._IN_MEMORY = {str(tmp_path)!r}
storage = messages.OwnStorage()
storage.put(b"large")
os.kill(os.getpid(), signal.SIGKILL)
"""
    (tmp_path / "scwlearn-mine").mkdir()
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 3
    monkeypatch.setattr(messages.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(messages, "_IN_MEMORY", str(tmp_path))
    first, second = OwnStorage(), OwnStorage()
    assert {os.path.basename(path) for path in [*first.directories, *second.directories]} | {"scwlearn-mine"} == set(
        os.listdir(tmp_path)
    )
    first.close()
    second.close()
    assert os.listdir(tmp_path) == ["scwlearn-mine"]


def test_an_end_in_the_middle_of_a_message_is_noticed():
    file = io.BytesIO()
    send(file, SMALL)
    for length in range(len(file.getvalue())):
        with pytest.raises(EOFError):
            receive(io.BytesIO(file.getvalue()[:length]))


def test_a_directory_without_room_for_another_file_is_skipped(storage, monkeypatch, tmp_path):
    storage.directories = [str(tmp_path), *storage.directories]
    make = messages.tempfile.mkstemp

    def make_where_there_is_room(dir):
        if dir == str(tmp_path):
            raise OSError(errno.ENOSPC, "no room")
        return make(dir=dir)

    monkeypatch.setattr(messages.tempfile, "mkstemp", make_where_there_is_room)
    assert sent(LARGE, storage)[:] == LARGE


def test_a_forked_process_removes_nothing(storage):
    kept = sent(LARGE, storage, keep=True)
    child = os.fork()
    if not child:
        storage.close()
        del kept
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert bytes(kept) == LARGE
