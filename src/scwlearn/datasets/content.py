"""What a file of examples says, whatever its spelling: reading it, its checksum, and writing it."""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn._util.atomic import atomic_file
from scwlearn.data.libsvm import load_libsvm

#: Rows as a csr_array, and the labels as the file has them.
Examples = tuple[Any, NDArray[np.float64]]

# So many rows are spelled at a time: their text is many times as large as their numbers.
_ROWS_AT_A_TIME = 20_000
# xz's own choice makes files a third smaller, in four times the time.
_PRESET = 2


def content_sha256(x: Any, labels: NDArray[Any]) -> str:
    """The sha256 of labels, row lengths, indices (from 0) and values, as little-endian float64 and int64.

    Zeros that are written out do not count, nor does the order of the indices in a row: two files have the same
    checksum if and only if they hold the same examples in the same order.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.libsvm import load_libsvm
    >>> from scwlearn.datasets.content import content_sha256
    >>> one, other = b"+1 1:0.5 2:0 3:2\\n", b"1.000   3:2.000000 1:5e-1 # the same\\n"
    >>> content_sha256(*load_libsvm(io.BytesIO(one))) == content_sha256(*load_libsvm(io.BytesIO(other)))
    True
    """
    rows = _canonical(x)
    digest = hashlib.sha256()
    for numbers, kind in (
        (np.asarray(labels) + 0.0, "<f8"),  # + 0.0: a label of -0 is 0
        (np.diff(rows.indptr), "<i8"),
        (rows.indices, "<i8"),
        (rows.data, "<f8"),
    ):
        digest.update(np.ascontiguousarray(numbers, dtype=kind).data)
    return digest.hexdigest()


def read_examples(path: Path, n_features: int | None = None) -> Examples:
    """The examples of LIBSVM text packed with xz."""
    try:
        with lzma.open(path) as file:
            return load_libsvm(cast(BinaryIO, file), n_features=n_features)
    except (lzma.LZMAError, EOFError) as error:
        raise ValueError(f"{path} is not a whole xz file: {error}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def write_examples(path: Path, x: Any, labels: NDArray[Any]) -> None:
    """Write xz-compressed LIBSVM text atomically."""
    rows = _canonical(x)
    with atomic_file(path) as raw, lzma.open(raw, "wb", preset=_PRESET) as file:
        for start in range(0, rows.shape[0], _ROWS_AT_A_TIME):
            stop = start + _ROWS_AT_A_TIME
            file.write(_text(rows[start:stop], labels[start:stop]))


def _canonical(x: Any) -> Any:
    rows = sparse.csr_array(x, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _text(rows: Any, labels: NDArray[Any]) -> bytes:
    # Few values are different in most sets, so each is spelled once.
    different, which = np.unique(rows.data, return_inverse=True)
    spelled = [_spelled(value) for value in different.tolist()]
    features = [f"{i}:{spelled[k]}" for i, k in zip((rows.indices + 1).tolist(), which.tolist(), strict=True)]
    bounds = rows.indptr.tolist()
    lines = [
        " ".join([_spelled(label), *features[start:stop]])
        for label, start, stop in zip(np.asarray(labels).tolist(), bounds, bounds[1:], strict=False)
    ]
    return ("\n".join(lines) + "\n").encode()


def _spelled(number: float) -> str:
    """The shortest text that is read as exactly this number."""
    return repr(float(number)).removesuffix(".0")
