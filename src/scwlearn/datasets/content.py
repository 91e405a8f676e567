"""Data files: reading and writing xz-compressed LIBSVM text, and a checksum of its content."""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn._util.atomic import atomic_file
from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.display.formatting import number_text

#: Rows as a csr_array, and the labels of the file.
Labelled = tuple[Any, NDArray[np.float64]]

# Rows are formatted in blocks, because their text is many times as large as their numbers.
_ROWS_PER_BLOCK = 20_000
# The default preset of xz makes files a third smaller, but takes four times as long.
_PRESET = 2


def content_sha256(x: Any, labels: NDArray[Any]) -> str:
    """Return the sha256 of labels, row lengths, indices (from 0) and values, as little-endian float64 and int64.

    Explicit zeros and the order of the indices in a row do not matter: two files have the same checksum if and only if
    they hold the same examples in the same order.

    Examples
    --------
    >>> import io
    >>> from scwlearn.data.formats.libsvm import load_libsvm
    >>> from scwlearn.datasets.content import content_sha256
    >>> one, other = b"+1 1:0.5 2:0 3:2\\n", b"1.000   3:2.000000 1:5e-1 # the same\\n"
    >>> content_sha256(*load_libsvm(io.BytesIO(one))) == content_sha256(*load_libsvm(io.BytesIO(other)))
    True
    """
    rows = _canonical(x)
    digest = hashlib.sha256()
    for numbers, kind in (
        (np.asarray(labels) + 0.0, "<f8"),  # + 0.0 turns -0 into 0
        (np.diff(rows.indptr), "<i8"),
        (rows.indices, "<i8"),
        (rows.data, "<f8"),
    ):
        digest.update(np.ascontiguousarray(numbers, dtype=kind).data)
    return digest.hexdigest()


def read_labelled(path: Path, n_features: int | None = None) -> Labelled:
    """Read rows and labels from a data file."""
    try:
        return load_libsvm(path, n_features=n_features)
    except ValueError as error:
        message = str(error)
        raise ValueError(message if str(path) in message else f"{path}: {message}") from None


def write_labelled(path: Path, x: Any, labels: NDArray[Any]) -> None:
    """Write rows and labels to a data file, atomically."""
    rows = _canonical(x)
    with atomic_file(path) as raw, lzma.open(raw, "wb", preset=_PRESET) as file:
        for start in range(0, rows.shape[0], _ROWS_PER_BLOCK):
            stop = start + _ROWS_PER_BLOCK
            file.write(_libsvm_text(rows[start:stop], labels[start:stop]))


def _canonical(x: Any) -> Any:
    rows = sparse.csr_array(x, dtype=np.float64, copy=True)
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _libsvm_text(rows: Any, labels: NDArray[Any]) -> bytes:
    # Most data sets have few distinct values, so each is formatted once.
    distinct, which = np.unique(rows.data, return_inverse=True)
    formatted = [number_text(value) for value in distinct.tolist()]
    features = [f"{i}:{formatted[k]}" for i, k in zip((rows.indices + 1).tolist(), which.tolist(), strict=True)]
    bounds = rows.indptr.tolist()
    lines = [
        " ".join([number_text(float(label)), *features[start:stop]])
        for label, start, stop in zip(np.asarray(labels).tolist(), bounds, bounds[1:], strict=False)
    ]
    return ("\n".join(lines) + "\n").encode()
