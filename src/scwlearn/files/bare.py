"""Learners by themselves as parts of a file: `Learner`, `MultiLearner` and those with a kernel."""

from __future__ import annotations

from typing import Any

from scwlearn.files.codec import ArrayReader as Tensors
from scwlearn.files.gaussians import Arrays
from scwlearn.files.json_reader import InvalidModelFile as Refused
from scwlearn.files.json_reader import JsonObject as Document
from scwlearn.files.json_reader import shorten as shown
from scwlearn.files.learners import (
    LINEAR,
    SEVERAL,
    linear_from_parts,
    linear_to_parts,
    made,
    settings_of,
    told_from_json,
    told_to_json,
)
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner

#: The learners that there are.
BARE = ("Learner", "MultiLearner", "KernelLearner", "KernelMultiLearner")


def bare_to_parts(learner: Any, arrays: Arrays) -> dict[str, Any]:
    """What stands in the text, once the arrays are there."""
    if isinstance(learner, Learner | MultiLearner):
        several = settings_of(learner, SEVERAL) if isinstance(learner, MultiLearner) else {}
        told = told_to_json(learner.rule, learner.parameters, settings_of(learner, LINEAR), several)
        return told | {"kernel": None, "learned": linear_to_parts(learner, arrays)}
    from scwlearn.files.kernels import KERNEL, kernel_learner_to_parts, kernel_to_json
    from scwlearn.kernels import KernelMultiLearner

    how = settings_of(learner, KERNEL[1:]) | {"intercept": learner.kernel.constant}
    several = settings_of(learner, ("multi_class", "rivals")) if isinstance(learner, KernelMultiLearner) else {}
    told = told_to_json(learner.rule, learner.parameters, how, several)
    return told | {"kernel": kernel_to_json(learner.kernel), "learned": kernel_learner_to_parts(learner, arrays)}


def bare_from_parts(name: str, fields: Document, tensors: Tensors) -> Any:
    """The learner that a file holds."""
    if name not in BARE:
        raise Refused(f"the model.class must be one of {', '.join(BARE)}, got {shown(name)}")
    kernel, learned = fields.document_or_none("kernel"), fields.document("learned")
    if (kernel is None) != (name in BARE[:2]):
        raise Refused(f"{fields.what}.kernel does not fit a {name}")
    if kernel is None:
        rule, parameters, how, several = told_from_json(fields, LINEAR)
        learner = made(Learner if name == "Learner" else MultiLearner, rule, **several, **how, **_apart(parameters))
        linear_from_parts(learner, learned, tensors)
    else:
        from scwlearn.files.kernels import KERNEL, kernel_from_json, kernel_learner_from_parts
        from scwlearn.kernels import KernelLearner, KernelMultiLearner

        rule, parameters, how, several = told_from_json(fields, KERNEL)
        how["kernel"] = kernel_from_json(kernel)
        kind = KernelLearner if name == "KernelLearner" else KernelMultiLearner
        learner = made(kind, rule, **several, **how, **_apart(parameters))
        kernel_learner_from_parts(learner, learned, tensors)
    fields.end()
    return learner


def _apart(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a rule, if none has the name of something else."""
    for name in parameters:
        if name in (*LINEAR, *SEVERAL, "rule", "kernel", "n_classes", "self"):
            raise Refused(f"has settings that are not allowed: {name!r} is no parameter of a rule")
    return parameters
