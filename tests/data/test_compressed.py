"""Compressed sources: recognised by content, read in pieces, checked to the end."""

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tracemalloc
import zlib

import pytest

from scwlearn.data.io.decompress import import_zstd
from scwlearn.data.io.streams import open_source
from source_files import TEXT, OnlyRead, Trickle, content

zstd = import_zstd()
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
