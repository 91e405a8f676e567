"""Whether examples come sorted by their labels: then what is counted on the way says little about those to come."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of fewer examples nothing is said.
_FEWEST = 100
# Labels lie in long runs where there are fewer changes than this part of those in a random order.
_FEW_CHANGES = 0.05


class Mixing:
    """Counts how often the label changes from an example to the next.

    Examples
    --------
    >>> import numpy as np
    >>> from scwlearn.runs.label_order import Mixing
    >>> mixing = Mixing()
    >>> mixing.see(np.repeat([0, 1], 100))
    >>> mixing.in_long_runs
    True
    """

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._changes = 0
        self._last: NDArray[Any] | None = None

    def see(self, labels: NDArray[Any]) -> None:
        """The labels of some more examples."""
        values, counts = np.unique(labels, return_counts=True)
        self._counts.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        joined = labels if self._last is None else np.concatenate([self._last, labels])
        self._changes += int(np.count_nonzero(joined[1:] != joined[:-1]))
        self._last = labels[-1:] if len(labels) else self._last

    @property
    def in_long_runs(self) -> bool:
        """Whether the label changes far less often than it would in a random order."""
        seen = self._counts.total()
        expected = seen - sum(count * count for count in self._counts.values()) / max(1, seen)
        return seen >= _FEWEST and len(self._counts) > 1 and self._changes < _FEW_CHANGES * expected
