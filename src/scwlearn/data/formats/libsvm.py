"""LIBSVM and SVMlight text: one example per line, with numbered features."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scwlearn._native import LARGEST_VALUE, parse_libsvm
from scwlearn._util.checks import check_bool, check_int
from scwlearn.data.batch import Batch
from scwlearn.data.features import ALLOWED_NUMBER
from scwlearn.data.formats import NUMBER, Format
from scwlearn.data.io.errors import DataError, shown
from scwlearn.data.io.streams import Source, Stream, check_source, open_source
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reader import LineReader, Parsed
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema
from scwlearn.data.writer import Writer, WriterOptions, error_at, label_values, value_text

_MAX_WIDTH = int(np.iinfo(np.int64).max)
_EXACT = re.compile(
    rb"(?>%(n)s(?>,%(n)s)*+[ \t]++)?+(?>qid:\d++[ \t]++)?+\d++:%(n)s(?>[ \t]++\d++:%(n)s)*+[ \t]*+(?:#.*)?"
    % {b"n": NUMBER}
)
_SIMILAR = re.compile(rb"\S+[ \t]+(?:qid|[+-]?\d+):\S")
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def read_libsvm(
    source: Source,
    options: ReaderOptions = ReaderOptions(),
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
) -> Generator[Batch, None, None]:
    """Read LIBSVM text in batches, in memory that does not grow with the file.

    A line is ``label [qid:n] index:value index:value ... [# comment]``. The qid is ignored. Indices may have any order
    but must not repeat within a line. If labels are optional, a line may start with its first feature.

    Parameters
    ----------
    source : path, "-" or binary file
        Compressed (gzip, bzip2, xz, zstd) or not. "-" is standard input; a file that is passed open stays open.
    options : ReaderOptions
        Options of all readers.
    zero_based : bool
        Whether indices start at 0 instead of 1.
    n_features : int or None
        Number of features; a larger index is an error. None: a batch is as wide as the largest index so far.
    dtype : {float64, float32}
        Type of the values. Single precision is rounded from double precision.

    Yields
    ------
    Batch
        Examples with numbered features. The first batch opens the file; closing the iterator closes it.

    Raises
    ------
    DataError
        If a line cannot be read, or there are no examples.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.formats.libsvm import read_libsvm
    >>> for batch in read_libsvm(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1 # a comment\\n")):
    ...     print(len(batch), batch.x.width, batch.labels)
    2 3 [ 1. -1.]
    """
    check_source(source)
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise TypeError(f"dtype must be float64 or float32, got {np.dtype(dtype)}")
    schema = Schema("libsvm", zero_based=check_bool("zero_based", zero_based))
    most = None if n_features is None else check_int("n_features", n_features, maximum=_MAX_WIDTH)
    return _batches(source, schema, options, most, np.dtype(dtype) == np.float32)


def _batches(source: Source, schema: Schema, options: ReaderOptions, *more: Any) -> Generator[Batch, None, None]:
    width = 0
    with (
        open_source(source, options.on_read) as stream,
        closing(_Reader(stream, schema, options, *more).read()) as read,
    ):
        next(read)  # the schema
        for batch in read:
            width = max(width, batch.x.width)
            yield batch.widened(width)


def load_libsvm(
    source: Source,
    options: ReaderOptions = ReaderOptions(),
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
) -> tuple[Any, NDArray[np.float64]]:
    """Load LIBSVM text into a matrix.

    Parameters
    ----------
    source, options, zero_based, n_features, dtype
        As in `read_libsvm`; labels are required.

    Returns
    -------
    x : csr_array
        The features.
    y : array of float64
        The labels.

    Raises
    ------
    DataError
        If a line cannot be read, or there are no examples.
    ValueError
        If the options do not require labels.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.formats.libsvm import load_libsvm
    >>> X, y = load_libsvm(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1\\n"))
    >>> X.toarray(), y
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """
    if options.labels != "required":
        allowed = "labels must be 'required' to load them; read_libsvm reads examples that may have none"
        raise ValueError(f"{allowed}; got {options.labels!r}")
    batches = [*read_libsvm(source, options, zero_based=zero_based, n_features=n_features, dtype=dtype)]
    whole = Rows.concatenate([batch.x for batch in batches if isinstance(batch.x, Rows)])
    (block,) = whole.blocks(len(whole))
    return block.matrix(), np.concatenate([batch.labels for batch in batches if batch.labels is not None])


class _Reader(LineReader):
    """Reader of LIBSVM text."""

    expected = "a line is label index:value index:value ..."

    def __init__(
        self,
        stream: Stream,
        schema: Schema,
        options: ReaderOptions,
        n_features: int | None = None,
        single: bool = False,
    ) -> None:
        super().__init__(stream, schema, options)
        self._n_features, self._single = n_features, single
        self._max_features = _MAX_WIDTH if n_features is None else n_features

    def parse(self, chunk: memoryview) -> Parsed:
        """Parse lines."""
        settings = self.schema.zero_based, self._max_features, self._single, *self.flags, self.options.ignores_labels
        arrays, (lines, width), bad = parse_libsvm(np.frombuffer(chunk, dtype=np.uint8), *settings)
        labels, values, indices, offsets, places = arrays
        rows = Rows.from_csr(values, indices, offsets, max(width, self._n_features or 0))
        batch = Batch(rows, None, None, places, self.stream.name).with_labels(labels, ~np.isnan(labels))
        return self.parsed([batch], lines, bad)

    def problem(self, kind: str) -> dict[str, str]:
        """Return the problem and the hint for an error of the parser."""
        first = 0 if self.schema.zero_based else 1
        given = "" if self._n_features is None else f" (n_features={self._n_features})"
        largest = np.finfo(np.float32).max if self._single else LARGEST_VALUE
        problems = {
            "label": f"a line must start with a label, {ALLOWED_NUMBER}",
            "labels": "a line must have one label; multi-label data is not supported",
            "query": "a query must be qid:n, with an integer n, after the label",
            "feature": "a feature must be index:value, with an integer index, such as 7:0.5",
            "base": "indices start at 1",
            "index": f"indices must be from {first} to {self._max_features - 1 + first}{given}",
            "value": f"a value must be a finite number of at most {largest:g} in magnitude, right after the colon",
            "twice": "indices must not repeat within a line",
        }
        hint = {"hint": "use {zero_based} for a file that counts from 0"} if kind == "base" else {}
        return {"problem": problems[kind], **hint}


def _confidence(line: bytes) -> int:
    return 30 if _EXACT.fullmatch(line) else 10 if _SIMILAR.match(line) else 0


class _Writer(Writer):
    """Writer of LIBSVM text. Names that are numbers are indices; others may be numbered by first appearance."""

    def __init__(self, file: BinaryIO, options: WriterOptions) -> None:
        super().__init__(file, options)
        self._first = 0 if options.zero_based else 1
        #: The numbered names and their numbers; None if names must be numbers.
        self.names: dict[str, int] | None = {} if options.number_names else None

    def write_batch(self, batch: Batch) -> None:
        """Write the examples of a batch."""
        others = "vw, csv, tsv, jsonl, parquet and arrow"
        if batch.weights is not None and (batch.weights != 1).any():
            row = int(np.flatnonzero(batch.weights != 1)[0])
            problem = f"LIBSVM text has no weights; {others} have"
            raise error_at(batch, row, problem, batch.weights[row])
        own = label_values(batch)
        if (word := next((label for label in own if isinstance(label, str)), None)) is not None:
            problem = f"labels in LIBSVM text must be numbers; {others} allow strings"
            raise error_at(batch, own.index(word), problem, shown(word))
        labels = [*map(value_text, own)]
        if None in labels:
            raise error_at(batch, labels.index(None), "every line of LIBSVM text needs a label", "none")
        values, indices, offsets = self._cells(batch)
        # Most data has few distinct values, so each is formatted once.
        distinct, which = np.unique(values, return_inverse=True)
        texts = [value_text(value) for value in distinct.tolist()]
        features = [f"{index}:{texts[i]}" for index, i in zip(indices.tolist(), which.tolist(), strict=True)]
        rows = zip(labels, pairwise(offsets.tolist()), strict=True)
        lines = [" ".join([label, *features[begin:end]]) + "\n" for label, (begin, end) in rows]
        self.file.write("".join(lines).encode())

    def _cells(self, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the non-zero values and their indices, sorted within each row, and the offsets of the rows."""
        if isinstance(batch.x, Rows):
            values, columns, offsets = batch.x.compressed(np.int64)
            indices = columns + self._first
        else:
            values, columns, offsets = batch.x.rows.compressed(np.int64)
            indices = np.array([self._index(str(name), batch) for name in batch.x.names], dtype=np.int64)[columns]
            order = np.lexsort((indices, np.repeat(np.arange(len(batch)), np.diff(offsets))))
            values, indices = values[order], indices[order]
        kept = values != 0
        return values[kept], indices[kept], np.append(0, np.cumsum(kept))[offsets]

    def _index(self, name: str, batch: Batch) -> int:
        if self.names is not None:
            return self.names.setdefault(name, len(self.names)) + self._first
        if not _INDEX.fullmatch(name) or not self._first <= int(name) < 2**63:
            hint = "use {names} to number the features and write their names to a file"
            raise DataError("features in LIBSVM text are numbered", found=shown(name), source=batch.source, hint=hint)
        return int(name)


FORMAT = Format(
    suffixes=(".libsvm", ".svm", ".svmlight"),
    reader=_Reader,
    writer=_Writer,
    confidence=_confidence,
    sign="index:value",
    options=("zero_based",),
    numbered=True,
    has_texts=False,
    cut_at="lines",
)
