"""Fuzzes the reader of model files behind its checksum, guided by coverage. Needs atheris.

    python fuzz/model_loader.py -runs=1000000 -max_len=16384 -timeout=20 -rss_limit_mb=4096 fuzz/corpus/model

An input is sealed with a right checksum before it is read, and changed by what it says as often as by its bytes. Either
it is refused with a ValueError that begins with the name of the file, or it makes a model that can be used. Anything
else is a finding: another exception, a crash, a hang.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import atheris
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

with atheris.instrument_imports(include=["scwlearn"]):
    import scwlearn
    import scwlearn.estimators
    import scwlearn.estimators.kernel
    from scwlearn.files import kernels as _  # noqa: F401  (loaded only for models with a kernel)

from forged import mutated, resealed  # noqa: E402

_ROWS = np.array([[1.0, -0.5], [0.5, 2.0]])
_EXAMPLES = [{"size": 1.5, "sky": "grey"}, {"never": 2, "words": ["a", "new"]}]

# In memory where the system has such a place.
_PATH = os.path.join(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None), "fuzzed.model")


def read(data: bytes) -> None:
    """Read an input and use what it makes."""
    with open(_PATH, "wb") as file:
        file.write(resealed(data))
    try:
        model = scwlearn.load(_PATH)
    except ValueError as error:
        if not str(error).startswith(f"{_PATH}: "):
            raise
        return
    # It may be a model of other data, or of numbers that nothing can be done with; it must not crash.
    with suppress(ValueError, TypeError, ArithmeticError, AttributeError, np.linalg.LinAlgError):
        use(model)


def use(model: object) -> None:
    """Let native code see all of a model."""
    if hasattr(model, "predict_proba_many"):
        model.predict_proba_many(_EXAMPLES)
        model.learn_many(_EXAMPLES, [*model.classes, "a"][:1] * 2)
    elif hasattr(model, "partial_fit"):
        if hasattr(model, "_learner"):
            rows = np.resize(_ROWS, (2, min(64, model.n_features_in_)))
            model.predict_proba(rows)
            model.partial_fit(rows, model.classes_[:1].repeat(2))
    else:
        rows = np.resize(_ROWS, (2, min(64, model.model.n_features if hasattr(model, "kernel") else model.n_features)))
        model.scores_and_variances(rows)
        model.learn(rows, [0, 0] if hasattr(model, "n_classes") else [1, -1])


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Another input: changed by what it says, where it says anything, or by its bytes."""
    rng = random.Random(seed)
    if rng.random() < 0.6:
        try:
            changed = mutated(data, rng)
        except (ValueError, KeyError, TypeError, AttributeError, LookupError, RecursionError, OverflowError):
            # It is no longer a file that can be taken apart.
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
