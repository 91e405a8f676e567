"""Sources as streams: their encodings, peeked at without being read, errors that name the file."""

import codecs
import gzip
import io
import os
import re
import sys
import threading
import tracemalloc
import zlib

import pytest

from scwlearn.data.io.streams import expand_sources, open_source
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from source_files import TEXT, OnlyRead, Trickle, content
from table_text import Reading

# Encodings


@pytest.mark.parametrize("step", [1, 2, 3, 100])
def test_the_byte_order_mark_is_removed(step):
    bom = codecs.BOM_UTF8
    for data in (bom + TEXT, gzip.compress(bom + TEXT)):
        assert content(Trickle(data, step)) == content(io.BytesIO(data)) == TEXT
    assert content(io.BytesIO(bom)) == b""
    assert content(io.BytesIO(bom[:2])) == bom[:2]
    assert content(io.BytesIO(TEXT + bom)) == TEXT + bom


ENCODINGS = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_utf_16_and_utf_32_with_a_byte_order_mark_become_utf_8(encoding):
    text = "größe,猫,\N{PILE OF POO}\r\n" * 9999 + "\ufeff"
    data = ("\ufeff" + text).encode(encoding)
    for source in (io.BytesIO(data), io.BytesIO(gzip.compress(data)), Trickle(data, 7), OnlyRead(data)):
        assert content(source) == text.encode()
    assert content(io.BytesIO("\ufeff".encode(encoding))) == b""


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_utf_16_is_decoded_in_pieces(encoding):
    class Endless(io.RawIOBase):
        mark = "\ufeff".encode(encoding)

        def readable(self):
            return True

        def readinto(self, memory):
            data, self.mark = (self.mark + "a\n".encode(encoding) * len(memory))[: len(memory) & ~7], b""
            memory[: len(data)] = data
            return len(data)

    tracemalloc.start()
    with open_source(Endless()) as stream:
        assert sum(len(stream.read(2**16)) for _ in range(500)) > 2**22
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**21


@pytest.mark.parametrize("step", [1, 3, 100_000])
def test_invalid_utf_16_is_rejected_at_its_byte(step):
    valid = "\ufeff1 1:1\n".encode("utf-16-le") * 5000
    for bad, reason in (
        (b"\x00\xdc1\0", "illegal encoding"),
        (b"\x00\xd81\0", "illegal UTF-16 surrogate"),
        (b"1", "truncated data"),
        (b"\x00\xd8", "unexpected end of data"),
    ):
        message = f"the file: invalid UTF-16 text at byte {len(valid) + 1}: {reason}"
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            content(Trickle(valid + bad, step))


# Streams


def test_peeking_does_not_consume_a_stream():
    with open_source(Trickle(TEXT, 10)) as stream:
        assert stream.peek(lambda head: len(head) > 25)[:25] == TEXT[:25]
        assert stream.read(5) == TEXT[:5]
        assert stream.peek(lambda head: True).startswith(TEXT[5:20])
        assert len(stream.peek(lambda head: False, most=100)) == 100
        assert stream.readall() == TEXT[5:]
        assert stream.peek(lambda head: False) == b""


def test_a_stream_seeks_where_its_file_can(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"\xef\xbb\xbf0123456789")
    with open_source(path) as stream:
        assert stream.seekable()
        assert (stream.read(3), stream.tell()) == (b"012", 3)
        assert (stream.seek(7), stream.read(2)) == (7, b"78")
        assert (stream.seek(-2, os.SEEK_CUR), stream.read(1)) == (7, b"7")
        assert (stream.seek(0, os.SEEK_END), stream.read()) == (10, b"")
    with open_source(io.BytesIO(gzip.compress(TEXT))) as stream:
        assert not stream.seekable()
    file = io.BytesIO(b"before0123")
    file.seek(6)
    with open_source(file) as stream:
        assert (stream.tell(), stream.read(1), stream.seek(0), stream.read()) == (0, b"0", 0, b"0123")


