"""Learners and classifiers as parts of a model file: their configuration, and what they have learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.json_fields import MAX_COUNT, Count, Range, shorten, to_json
from scwlearn.data.features import PLAIN, Features
from scwlearn.files.codec import (
    FLOAT64,
    INT64,
    LARGEST,
    ArrayReader,
    Arrays,
    StoredClasses,
    StoredSetting,
    StoredSettings,
    check_range,
    decode_classes,
    decode_setting,
    decode_settings,
    encode_classes,
    encode_setting,
    encode_settings,
)
from scwlearn.files.gaussian import MAX_CLASSES, StoredGaussian, decode_gaussian, encode_gaussian
from scwlearn.files.json_reader import InvalidModelFile, read_fields
from scwlearn.files.settings import complete_settings
from scwlearn.files.vocabulary import (
    StoredVocabulary,
    decode_scale,
    decode_vocabulary,
    encode_scale,
    encode_vocabulary,
)
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.learner import Learner
from scwlearn.learning.settings import Face, settings_for
from scwlearn.model.calibration import WINDOW, Calibration
from scwlearn.model.snapshot import Snapshot
from scwlearn.rules import Rule, find_rule

#: Numbers of rows, mistakes and updates.
Counters = tuple[Count, Count, Count]


class StoredKernel(NamedTuple):
    """The JSON of a kernel."""

    name: str
    parameters: dict[str, Annotated[float, Range(-1e300, 1e300)]]


class StoredLearner(NamedTuple):
    """The JSON of a learner; what it has learned depends on its kind."""

    rule: str
    parameters: StoredSettings
    settings: StoredSettings
    kernel: StoredKernel | None
    n_classes: Annotated[int, Range(0, MAX_CLASSES)] | None
    state: dict[str, Any]


class StoredState(NamedTuple):
    """The JSON of what a linear learner has learned."""

    counters: Counters
    model: StoredGaussian | None
    vocabulary: StoredVocabulary | None
    scaled: bool


@dataclass(frozen=True)
class StoredClassifier:
    """The JSON of what a classifier adds to its learner."""

    classes: StoredClasses
    class_weight: StoredSetting
    costs: StoredSetting = None
    features: Features = PLAIN


def encode_learner(learner: Any, arrays: Arrays) -> StoredLearner:
    """Add the arrays to `arrays` and return the rest."""
    config: LearnerConfig = learner.config
    settings = dict(config.settings)
    kernel: StoredKernel | None = None
    state: Any
    if isinstance(learner, Committee):
        from scwlearn.files.committee import encode_committee_state

        state = encode_committee_state(learner, arrays)
    elif isinstance(learner, Learner):
        state = _encode_state(learner, arrays)
    else:
        from scwlearn.files.kernel import encode_kernel, encode_kernel_state

        kernel, state = encode_kernel(settings.pop("kernel")), encode_kernel_state(learner.model, arrays)
    return StoredLearner(
        rule=encode_rule(config.rule),
        parameters=encode_settings(config.parameters),
        settings=encode_settings(settings),
        kernel=kernel,
        n_classes=None if learner.is_binary else learner._classes,
        state=to_json(state),
    )


def decode_learner(stored: StoredLearner, path: str, arrays: ArrayReader) -> Any:
    """Return a `Learner`, a `KernelLearner` if there is a kernel, or a `Committee`."""
    rule, kernel, n_classes = _decode_rule(stored.rule), stored.kernel, stored.n_classes
    parameters = decode_settings(stored.parameters, f"{path}.parameters")
    settings = decode_settings(stored.settings, f"{path}.settings")
    state = stored.state, f"{path}.state", arrays
    face = Face.COMMITTEE if rule.is_committee else Face.LEARNER if kernel is None else Face.KERNEL_LEARNER
    defaults = {setting.name: setting.default_in(face) for setting in settings_for(face) if setting.name != "kernel"}
    settings = complete_settings(settings, defaults, f"{path}.settings")
    names = {parameter.name: None for parameter in rule.parameters}
    complete_settings(parameters, names, f"{path}.parameters", required=names)
    if rule.is_committee:
        from scwlearn.files.committee import decode_committee_state

        if kernel is not None:
            raise InvalidModelFile(f"{path}.kernel must be null for a committee")
        return decode_committee_state(construct(CommitteeConfig.create_committee, settings), n_classes, *state)
    if kernel is None:
        learner = Learner.from_config(construct(LearnerConfig.create, rule, settings | parameters), n_classes)
        _decode_state(learner, *state)
        return learner
    from scwlearn.files.kernel import decode_kernel, decode_kernel_state
    from scwlearn.kernels.learner import KernelLearner, kernel_config

    config = construct(kernel_config, rule, settings | parameters | {"kernel": decode_kernel(kernel)})
    # With 0 classes, because a model of n_classes would be allocated at once.
    kernel_learner = KernelLearner.from_config(config, None if n_classes is None else 0)
    decode_kernel_state(kernel_learner, *state)
    if n_classes is not None:
        kernel_learner._classes = n_classes
    return kernel_learner


def construct(make: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a constructor with settings of a file, which it checks."""
    try:
        return make(*args, **kwargs)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidModelFile(f"invalid settings: {error}") from None


