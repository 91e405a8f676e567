"""The order in which `fit` goes through the examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from scwlearn._util.checks import check_bool
from scwlearn.data.weights import ClassWeights


def orders_of_fit(
    estimator: Any, labels: NDArray[Any], weights: NDArray[np.float64] | None, class_weights: ClassWeights
) -> Iterator[NDArray[np.intp] | None]:
    """Yield the order of the rows in each pass of `fit`; None for that of the rows.

    The rows of weight 0 keep their places, and the others come in the order that they would have without them.
    """
    random = as_random_state(estimator.random_state)
    shuffle = check_bool("shuffle", estimator.shuffle)
    order = np.arange(len(labels))
    learned = order[class_weights.rows_of_weight(labels, None, weights)]
    while True:
        if shuffle:
            order = order.copy()
            order[learned] = random.permutation(learned)
        yield order if shuffle else None


def as_random_state(seed: Any) -> np.random.RandomState:
    """Return the random numbers of a seed; raise a ValueError for what is none."""
    try:
        random: np.random.RandomState = check_random_state(seed)
    except ValueError as error:
        raise ValueError(f"random_state must be None, a whole number or a RandomState: {error}") from None
    return random
