"""A learner for labels of any kind as parts of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.files.codec import ArrayReader as Tensors
from scwlearn.files.codec import decode_classes as classes_from_json
from scwlearn.files.codec import decode_setting as setting_from_json
from scwlearn.files.codec import encode_classes as classes_to_json
from scwlearn.files.codec import encode_setting as setting_to_json
from scwlearn.files.gaussians import FLOAT, WHOLE, Array, Arrays
from scwlearn.files.json_reader import MAX_COUNT as MOST
from scwlearn.files.json_reader import InvalidModelFile as Refused
from scwlearn.files.json_reader import JsonObject as Document
from scwlearn.files.learners import LINEAR, linear_from_parts, linear_to_parts, made, told_from_json, told_to_json
from scwlearn.learning.classifier import ClassLearner, Recipe
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.model.calibration import WINDOW, Calibration
from scwlearn.model.snapshot import Known

#: Lets a learner that has learned nothing know what a file says.
Fill = Callable[[Any, Document, Tensors], None]


def class_learner_to_parts(learner: ClassLearner, arrays: Arrays) -> dict[str, Any]:
    """What stands in the text, once the arrays are there."""
    recipe, now = learner.recipe, learner.now
    how = {name: value for name, value in recipe.how.items() if name != "kernel"}
    parts = told_to_json(recipe.rule, recipe.parameters, how, recipe.how_several)
    if recipe.for_two is Learner:
        parts |= {"kernel": None, "learned": linear_to_parts(now.learner, arrays)}
    else:
        from scwlearn.files.kernels import kernel_learner_to_parts, kernel_to_json

        kernel = kernel_to_json(recipe.how["kernel"])
        parts |= {"kernel": kernel, "learned": kernel_learner_to_parts(now.learner, arrays)}
    arrays |= {"calibration": now.calibration.state, "class_counts": learner.class_weights.seen}
    return parts | {
        "classes": classes_to_json(now.classes),
        "class_weight": setting_to_json("class_weight", learner.class_weights.given),
    }


def class_learner_from_parts(fields: Document, tensors: Tensors) -> ClassLearner:
    """The learner that a file holds."""
    classes = classes_from_json(fields.document("classes"))
    weights = setting_from_json(fields.value("class_weight"), f"{fields.what}.class_weight")
    learned = fields.document("learned")
    recipe, fill = _recipe(fields)
    fields.end()
    learner: ClassLearner = made(ClassLearner, recipe, weights)
    inner = learner.learner if len(classes) <= 2 else recipe.several(0)
    fill(inner, learned, tensors)
    if len(classes) > 2 and inner.n_classes != len(classes):
        raise Refused(f"{fields.what} has {len(classes)} labels for {inner.n_classes} classes")
    learner.now = Known(inner, _calibration(tensors, len(classes)), classes)
    learner.class_weights.seen = _class_counts(tensors, len(classes))
    return learner


def _recipe(fields: Document) -> tuple[Recipe, Fill]:
    """How learners are made, and what lets one know what a file says."""
    kernel = fields.document_or_none("kernel")
    if kernel is None:
        rule, parameters, how, several = told_from_json(fields, LINEAR)
        return made(Recipe, Learner, MultiLearner, rule, parameters, how, several), linear_from_parts
    from scwlearn.files.kernels import KERNEL, kernel_from_json, kernel_learner_from_parts
    from scwlearn.kernels import KernelLearner, KernelMultiLearner

    rule, parameters, how, several = told_from_json(fields, KERNEL)
    how["kernel"] = kernel_from_json(kernel)
    recipe = made(Recipe, KernelLearner, KernelMultiLearner, rule, parameters, how, several)
    return recipe, kernel_learner_from_parts


def _calibration(tensors: Tensors, classes: int) -> Calibration:
    curve = Calibration(1 if classes <= 2 else classes)
    state: Array = tensors.take("calibration", FLOAT, curve.state.shape)
    if not np.isfinite(state).all():
        raise Refused("array 'calibration' holds a number that is not finite")
    curve.state = state
    try:
        WINDOW.check(curve.window)
    except ValueError as error:
        raise Refused(f"array 'calibration': {error}") from None
    if not 0 <= state[1] <= MOST:
        raise Refused("array 'calibration' holds a number of rows that is none")
    return curve


def _class_counts(tensors: Tensors, classes: int) -> NDArray[np.int64]:
    seen = tensors.take("class_counts", WHOLE, (None,))
    if len(seen) > classes:
        raise Refused(f"array 'class_counts' has {len(seen)} numbers for {classes} classes")
    if len(seen) and (seen.min() < 0 or sum(seen.tolist()) > MOST):
        raise Refused("array 'class_counts' holds a number that is negative or too large")
    return seen
