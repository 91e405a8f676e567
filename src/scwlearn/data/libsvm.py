"""LIBSVM and SVMlight text, one example a line: read in batches, ahead of who works on them, or whole."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from scwlearn._native import LARGEST_VALUE, parse_libsvm
from scwlearn.checks import flag, whole_number
from scwlearn.data.chunks import LongLineError, Source, check_source, name_of, whole_lines, work_ahead
from scwlearn.data.rows import Rows
from scwlearn.threads import allowed_threads

#: Long enough that Python costs nothing, short enough that few of them are soon done and take little memory.
CHUNK_BYTES = 4 * 2**20
MAX_LINE_BYTES = 64 * 2**20

# So many parse about as fast as one of them reads.
_MOST_THREADS = 8
_LARGEST_WIDTH = int(np.iinfo(np.int64).max)
# How much of what was found is shown in a message.
_SHOWN = 40


class Batch(NamedTuple):
    """Consecutive examples of a file.

    Examples
    --------
    >>> import io
    >>> from scwlearn import Learner
    >>> from scwlearn.data.libsvm import read_libsvm
    >>> (batch,) = read_libsvm(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n"))
    >>> Learner("scw1").learn(batch.rows, batch.labels)
    Counts(seen=2, mistakes=1, updates=2)
    """

    rows: Rows
    labels: NDArray[np.float64]


def read_libsvm(
    source: Source,
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    chunk_bytes: int = CHUNK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
    read_ahead: bool = True,
) -> Generator[Batch, None, None]:
    """The examples of a file in batches, in memory that does not grow with the file.

    A line is ``label [qid:n] index:value index:value ... [# comment]``; what qid says is not used. Indices may come in
    any order, but each once. The first batch opens the file; closing the iterator closes it.

    Parameters
    ----------
    source : path or binary file
        A file that is passed open (standard input: ``sys.stdin.buffer``) stays open.
    zero_based : bool
        Whether the indices in the file count from 0, not from 1.
    n_features : int or None
        How many features there are; a larger index is an error. None: a batch is as wide as the largest index up to
        its end asks for.
    dtype : {float64, float32}
        The type of the values. Single precision is rounded from double.
    chunk_bytes : int
        How much text makes a batch. What comes from a pipe is handed on when so much has come.
    max_line_bytes : int
        A longer line is an error (unless it fits into chunk_bytes).
    read_ahead : bool
        Whether the next batches are read while the caller works on one, one each by as many threads as linear algebra
        may use (up to 8). False: without threads.

    Yields
    ------
    Batch
        Rows and their labels.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.libsvm import read_libsvm
    >>> for rows, labels in read_libsvm(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1 # a comment\\n")):
    ...     print(len(rows), rows.width, labels)
    2 3 [ 1. -1.]
    """
    check_source(source)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise TypeError(f"dtype must be float64 or float32, got {np.dtype(dtype)}")
    options = _Options(
        zero_based=flag("zero_based", zero_based),
        n_features=None if n_features is None else whole_number("n_features", n_features, most=_LARGEST_WIDTH),
        single=np.dtype(dtype) == np.float32,
        chunk_bytes=whole_number("chunk_bytes", chunk_bytes, most=_LARGEST_WIDTH),
        max_line_bytes=whole_number("max_line_bytes", max_line_bytes, most=_LARGEST_WIDTH),
    )
    return _batches(source, options, min(allowed_threads(), _MOST_THREADS) if read_ahead else 0)


def load_libsvm(
    source: Source,
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    chunk_bytes: int = CHUNK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> tuple[Any, NDArray[np.float64]]:
    """The examples of a whole file: a csr_array and the labels. The parameters are those of `read_libsvm`.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.libsvm import load_libsvm
    >>> X, y = load_libsvm(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n"))
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    batches = [
        *read_libsvm(
            source,
            zero_based=zero_based,
            n_features=n_features,
            dtype=dtype,
            chunk_bytes=chunk_bytes,
            max_line_bytes=max_line_bytes,
        )
    ]
    blocks = [block for batch in batches for block in batch.rows.blocks(len(batch.rows))]
    values = np.concatenate([block.values for block in blocks])
    indices = np.concatenate([block.indices for block in blocks])  # long where one of them is
    if len(values) > np.iinfo(np.int32).max:
        indices = indices.astype(np.int64)
    counts = np.concatenate([np.diff(np.asarray(block.offsets)) for block in blocks])
    offsets = np.zeros(len(counts) + 1, dtype=indices.dtype)
    np.cumsum(counts, out=offsets[1:])
    x = sparse.csr_array((values, indices, offsets), shape=(len(counts), batches[-1].rows.width))
    return x, np.concatenate([batch.labels for batch in batches])


@dataclass(frozen=True)
class _Options:
    zero_based: bool
    n_features: int | None
    single: bool
    chunk_bytes: int
    max_line_bytes: int

    @property
    def max_features(self) -> int:
        return _LARGEST_WIDTH if self.n_features is None else self.n_features

    def allowed(self, fault: str) -> str:
        """What should have been where the parser found something else."""
        number = "a finite number of at most {:g} in size"
        largest = np.finfo(np.float32).max if self.single else LARGEST_VALUE
        first = 0 if self.zero_based else 1
        known = "" if self.n_features is None else f" with n_features={self.n_features}"
        return {
            "label": f"a line begins with its label, {number.format(LARGEST_VALUE)}",
            "labels": "a line has one label; several (multi-label data) are not supported",
            "query": "a query is qid:n with a whole number n, right after the label",
            "feature": "a feature is index:value, with a whole number as index, as in 7:0.5",
            "base": "indices count from 1; for a file that counts from 0 use zero_based=True",
            "index": f"indices go from {first} to {self.max_features - 1 + first}{known}",
            "value": f"a value is {number.format(largest)}, right behind the colon",
            "twice": "a line has each index once",
        }[fault]


def _batches(source: Source, options: _Options, threads: int) -> Generator[Batch, None, None]:
    """The batches, up to the end of the file or until they are closed."""
    name = name_of(source)
    width = options.n_features or 0
    rows_before = lines_before = 0

    def parse(text: memoryview) -> Any:
        characters = np.frombuffer(text, dtype=np.uint8)
        return parse_libsvm(characters, options.zero_based, options.max_features, options.single)

    stopped = Event()
    chunks = whole_lines(source, options.chunk_bytes, options.max_line_bytes, stopped, buffers=max(threads, 1))
    with closing(work_ahead(chunks, parse, threads, stopped)) as parsed:
        try:
            # The lines are counted here, where the chunks come in order.
            for arrays, (lines, widest), (problem, line, column, found) in parsed:
                if problem:
                    place = f"{name}, line {lines_before + line}, column {column}"
                    raise ValueError(f"{place}: {options.allowed(problem)}; found {_excerpt(found)}")
                labels, values, indices, offsets = arrays
                width = max(width, widest)
                rows_before += len(labels)
                lines_before += lines
                if len(labels):
                    yield Batch(Rows.from_checked(values, indices, offsets, width), labels)
        except LongLineError as error:
            raise ValueError(
                f"{name}, line {lines_before + 1}: a line has at most max_line_bytes={options.max_line_bytes} bytes; "
                f"found {_excerpt(error.beginning)}"
            ) from None
    if not rows_before:
        raise ValueError(f"{name} holds no examples; a line is label index:value index:value ...")


def _excerpt(found: bytes) -> str:
    """A little of what was found, with each byte that is no plain character escaped."""
    return repr(found[:_SHOWN])[1:] + "..." * (len(found) > _SHOWN) if found else "nothing"
