"""LIBSVM and SVMlight text, one example a line: read in batches, ahead of who works on them, or whole."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scwlearn._native import LARGEST_VALUE, parse_libsvm
from scwlearn._util.checks import check_bool, check_int
from scwlearn.data.examples import Examples, Schema
from scwlearn.data.io.errors import DataError
from scwlearn.data.io.lines import CHUNK_BYTES, FoundFault, Parsed, parsed_chunks
from scwlearn.data.io.streams import Source, check_source, name_of
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows

_LARGEST_WIDTH = int(np.iinfo(np.int64).max)


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
    max_line_bytes: int = ReaderOptions.max_line_bytes,
    read_ahead: bool = True,
) -> Generator[Batch, None, None]:
    """The examples of a file in batches, in memory that does not grow with the file.

    A line is ``label [qid:n] index:value index:value ... [# comment]``; what qid says is not used. Indices may come in
    any order, but each once. The first batch opens the file; closing the iterator closes it.

    Parameters
    ----------
    source : path, "-" or binary file
        Compressed (gzip, bzip2, xz, zstd) or not. ``"-"`` is standard input; a file that is passed open stays open.
    zero_based : bool
        Whether the indices in the file count from 0, not from 1.
    n_features : int or None
        How many features there are; a larger index is an error. None: a batch is as wide as the largest index up to
        its end asks for.
    dtype : {float64, float32}
        The type of the values. Single precision is rounded from double.
    chunk_bytes : int
        How much text makes a batch, up to 1 GiB. What comes from a pipe is handed on when so much has come.
    max_line_bytes : int
        A longer line is an error (unless it fits into chunk_bytes). At most 1 GiB.
    read_ahead : bool
        Whether the next batches are read while the caller works on one, as `ReaderOptions` has it.

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
    form = _Form(
        zero_based=check_bool("zero_based", zero_based),
        n_features=None if n_features is None else check_int("n_features", n_features, maximum=_LARGEST_WIDTH),
        single=np.dtype(dtype) == np.float32,
    )
    options = ReaderOptions(chunk_bytes=chunk_bytes, max_line_bytes=max_line_bytes, read_ahead=read_ahead)
    return _batches(source, form, options)


def read_libsvm_examples(
    source: Source, schema: Schema, options: ReaderOptions = ReaderOptions()
) -> Generator[Examples, None, None]:
    """The examples of a file in batches, as every format gives them.

    Where labels are optional, a line may also begin with its first feature: a word with a colon is no label.

    Parameters
    ----------
    source : path, "-" or binary file
        Compressed or not.
    schema : Schema
        Says whether indices count from 0.
    options : ReaderOptions
        What all readers take.

    Yields
    ------
    Examples
        With numbered features.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.examples import Schema
    >>> from scwlearn.data.options import ReaderOptions
    >>> from scwlearn.data.libsvm import read_libsvm_examples
    >>> text, options = io.BytesIO(b"1 1:0.5\\n# none\\n3:2\\n"), ReaderOptions(labels="optional")
    >>> (batch,) = read_libsvm_examples(text, Schema("libsvm"), options)
    >>> batch.x.dense().tolist(), batch.labelled.tolist(), batch.lines.tolist()
    ([[0.5, 0.0, 0.0], [0.0, 0.0, 2.0]], [True, False], [1, 3])
    """
    check_source(source)
    return _examples(source, _Form(zero_based=schema.zero_based, optional=options.labels == "optional"), options)


def load_libsvm(
    source: Source,
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    chunk_bytes: int = CHUNK_BYTES,
    max_line_bytes: int = ReaderOptions.max_line_bytes,
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
    from scipy import sparse  # heavy, and of no use to whoever reads in batches

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
class _Form:
    """What a line may hold."""

    zero_based: bool = False
    n_features: int | None = None
    single: bool = False
    optional: bool = False

    @property
    def max_features(self) -> int:
        return _LARGEST_WIDTH if self.n_features is None else self.n_features

    def fault(self, kind: str, **place: Any) -> DataError:
        """Return the error for what the parser found."""
        number = "a finite number of at most {:g} in size"
        largest = np.finfo(np.float32).max if self.single else LARGEST_VALUE
        first = 0 if self.zero_based else 1
        known = "" if self.n_features is None else f" with n_features={self.n_features}"
        allowed = {
            "label": f"a line begins with its label, {number.format(LARGEST_VALUE)}",
            "labels": "a line has one label; several (multi-label data) are not supported",
            "query": "a query is qid:n with a whole number n, right after the label",
            "feature": "a feature is index:value, with a whole number as index, as in 7:0.5",
            "base": "indices start at 1",
            "index": f"indices go from {first} to {self.max_features - 1 + first}{known}",
            "value": f"a value is {number.format(largest)}, right behind the colon",
            "twice": "a line has each index once",
        }
        return DataError(
            allowed[kind], hint="use {zero_based} for a file that counts from 0" if kind == "base" else None, **place
        )


class _Lines(NamedTuple):
    """Consecutive examples, and on which line each stands."""

    rows: Rows
    labels: NDArray[np.float64]
    lines: NDArray[np.int64]


def _batches(source: Source, form: _Form, options: ReaderOptions) -> Generator[Batch, None, None]:
    """The batches, up to the end of the file or until they are closed."""
    with closing(_lines(source, form, options)) as parts:
        for part in parts:
            yield Batch(part.rows, part.labels)


def _examples(source: Source, form: _Form, options: ReaderOptions) -> Generator[Examples, None, None]:
    name = name_of(source)
    with closing(_lines(source, form, options)) as parts:
        for rows, labels, lines in parts:
            labelled = ~np.isnan(labels) if form.optional else np.ones(1, dtype=np.bool_)
            yield Examples(
                x=rows,
                labels=labels if labelled.any() else None,
                weights=None,
                lines=lines,
                source=name,
                labelled=labelled if labelled.any() and not labelled.all() else None,
            )


def _lines(source: Source, form: _Form, options: ReaderOptions) -> Generator[_Lines, None, None]:
    def parse(text: NDArray[np.uint8], _: Any) -> Parsed:
        arrays, (lines, width), (faulty, found) = parse_libsvm(
            text, form.zero_based, form.max_features, form.single, form.optional, options.skips, options.most_found
        )
        return Parsed(lines, len(arrays[0]), faulty, (FoundFault(*fault) for fault in found), (arrays, width))

    width = form.n_features or 0
    line_form = "label index:value index:value ..."
    with closing(parsed_chunks(source, parse, form.fault, line_form, options)) as chunks:
        for ((labels, values, indices, offsets, lines), widest), lines_before in chunks:
            width = max(width, widest)
            yield _Lines(Rows.from_checked(values, indices, offsets, width), labels, lines + lines_before)
