"""Public copies of the sets: where they are, and how each becomes the examples of one of our files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn.data.libsvm import load_libsvm
from scwlearn.datasets.content import Examples

MEGABYTE = 2**20

Labels = NDArray[np.float64]
Reader = Callable[[Sequence[BinaryIO]], Examples]


@dataclass(frozen=True)
class Source:
    """Files on the web that make one of ours."""

    urls: tuple[str, ...]
    #: What makes examples of the files, unpacked and open.
    read: Reader
    #: No file is larger than this, neither as it is sent nor unpacked.
    limit: int


def _same(labels: Labels) -> Labels:
    return labels


def libsvm_text(*, relabel: Callable[[Labels], Labels] = _same, first: int | None = None) -> Reader:
    """LIBSVM text; of a file that is ours and another's behind it, the `first` rows."""

    def read(files: Sequence[BinaryIO]) -> Examples:
        x, labels = load_libsvm(files[0])
        return x[:first], relabel(labels[:first])

    return read


def table(
    *,
    label_column: int,
    delimiter: str | None = ",",
    heading: bool = False,
    decimals: int | None = None,
    relabel: Callable[[Labels], Labels] = _same,
) -> Reader:
    """Numbers in columns. `decimals`: as many as were meant, where a program wrote 0.07385599999999999 for 0.073856."""

    def read(files: Sequence[BinaryIO]) -> Examples:
        # Typed as Any: NumPy's stubs do not know that it reads lines of bytes.
        lines: Any = files[0]
        numbers = np.loadtxt(lines, delimiter=delimiter, skiprows=int(heading), ndmin=2)
        labels = relabel(numbers[:, label_column])
        x = np.delete(numbers, label_column, axis=1)
        return sparse.csr_array(x if decimals is None else np.round(x, decimals)), labels

    return read


@dataclass(frozen=True)
class IdxPair:
    """A file of images and one of their labels, in the IDX format of MNIST, known by the sha256 of their bytes."""

    images: str
    images_sha256: str
    labels: str
    labels_sha256: str


def two_digits(positive: int, negative: int, pairs: Sequence[IdxPair]) -> Reader:
    """The images of two digits, one pair of files after the other, as +1 and -1."""

    def read(files: Sequence[BinaryIO]) -> Examples:
        x, y = [], []
        for i, pair in enumerate(pairs):
            images = _idx(files[2 * i], pair.images, pair.images_sha256)
            digits = _idx(files[2 * i + 1], pair.labels, pair.labels_sha256)
            chosen = (digits == positive) | (digits == negative)
            x.append(images[chosen].reshape(np.count_nonzero(chosen), -1))
            y.append(np.where(digits[chosen] == positive, 1.0, -1.0))
        return sparse.csr_array(np.vstack(x).astype(np.float64)), np.concatenate(y)

    return read


def _idx(file: BinaryIO, name: str, sha256: str) -> NDArray[np.uint8]:
    data = file.read()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise ValueError(f"{name} is not MNIST's: its sha256 is {found}, not {sha256}")
    # Two bytes of nothing, the type (unsigned bytes), the number of dimensions, and each of them in four bytes.
    dimensions = data[3]
    shape = np.frombuffer(data, ">u4", count=dimensions, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape.tolist())


def libsvm_page(kind: str, file: str, *, limit: int, relabel: Callable[[Labels], Labels] = _same) -> Source:
    """A file of LIBSVM's page of data sets."""
    url = f"https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/{kind}/{file}"
    return Source((url,), libsvm_text(relabel=relabel), limit)


def github(repository: str, commit: str, path: str, read: Reader, *, limit: int) -> Source:
    """A file of a repository, as of a commit, so that it cannot change."""
    return Source((f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",), read, limit)
