"""Decompression of gzip, bzip2, xz and zstd data in bounded memory."""

from __future__ import annotations

import importlib
import io
import sys
import zlib
from collections.abc import Callable
from threading import Event
from typing import Any

from scwlearn._native import clear_vector_registers
from scwlearn.data.io.errors import DataError

# First bytes of compressed data.
_MAGIC = {
    "gzip": (b"\x1f\x8b\x08",),
    "bzip2": tuple(b"BZh%d" % level + block for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")),
    "xz": (b"\xfd7zXZ\x00",),
    # A frame, or a skippable frame such as parallel compressors write first.
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60))),
}
# Bytes that a decoder takes and returns at a time. With less, threads often wait for each other; a decoder would have
# to enlarge its output several times to return more.
_PIECE = 2**18
# Largest window of xz and zstd. A decoder allocates it, and a header of a few bytes may ask for 4 GiB. `xz -9` needs
# 64 MiB; `zstd --ultra -22` and `--long` need 128 MiB, which is also the most that `zstd -d` accepts by default.
_MAX_WINDOW = 2**27
# Other memory of the xz decoder, generously.
_XZ_OVERHEAD = 2**21
# How lzma and zstd report that they would need more memory.
_MEMORY_MESSAGES = ("Memory usage limit", "too much memory")


def compression_of(head: bytes) -> str | None:
    """Return the compression of data that starts with `head`; None if it is not compressed."""
    return next((kind for kind, magic in _MAGIC.items() if head.startswith(magic)), None)


def may_be_compressed(head: bytes) -> bool:
    """Return whether `head` is too short to tell."""
    return compression_of(head) is None and any(m.startswith(head) for magic in _MAGIC.values() for m in magic)


class Decompressed(io.RawIOBase):
    """Content of compressed data, which may consist of several members or frames."""

    def __init__(self, file: Any, kind: str, name: str, stopped: Event) -> None:
        super().__init__()
        self._file, self._kind, self._name, self._stopped = file, kind, name, stopped
        self._new_decoder, self._errors = _decoder(kind, name)
        self._decoder = self._new_decoder()
        self._given = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, memory: Any) -> int:
        """Read into memory and return the number of bytes: 0 at the end, or when stopped."""
        while len(memory):
            data = b""
            if self._decoder.eof:
                data = self._next_member()
                if not data:
                    return 0
            elif self._decoder.needs_input:
                data = self._file.read(_PIECE)
                if self._stopped.is_set():
                    return 0
                if not data:
                    raise self._error("truncated")
            try:
                text = self._decoder.decompress(data, min(len(memory), _PIECE))
            except self._errors as error:
                if any(message in str(error) for message in _MEMORY_MESSAGES):
                    limit = f"{self._kind} data with a window of more than {_MAX_WINDOW // 2**20} MiB"
                    known = "xz -9 needs 64 MiB, zstd --long 128 MiB"
                    hint = "decompress it first, or recompress it"
                    raise DataError(f"{limit}; {known}", source=self._name, hint=hint) from None
                raise self._error("corrupt", f": {error}") from None
            finally:
                # isal leaves them dirty, and this thread will parse the text.
                clear_vector_registers()
            if text:
                memory[: len(text)] = text
                self._given += len(text)
                return len(text)
        return 0

    def _next_member(self) -> bytes:
        """Return the first bytes of the next member; nothing at the end. Zeros may pad members."""
        data: bytes = self._decoder.unused_data.lstrip(b"\0")
        while not data:
            more = self._file.read(_PIECE)
            if not more:
                return b""
            data = more.lstrip(b"\0")
        self._decoder = self._new_decoder()
        return data

    def _error(self, what: str, detail: str = "") -> DataError:
        return DataError(f"{what} {self._kind} data after {self._given} decompressed bytes{detail}", source=self._name)


def import_zstd() -> Any:
    """Import compression.zstd, or its backport before Python 3.14; both are imported only when needed."""
    return importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _decoder(kind: str, name: str) -> tuple[Callable[[], Any], tuple[type[Exception], ...]]:
    """Return a factory of decoders with the interface of bz2's, and the errors they raise."""
    # Imported when needed: most data is not compressed, and commands should start fast.
    if kind == "gzip":
        try:
            isal = importlib.import_module("isal.igzip_lib")
        except ImportError:
            return _ZlibDecompressor, (zlib.error,)
        return lambda: isal.IgzipDecompressor(flag=isal.DECOMP_GZIP), (isal.IsalError,)
    if kind == "bzip2":
        bz2 = importlib.import_module("bz2")
        return bz2.BZ2Decompressor, (OSError,)
    if kind == "xz":
        lzma = importlib.import_module("lzma")
        limit = _MAX_WINDOW + _XZ_OVERHEAD
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, limit), (lzma.LZMAError,)
    try:
        zstd = import_zstd()
    except ImportError:
        hint = "pip install 'scwlearn[zstd]'"
        raise DataError("zstd data needs the package backports.zstd", source=name, hint=hint) from None
    options = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW.bit_length() - 1}
    return lambda: zstd.ZstdDecompressor(options=options), (zstd.ZstdError,)


class _ZlibDecompressor:
    """Decoder of gzip data by zlib, with the interface of bz2's."""

    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._decoder.eof

    @property
    def unused_data(self) -> bytes:
        return self._decoder.unused_data

    def decompress(self, data: bytes, most: int) -> bytes:
        text = self._decoder.decompress(data or self._decoder.unconsumed_tail, most)
        # If the output was full, zlib may hold more of it without any input.
        self.needs_input = len(text) < most
        return text
