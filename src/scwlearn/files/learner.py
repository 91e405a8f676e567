"""Learners and classifiers as parts of a model file: their configuration, and what they have learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.features import PLAIN, Features
from scwlearn.files.codec import (
    FLOAT64,
    INT64,
    LARGEST,
    ArrayReader,
    Arrays,
    check_range,
    decode_classes,
    decode_setting,
    decode_settings,
    encode_classes,
    encode_setting,
    encode_settings,
)
from scwlearn.files.gaussian import MAX_CLASSES, decode_gaussian, encode_gaussian
from scwlearn.files.json_reader import MAX_COUNT, InvalidModelFile, JsonObject, shorten
from scwlearn.files.vocabulary import decode_scale, decode_vocabulary, encode_scale, encode_vocabulary
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.learner import Learner
from scwlearn.learning.settings import Face, settings_for
from scwlearn.model.calibration import WINDOW, Calibration
from scwlearn.model.snapshot import Snapshot
from scwlearn.rules import Rule, find_rule


def encode_learner(learner: Any, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    config: LearnerConfig = learner.config
    settings = dict(config.settings)
    kernel = None
    if isinstance(learner, Committee):
        from scwlearn.files.committee import encode_committee_state

        state = encode_committee_state(learner, arrays)
    elif isinstance(learner, Learner):
        state = _encode_state(learner, arrays)
    else:
        from scwlearn.files.kernel import encode_kernel, encode_kernel_state

        kernel, state = encode_kernel(settings.pop("kernel")), encode_kernel_state(learner.model, arrays)
    return {
        "rule": encode_rule(config.rule),
        "parameters": encode_settings(config.parameters),
        "settings": encode_settings(settings),
        "kernel": kernel,
        "n_classes": None if learner.is_binary else learner._classes,
        "state": state,
    }


def decode_learner(fields: JsonObject, arrays: ArrayReader) -> Any:
    """Return a `Learner`, a `KernelLearner` if there is a kernel, or a `Committee`."""
    rule, kernel = _decode_rule(fields), fields.optional_object("kernel")
    parameters, settings = decode_settings(fields, "parameters"), decode_settings(fields, "settings")
    n_classes, state = fields.optional_integer("n_classes", MAX_CLASSES), fields.object("state")
    fields.finish()
    face = Face.COMMITTEE if rule.is_committee else Face.LEARNER if kernel is None else Face.KERNEL_LEARNER
    defaults = {setting.name: setting.default_in(face) for setting in settings_for(face) if setting.name != "kernel"}
    settings = complete_settings(settings, defaults, f"{fields.path}.settings")
    names = {parameter.name: None for parameter in rule.parameters}
    complete_settings(parameters, names, f"{fields.path}.parameters", required=names)
    if rule.is_committee:
        from scwlearn.files.committee import decode_committee_state

        if kernel is not None:
            raise InvalidModelFile(f"{fields.path}.kernel must be null for a committee")
        return decode_committee_state(construct(CommitteeConfig.create_committee, settings), n_classes, state, arrays)
    if kernel is None:
        learner = Learner.from_config(construct(LearnerConfig.create, rule, settings | parameters), n_classes)
        _decode_state(learner, state, arrays)
        return learner
    from scwlearn.files.kernel import decode_kernel, decode_kernel_state
    from scwlearn.kernels.learner import KernelLearner, kernel_config

    config = construct(kernel_config, rule, settings | parameters | {"kernel": decode_kernel(kernel)})
    # With 0 classes, because a model of n_classes would be allocated at once.
    kernel_learner = KernelLearner.from_config(config, None if n_classes is None else 0)
    decode_kernel_state(kernel_learner, state, arrays)
    if n_classes is not None:
        kernel_learner._classes = n_classes
    return kernel_learner


def complete_settings(
    given: Mapping[str, Any], defaults: Mapping[str, Any], path: str, required: Iterable[str] = ()
) -> dict[str, Any]:
    """Return all settings: files of earlier versions lack those added since, which take their defaults."""
    problems = []
    if missing := sorted(set(required) - set(given)):
        problems.append(f"missing settings: {', '.join(missing)}")
    if unexpected := sorted(set(given) - set(defaults)):
        problems.append(f"unexpected settings: {', '.join(map(shorten, unexpected))}")
    if problems:
        raise InvalidModelFile(f"{path}: {'; '.join(problems)}")
    completed = {**defaults, **given}
    if "average" in defaults and "average" not in given:
        # Files of earlier versions have no averages.
        completed["average"] = False
    if isinstance(completed.get("scale"), bool):
        # Files of earlier versions know only one kind of scale.
        completed["scale"] = "rms" if completed["scale"] else "none"
    return completed


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


def _decode_rule(fields: JsonObject) -> Rule:
    name = fields.string("rule")
    try:
        return find_rule(name)
    except ValueError as error:
        raise InvalidModelFile(f"{error}; declare a rule of your own before loading its models") from None


def _encode_state(learner: Learner, arrays: Arrays) -> dict[str, Any]:
    """Encode what a linear learner has learned."""
    model, vocabulary, scale = learner.model, learner.vocabulary, learner.running_scale
    scaled = scale is not None and encode_scale(scale, arrays)
    return {
        "counters": learner._tally.tolist(),
        "model": None if model is None else encode_gaussian(model, arrays),
        "vocabulary": None if model is None or vocabulary is None else encode_vocabulary(vocabulary, arrays),
        "scaled": scaled,
    }


def _decode_state(learner: Learner, fields: JsonObject, arrays: ArrayReader) -> None:
    """Restore what a linear learner has learned."""
    config, scale = learner.config, learner.running_scale
    learner._tally = decode_counters(fields)
    model, vocabulary = fields.optional_object("model"), fields.optional_object("vocabulary")
    scaled = fields.boolean("scaled")
    fields.finish()
    if model is not None:
        learner.model = decode_gaussian(model, arrays, config, binary=learner.is_binary)
    width = learner.n_features
    if width is not None and width < 0:
        raise InvalidModelFile(f"{fields.path}.model has no weight for the intercept")
    if scaled and scale is None:
        raise InvalidModelFile(f"{fields.path}: there are scales, but the setting scale is none")
    if scale is not None and learner.model is not None and not scaled:
        raise InvalidModelFile(f"{fields.path}: the setting scale is {config.scale}, but there are no scales")
    if vocabulary is not None:
        if width is None:
            raise InvalidModelFile(f"{fields.path}: there are feature names, but no model")
        learner.vocabulary = decode_vocabulary(
            vocabulary, arrays, width, max_features=config.max_features, hashed=config.overflow == "hash"
        )
    if scale is not None and scaled:
        decode_scale(scale, arrays, width)


def decode_counters(fields: JsonObject) -> NDArray[np.int64]:
    """Return the numbers of rows, mistakes and updates."""
    return np.array(fields.integers("counters", 3), dtype=np.int64)


def encode_classifier(classifier: Classifier, arrays: Arrays) -> dict[str, Any]:
    """Encode what a classifier adds to its learner."""
    snapshot, weights = classifier.snapshot, classifier.class_weights
    arrays["class_counts"] = weights.seen
    if isinstance(snapshot.calibration, Calibration):
        arrays["calibration"] = snapshot.calibration.state
    fields = {
        "classes": encode_classes(snapshot.classes),
        "class_weight": encode_setting("class_weight", weights.given),
        "features": classifier.features.to_json(),
    }
    return fields if classifier.costs is None else fields | {"costs": encode_setting("costs", classifier.costs.given)}


def decode_classifier(learner: Any, fields: JsonObject, arrays: ArrayReader) -> Classifier:
    """Return the classifier of a learner."""
    classes = decode_classes(fields.object("classes"))
    weights = decode_setting(fields.value("class_weight"), f"{fields.path}.class_weight")
    costs = decode_setting(fields.value("costs"), f"{fields.path}.costs") if "costs" in fields else None
    features = construct(Features.from_json, fields.mapping("features")) if "features" in fields else PLAIN
    fields.finish()
    classifier: Classifier = construct(
        Classifier, learner.config, weights, costs, learner=type(learner), features=features
    )
    count = len(classes)
    if learner.n_classes != (None if count <= 2 else count):
        raise InvalidModelFile(f"{fields.path}: {count} labels for a learner of {learner.n_classes or 2} classes")
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
