"""Sources as streams: decompressed by content, peeked at without being read, errors that name the file."""

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import threading
import tracemalloc
import zlib

import pytest

from scwlearn.data.io.decompress import import_zstd
from scwlearn.data.io.streams import expand_sources, open_source
from scwlearn.data.options import ReaderOptions
from scwlearn.data.schema import Schema
from table_text import Reading

zstd = import_zstd()
TEXT = b"+1 1:0.5 3:2\n-1 2:1 # more\n" * 5000
PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda text: zstd.compress(text, options={zstd.CompressionParameter.checksum_flag: True}),
}


@pytest.fixture(params=[*PACKERS, "gzip by zlib"])
def kind(request, monkeypatch):
    """Return a kind of compression; gzip is decoded by isal, and by zlib as if isal were not installed."""
    name, _, library = request.param.partition(" by ")
    if library:
        monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    return name


class Trickle(io.RawIOBase):
    """A file that gives a few bytes at a time, and cannot seek."""

    def __init__(self, text, step):
        self.text, self.step = io.BytesIO(text), step

    def readable(self):
        return True

    def readinto(self, memory):
        return self.text.readinto(memoryview(memory)[: self.step])


class OnlyRead:
    """A file that has nothing but read."""

    def __init__(self, text):
        self.read = io.BytesIO(text).read


def content(source):
    with open_source(source) as stream:
        return stream.readall()


# Compressed data


