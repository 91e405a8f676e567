"""Fuzz the reader of model files behind its checksum, guided by coverage. Needs atheris.

    python fuzz/model_loader.py -runs=1000000 -max_len=16384 -timeout=20 -rss_limit_mb=4096 fuzz/corpus/model

An input gets a valid checksum before it is read. Mutations change its fields and arrays as often as its bytes. An input
must either be refused with a ValueError that names the file, or load as a model that can be used. Anything else is a
finding: another exception, a crash, a hang.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

import atheris
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "tests" / "_support")]

with atheris.instrument_imports(include=["scwlearn"]):
    import scwlearn
    import scwlearn.estimators
    import scwlearn.files.kernel  # imported only for kernel models otherwise

from stress.forging import resealed  # noqa: E402

from forged import mutated, try_to_use  # noqa: E402

_ROWS = np.array([[1.0, -0.5], [0.5, 2.0]])
_EXAMPLES = [{"size": 1.5, "sky": "grey"}, {"never": 2, "words": ["a", "new"]}]

# In memory, on systems that allow it.
_PATH = os.path.join(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None), "fuzzed.model")


def read(data: bytes) -> None:
    """Load an input and use the model."""
    with open(_PATH, "wb") as file:
        file.write(resealed(data))
    try:
        model = scwlearn.load(_PATH)
    except ValueError as error:
        if not str(error).startswith(f"{_PATH}: "):
            raise
        return
    try_to_use(model, np.resize(_ROWS, (2, min(64, getattr(model, "n_features_in_", None) or 2))), _EXAMPLES)


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Return a mutated input: with other fields or arrays, if it can be parsed, or with other bytes."""
    rng = random.Random(seed)
    if rng.random() < 0.6:
        try:
            changed = mutated(data, rng)
        except (ValueError, KeyError, TypeError, AttributeError, LookupError, RecursionError, OverflowError):
            # The input is no longer a file that can be parsed.
            pass
        else:
            if len(changed) <= most:
                return changed
    return atheris.Mutate(data, most)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    atheris.Setup(sys.argv, read, custom_mutator=mutate)
    atheris.Fuzz()
