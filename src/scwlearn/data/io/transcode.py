"""UTF-16 and UTF-32 text as UTF-8, in bounded memory."""

from __future__ import annotations

import codecs
import io
from typing import Any

from scwlearn.data.io.errors import DataError

# Bytes decoded at a time.
_READ = 2**16


class Transcoded(io.RawIOBase):
    """UTF-8 form of text that starts with the byte order mark of another encoding, which is left out."""

    def __init__(self, file: Any, encoding: str, name: str) -> None:
        super().__init__()
        self._file, self._encoding, self._name = file, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._text = memoryview(b"")
        self._read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, memory: Any) -> int:
        """Read into memory and return the number of bytes: 0 at the end."""
        while not self._text:
            data = self._file.read(_READ)
            pending = len(self._decoder.getstate()[0])
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                place = self._read - pending + error.start + 1
                problem = f"invalid {self._encoding} text at byte {place}: {error.reason}"
                raise DataError(problem, source=self._name) from None
            if not data:
                return 0
            self._read += len(data)
            self._text = memoryview(text.encode())
        count = min(len(memory), len(self._text))
        memory[:count] = self._text[:count]
        self._text = self._text[count:]
        return count