def encode_rule(rule: Any) -> str:
    """Return the name of a declared rule."""
    if not isinstance(rule, Rule):
        raise TypeError(
            "the rule is a function, which cannot be saved: model files hold no code; declare it with "
            "scwlearn.rules.rule to save it by its name"
        )
    try:
        declared = find_rule(rule.name)
    except ValueError:
        declared = None
    if declared is not rule:
        raise ValueError(f"the rule {rule.name!r} is no longer declared under this name; declare it again")
    return rule.name


def _decode_rule(name: str) -> Rule:
    try:
        return find_rule(name)
    except ValueError as error:
        raise InvalidModelFile(f"{error}; declare a rule of your own before loading its models") from None


def _encode_state(learner: Learner, arrays: Arrays) -> StoredState:
    """Encode what a linear learner has learned."""
    model, vocabulary, scale = learner.model, learner.vocabulary, learner.running_scale
    scaled = scale is not None and encode_scale(scale, arrays)
    return StoredState(
        counters=learner._tally.tolist(),
        model=None if model is None else encode_gaussian(model, arrays),
        vocabulary=None if model is None or vocabulary is None else encode_vocabulary(vocabulary, arrays),
        scaled=scaled,
    )


def _decode_state(learner: Learner, fields: dict[str, Any], path: str, arrays: ArrayReader) -> None:
    """Restore what a linear learner has learned."""
    config, scale = learner.config, learner.running_scale
    counters, model, vocabulary, scaled = read_fields(StoredState, fields, path)
    learner._tally = np.array(counters, dtype=np.int64)
    if model is not None:
        learner.model = decode_gaussian(model, f"{path}.model", arrays, config, binary=learner.is_binary)
    width = learner.n_features
    if width is not None and width < 0:
        raise InvalidModelFile(f"{path}.model has no weight for the intercept")
    if scaled and scale is None:
        raise InvalidModelFile(f"{path}.scaled: there are scales, but the setting scale is none")
    if scale is not None and learner.model is not None and not scaled:
        raise InvalidModelFile(f"{path}.scaled: the setting scale is {config.scale}, but there are no scales")
    if vocabulary is not None:
        if width is None:
            raise InvalidModelFile(f"{path}.vocabulary: there are feature names, but no model")
        learner.vocabulary = decode_vocabulary(
            vocabulary,
            f"{path}.vocabulary",
            arrays,
            width,
            max_features=config.max_features,
            hashed=config.overflow == "hash",
        )
    if scale is not None and scaled:
        decode_scale(scale, arrays, width)


def encode_classifier(classifier: Classifier, arrays: Arrays) -> StoredClassifier:
    """Encode what a classifier adds to its learner."""
    snapshot, weights = classifier.snapshot, classifier.class_weights
    arrays["class_counts"] = weights.seen
    if isinstance(snapshot.calibration, Calibration):
        arrays["calibration"] = snapshot.calibration.state
    return StoredClassifier(
        classes=encode_classes(snapshot.classes),
        class_weight=encode_setting("class_weight", weights.given),
        costs=None if classifier.costs is None else encode_setting("costs", classifier.costs.given),
        features=classifier.features,
    )


def decode_classifier(learner: Any, stored: StoredClassifier, path: str, arrays: ArrayReader) -> Classifier:
    """Return the classifier of a learner."""
    classes = decode_classes(stored.classes, f"{path}.classes")
    weights = decode_setting(stored.class_weight, f"{path}.class_weight")
    costs = decode_setting(stored.costs, f"{path}.costs")
    classifier: Classifier = construct(
        Classifier, learner.config, weights, costs, learner=type(learner), features=stored.features
    )
    count = len(classes)
    if learner.n_classes != (None if count <= 2 else count):
        raise InvalidModelFile(f"{path}.classes: {count} labels for a learner of {learner.n_classes or 2} classes")
    n_scores = 1 if count <= 2 else count
    has_curve = learner.calibration_type is Calibration
    calibration = _decode_calibration(arrays, n_scores) if has_curve else learner.calibration_type(n_scores)
    classifier.snapshot = Snapshot(learner, calibration, classes)
    seen = classifier.class_weights.seen = arrays.take("class_counts", INT64, (None,))
    check_range("class_counts", seen, 0, MAX_COUNT, "count must be an integer >= 0")
    if len(seen) > count or sum(seen.tolist()) > MAX_COUNT:
        raise InvalidModelFile(f"array 'class_counts' is invalid for {count} classes: {shorten(seen.tolist())}")
    return classifier


def _decode_calibration(arrays: ArrayReader, n_scores: int) -> Calibration:
    curve = Calibration(n_scores)
    curve.state = arrays.take("calibration", FLOAT64, curve.state.shape)
    check_range("calibration", curve.state, -LARGEST, LARGEST, "value must be finite")
    check_curve("calibration", curve.state)
    return curve


def check_curve(name: str, array: NDArray[np.float64], start: int = 0) -> None:
    """Check the window and the row count of the calibration whose state is in a finite array, from `start` on."""
    check_range(name, array, 0, MAX_COUNT, "row count must be >= 0", slice(start + 1, start + 2))
    try:
        WINDOW.check(float(array[start]))
    except ValueError as error:
        raise InvalidModelFile(f"array {name!r}: {error}") from None
