"""Values drawn from the bytes of an input; behind its end, all bytes are 0."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


class Drawn:
    """Draws values one after the other, so that a small change of the input is a small change of the values."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def __bool__(self) -> bool:
        """Whether there are more bytes."""
        return self._at < len(self._data)

    def bytes(self, count: int) -> bytes:
        """Return that many bytes."""
        taken = self._data[self._at : self._at + count]
        self._at += count
        return taken.ljust(count, b"\0")

    def byte(self) -> int:
        """Return a byte."""
        return self.bytes(1)[0]

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit - 1, where limit is at most 256."""
        return self.byte() % limit

    def flag(self) -> bool:
        """Return True or False."""
        return bool(self.byte() & 1)

    def choice(self, values: Sequence[Choice]) -> Choice:
        """Return one of the values."""
        return values[self.below(len(values))]

    def integer(self, size: int = 8, *, signed: bool = True) -> int:
        """Return an integer of that many bytes."""
        return int.from_bytes(self.bytes(size), "little", signed=signed)

    def float(self) -> float:
        """Return any float; NaN and infinities, too."""
        (number,) = struct.unpack("<d", self.bytes(8))
        return float(number)

    def text(self, longest: int) -> str:
        """Return a text of valid characters."""
        return self.bytes(self.below(longest + 1)).decode(errors="replace")
