"""Files that were cut short, changed or never were model files: all are refused, with a message that says why."""

import os
import subprocess
import sys

import numpy as np
import pytest

import scwlearn
from forged import Forged, refusal, resealed, with_checksum
from scwlearn.files import container, read


def small_learner():
    learner = scwlearn.Learner("pa1")
    learner.learn([[1.0, -1.0], [0.5, 2.0]], [1, -1])
    return learner


def small_stream():
    stream = scwlearn.StreamClassifier("scw1", scale=True)
    stream.learn_many([{"free": 1, "offer": 2}, {"meeting": 1}, {"free": 2}], ["spam", "ham", "news"])
    return stream


@pytest.fixture
def path(tmp_path):
    """A small model file."""
    path = tmp_path / "small.model"
    scwlearn.save(small_learner(), path)
    return path


@pytest.mark.parametrize("make", [small_learner, small_stream])
def test_every_bit_that_is_flipped_is_noticed(make, tmp_path):
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
def test_every_length_but_the_right_one_is_noticed(make, tmp_path):
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


def test_what_is_said_of_a_file_that_was_cut_short(path):
    content = path.read_bytes()
    path.write_bytes(content[:-10])
    assert refusal(path) == f"is cut short: it has {len(content) - 10} bytes of {len(content)}"
    path.write_bytes(content[:300])
    assert refusal(path) == "is damaged: its checksum is not that of its content"
    path.write_bytes(content[:30])
    assert refusal(path) == "is not a model file of scwlearn"
    path.write_bytes(b"")
    assert refusal(path) == "is empty; a model file is expected"


def test_what_is_said_of_a_file_that_was_changed(path):
    content = bytearray(path.read_bytes())
    content[-3] ^= 16
    path.write_bytes(content)
    assert refusal(path) == "is damaged: its checksum is not that of its content"
    content[-3] ^= 16
    path.write_bytes(content + b"ab")
    assert refusal(path) == f"is damaged: it has {len(content) + 2} bytes, of which 2 do not belong to it"
    content[12] ^= 1
    path.write_bytes(content)
    assert refusal(path) == "is damaged: it does not begin as a model file does"


def test_a_file_that_is_written_to_while_it_is_read_is_refused(path, monkeypatch):
    content = bytearray(path.read_bytes())
    check = container._check

    def then_changed(file, size):
        library = check(file, size)
        content[-1] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(0, 0))
        return library

    monkeypatch.setattr(container, "_check", then_changed)
    assert refusal(path) == "has changed while it was read"


def test_what_is_said_of_other_files(path, tmp_path):
    for other in (b"\x80\x04\x95 a pickle", b"1 1:0.5 3:2\n", bytes(range(256)) * 10):
        path.write_bytes(other)
        assert refusal(path) == "is not a model file of scwlearn"
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        scwlearn.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="Is a directory"):
        scwlearn.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "is not a regular file, as a model file is"


def test_a_file_of_a_newer_format_says_so(path):
    forged = Forged(path.read_bytes())
    forged.metadata |= {"version": "2", "library": "3.4.5"}
    path.write_bytes(forged.content())
    expected = "was written in format 2 by scwlearn 3.4.5; this one, 0.1.0, reads up to 1: update scwlearn"
    assert refusal(path) == expected
    forged.metadata["version"] = "0"
    path.write_bytes(forged.content())
    assert refusal(path) == "says that it is in format 0, which there never was"


def test_the_safetensors_library_reads_our_files(path):
    safetensors = pytest.importorskip("safetensors")
    numpy_files = pytest.importorskip("safetensors.numpy")
    learner = scwlearn.load(path)
    for model in (small_learner(), small_stream(), scwlearn.KernelSCW1().fit([[1.0], [2.0], [4.0]], ["a", "b", "ä"])):
        scwlearn.save(model, path, notes={"ä": "\ud800"})
        with safetensors.safe_open(path, "numpy") as file:
            assert file.metadata().keys() == {"format", "version", "library", "checksum", "model"}
        assert numpy_files.load_file(path)
    scwlearn.save(learner, path)
    np.testing.assert_array_equal(numpy_files.load_file(path)["memory"], learner.gaussian.memory)


def test_a_file_that_is_read_needs_no_scikit_learn(tmp_path):
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
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["estimator SCW1 3 False", "estimator KernelSCW1 3 False"]
    for i in range(2):
        assert (tmp_path / f"{i}.again").read_bytes() == (tmp_path / f"{i}.model").read_bytes()


def test_a_header_that_is_hostile_is_refused(path):
    forged = Forged(path.read_bytes())
    head = forged.content()[8:].partition(b'"model":')[0].decode()
    deep = "[" * 100_000
    long = "1" * 10_000
    for rest, told in {
        f'"model":{deep}': "the header is nested too deeply",
        '"model":"{}"': "the header is no JSON",
        '"model":"{}","model":"{}"}}': "the header has the field 'model' twice",
        '"model":NaN}}': "the header holds NaN; numbers must be finite",
        '"model":1e999}}': "the header holds 1e999, which is beyond what floats hold",
        f'"model":{long}}}}}': "the header holds a number that is too long",
        '"model":7}}': "__metadata__.model must be a string, got 7",
        '"model":"{}","more":"1"}}': "__metadata__ has an unknown field 'more'",
        '"model":"[]"}}': "the model must be an object, got []",
        '"model":"{]"}}': "the model is no JSON",
    }.items():
        path.write_bytes(with_checksum(head + rest, b""))
        assert refusal(path).startswith(told)
    path.write_bytes(with_checksum(head.encode() + b'"model":"\xff"}}', b""))
    assert refusal(path).startswith("has a header that is not UTF-8")
    content = bytearray(forged.content())
    for length in (2**63, 10**8 + 1, len(content) - 7):
        content[:8] = length.to_bytes(8, "little")
        path.write_bytes(resealed(content))
        assert refusal(path).startswith(f"has a header of {length} bytes; at most {len(content) - 8} are possible")
