"""Errors in LIBSVM text: their exact messages, from files, pipes and compressed data."""

import gzip
import io
import os
import re
import tracemalloc

import numpy as np
import pytest

from libsvm_text import PADDING, native
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.data.io.errors import SkippedRecords
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from table_text import Reading

LIBSVM = Schema("libsvm")
NUMBER = "a finite number of at most 1e+150 in magnitude"
VALUE = f"a value must be {NUMBER}, right after the colon"
FEATURE = "a feature must be index:value, with an integer index, such as 7:0.5"
INDEX = "indices must be from 1 to 9223372036854775807"
LABEL = f"a line must start with a label, {NUMBER}"

# Third line, column of the error, and message.
FAULTS = {
    "index 0": (b"1 0:1", 3, "indices start at 1; found '0:1' (use zero_based=True for a file that counts from 0)"),
    "negative index": (b"1 -3:1", 3, f"{FEATURE}; found '-3:1'"),
    "index beyond 2^63": (b"1 9223372036854775808:1", 3, f"{INDEX}; found '9223372036854775808:1'"),
    "duplicate index": (b"1 7:1 3:1 7:2", 11, "indices must not repeat within a line; found '7:2'"),
    "nan": (b"1 2:nan", 5, f"{VALUE}; found 'nan'"),
    "inf": (b"1 2:inf", 5, f"{VALUE}; found 'inf'"),
    "-inf": (b"1 2:-inf", 5, f"{VALUE}; found '-inf'"),
    "nan label": (b"nan 2:1", 1, f"{LABEL}; found 'nan'"),
    "missing label": (b"2:1 3:1", 1, f"{LABEL}; found '2:1'"),
    "NUL in a value": (b"1 2:1\x000", 5, f"{VALUE}; found '1\\x000'"),
    "NUL for a label": (b"\x00\x00\x00", 1, f"{LABEL}; found '\\x00\\x00\\x00'"),
    "NUL for a feature": (b"1 \x00", 3, f"{FEATURE}; found '\\x00'"),
    "binary garbage": (b"\x89PNG\r\x1a\x80", 1, f"{LABEL}; found '\\x89PNG\\r\\x1a\\x80'"),
    "no number": (b"1 2:x", 5, f"{VALUE}; found 'x'"),
}
faults_at_hand = pytest.mark.parametrize(("line", "column", "message"), FAULTS.values(), ids=FAULTS)


def read(text, schema=LIBSVM, **options):
    return [*Reading(io.BytesIO(text), schema, ReaderOptions(**options))]


def fault_of(source, **options):
    with pytest.raises(ValueError, match=r"^(the file|/)") as caught:
        [*Reading(source, LIBSVM, ReaderOptions(**options))]
    return str(caught.value)


# Raised


@native
@faults_at_hand
def test_an_error_is_raised_with_file_line_and_column(line, column, message, tmp_path):
    text = b"1 1:1\n# a comment\n" + line + b"\n1 2:1\n"
    path = tmp_path / "some.svm"
    for data in (text, text.replace(b"\n", b"\r\n"), gzip.compress(text), b"\xef\xbb\xbf" + text, text[:-7]):
        path.write_bytes(data)
        assert fault_of(path) == f"{path}, line 3, column {column}: {message}"
    assert fault_of(path, chunk_bytes=1) == f"{path}, line 3, column {column}: {message}"


@native
def test_unusual_but_valid_lines_are_read():
    for text in (b"1 2147483649:1\n", b"1 2147483649:1\r\n", b"\xef\xbb\xbf1 2147483649:1"):
        (batch,) = read(text)
        (block,) = batch.x.blocks(1)
        assert (block.indices.tolist(), block.indices.dtype, batch.x.width) == ([2**31], np.int64, 2**31 + 1)
    (batch,) = read(b"0 0:1 4:2", Schema("libsvm", zero_based=True))
    assert batch.x.width == 5
    assert read(b"1")[0].labels.tolist() == [1]


def test_files_without_examples_are_rejected(tmp_path):
    path = tmp_path / "none.svm"
    for text in (b"", b"\n\r\n", b"# a comment", b"\xef\xbb\xbf", gzip.compress(b"")):
        path.write_bytes(text)
        assert fault_of(path) == f"{path}: no examples; a line is label index:value index:value ..."
    path.write_bytes(b"spam\neggs\n1 x\n")
    expected = f"{path}: no examples (3 records could not be read); a line is label index:value index:value ..."
    assert fault_of(path, on_error="skip") == expected