def test_compression_is_detected_by_content_not_by_name(kind, tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(PACKERS[kind](TEXT))
    assert content(path) == content(str(path)) == TEXT
    path = tmp_path / "data.gz"
    path.write_bytes(TEXT)
    assert content(path) == TEXT


def test_pipes_and_files_of_any_kind_can_be_read(kind):
    data = PACKERS[kind](TEXT)
    for step in (1, 3, 7, 1000):
        assert content(Trickle(data, step)) == TEXT
    assert content(OnlyRead(data)) == content(io.BytesIO(data)) == TEXT
    command = "import sys; from scwlearn.data.io.streams import open_source\n"
    command += "with open_source('-') as stream: sys.stdout.buffer.write(stream.readall())"
    assert subprocess.run([sys.executable, "-c", command], input=data, capture_output=True, check=True).stdout == TEXT


def test_several_members_are_read_in_sequence(kind):
    pack = PACKERS[kind]
    assert content(io.BytesIO(pack(b"one\n") + pack(b"") + pack(b"two\n") + pack(TEXT))) == b"one\ntwo\n" + TEXT
    assert content(Trickle(pack(b"one\n") * 100, 1)) == b"one\n" * 100
    if kind in ("gzip", "xz"):
        assert content(io.BytesIO(pack(b"one\n") + b"\0" * 512)) == b"one\n"


def test_highly_compressed_data_is_read_in_pieces(kind):
    data = PACKERS[kind](b"\n" * 2**23)
    with open_source(io.BytesIO(data)) as stream:
        total = 0
        while piece := stream.read(2**16):
            assert len(piece) <= 2**16
            total += len(piece)
    assert total == 2**23


def test_truncated_data_is_rejected_after_its_whole_part(kind, tmp_path):
    path = tmp_path / "cut.svm"
    data = PACKERS[kind](os.urandom(200_000) + TEXT)
    for size in (20, len(data) // 2, len(data) - 5, len(data) - 1):
        path.write_bytes(data[:size])
        given = 0
        expected = rf"^{re.escape(str(path))}: truncated {kind} data after (\d+) decompressed bytes$"
        with pytest.raises(ValueError, match=expected) as caught, open_source(path) as stream:  # noqa: PT012
            while piece := stream.read(1000):
                given += len(piece)
        assert int(re.search(r"(\d+) decompressed bytes", str(caught.value))[1]) == given


def test_a_second_part_that_is_truncated_is_rejected_too(kind):
    data = PACKERS[kind](b"one\n") + PACKERS[kind](TEXT)[:20]
    with pytest.raises(ValueError, match=rf"^the file: truncated {kind} data after \d+ decompressed bytes"):
        content(io.BytesIO(data))


def test_corrupt_data_is_rejected(kind):
    data = bytearray(PACKERS[kind](os.urandom(100_000)))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(ValueError, match=rf"^the file: corrupt {kind} data after \d+ decompressed bytes: "):
        content(io.BytesIO(data))


def test_other_data_behind_compressed_ones_are_rejected(kind):
    with pytest.raises(ValueError, match=rf"^the file: (corrupt|truncated) {kind} data after 4 "):
        content(io.BytesIO(PACKERS[kind](b"one\n") + b"this is something else altogether, and long enough to be seen"))


def xz_with_dictionary(code):
    """Data that want a dictionary of (2 | code % 2) << (code // 2 + 11) bytes, or all of 4 GiB for 40."""
    data = bytearray(lzma.compress(TEXT))
    size = 4 * (data[12] + 1)
    assert data[14:16] == b"\x21\x01", "the filter LZMA2 and one byte, which is its dictionary"
    data[16] = code
    data[12 + size - 4 : 12 + size] = zlib.crc32(data[12 : 12 + size - 4]).to_bytes(4, "little")
    return bytes(data)


def zstd_with_window(log):
    """A frame that wants a window of 2^log bytes, and one raw block in it, the last."""
    text = b"one\n"
    return b"\x28\xb5\x2f\xfd" + bytes([0, log - 10 << 3]) + (len(text) << 3 | 1).to_bytes(3, "little") + text


def test_a_header_that_asks_for_too_much_memory_is_rejected(tmp_path):
    assert content(io.BytesIO(lzma.compress(TEXT, preset=9))) == TEXT
    # 128 MiB, the maximum.
    assert content(io.BytesIO(xz_with_dictionary(30))) == TEXT
    assert content(io.BytesIO(zstd_with_window(27))) == b"one\n"
    path = tmp_path / "bomb"
    # 192 MiB, 1.5 GiB, 4 GiB; 256 MiB, 2 GiB.
    hostile = [("xz", xz_with_dictionary(code)) for code in (31, 37, 40)]
    hostile += [("zstd", zstd_with_window(log)) for log in (28, 31)]
    for kind, data in hostile:
        for before in (b"", PACKERS[kind](b"one\n")):
            path.write_bytes(before + data)
            with pytest.raises(ValueError, match="window of more than") as caught:
                content(path)
            assert str(caught.value) == (
                f"{path}: {kind} data with a window of more than 128 MiB; xz -9 needs 64 MiB, zstd --long 128 MiB "
                "(decompress it first, or recompress it)"
            )


def test_decompressed_data_is_not_held_as_a_whole(kind):
    if kind == "zstd":
        # 512 MiB of newlines, in blocks of four bytes each.
        blocks = [(2**17 << 3 | 1 << 1 | last).to_bytes(3, "little") + b"\n" for last in (0, 1)]
        data, size = b"\x28\xb5\x2f\xfd" + bytes([0, 17 << 3]) + blocks[0] * 4095 + blocks[1], 2**29
    else:
        data, size = PACKERS[kind](b"\n" * 2**26), 2**26
    memory, count = bytearray(2**16), 0
    tracemalloc.start()
    with open_source(io.BytesIO(data)) as stream:
        while got := stream.readinto(memory):
            count += got
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == size
    assert most < 2**24


def test_many_short_members_are_one_text():
    for kind, pack in PACKERS.items():
        assert content(io.BytesIO(pack(b"a\n") * 500)) == b"a\n" * 500, kind


def test_missing_zstd_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, zstd.__name__, None)
    message = r"the file: zstd data needs the package backports.zstd \(pip install 'scwlearn\[zstd\]'\)"
    with pytest.raises(ValueError, match=f"^{message}$"):
        content(io.BytesIO(PACKERS["zstd"](TEXT)))


def test_parallel_writers_of_zstd_begin_with_a_frame_to_be_skipped():
    skipped = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"size"
    assert content(io.BytesIO(skipped + PACKERS["zstd"](TEXT) + skipped + PACKERS["zstd"](TEXT))) == TEXT * 2


def test_a_header_alone_is_truncated_data():
    for head in (b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"):
        with pytest.raises(ValueError, match="after 0 decompressed bytes"):
            content(io.BytesIO(head))
    # Anything shorter than a header is text.
    for head in (b"\x1f", b"\x1f\x8b", b"BZh9", b"BZ 1:2", b"\xfd7zXZ", b"(\xb5/", b"P*M"):
        assert content(io.BytesIO(head)) == head


def test_gzip_with_a_wrong_checksum_is_rejected(monkeypatch):
    data = bytearray(gzip.compress(TEXT))
    data[-8:-4] = (zlib.crc32(TEXT) ^ 1).to_bytes(4, "little")
    with pytest.raises(ValueError, match=r"corrupt gzip data after .*: Error -6 Incorrect checksum found$"):
        content(io.BytesIO(data))
    monkeypatch.setitem(sys.modules, "isal.igzip_lib", None)
    with pytest.raises(ValueError, match=r"corrupt gzip data after .*: Error -3 .*incorrect data check$"):
        content(io.BytesIO(data))


# Marks


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
