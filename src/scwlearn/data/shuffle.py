"""Shuffling of a stream of batches within a bounded buffer."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_int
from scwlearn.data.batch import Batch

# Smaller batches are joined, because each has a fixed cost.
_MIN_ROWS = 1024
_LAST_ROWS = 8192


def shuffled(batches: Iterable[Batch], buffer: int, seed: int) -> Generator[Batch, None, None]:
    """Shuffle examples: each incoming example replaces a random one in a buffer, which is yielded.

    Parameters
    ----------
    batches : iterable of Batch
        The examples. It is closed at the end.
    buffer : int
        Number of examples in the buffer; 0 keeps the order. Memory holds about twice as many.
    seed : int
        Random seed. The order does not depend on how the examples are divided into batches.

    Yields
    ------
    Batch
        The same examples in another order.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.formats.libsvm import read_libsvm
    >>> from scwlearn.data.shuffle import shuffled
    >>> batches = read_libsvm(io.BytesIO(b"".join(b"%d 1:1\\n" % i for i in range(8))))
    >>> [label for batch in shuffled(batches, 4, seed=1) for label in batch.labels.astype(int).tolist()]
    [2, 3, 0, 5, 7, 4, 6, 1]
    """
    size = check_int("buffer", buffer, minimum=0)
    return _shuffled(batches, _Buffer(size, check_int("seed", seed, minimum=0)) if size else None)


def _shuffled(batches: Iterable[Batch], buffer: _Buffer | None) -> Generator[Batch, None, None]:
    iterator = iter(batches)
    small: list[Batch] = []
    try:
        if buffer is None:
            yield from iterator
            return
        for batch in iterator:
            small.append(batch)
            if sum(map(len, small)) >= _MIN_ROWS:
                yield from buffer.exchange(Batch.concatenate(small))
                small = []
        if small:
            yield from buffer.exchange(Batch.concatenate(small))
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
    yield from buffer.rest()


class _Buffer:
    """Slots, each with the number of a row of the batches that are held."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._random = np.random.default_rng(seed)
        self._slots = np.zeros(0, dtype=np.int64)
        self._held: list[Batch] = []

    def exchange(self, batch: Batch) -> Iterator[Batch]:
        """Put examples into the buffer, and yield those that they replace, if any, in order."""
        first = sum(map(len, self._held))
        self._held.append(batch)
        incoming = np.arange(first, first + len(batch))
        room = self._size - len(self._slots)
        self._slots = np.concatenate([self._slots, incoming[:room]])
        if room < len(incoming):
            yield self._gather(self._replace(incoming[room:]))
        if first >= 2 * self._size:
            self._held = [self._gather(self._slots)]
            self._slots = np.arange(self._size)

    def _replace(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put rows into random slots, one after the other, and return the row that each replaces."""
        # One random number per row, so that the division into batches does not matter.
        drawn = (self._random.random(len(rows)) * self._size).astype(np.int64)
        by_slot = np.argsort(drawn, kind="stable")
        slots, ordered = drawn[by_slot], rows[by_slot]
        again = np.concatenate([[False], slots[1:] == slots[:-1]])
        replaced = np.empty_like(rows)
        replaced[by_slot] = np.where(again, np.concatenate([ordered[:1], ordered[:-1]]), self._slots[slots])
        last = np.concatenate([~again[1:], [True]])
        self._slots[slots[last]] = ordered[last]
        return replaced

    def rest(self) -> Iterator[Batch]:
        """Yield the examples that are still in the buffer, in random order."""
        order = self._slots[self._random.permutation(len(self._slots))]
        for start in range(0, len(order), _LAST_ROWS):
            yield self._gather(order[start : start + _LAST_ROWS])

    def _gather(self, rows: NDArray[np.int64]) -> Batch:
        """Return held rows in the given order."""
        ends = np.cumsum([len(batch) for batch in self._held])
        owners = np.searchsorted(ends, rows, side="right")
        by_owner = np.argsort(owners, kind="stable")
        taken = [
            self._held[owner].take(rows[owners == owner] - (ends[owner] - len(self._held[owner])))
            for owner in np.unique(owners)
        ]
        back = np.empty(len(rows), dtype=np.int64)
        back[by_owner] = np.arange(len(rows))
        return Batch.concatenate(taken).take(back)