def test_sources_that_are_not_files_are_rejected(tmp_path):
    with pytest.raises(IsADirectoryError, match=rf"^\[Errno 21\] Is a directory: '{re.escape(str(tmp_path))}'$"):
        [*Reading(tmp_path, LIBSVM)]
    with pytest.raises(FileNotFoundError, match=r"^\[Errno 2\] No such file or directory: '.*missing\.svm'$"):
        [*Reading(tmp_path / "missing.svm", LIBSVM)]


@pytest.mark.parametrize("read_ahead", [True, False])
def test_truncated_compressed_data_is_rejected_after_its_whole_lines(tmp_path, read_ahead):
    path = tmp_path / "cut.svm.gz"
    text = b"".join(b"%d 1:%d\n" % (i % 2, i) for i in range(100_000))
    path.write_bytes(gzip.compress(text)[:-2000])
    for chunk_bytes in (100, 10_000, None):
        batches = Reading(path, LIBSVM, ReaderOptions(chunk_bytes=chunk_bytes, read_ahead=read_ahead))
        seen = 0
        with pytest.raises(ValueError, match="truncated gzip data") as caught:  # noqa: PT012
            for batch in batches:
                seen += len(batch)
        before = int(re.search(r"after (\d+)", str(caught.value))[1])
        assert str(caught.value) == f"{path}: truncated gzip data after {before} decompressed bytes"
        assert seen == text[:before].count(b"\n")
    # Not a line that can be skipped.
    assert "truncated gzip data" in fault_of(path, on_error="skip")


class LongLine(io.RawIOBase):
    """A line of `size` bytes between two short ones, generated while it is read."""

    def __init__(self, size):
        self.left, self.given = [b"1 1:1\n1 2:", size, b"\n-1 3:1\n"], 0

    def readable(self):
        return True

    def readinto(self, memory):
        if not self.left:
            return 0
        part = self.left[0]
        if isinstance(part, bytes):
            memory[: len(part)] = part
            self.left.pop(0)
            return len(part)
        count = min(part, len(memory))
        memory[:count] = b"7" * count
        self.given += count
        self.left[0] = part - count
        if not self.left[0]:
            self.left.pop(0)
        return count


def test_a_line_of_a_gigabyte_is_rejected_without_being_kept_in_memory():
    message = "the file, line 2: a line has at most 1000000 bytes; found '1 2:" + "7" * 36 + "'..."
    message += " (raise the limit with max_line_bytes=...)"
    options = {"chunk_bytes": 100_000, "max_line_bytes": 1_000_000}
    source = LongLine(2**30)
    tracemalloc.start()
    assert fault_of(source, **options) == message
    assert source.given < 2_000_000
    faults = SkippedRecords()
    options = ReaderOptions(on_error="skip", skipped=faults, **options)
    batches = [*Reading(LongLine(2**30), LIBSVM, options)]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20_000_000
    assert [batch.lines.tolist() for batch in batches] == [[1], [3]]
    assert (faults.count, str(faults.first[0])) == (1, message)


def test_a_number_that_is_as_long_as_a_line_may_be_is_read_or_rejected():
    assert fault_of(LongLine(10_000_000)) == f"the file, line 2, column 5: {VALUE}; found '{'7' * 40}'..."


# Skipped


@native
@faults_at_hand
def test_a_bad_line_is_skipped_and_recorded(line, column, message):
    text = b"1 1:1 5:1\n" + line + b"\n" + line + b"\n-1 2:1\n"
    for padding in (b"", PADDING):
        for chunk_bytes in (1, 12, 2**20):
            faults = SkippedRecords(keep=1)
            options = {"on_error": "skip", "skipped": faults, "chunk_bytes": chunk_bytes}
            batches = read(padding + text + padding, **options)
            assert [y for batch in batches for y in batch.labels.tolist()] == [1, -1]
            before = len(padding)
            assert [at for batch in batches for at in batch.lines.tolist()] == [before + 1, before + 4]
            assert faults.count == 2
            assert [*map(str, faults.first)] == [f"the file, line {before + 2}, column {column}: {message}"]
    assert read(text, on_error="skip")[0].x.dense().tolist() == [[1, 0, 0, 0, 1], [0, 1, 0, 0, 0]]


