"""The weights of a classifier as scikit-learn has them, with what is known of how sure they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.examples import Schema
from scwlearn.runs.trained_model import Model

Array = NDArray[np.float64]

#: What a learner for several classes is told, and a file of weights keeps.
SEVERAL = ("multi_class", "shared_covariance", "rivals")
# Numbers of features go up to here where each has a column.
_MOST_COLUMNS = 2**27


@dataclass(frozen=True)
class Weights:
    """One line of weights for two classes, which is the second's, else one for each class, in the order of labels.

    They are for features as they are given, also where the model scales them inside.
    """

    classes: list[Any]
    #: (lines, features).
    coef: Array
    #: (lines,); None: the model has no constant.
    intercept: Array | None = None
    #: None: numbered features.
    features: list[str] | None = None
    #: Of each weight, in the same shapes, NaN or None where nothing is known.
    variance: Array | None = None
    intercept_variance: Array | None = None
    #: By what algorithm it learned; None: it does not say.
    algorithm: str | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    #: Of the prior.
    initial_variance: float = 1.0
    settings: dict[str, Any] = field(default_factory=dict)
    #: Examples, mistakes, updates.
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    #: The state of the curve from scores to probabilities.
    calibration: Array | None = None
    #: How data are read.
    data: dict[str, Any] | None = None

    @classmethod
    def of(cls, model: Model) -> Self:
        """Those of a model; a ValueError for one that has none, or whose weights do not say all."""
        columns = Columns.of(model)
        inner, weights = model.learner.learner, model.learner.weights()
        prior = float(inner.model.initial_variance)
        coef, variance = columns.spread(weights, columns.scales), None
        variances = model.learner.variances() if model.rule.order == 2 else None
        if variances is not None:
            variance = columns.spread(variances, np.square(columns.scales), prior)
        recipe = model.learner.recipe
        return cls(
            classes=list(model.learner.classes.values_in_order),
            coef=coef,
            intercept=weights[:, -1] if inner.intercept else None,
            features=columns.names,
            variance=variance,
            intercept_variance=variances[:, -1] if inner.intercept and variances is not None else None,
            algorithm=model.rule.name,
            parameters=model.rule.check(recipe.parameters),
            initial_variance=prior,
            settings={"covariance": model.learner.covariance_kind}
            | {name: value for name, value in recipe.how_several.items() if name in SEVERAL},
            counts=[*inner._tally.tolist()],
            calibration=_curve_by_label(model),
            data=None if model.schema is None else model.schema.to_json(),
        )

    @property
    def schema(self) -> Schema | None:
        """How data are read for it."""
        if self.data is not None:
            return Schema.from_json(self.data)
        return Schema("libsvm") if self.features is None else None


class Columns(NamedTuple):
    """The features of a model as columns of a table."""

    #: Which weights of the model they are, and which columns; columns that are none of these say nothing.
    at: list[int]
    places: list[int]
    width: int
    #: None: numbered features.
    names: list[str] | None
    #: What each is divided by before it meets its weight.
    scales: Array

    @classmethod
    def of(cls, model: Model) -> Self:
        """Those of a model; a ValueError for one that has no weights, or whose weights do not say all."""
        if not model.is_linear:
            raise ValueError("the model has a kernel, and no weights of features")
        inner = model.learner.learner
        if inner.model is None or len(model.learner.classes) < 2:
            raise ValueError("the model knows less than two classes, so that its weights say nothing")
        vocabulary, width = inner.vocabulary, inner.n_features
        scales = model.learner.feature_scales(width)
        if vocabulary is None:
            every = [*range(width)]
            return cls(every, every, width, model.column_names, scales)
        if vocabulary.hashed:
            raise ValueError("the model hashes names of features into its weights, which therefore have no names")
        at, names = [*vocabulary.names.values()], [*vocabulary.names]
        if vocabulary.key_type is not int:
            return cls(at, [*range(len(at))], len(at), names, scales[at])
        if not all(isinstance(name, int) and 0 <= name < _MOST_COLUMNS for name in names):
            raise ValueError(f"the names of features are numbers beyond {_MOST_COLUMNS}, for which a table has no room")
        return cls(at, names, max(names, default=-1) + 1, None, scales[at])

    def spread(self, lines: Array, scales: Array, rest: float = 0.0) -> Array:
        """Lines of the model, divided by scales, as lines of the table."""
        table = np.full((len(lines), self.width), rest)
        table[:, self.places] = lines[:, self.at] / scales
        return table


def _curve_by_label(model: Model) -> Array | None:
    """The curve for classes that are numbered in the order of their labels."""
    learner = model.learner
    order = learner.classes.order
    if learner.is_binary:
        curve = learner.calibration if order[0] == 0 else learner.calibration.mirrored()
    else:
        curve = learner.calibration.arranged(np.argsort(order), len(order))
    state: Array = curve.state
    return state
