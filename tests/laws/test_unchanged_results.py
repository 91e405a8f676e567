"""Results are stable: mistakes, updates and weights of a broad set of runs, to the last bit.

What is expected stands in unchanged_results.json, which was written by::

    python tests/laws/unchanged_results.py --write tests/laws/unchanged_results.json

Everything is computed with the portable instruction set, so that the bits do not depend on the processor. Numbers that
go through BLAS, LAPACK, sums of NumPy or exp and log are compared to rounding, and to the last bit only with
SCWLEARN_EXACT=1, which makes sense on the machine that wrote the file. With SCWLEARN_SET=avx2 another instruction set
computes, and nothing but these numbers is compared.
"""

import json
import os
import platform
from pathlib import Path

import numpy as np
import pytest

from unchanged_results import AREAS, DATA, NEEDS, computing_with, differences, digests, exactly, is_there

EXPECTED = json.loads(Path(__file__).with_name("unchanged_results.json").read_text())
SET = os.environ.get("SCWLEARN_SET", "portable")
EXACT = os.environ.get("SCWLEARN_EXACT") == "1"
# On other machines the compiler may contract products and sums in the portable loops, too.
SAME_BITS = SET == "portable" and platform.machine() in ("x86_64", "AMD64")
MOST_LINES = 30


def is_same(found, expected):
    """Tell whether an entry is what it should be, as far as this processor can compute it."""
    if EXACT:
        return exactly(found, expected)
    if isinstance(found, list) and isinstance(expected, list):
        tolerance = 1e-9 * max(1e-3, *map(abs, expected[1:]), 0.0)
        return len(found) == len(expected) and np.allclose(found[1:], expected[1:], rtol=1e-6, atol=tolerance)
    return exactly(found, expected) or not SAME_BITS


@pytest.mark.parametrize("area", [pytest.param(name, marks=[pytest.mark.data] * (name in NEEDS)) for name in AREAS])
def test_results_are_stable(area):
    if not is_there(area):
        pytest.skip(f"{DATA / NEEDS[area]} is missing (the data directory is ../shared/data or SCWLEARN_DATA)")
    with computing_with(SET):
        found = digests(area)
    lines = differences(found, EXPECTED[area], same=is_same)
    more = [f"and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    assert not lines, "\n".join([f"results of {area} differ:", *lines[:MOST_LINES], *more])


def test_every_area_has_expected_results():
    assert list(EXPECTED) == list(AREAS)
