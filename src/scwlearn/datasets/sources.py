"""Public sources of data files, readers that convert what they distribute, and preparations of the values."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn.data.formats.libsvm import load_libsvm

#: Rows as a csr_array, and the labels of a file.
Labelled = tuple[Any, NDArray[np.float64]]


@dataclass(frozen=True)
class Source:
    """Files on the web that one of our data files is made from."""

    urls: tuple[str, ...]
    #: Converts the decompressed files.
    read: Callable[[Sequence[BinaryIO]], Labelled]
    #: Maximal size of each file in bytes, compressed and decompressed.
    max_bytes: int


def read_libsvm_text(files: Sequence[BinaryIO], *, first: int | None = None, label_offset: float = 0.0) -> Labelled:
    """Read LIBSVM text, or its first rows; `label_offset` is added to the labels."""
    x, labels = load_libsvm(files[0])
    return x[:first], labels[:first] + label_offset


def read_table(
    files: Sequence[BinaryIO],
    *,
    label_column: int,
    delimiter: str = ",",
    header: bool = False,
    decimals: int | None = None,
    label_scale: float = 1.0,
    label_offset: float = 0.0,
) -> Labelled:
    """Read numbers in columns.

    `decimals` rounds values written with rounding errors; labels are multiplied by `label_scale`, then `label_offset`
    is added.
    """
    lines: Any = files[0]  # NumPy's type stubs do not accept lines of bytes
    separator = None if delimiter == "whitespace" else delimiter
    numbers = np.loadtxt(lines, delimiter=separator, skiprows=int(header), ndmin=2)
    labels = label_scale * numbers[:, label_column] + label_offset
    x = np.delete(numbers, label_column, axis=1)
    return sparse.csr_array(x if decimals is None else np.round(x, decimals)), labels


def read_digits(files: Sequence[BinaryIO], *, positive: int, negative: int, sha256: Sequence[str]) -> Labelled:
    """Read two digits as +1 and -1, from pairs of IDX files of images and labels, as MNIST has them.

    `sha256` are the checksums of the decompressed files.
    """
    pairs = enumerate(zip(files, sha256, strict=True), 1)
    arrays = [_idx_array(number, file, expected) for number, (file, expected) in pairs]
    x, y = [], []
    for images, digits in zip(arrays[::2], arrays[1::2], strict=True):
        chosen = (digits == positive) | (digits == negative)
        x.append(images[chosen].reshape(np.count_nonzero(chosen), -1))
        y.append(np.where(digits[chosen] == positive, 1.0, -1.0))
    return sparse.csr_array(np.vstack(x).astype(np.float64)), np.concatenate(y)


def _idx_array(number: int, file: BinaryIO, sha256: str) -> NDArray[np.uint8]:
    data = file.read()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ValueError(f"file {number} has other content than expected (sha256 {found}, not {sha256})")
    # Header: two zero bytes, the type (unsigned bytes), the number of dimensions, and each dimension in four bytes.
    dimensions = data[3]
    shape = np.frombuffer(data, ">u4", count=dimensions, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape.tolist())


#: Readers by their names in the catalogue, which also has their options.
READERS: dict[str, Callable[..., Labelled]] = {
    "libsvm": read_libsvm_text,
    "table": read_table,
    "digits": read_digits,
}


def as_distributed(x: Any) -> Any:
    """Return the values unchanged."""
    return x


def equalise(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Equalise the histogram of each image: replace each pixel by its rank in the image, divided by their number."""
    from scipy.stats import rankdata  # slow to import, and used for one data set

    ranks: NDArray[np.float64] = rankdata(x, axis=1) / x.shape[1]
    return ranks


def min_max(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale each column to [0, 1]; a constant column becomes 0."""
    low, high = x.min(axis=0), x.max(axis=0)
    scaled: NDArray[np.float64] = (x - low) / np.where(high > low, high - low, 1.0)
    return scaled


def unit_log_counts(x: Any) -> Any:
    """Replace counts by log(1 + count) and scale each row to length 1; empty rows stay empty."""
    rows = x.copy()
    rows.data = np.log1p(rows.data)
    counts = np.diff(rows.indptr)
    # For an empty row reduceat would return the first value of the next one.
    filled = counts > 0
    norms = np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1][filled]))
    rows.data /= np.repeat(norms, counts[filled])
    return rows


#: Preparations by their names in the catalogue.
PREPARATIONS = {
    "as-distributed": as_distributed,
    "equalise": equalise,
    "min-max": min_max,
    "unit-log-counts": unit_log_counts,
}
