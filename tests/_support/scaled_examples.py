"""Rows whose features differ in size by orders of magnitude."""

import numpy as np
import pytest
from scipy import sparse

from learner_examples import draw_examples

FEATURES = 6
FACTORS = 10.0 ** np.arange(-2, 4)
X, SIGNS = draw_examples(3, 90, FEATURES, 0.7)
X = X * FACTORS
NUMBERS = np.minimum((X / FACTORS).argmax(axis=1) % 4, np.arange(len(X)))
WEIGHTS = np.resize([1.0, 2.0, 0.0, 0.5], len(X))
FORMATS = {"dense": np.asarray, "csr": sparse.csr_array, "float32": lambda x: x.astype(np.float32)}
every_format = pytest.mark.parametrize("as_format", FORMATS.values(), ids=FORMATS)
