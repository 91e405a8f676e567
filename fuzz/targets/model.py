"""Fuzz the loader of model files behind their checksum, and everything that a loaded model can do.

An input gets a valid checksum before it is read. Mutations change its fields and arrays as often as its bytes.
"""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from forged import mutated, resealed, try_to_use

import scwlearn
import scwlearn.estimators
import scwlearn.files.kernel  # imported only for kernel models otherwise

_ROWS = np.array([[1.0, -0.5], [0.5, 2.0]])
_EXAMPLES = [{"size": 1.5, "sky": "grey"}, {"never": 2, "words": ["a", "new"]}]

# In memory, on systems that allow it.
_DIRECTORY = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
_PATH, _AGAIN = (os.path.join(_DIRECTORY.name, name) for name in ("fuzzed.model", "again.model"))


def run(data: bytes) -> None:
    """Load an input, save it again, use the model, and merge it with itself."""
    with open(_PATH, "wb") as file:
        file.write(resealed(data))
    try:
        model = scwlearn.load(_PATH)
    except ValueError as error:
        if not str(error).startswith(f"{_PATH}: "):
            raise
        return
    scwlearn.save(model, _AGAIN)
    twin = scwlearn.load(_AGAIN)
    rows = np.resize(_ROWS, (2, min(64, getattr(model, "n_features_in_", None) or 2)))
    try_to_use(model, rows, _EXAMPLES)
    with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(ValueError, TypeError):
        warnings.simplefilter("ignore")
        repr(model)
        # It has learned more now, or failed to.
        merged: Any = scwlearn.merge([model, twin])
        try_to_use(merged, rows, _EXAMPLES)


def mutate(data: bytes, chance: random.Random) -> bytes | None:
    """Return the input with other fields or arrays, or None to change its bytes."""
    if chance.random() < 0.4:
        return None
    try:
        return mutated(data, chance)
    except (ValueError, KeyError, TypeError, AttributeError, LookupError, RecursionError, OverflowError):
        # The input is no longer a file that can be parsed.
        return None
