"""Truncated, damaged and foreign files: all are refused, with a message that says why."""

import errno
import os
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from stress.forging import Forged, resealed, with_checksum

import scwlearn
from forged import refusal
from scwlearn._util.atomic import atomic_file
from scwlearn.files import container, read


def small_learner():
    learner = scwlearn.Learner("pa1")
    learner.learn([[1.0, -1.0], [0.5, 2.0]], [1, -1])
    return learner


def small_stream():
    stream = scwlearn.StreamClassifier("scw1", scale="rms")
    stream.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}, {"free": 2}], ["spam", "ham", "news"])
    return stream


@pytest.fixture
def path(tmp_path):
    """A small model file."""
    path = tmp_path / "small.model"
    scwlearn.save(small_learner(), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("make", [small_learner, small_stream])
def test_every_flipped_bit_is_detected(make, tmp_path):
    path = tmp_path / "small.model"
    scwlearn.save(make(), path)
    content, accepted = path.read_bytes(), []
    descriptor = os.open(path, os.O_WRONLY)
    try:
        for at in range(len(content)):
            for bit in range(8):
                os.pwrite(descriptor, bytes([content[at] ^ 1 << bit]), at)
                try:
                    read(path)
                    accepted.append((at, bit))
                except ValueError:
                    pass
            os.pwrite(descriptor, content[at : at + 1], at)
    finally:
        os.close(descriptor)
    assert accepted == []
    assert read(path).learner.counts.seen > 0


@pytest.mark.parametrize("make", [small_learner, small_stream])
def test_every_wrong_length_is_detected(make, tmp_path):
    path = tmp_path / "small.model"
    scwlearn.save(make(), path)
    content, accepted = path.read_bytes(), []
    for length in reversed(range(len(content))):
        os.truncate(path, length)
        try:
            read(path)
            accepted.append(length)
        except ValueError:
            pass
    for more in range(256):
        path.write_bytes(content + bytes([more]))
        try:
            read(path)
            accepted.append(more)
        except ValueError:
            pass
    assert accepted == []


def test_message_for_a_truncated_file(path):
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    assert refusal(path) == f"truncated model file: {len(content) - 10} of {len(content)} bytes"
    path.write_bytes(content[:300])
    assert refusal(path) == "damaged model file: wrong checksum"
    path.write_bytes(content[:30])
    assert refusal(path) == "not a scwlearn model file"
    path.write_bytes(b"")
    assert refusal(path) == "the file is empty"


def test_message_for_a_changed_file(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 16
    path.write_bytes(content)
    assert refusal(path) == "damaged model file: wrong checksum"
    content[-3] ^= 16
    path.write_bytes(content + b"ab")
    assert refusal(path) == f"damaged model file: {len(content) + 2} bytes, expected {len(content)}"
    content[12] ^= 1
    path.write_bytes(content)
    assert refusal(path) == "damaged model file: the first fields of the header are wrong"


def test_a_file_that_changes_while_it_is_read_is_refused(path, monkeypatch):
    content = bytearray(path.read_bytes())
    verify = container._verify

    def then_changed(file, size):
        library = verify(file, size)
        content[-1] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(0, 0))
        return library

    monkeypatch.setattr(container, "_verify", then_changed)
    assert refusal(path) == "the file changed while it was read"


def test_message_for_other_files(path, tmp_path):
    for other in (b"\x80\x04\x95 a pickle", b"1 1:0.5 3:2\n", bytes(range(256)) * 10):
        path.write_bytes(other)
        assert refusal(path) == "not a scwlearn model file"
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        scwlearn.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        scwlearn.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "not a regular file"


def test_message_for_another_format(path):
    forged = Forged(path.read_bytes())
    forged.metadata |= {"version": "2", "library": "3.4.5"}
    path.write_bytes(forged.content())
    expected = "format 2, written by scwlearn 3.4.5, is newer than this version (0.1.0) can read; update scwlearn"
    assert refusal(path) == expected
    forged.metadata["version"] = "0"
    path.write_bytes(forged.content())
    assert refusal(path) == "unknown format 0"


def test_the_safetensors_library_reads_model_files(path):
    safetensors = pytest.importorskip("safetensors")
    numpy_files = pytest.importorskip("safetensors.numpy")
    learner = scwlearn.load(path)
    for model in (small_learner(), small_stream(), scwlearn.KernelSCW1().fit([[1.0], [2.0], [4.0]], ["a", "b", "ä"])):
        scwlearn.save(model, path, notes={"ä": "\ud800"})
        with safetensors.safe_open(path, "numpy") as file:
            assert file.metadata().keys() == {"format", "version", "library", "checksum", "model"}
        assert numpy_files.load_file(path)
    scwlearn.save(learner, path)
    np.testing.assert_array_equal(numpy_files.load_file(path)["memory"], learner.model.memory)


def test_reading_needs_no_scikit_learn(tmp_path):
    x, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 2]
    for i, model in enumerate((scwlearn.SCW1(), scwlearn.KernelSCW1())):
        model.fit(x, y).save(tmp_path / f"{i}.model")
    code = f"""
import sys
from scwlearn.files import read, write
for i in range(2):
    stored = read({str(tmp_path)!r} + f"/{{i}}.model")
    write(stored, {str(tmp_path)!r} + f"/{{i}}.again")
    print(stored.kind, stored.class_name, stored.learner.counts.seen, "sklearn" in sys.modules)
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["estimator SCW1 3 False", "estimator KernelSCW1 3 False"]
    for i in range(2):
        assert (tmp_path / f"{i}.again").read_bytes() == (tmp_path / f"{i}.model").read_bytes()


def test_hostile_headers_are_refused(path):
    forged = Forged(path.read_bytes())
    head = forged.content()[8:].partition(b'"model":')[0].decode()
    deep = "[" * 100_000
    long = "1" * 10_000
    for rest, message in {
        f'"model":{deep}': "header: nested too deeply",
        '"model":"{}"': "header: invalid JSON",
        '"model":"{}","model":"{}"}}': "header: duplicate field 'model'",
        '"model":NaN}}': "header: numbers must be finite, got NaN",
        '"model":1e999}}': "header: numbers must be finite, got 1e999",
        f'"model":{long}}}}}': "header: number too long",
        '"model":7}}': "__metadata__.model must be a string, got 7",
        '"model":"{}","more":"1"}}': "__metadata__ has unknown fields: 'more'",
        '"model":"[]"}}': "model must be an object, got []",
        '"model":"{]"}}': "model: invalid JSON",
    }.items():
        path.write_bytes(with_checksum(head + rest, b""))
        assert refusal(path).startswith(message)
    path.write_bytes(with_checksum(head.encode() + b'"model":"\xff"}}', b""))
    assert refusal(path).startswith("header: not UTF-8")
    content = bytearray(forged.content())
    for length in (2**63, 10**8 + 1, len(content) - 7):
        content[:8] = length.to_bytes(8, "little")
        path.write_bytes(resealed(content))
        assert refusal(path).startswith(f"header length of {length} bytes, but at most {len(content) - 8} are possible")


def large_learner():
    learner = scwlearn.Learner("arow", covariance="diagonal")
    learner.learn(np.random.default_rng(0).normal(size=(2, 200_000)), [1, -1])
    return learner


def test_a_model_is_saved_without_a_thread_if_there_can_be_none(tmp_path, monkeypatch):
    learner = large_learner()
    scwlearn.save(learner, tmp_path / "with.model")

    def refuse(thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(container.Thread, "start", refuse)
    scwlearn.save(learner, tmp_path / "without.model")
    assert (tmp_path / "without.model").read_bytes() == (tmp_path / "with.model").read_bytes()
    assert read(tmp_path / "without.model").learner.counts.seen == 2


def test_a_failed_write_leaves_neither_a_thread_nor_a_file(tmp_path, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file, self.left = file, 10**6

        def write(self, data):
            self.left -= len(data)
            if self.left < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self.file.write(data)

        def __getattr__(self, name):
            return getattr(self.file, name)

    @contextmanager
    def full(path):
        with atomic_file(path) as file:
            yield Full(file)

    monkeypatch.setattr(container, "atomic_file", full)
    before = threading.enumerate()
    with pytest.raises(OSError, match="No space"):
        scwlearn.save(large_learner(), tmp_path / "large.model")
    assert threading.enumerate() == before
    assert not any(tmp_path.iterdir())