@native
def test_the_first_errors_are_kept_in_file_order():
    text = b"".join(b"1 1:%s\n" % (b"x" if i % 3 else b"1") for i in range(1, 301))
    for chunk_bytes in (50, 2**20):
        faults = SkippedRecords()
        assert sum(map(len, read(text, on_error="skip", skipped=faults, chunk_bytes=chunk_bytes))) == 100
        assert faults.count == 200
        assert [fault.line for fault in faults.first] == [1, 2, 4, 5, 7, 8, 10, 11, 13, 14]
    read(b"1 x\n1 1:1\n", on_error="skip", skipped=faults)
    assert (faults.count, len(faults.first)) == (201, 10)


@native
def test_a_large_index_is_read_between_bad_lines():
    faults = SkippedRecords()
    text = b"1 1:x\n1 3000000000:1\n1 99999999999999999999:1\n1 1:1\n"
    (batch,) = read(text, on_error="skip", skipped=faults)
    assert batch.lines.tolist() == [2, 4]
    assert batch.x.width == 3_000_000_000
    assert [(fault.line, fault.column) for fault in faults.first] == [(1, 5), (3, 3)]


# Labels and lines


@native
def test_labels_may_be_missing_if_they_are_optional():
    (batch,) = read(b"1:1 2:2\n-1 1:1\n\nqid:3 2:1\n 3:1 # c\n2\n", labels="optional")
    assert batch.labelled.tolist() == [False, True, False, False, True]
    assert batch.labels[batch.labelled].tolist() == [-1, 2]
    assert batch.lines.tolist() == [1, 2, 4, 5, 6]
    assert batch.x.dense().tolist() == [[1, 2, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    (batch,) = read(b"1:1\n2:1\n", labels="optional")
    assert batch.labels is batch.labelled is None
    (batch,) = read(b"1 1:1\n2 2:1\n", labels="optional")
    assert (batch.labels.tolist(), batch.labelled) == ([1, 2], None)
    for text, message in {
        b"spam 1:1": f"the file, line 1, column 1: {LABEL}; found 'spam'",
        b"a:1 1:1": f"the file, line 1, column 1: {FEATURE}; found 'a:1'",
        b"1:x": f"the file, line 1, column 3: {VALUE}; found 'x'",
    }.items():
        assert fault_of(io.BytesIO(text), labels="optional") == message


@native
def test_every_example_knows_its_line_and_its_source(tmp_path):
    path = tmp_path / "some.svm"
    path.write_bytes(b"# c\n1 1:1\n\n\r\n2 1:1\n3 1:1 # c\n" * 50)
    for chunk_bytes in (1, 30, 2**20):
        batches = [*Reading(path, LIBSVM, ReaderOptions(chunk_bytes=chunk_bytes))]
        lines = [line for batch in batches for line in batch.lines.tolist()]
        assert lines == [6 * i + j for i in range(50) for j in (2, 5, 6)]
        assert {batch.source for batch in batches} == {str(path)}
        assert all(batch.weights is batch.tags is batch.labelled is None for batch in batches)


def test_an_eager_reader_yields_the_lines_of_a_pipe_at_once():
    reader, writer = os.pipe()
    with open(reader, "rb") as file, open(writer, "wb", buffering=0) as into:
        batches = Reading(file, LIBSVM, ReaderOptions(eager=True))
        for text, labels in ((b"1 1:1\n", [1]), (b"2 1:1\n3 1:1\n4 1", [2, 3]), (b":1\n", [4])):
            into.write(text)
            assert next(batches).labels.tolist() == labels
        into.write(b"5 1:1")
        into.close()
        assert next(batches).labels.tolist() == [5]
        assert next(batches, None) is None


def test_compressed_files_are_loaded_as_plain_ones(tmp_path):
    path = tmp_path / "some.svm"
    text = b"1 1:0.5 3:2\n-1 2:1\n"
    path.write_bytes(gzip.compress(text))
    x, y = load_libsvm(path)
    assert (x.toarray().tolist(), y.tolist()) == ([[0.5, 0, 2], [0, 1, 0]], [1, -1])
