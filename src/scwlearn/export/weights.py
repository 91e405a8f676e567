"""Weights of a linear classifier in the layout of scikit-learn, with their variances: from a model, and to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from math import prod
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import Vocabulary
from scwlearn._util.json_fields import Check, Count, Scalar, check_label, read_json
from scwlearn.data.features import Features
from scwlearn.data.labels import as_labels
from scwlearn.data.schema import Schema
from scwlearn.files.learner import check_curve
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.config import check_setting
from scwlearn.learning.settings import Face, settings_for
from scwlearn.model.covariances import covariance
from scwlearn.model.gaussian import NORM2, NORM2_PEAK, ROUNDS, Gaussian
from scwlearn.rules import Rule, find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.trained_model import TrainedModel

Array = NDArray[np.float64]

#: Algorithm of weights that name none.
DEFAULT_ALGORITHM = "scw1"
#: Features with larger numbers get no column.
MAX_COLUMNS = 2**27

# A model of weights may have this many numbers, and more for each weight, so that small files take little memory.
_FEW_CELLS, _MOST_CELLS_PER_WEIGHT = 2**22, 1000

# Settings of the learner that are kept with its weights.
_KEPT_SETTINGS = ("covariance", "multi_class", "shared_covariance", "rivals", "average")
# Larger weights or variances could overflow in products.
_MAX_ABS = 1e100


class DataDescription(NamedTuple):
    """How the data of a model are read, and what the values of its records mean."""

    schema: Schema
    features: Features


# Fields that are arrays of bounded numbers.
_ARRAYS = ("coef", "intercept", "variance", "intercept_variance", "calibration")
# What the fields of untrusted weights may be, apart from arrays.
_DECLARED: dict[str, Any] = {
    "features": list[str | int],
    "algorithm": str,
    "parameters": dict[str, float],
    "initial_variance": Annotated[float, Check(partial(check_setting, "initial_variance"))],
    "settings": dict[str, Scalar],
    "counts": tuple[Count, Count, Count],
    "data": DataDescription,
}


@dataclass(frozen=True)
class Weights:
    """Weights for unscaled features: one row for two classes (for the second), else one for each class.

    Classes are sorted by label.
    """

    classes: list[Any]
    #: Of shape (rows, features).
    coef: Array
    #: Of shape (rows,); None for a model without an intercept.
    intercept: Array | None = None
    #: Names of the features; None if they are numbered.
    features: list[str] | None = None
    #: Variances of `coef` and `intercept`; NaN or None if unknown.
    variance: Array | None = None
    intercept_variance: Array | None = None
    #: Name of the algorithm; None if unknown.
    algorithm: str | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    initial_variance: float = 1.0
    settings: dict[str, Any] = field(default_factory=dict)
    #: Examples, mistakes and updates.
    counts: tuple[int, int, int] = (0, 0, 0)
    #: State of the calibration.
    calibration: Array | None = None
    data: DataDescription | None = None

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            if (array := getattr(self, name)) is not None:
                _check_magnitude(name, array)

    @classmethod
    def from_model(cls, model: TrainedModel) -> Self:
        """Return the weights of a model; raise a ValueError if it has none."""
        columns, learner, config = Columns.of(model), model.classifier, model.classifier.config
        if config.scale == "unit":
            raise ValueError(
                'the model divides each row by its length (scale="unit"), which plain weights cannot express; export '
                "it to ONNX"
            )
        if learner.costs is not None:
            raise ValueError(
                "the model decides by costs, which plain weights cannot express; export it to ONNX, or remove its costs"
            )
        inner, means = learner.learner, learner.weights()
        variances = learner.variances() if model.rule.order == 2 else None
        prior = float(inner.model.initial_variance)
        # A feature that is always the same has no weight, and keeps its variance.
        squares = np.square(np.where(np.isfinite(columns.scales), columns.scales, 1.0))
        fields: dict[str, Any] = {
            "classes": list(learner.classes.values_in_order),
            "coef": columns.scatter(means, columns.scales),
            "intercept": _intercept(means, columns, has_one=config.intercept),
            "features": columns.names,
            "variance": None if variances is None else columns.scatter(variances, squares, prior),
            "intercept_variance": variances[:, -1] if config.intercept and variances is not None else None,
            "algorithm": model.rule.name,
            "parameters": dict(config.parameters),
            "initial_variance": prior,
            "settings": {name: config.settings[name] for name in _KEPT_SETTINGS} | {"covariance": _covariance(learner)},
            "counts": tuple(inner._tally.tolist()),
            "calibration": _calibration_by_label(model),
            "data": None if model.schema is None else DataDescription(model.schema, model.schema.features),
        }
        try:
            return cls(**fields)
        except ValueError as error:
            raise ValueError(f"the model cannot become plain weights: {error}; export it to ONNX") from None

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """Return weights from untrusted fields, whose names may end with _ as in scikit-learn; ignore unknown ones."""
        names = {f.name for f in fields(cls)}
        known = {name.removesuffix("_"): value for name, value in given.items() if value is not None}
        known = {name: value for name, value in known.items() if name in names}
        for name in ("classes", "coef"):
            if name not in known:
                raise ValueError(f"missing field {name!r}; weights need classes and coef")
        classes = known["classes"] = _check_classes(known["classes"])
        rows = 1 if len(classes) == 2 else len(classes)
        coef = known["coef"] = np.atleast_2d(_check_numbers("coef", known["coef"]))
        if coef.ndim != 2 or len(coef) != rows:
            raise ValueError(f"coef must be of shape ({rows}, features) for {len(classes)} classes, got {coef.shape}")
        shapes = {"intercept": (rows,), "variance": coef.shape, "intercept_variance": (rows,)}
        known |= {name: _check_shape(name, known[name], shape) for name, shape in shapes.items() if name in known}
        if "calibration" in known:
            known["calibration"] = _check_numbers("calibration", known["calibration"])
        for name in _DECLARED.keys() & known.keys():
            known[name] = read_json(_DECLARED[name], known[name], name)
        if "features" in known:
            known["features"] = _check_names(known["features"], coef.shape[1])
        return cls(**known)._sorted()

    @property
    def table(self) -> Array:
        """The weights, with the intercept, if there is one, as last column."""
        return self.coef if self.intercept is None else np.column_stack([self.coef, self.intercept])

    @property
    def variance_table(self) -> Array | None:
        """The variances of `table`, NaN where unknown; None if all are."""
        if self.variance is None or self.intercept is None:
            return self.variance
        unknown = np.full(len(self.intercept), np.nan)
        return np.column_stack([self.variance, unknown if self.intercept_variance is None else self.intercept_variance])

    def _sorted(self) -> Self:
        """Return the weights with the classes sorted by label."""
        order: NDArray[np.intp] = np.argsort(np.array(self.classes), kind="stable")
        if (order == np.arange(len(order))).all():
            return self
        changes: dict[str, Any] = {"classes": [self.classes[i] for i in order]}
        for name in ("coef", "intercept", "variance", "intercept_variance"):
            array = getattr(self, name)
            if array is not None and len(order) > 2:
                changes[name] = array[order]
            elif array is not None and "variance" not in name:
                # The row of two classes scores the second against the first.
                changes[name] = -array
        # The calibration belongs to the other order.
        return replace(self, **changes, calibration=None)

    @property
    def schema(self) -> Schema | None:
        """Schema of the data."""
        if self.data is not None:
            return self.data.schema.fixed(self.data.features)
        return Schema("libsvm") if self.features is None else None


def _check_classes(classes: Any) -> list[Any]:
    try:
        labels: list[Any] = as_labels([check_label(label) for label in classes]).tolist()
    except (TypeError, ValueError) as error:
        raise ValueError(f"classes: {error}") from None
    if len(set(labels)) < len(labels) or len(labels) < 2:
        raise ValueError(f"classes must be at least two distinct labels, got {labels!r:.100}")
    return labels


def _check_numbers(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers") from None
    return array


def _check_magnitude(name: str, array: Array) -> None:
    known = array[~np.isnan(array)] if "variance" in name else array
    if not (np.abs(known) <= _MAX_ABS).all():
        raise ValueError(f"{name} must hold finite numbers of magnitude at most {_MAX_ABS:g}")
    if "variance" in name and (known <= 0).any():
        raise ValueError(f"{name} must be positive, got {known.min():g}")


def _check_shape(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    array = _check_numbers(name, value)
    if name == "intercept" and array.ndim == 0:
        # scikit-learn's intercept_ is 0.0 if none is fitted.
        array = np.full(shape, array)
    if array.ndim < len(shape) == 2:
        array = array[np.newaxis]
    if array.shape != shape:
        raise ValueError(f"{name} must be of shape {shape}, got {array.shape}")
    return array


def _check_names(names: list[Any], width: int) -> list[str]:
    texts = [str(name) for name in names]
    if len({*texts}) != len(texts) or len(texts) != width:
        raise ValueError(f"features must be {width} distinct names, one for each column of coef")
    return texts


class Columns(NamedTuple):
    """Correspondence between the weights of a model and the columns of a table."""

    #: Indices of the weights, and the columns that they go to.
    weights: list[int]
    columns: list[int]
    width: int
    #: Names of the columns; None if features are numbered.
    names: list[str] | None
    #: What is subtracted from each feature, and what it is then divided by.
    centres: Array
    scales: Array

    @classmethod
    def of(cls, model: TrainedModel) -> Self:
        """Return the columns of a model; raise a ValueError unless it has one weight for each."""
        if model.has_kernel:
            raise ValueError("a kernel model has no weights of features")
        if model.rule.is_committee:
            raise ValueError("the model is a committee, which plain weights cannot express; export it to ONNX")
        inner = model.classifier.learner
        if inner.model is None or len(model.classifier.classes) < 2:
            raise ValueError("the model has seen fewer than two classes, so it has no weights yet")
        vocabulary, width = inner.vocabulary, inner.n_features
        centres, scales = model.classifier.feature_centres(width), model.classifier.feature_scales(width)
        if vocabulary is None:
            every = [*range(width)]
            return cls(every, every, width, model.column_names, centres, scales)
        if vocabulary.hashed:
            raise ValueError("the model hashes feature names, so its weights have no names")
        weights, names = [*vocabulary.names.values()], [*vocabulary.names]
        if vocabulary.key_type is not int:
            return cls(weights, [*range(len(weights))], len(weights), names, centres[weights], scales[weights])
        odd = [name for name in names if not (isinstance(name, int) and 0 <= name < MAX_COLUMNS)]
        if odd:
            raise ValueError(
                f"the model has the feature {odd[0]!r:.100}; to become columns, features must be integers from 0 to "
                f"{MAX_COLUMNS - 1}, or all be strings"
            )
        return cls(weights, names, max(names, default=-1) + 1, None, centres[weights], scales[weights])

    def scatter(self, rows: Array, scales: Array | float = 1.0, fill: float = 0.0) -> Array:
        """Return rows of weights, divided by `scales`, as rows of the table; other columns are `fill`."""
        table = np.full((len(rows), self.width), fill)
        # Who needs finite numbers checks them.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            table[:, self.columns] = rows[:, self.weights] / scales
        return table


def _intercept(means: Array, columns: Columns, *, has_one: bool) -> Array | None:
    """Return the intercepts for features that are not centred."""
    if not has_one and not columns.centres.any():
        return None
    centred: Array = means[:, columns.weights] @ (columns.centres / columns.scales)
    return (means[:, -1] if has_one else 0.0) - centred


def _calibration_by_label(model: TrainedModel) -> Array | None:
    """Return the state of the calibration for classes sorted by label."""
    learner = model.classifier
    order = learner.classes.order
    if learner.is_binary:
        curve = learner.calibration if order[0] == 0 else learner.calibration.mirrored()
    else:
        curve = learner.calibration.arranged(np.argsort(order), len(order))
    state: Array = curve.state
    return state


def _covariance(learner: Classifier) -> str:
    """Return the covariance to continue with: a full one of "auto" must be able to become diagonal."""
    inner = learner.learner
    return "auto" if inner._may_turn(inner.model) else learner.covariance_kind


def to_model(
    weights: Weights,
    rule: Rule | None = None,
    parameters: Mapping[str, float] | None = None,
    initial_variance: float | None = None,
) -> TrainedModel:
    """Return a classifier with these weights that continues by the given rule, or else by their own.

    Weights without a variance get that of the prior. A full covariance starts without correlations.
    """
    checked: dict[str, Any] = dict(parameters or {})
    if rule is None:
        rule = find_rule(weights.algorithm or DEFAULT_ALGORITHM)
        checked = weights.parameters | checked
    if initial_variance is not None:
        weights = replace(weights, initial_variance=initial_variance)
    classifier = ModelConfig(rule, rule.check(checked), _settings(weights, rule)).classifier()
    classifier.add_classes(as_labels(weights.classes))
    _set_weights(classifier, weights)
    if weights.calibration is not None:
        state = classifier.calibration.state
        if weights.calibration.shape != state.shape:
            raise ValueError(f"calibration must have {len(state)} numbers, got {weights.calibration.size}")
        check_curve("calibration", weights.calibration)
        classifier.calibration.state = weights.calibration
    if weights.schema is not None:
        classifier.features = weights.schema.features
    return TrainedModel(classifier, weights.schema)


def most_cells(weights: int) -> int:
    """Return how many numbers a model made of a file with that many weights may have."""
    return _FEW_CELLS + _MOST_CELLS_PER_WEIGHT * weights


def _settings(weights: Weights, rule: Rule) -> dict[str, Any]:
    """Return the settings of the learner, without those that do not apply to the rule."""
    applicable = {setting.name for setting in settings_for(Face.ESTIMATOR, rule)}
    settings = {
        name: value for name, value in weights.settings.items() if name in _KEPT_SETTINGS and name in applicable
    }
    # Weights of other programs, and of earlier versions, are not averages.
    settings.setdefault("average", False)
    if settings.get("covariance") == "identity":
        # Weights of a first-order algorithm, continued by a second-order one.
        del settings["covariance"]
    return settings | {"intercept": weights.intercept is not None, "initial_variance": weights.initial_variance}


def _set_weights(classifier: Classifier, weights: Weights) -> None:
    """Give the weights to a classifier that has learned nothing."""
    learner, named = classifier.learner, weights.features is not None
    count, classes = weights.coef.shape[1], learner._known_classes()
    form = learner._form_for_names(count, classes) if named else learner.covariance_for(count)
    cells = prod(covariance(form, shared=learner.config.shared_covariance).shape(count, classes))
    if cells > most_cells(weights.coef.size):
        raise ValueError(
            f"a {form} covariance of {count} features would take {cells} numbers; set covariance in settings to "
            '"diagonal"'
        )
    model: Gaussian = learner._prior(form, count, classes)
    means, variances = weights.table, weights.variance_table
    for number, mean in enumerate(means):
        one = model.of_class(number)
        one.mean[:] = mean
        if variances is not None and model.covariance.name != "identity":
            own = np.where(np.isnan(variances[number]), weights.initial_variance, variances[number])
            one.covariance.diagonal_in_place(one.memory)[:] = own
        model.covariance.fill(model.memory, number, one.memory)
    norms = [means[0] @ means[0]] if model.is_binary else np.square(means).sum(axis=1).tolist()
    for scalars, norm2 in zip(model.scalars, [sum(norms)] if model.joint else norms, strict=False):
        scalars[[NORM2, NORM2_PEAK]] = norm2
        scalars[ROUNDS] = weights.counts[0]
    learner.model = model
    learner._tally = np.array(weights.counts, dtype=np.int64)
    if weights.features is not None:
        learner.vocabulary = Vocabulary(None, False)
        learner.vocabulary.add(weights.features)
