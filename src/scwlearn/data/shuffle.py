"""Row order shuffled on the way, within a bounded number of examples: for data that lie sorted, at any length."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.checks import check_int
from scwlearn.data.examples import Examples
from scwlearn.data.parts import Part, join

# Fewer rows at a time would cost more than they are worth.
_ROWS = 1024
_LAST_ROWS = 8192


def shuffled(batches: Iterable[Examples], buffer: int, seed: int) -> Generator[Examples, None, None]:
    """The same examples in another order: each that comes in takes the place of one that waits, which goes out.

    The first `buffer` examples wait; the places are drawn, and so is the order of those that are left at the end. It is
    the same for a seed, whatever the batches are cut into. About twice as many examples are held as wait.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.libsvm import read_libsvm_examples
    >>> from scwlearn.data.shuffle import shuffled
    >>> text = b"".join(b"%d 1:1\\n" % i for i in range(8))
    >>> batches = read_libsvm_examples(io.BytesIO(text), Schema("libsvm"))
    >>> [label for batch in shuffled(batches, 4, seed=1) for label in batch.labels.astype(int).tolist()]
    [2, 3, 0, 5, 7, 4, 6, 1]
    """
    return _shuffled(batches, _Waiting(check_int("buffer", buffer), check_int("seed", seed, minimum=0)))


def _shuffled(batches: Iterable[Examples], waiting: _Waiting) -> Generator[Examples, None, None]:
    with closing(_larger(batches)) as parts:
        for part in parts:
            gone = waiting.take(part)
            if len(gone):
                yield gone.examples()
    for part in waiting.rest():
        yield part.examples()


def _larger(batches: Iterable[Examples]) -> Generator[Part, None, None]:
    """Batches put together where they are small."""
    small: list[Part] = []
    iterator: Iterator[Examples] = iter(batches)
    try:
        for batch in iterator:
            small.append(Part.of(batch))
            if sum(map(len, small)) >= _ROWS:
                yield join(small)
                small = []
        if small:
            yield join(small)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


class _Waiting:
    """The examples that wait: places, each with the number of a row of the parts that are held."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._random = np.random.default_rng(seed)
        self._places = np.zeros(0, dtype=np.int64)
        self._parts: list[Part] = []

    def take(self, part: Part) -> Part:
        """Let examples in, and give back those whose places they take, in that order."""
        first = sum(map(len, self._parts))
        self._parts.append(part)
        came = np.arange(first, first + len(part))
        room = self._size - len(self._places)
        self._places = np.concatenate([self._places, came[:room]])
        gone = self._gather(self._exchange(came[room:]) if room < len(came) else came[:0])
        held = first + len(part)
        if held >= 2 * self._size + len(part):
            self._parts = [self._gather(self._places)]
            self._places = np.arange(self._size)
        return gone

    def _exchange(self, came: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put rows into places that are drawn, one after the other; the rows that were there when each came."""
        # One number for each, however many come at a time.
        drawn = (self._random.random(len(came)) * self._size).astype(np.int64)
        by_place = np.argsort(drawn, kind="stable")
        places, rows = drawn[by_place], came[by_place]
        again = np.concatenate([[False], places[1:] == places[:-1]])
        gone = np.empty_like(came)
        gone[by_place] = np.where(again, np.concatenate([rows[:1], rows[:-1]]), self._places[places])
        last = np.concatenate([~again[1:], [True]])
        self._places[places[last]] = rows[last]
        return gone

    def rest(self) -> Iterator[Part]:
        """Those that still wait, in an order that is drawn."""
        order = self._places[self._random.permutation(len(self._places))]
        for start in range(0, len(order), _LAST_ROWS):
            yield self._gather(order[start : start + _LAST_ROWS])

    def _gather(self, rows: NDArray[np.int64]) -> Part:
        """Some of the rows that are held, in the given order."""
        ends = np.cumsum([len(part) for part in self._parts])
        owners = np.searchsorted(ends, rows, side="right")
        by_owner = np.argsort(owners, kind="stable")
        taken = []
        for owner in np.unique(owners):
            own = rows[owners == owner] - (ends[owner] - len(self._parts[owner]))
            taken.append(self._parts[owner].chosen(own))
        back = np.empty(len(rows), dtype=np.int64)
        back[by_owner] = np.arange(len(rows))
        return join(taken).chosen(back) if taken else self._parts[0].chosen(rows)
