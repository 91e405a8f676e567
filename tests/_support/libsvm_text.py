"""Helpers for the tests of LIBSVM text."""

import io

import numpy as np
import pytest
from hypothesis import settings

from scwlearn.data.formats.libsvm import load_libsvm
from scwlearn.data.options import ReaderOptions

native = pytest.mark.native
many = settings(max_examples=500, derandomize=True, deadline=None, database=None)
LARGEST = 1e150
PADDING = b"\n" * 30
VALID = b"1 1:0.5 3:2 10:1e-3\r\n-1 qid:7 2:1 # words: 1:2\n\n# more\n+1\t4:1\t\t2:.25 3:5. \n2.5\n"


def split_options(given):
    """Separate what all readers take from what only the LIBSVM reader takes."""
    own = {name: given.pop(name) for name in ("zero_based", "n_features", "dtype") if name in given}
    return ReaderOptions(**given), own


def loaded(text, **given):
    options, own = split_options(given)
    return load_libsvm(io.BytesIO(text), options, **own)


def same(one, other):
    """Return whether two loaded files are equal, bit for bit and in the order of stored values."""
    (x, y), (x2, y2) = one, other
    numbers = zip((y, x.data), (y2, x2.data), strict=True)
    places = zip((x.indices, x.indptr), (x2.indices, x2.indptr), strict=True)
    return (
        x.shape == x2.shape
        and all(a.dtype == b.dtype and a.tobytes() == b.tobytes() for a, b in numbers)
        and all(np.array_equal(a, b) for a, b in places)
    )
