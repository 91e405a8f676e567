"""Classifiers as part of a model file: a learner, labels, class weights and the calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.files.codec import (
    FLOAT64,
    INT64,
    ArrayReader,
    Arrays,
    decode_classes,
    decode_setting,
    encode_classes,
    encode_setting,
)
from scwlearn.files.json_reader import MAX_COUNT, InvalidModelFile, JsonObject
from scwlearn.files.learner import construct, decode_config, encode_config, encode_learned, learner_of
from scwlearn.learning.classifier import Classifier
from scwlearn.model.calibration import WINDOW, Calibration
from scwlearn.model.snapshot import Snapshot


def encode_classifier(classifier: Classifier, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    snapshot = classifier.snapshot
    arrays |= {"calibration": snapshot.calibration.state, "class_counts": classifier.class_weights.seen}
    return encode_config(classifier.config) | {
        "learned": encode_learned(snapshot.learner, arrays),
        "classes": encode_classes(snapshot.classes),
        "class_weight": encode_setting("class_weight", classifier.class_weights.given),
    }


def decode_classifier(fields: JsonObject, arrays: ArrayReader) -> Classifier:
    """Return a classifier."""
    classes = decode_classes(fields.document("classes"))
    weights = decode_setting(fields.value("class_weight"), f"{fields.what}.class_weight")
    learned, config = fields.document("learned"), decode_config(fields)
    fields.end()
    learner_type, fill = learner_of(config)
    classifier: Classifier = construct(Classifier, config, weights, learner=learner_type)
    learner = classifier.learner if len(classes) <= 2 else classifier.several(0)
    fill(learner, learned, arrays)
    if len(classes) > 2 and learner.n_classes != len(classes):
        raise InvalidModelFile(f"{fields.what}: {len(classes)} labels for {learner.n_classes} classes")
    classifier.snapshot = Snapshot(learner, _decode_calibration(arrays, len(classes)), classes)
    classifier.class_weights.seen = _decode_class_counts(arrays, len(classes))
    return classifier


def _decode_calibration(arrays: ArrayReader, classes: int) -> Calibration:
    curve = Calibration(1 if classes <= 2 else classes)
    state = arrays.take("calibration", FLOAT64, curve.state.shape)
    if not np.isfinite(state).all():
        raise InvalidModelFile("array 'calibration' must be finite")
    curve.state = state
    try:
        WINDOW.check(float(state[0]))
    except ValueError as error:
        raise InvalidModelFile(f"array 'calibration': {error}") from None
    if not 0 <= state[1] <= MAX_COUNT:
        raise InvalidModelFile(f"calibration[1]: row count must be a number >= 0, got {state[1]}")
    return curve


def _decode_class_counts(arrays: ArrayReader, classes: int) -> NDArray[np.int64]:
    seen: NDArray[np.int64] = arrays.take("class_counts", INT64, (None,))
    if len(seen) > classes:
        raise InvalidModelFile(f"array 'class_counts' has {len(seen)} entries for {classes} classes")
    if len(seen) and (seen.min() < 0 or sum(seen.tolist()) > MAX_COUNT):
        raise InvalidModelFile("array 'class_counts' must hold counts >= 0")
    return seen
