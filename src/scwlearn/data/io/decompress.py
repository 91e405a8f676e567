"""Compressed data, told by how they begin, and unpacked as they are read, in memory that does not grow with them."""

from __future__ import annotations

import importlib
import io
import zlib
from collections.abc import Callable
from threading import Event
from typing import Any

# What compressed data begin with.
_MAGIC = {
    "gzip": (b"\x1f\x8b\x08",),
    "bzip2": tuple(b"BZh%d" % level + block for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, or one that is to be skipped, such as parallel writers put before each.
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))),
}
# How much is read at a time. What it becomes is bounded where the decoder is told how much we want; the one of zstd
# that is not can make 128 KiB of four bytes, so it gets little: that is 32 MiB at most.
_READ = 2**17
_READ_UNBOUNDED = 2**10
# How far back xz and zstd may refer: a decoder keeps as much in memory, and a header of a few bytes may ask for 4 GiB.
# `xz -9` takes 64 MiB; 128 are what `zstd --ultra -22` and `--long` take, and the most that `zstd -d` accepts unasked.
_FAR_BACK = 2**27
# What the decoder of xz takes besides, in plenty.
_BESIDES = 2**21
# How lzma and zstd say that more would be needed.
_LIMITS = ("Memory usage limit", "too much memory")


def packed_as(head: bytes) -> str | None:
    """How data that begin so are compressed; None: they are not."""
    return next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), None)


def may_be_packed(head: bytes) -> bool:
    """Whether more has to be seen to know."""
    return packed_as(head) is None and any(m.startswith(head) for magic in _MAGIC.values() for m in magic)


class Unpacked(io.RawIOBase):
    """What compressed data hold: all parts (gzip: members) of them, one after the other."""

    def __init__(self, packed: Any, kind: str, name: str, stopped: Event) -> None:
        super().__init__()
        self._packed, self._kind, self._name, self._stopped = packed, kind, name, stopped
        self._new_decoder, self._faults, self._size = _decoder(kind, name)
        self._decoder = self._new_decoder()
        self._given = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, memory: Any) -> int:
        """Read into memory and say how much: 0 at the end, or when stopped."""
        while len(memory):
            data = b""
            if self._decoder.eof:
                data = self._next_part()
                if not data:
                    return 0
            elif self._decoder.needs_input:
                data = self._packed.read(self._size)
                if self._stopped.is_set():
                    return 0
                if not data:
                    raise ValueError(f"{self._name}: the {self._kind} data end in the middle, after {self._so_far()}")
            try:
                text = self._decoder.decompress(data, len(memory))
            except self._faults as error:
                if any(limit in str(error) for limit in _LIMITS):
                    raise ValueError(self._too_far_back()) from None
                raise ValueError(
                    f"{self._name}: the {self._kind} data are broken after {self._so_far()}: {error}"
                ) from None
            if text:
                memory[: len(text)] = text
                self._given += len(text)
                return len(text)
        return 0

    def _next_part(self) -> bytes:
        """How the next part begins; nothing at the end. Zeros may stand between parts and behind the last."""
        data: bytes = self._decoder.unused_data.lstrip(b"\0")
        while not data:
            more = self._packed.read(self._size)
            if not more:
                return b""
            data = more.lstrip(b"\0")
        self._decoder = self._new_decoder()
        return data

    def _too_far_back(self) -> str:
        allowed = f"at most {_FAR_BACK // 2**20} MiB are allowed (xz -9 takes 64, zstd --long 128)"
        how = "unpack them first, or pack them anew"
        return f"{self._name}: the {self._kind} data need too much memory to be unpacked: {allowed}; {how}"

    def _so_far(self) -> str:
        return f"{self._given} bytes of what they hold"


def _decoder(kind: str, name: str) -> tuple[Callable[[], Any], tuple[type[Exception], ...], int]:
    """A function that makes decoders like those of bz2, what they raise, and how much they take at a time."""
    if kind == "gzip":
        return _Gzip, (zlib.error,), _READ
    # The others are imported when they are met: most data are plain, and a command had better start at once.
    if kind == "bzip2":
        bz2 = importlib.import_module("bz2")
        return bz2.BZ2Decompressor, (OSError,), _READ
    if kind == "xz":
        lzma = importlib.import_module("lzma")
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _FAR_BACK + _BESIDES), (lzma.LZMAError,), _READ
    try:
        zstd = importlib.import_module("compression.zstd")  # from Python 3.14 on
        options = {zstd.DecompressionParameter.window_log_max: _FAR_BACK.bit_length() - 1}
        return lambda: zstd.ZstdDecompressor(options=options), (zstd.ZstdError,), _READ
    except ImportError:
        pass
    try:
        package = importlib.import_module("zstandard")
    except ImportError:
        message = "is compressed with zstd, which needs the package zstandard: pip install 'scwlearn[zstd]'"
        raise ValueError(f"{name} {message}") from None
    # One for all frames: to make one for each takes longer than to unpack a short one.
    decompressor = package.ZstdDecompressor(max_window_size=_FAR_BACK)
    return lambda: _Zstandard(decompressor.decompressobj()), (package.ZstdError,), _READ_UNBOUNDED


class _Gzip:
    """A member, as bz2's decoder does it."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, most: int) -> bytes:
        text = self._inflate.decompress(data or self._inflate.unconsumed_tail, most)
        self.needs_input = len(text) < most and not self._inflate.unconsumed_tail
        return text


class _Zstandard:
    """A frame by the package zstandard, as bz2's decoder does it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._text = memoryview(b"")

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof) and not self._text

    @property
    def needs_input(self) -> bool:
        return not self._text

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)

    def decompress(self, data: bytes, most: int) -> memoryview:
        if data:
            self._text = memoryview(self._frame.decompress(data))
        text, self._text = self._text[:most], self._text[most:]
        return text
