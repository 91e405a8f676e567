"""All or nothing: put a model back as it was when anything is raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from scwlearn.model.gaussian import Gaussian


@contextmanager
def all_or_nothing(gaussian: Gaussian | None, tally: NDArray[np.int64]) -> Iterator[None]:
    """Restore the model, if one is given, and the counts when anything is raised (an error, Ctrl-C)."""
    kept = None if gaussian is None else gaussian.copy()
    counts = tally.copy()
    try:
        yield
    except BaseException:
        if gaussian is not None and kept is not None:
            gaussian.restore(kept)
        np.copyto(tally, counts)
        raise
