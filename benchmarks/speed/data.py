"""Rows of the comparisons: real sets if available, synthetic ones of the same size otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data_sets import DEFAULT_DIRECTORY, SEED, load
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from scwlearn.datasets import find_set
from scwlearn.datasets.load import read_files

ROOT = Path(__file__).resolve().parents[2]
#: Cache of large generated files.
FILES = ROOT / "build" / "bench-data"
HASHED_WIDTH = 2**20

Array = NDArray[np.float64]
Labels = NDArray[np.int8]


class Rows(NamedTuple):
    """Matrix with labels and the name of its source."""

    x: Any
    y: Labels
    source: str

    def __str__(self) -> str:
        return f"{self.x.shape[0]} x {self.x.shape[1]} ({self.source})"

    def first(self, count: int) -> Rows:
        """Return the first rows."""
        return Rows(self.x[:count], self.y[:count], self.source)


@cache
def digits() -> Rows:
    """Return the ones and twos of MNIST as raw pixels, as in the paper, with a tenth of the labels wrong."""
    shape = (14867, 784)
    real = _real("mnist1vs2")
    if real is not None:
        x = np.zeros(shape)
        # The file omits trailing pixels that are always zero.
        x[:, : real.x.shape[1]] = real.x.toarray()
        return Rows(x, flipped(real.y, 0.1), real.source)
    return correlated(*shape, noise=0.1)


@cache
def scanned_digits() -> Rows:
    """Return usps: digits of 16 x 16 pixels, zeros against the others."""
    return _real("usps") or correlated(7291, 256)


@cache
def web_pages() -> Rows:
    """Return w7a: binary, 12 of 300 features per row."""
    real = _real("w7a")
    if real is not None:
        return Rows(real.x.astype(np.float64), real.y, real.source)
    made = zipf(24692, 300, 12)
    made.x.data[:] = 1.0
    return made


@cache
def newsgroups() -> Rows:
    """Return 20news: messages of 20 groups as tf-idf in unit rows."""
    classes = 20
    try:
        x, y = read_files(find_set("news-pc-mac"), _directory())
        return _in_random_order(TfidfTransformer(sublinear_tf=True).fit_transform(x), y.astype(np.int8) - 1, "20news")
    except FileNotFoundError:
        made = zipf(18_846, 59_051, 140)
        topics = np.random.default_rng(SEED).standard_normal((made.x.shape[1], classes))
        y = np.asarray(made.x @ topics).argmax(axis=1)
        return Rows(normalize(made.x), y.astype(np.int8), made.source)


@lru_cache(maxsize=3)
def correlated(count: int, width: int, noise: float = 0.05, seed: int = SEED) -> Rows:
    """Generate correlated features from an eighth as many factors."""
    random = np.random.default_rng(seed)
    causes = random.standard_normal((count, max(2, width // 8)))
    x = causes @ random.standard_normal((causes.shape[1], width)) / np.sqrt(causes.shape[1])
    x += 0.5 * random.standard_normal((count, width))
    y = np.where(x @ random.standard_normal(width) >= 0, 1, -1).astype(np.int8)
    return Rows(x, flipped(y, noise), "synthetic, correlated")


@lru_cache(maxsize=3)
def zipf(count: int, width: int, per_row: int, seed: int = SEED) -> Rows:
    """Generate rows of words with Zipf frequencies, in which the frequent words determine the label.

    Values have four decimals, so that text represents them exactly; words have random indices, as after hashing.
    """
    random = np.random.default_rng(seed)
    chances = np.cumsum(1 / np.arange(1, width + 1))
    drawn = np.searchsorted(chances, random.random(count * per_row) * chances[-1])
    numbers = random.permutation(width)
    meaning = np.where(np.arange(width) < 20_000, random.standard_normal(width), 0.0)
    values = np.round(random.uniform(0.1, 1.0, count * per_row), 4)
    rows = np.repeat(np.arange(count), per_row)
    score = np.bincount(rows, weights=values * meaning[drawn], minlength=count)
    # If a row draws a word twice, keep the first value.
    places = np.unique(rows.astype(np.int64) * width + numbers[drawn], return_index=True)[1]
    kept = np.sort(places)
    x = sparse.csr_matrix((values[kept], (rows[kept], numbers[drawn[kept]])), shape=(count, width))
    x.sort_indices()
    return Rows(x, flipped(np.where(score >= 0, 1, -1).astype(np.int8), 0.05), "synthetic, Zipf")


def flipped(y: Labels, share: float) -> Labels:
    """Flip a share of the labels."""
    wrong = np.random.default_rng(SEED).random(len(y)) < share
    return np.where(wrong, -y, y).astype(np.int8)


def hashed(count: int) -> Rows:
    """Generate rows of hashed text: 2^20 features, about 30 per row."""
    return zipf(count, HASHED_WIDTH, 33)


def cached_file(name: str, write: Callable[[Path], object]) -> Path:
    """Return a file in `build/`, written by `write` unless it exists."""
    path = FILES / name
    if not path.exists():
        FILES.mkdir(parents=True, exist_ok=True)
        # An interrupted run must not leave a truncated file. The suffix stays, because it selects the compression.
        unfinished = FILES / f"unfinished-{name}"
        write(unfinished)
        os.replace(unfinished, path)
    return path


def cached_lines(name: str, lines: Iterable[str]) -> Path:
    """Return a text file in `build/`; the lines are only asked for unless it exists."""

    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines(lines)

    return cached_file(name, write)


class TextFiles(NamedTuple):
    """The same rows of hashed text as LIBSVM and as Vowpal Wabbit text."""

    libsvm: Path
    vw: Path
    rows: int

    @property
    def megabytes(self) -> float:
        """Size of the LIBSVM file."""
        return self.libsvm.stat().st_size / 1e6

    def __str__(self) -> str:
        return f"{self.megabytes:.0f} MB, {self.rows} x {HASHED_WIDTH} (synthetic, Zipf)"


def text_files(count: int) -> TextFiles:
    """Return rows of hashed text in files in `build/`; they are only generated unless the files exist."""
    libsvm = cached_lines(f"zipf-{count}.libsvm", _hashed_lines(count, " "))
    return TextFiles(libsvm, cached_lines(f"zipf-{count}.vw", _hashed_lines(count, " | ")), count)


def _hashed_lines(count: int, bar: str) -> Iterator[str]:
    yield from _lines(hashed(count), bar)


def _lines(rows: Rows, bar: str) -> Iterator[str]:
    x, ends = rows.x, rows.x.indptr.tolist()
    for row, label in enumerate(rows.y.tolist()):
        part = slice(ends[row], ends[row + 1])
        # LIBSVM indices start at 1; use the same in both files.
        pairs = zip((x.indices[part] + 1).tolist(), x.data[part].tolist(), strict=True)
        yield f"{label:+d}{bar}{' '.join(f'{i}:{v:.4g}' for i, v in pairs)}\n"


def _directory() -> Path:
    return Path(os.environ.get("SCWLEARN_DATA", DEFAULT_DIRECTORY))


def _real(name: str) -> Rows | None:
    try:
        found = load(name, _directory())
    except FileNotFoundError:
        return None
    return _in_random_order(found.x, found.y, name)


def _in_random_order(x: Any, y: Labels, source: str) -> Rows:
    order = np.random.default_rng(SEED).permutation(len(y))
    return Rows(x[order], y[order], source)