def test_a_file_that_was_passed_open_stays_open_and_a_path_is_closed(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(TEXT)
    descriptors = len(os.listdir("/dev/fd"))
    assert content(path) == TEXT
    assert len(os.listdir("/dev/fd")) == descriptors
    with open(path, "rb") as file:
        assert content(file) == TEXT
        assert not file.closed


def test_a_pipe_with_a_filled_buffer_is_read_from_the_buffer():
    reader, writer = os.pipe()
    with open(reader, "rb") as file, open(writer, "wb", buffering=0) as into:
        into.write(b"one\ntwo\nthree\n")
        assert file.readline() == b"one\n"
        into.write(b"four\n")
        with open_source(file) as stream:
            assert stream.read(100) == b"two\nthree\n"
            assert stream.read(100) == b"four\n"
            into.write(b"five\n")
            assert (stream.read(2), stream.read(100)) == (b"fi", b"ve\n")


def test_compressed_data_from_a_silent_pipe_does_not_delay_closing():
    reader, writer = os.pipe()
    with open(reader, "rb") as file, open(writer, "wb", buffering=0) as into:
        packer = zlib.compressobj(wbits=31)
        into.write(packer.compress(b"1 1:1\n" * 100) + packer.flush(zlib.Z_SYNC_FLUSH))
        before = threading.enumerate()
        batches = Reading(file, Schema("libsvm"), ReaderOptions(eager=True))
        assert len(next(batches)) == 100
        batches.close()
        assert not [thread for thread in threading.enumerate() if thread not in before]


# Errors


def test_a_file_that_cannot_be_opened_is_an_error_with_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"\[Errno 2\] No such file or directory: '.*missing\.svm'$"):
        content(tmp_path / "missing.svm")
    with pytest.raises(IsADirectoryError, match=rf"\[Errno 21\] Is a directory: '{re.escape(str(tmp_path))}'$"):
        content(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_an_error_with_its_name(tmp_path):
    path = tmp_path / "secret.svm"
    path.write_bytes(TEXT)
    path.chmod(0)
    with pytest.raises(PermissionError, match=r"\[Errno 13\] Permission denied: '.*secret\.svm'$"):
        content(path)


def test_closed_standard_input_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match=r"^standard input: closed; there is nothing to read$"):
        content("-")


def test_a_source_must_be_a_path_or_a_file():
    with pytest.raises(TypeError, match=r"^source is a file in text mode; open it with mode='rb' or pass its .buffer$"):
        content(io.StringIO("1 1:1"))
    with pytest.raises(TypeError, match=r"^source must be a path or a binary file, got 5$"):
        content(5)


# Patterns


def test_patterns_expand_to_sorted_files(tmp_path):
    for name in ("b.svm", "a.svm", "c.txt", "[x].svm", "deep/d.svm"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "dir.svm").mkdir()

    def names(*patterns):
        return [
            os.path.relpath(path, tmp_path)
            for path in expand_sources([str(tmp_path / pattern) for pattern in patterns])
        ]

    assert names("*.svm") == ["[x].svm", "a.svm", "b.svm"]
    assert names("c.txt", "[ab].svm") == ["c.txt", "a.svm", "b.svm"]
    # A file whose name equals the pattern is that file.
    assert names("[x].svm") == ["[x].svm"]
    assert names("**/*.svm") == ["[x].svm", "a.svm", "b.svm", "deep/d.svm"]
    file = io.BytesIO()
    assert expand_sources(["-", file]) == ["-", file]
    with pytest.raises(FileNotFoundError, match=r"^\[Errno 2\] no file matches this pattern: '.*\*\.csv'$"):
        names("*.csv")
    with pytest.raises(FileNotFoundError, match=r"^\[Errno 2\] No such file or directory: '.*e\.svm'$"):
        names("a.svm", "e.svm")
    with pytest.raises(TypeError, match="source must be a path or a binary file, got None"):
        expand_sources([None])
