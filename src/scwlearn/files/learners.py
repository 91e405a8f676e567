"""What learners are told and what they have learned, as parts of a file: those with a weight for each feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.files.codec import ArrayReader as Tensors
from scwlearn.files.codec import decode_settings as settings_from_json
from scwlearn.files.codec import encode_settings as settings_to_json
from scwlearn.files.gaussians import (
    Arrays,
    gaussian_from_parts,
    gaussian_to_parts,
    gaussians_from_parts,
    gaussians_to_parts,
)
from scwlearn.files.json_reader import InvalidModelFile as Refused
from scwlearn.files.json_reader import JsonObject as Document
from scwlearn.files.vocabulary import decode_scale as scale_from_parts
from scwlearn.files.vocabulary import decode_vocabulary as vocabulary_from_parts
from scwlearn.files.vocabulary import encode_vocabulary as vocabulary_to_parts
from scwlearn.learning.learner import Learner
from scwlearn.learning.linear import LinearLearner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.rules import Rule, find_rule

#: What learners are told besides the rule and its parameters: those with a weight for each feature, and for several
#: classes.
LINEAR = ("covariance", "intercept", "initial_variance", "variance_floor", "scale", "max_features", "overflow")
SEVERAL = ("multi_class", "shared_covariance", "rivals")


def told_to_json(
    rule: Any, parameters: Mapping[str, Any], how: Mapping[str, Any], several: Mapping[str, Any]
) -> dict[str, Any]:
    """What a learner is told, but for a kernel."""
    return {
        "algorithm": rule_name(rule),
        "parameters": settings_to_json(parameters),
        "how": settings_to_json(how),
        "several": settings_to_json(several),
    }


def rule_name(rule: Any) -> str:
    """The name by which a rule is found again."""
    if not isinstance(rule, Rule):
        raise TypeError(
            "the rule is a function of your own, which a model file cannot hold: it holds no code; declare it by "
            "scwlearn.rules.rule, and it is saved by its name"
        )
    try:
        declared = find_rule(rule.name)
    except ValueError:
        declared = None
    if declared is not rule:
        raise ValueError(f"the rule {rule.name!r} is not the one that is declared under its name now; declare it again")
    return rule.name


def rule_from(fields: Document) -> Rule:
    """The rule of a learner, which must be declared."""
    name = fields.text("algorithm")
    try:
        return find_rule(name)
    except ValueError as error:
        raise Refused(
            f"learns by the rule {name!r}, which is not declared here ({error}); a rule of your own must be declared "
            "before a model that learns by it is loaded"
        ) from None


def made(make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a constructor makes of settings from a file, which it checks."""
    try:
        return make(*given, **named)
    except (TypeError, ValueError) as error:
        raise Refused(f"has settings that are not allowed: {error}") from None


def told_from_json(
    fields: Document, how_allowed: tuple[str, ...]
) -> tuple[Rule, dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The rule, its parameters, and what else a learner is told: any, and only for several classes."""
    rule = rule_from(fields)
    parameters = settings_from_json(fields, "parameters")
    how = _known(fields, "how", how_allowed)
    return rule, parameters, how, _known(fields, "several", SEVERAL)


def _known(fields: Document, name: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    settings = settings_from_json(fields, name)
    for setting in settings:
        if setting not in allowed:
            raise Refused(f"{fields.what}.{name} has {setting!r}; it may have {', '.join(allowed)}")
    return settings


def settings_of(learner: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What a learner by itself was told."""
    return {name: getattr(learner, name) for name in names}


def counters_from(fields: Document) -> NDArray[np.int64]:
    """Rows, mistakes and updates."""
    return np.array(fields.wholes("counters", 3), dtype=np.int64)


def linear_to_parts(learner: Learner | MultiLearner, arrays: Arrays) -> dict[str, Any]:
    """What such a learner has learned: what stands in the text, once the arrays are there."""
    vocabulary, scale, model = learner.vocabulary, learner.running_scale, learner.model
    parts: dict[str, Any] = {"counters": learner._tally.tolist(), "model": None, "vocabulary": None}
    if isinstance(learner, MultiLearner):
        parts["classes"] = learner._classes
        if learner.gaussians is not None:
            parts["model"] = gaussians_to_parts(learner.gaussians, arrays)
    elif learner.gaussian is not None:
        parts["model"] = gaussian_to_parts(learner.gaussian, arrays)
    if model is not None and vocabulary is not None:
        parts["vocabulary"] = vocabulary_to_parts(vocabulary, arrays)
    parts["scaled"] = scale is not None and scale.state is not None
    if scale is not None and scale.state is not None:
        arrays["scale"] = scale.state
    return parts


def linear_from_parts(learner: Learner | MultiLearner, fields: Document, tensors: Tensors) -> None:
    """Let a learner that has learned nothing know what the file says."""
    tally, model = counters_from(fields), fields.document_or_none("model")
    vocabulary, scaled = fields.document_or_none("vocabulary"), fields.flag("scaled")
    if isinstance(learner, MultiLearner):
        learner._classes = fields.whole("classes", most=2**31 - 1)
        if model is not None:
            joint = learner.multi_class == "joint"
            learner.gaussians = gaussians_from_parts(model, tensors, joint=joint, shared=learner.shared_covariance)
    elif model is not None:
        learner.gaussian = gaussian_from_parts(model, tensors)
    fields.end()
    learner._tally = tally
    _check_fits(learner, fields, named=vocabulary is not None, scaled=scaled)
    if vocabulary is not None:
        names = learner.vocabulary = vocabulary_from_parts(vocabulary, tensors, learner.n_features or 0)
        hashed = learner.max_features is not None and learner.overflow == "hash"
        if (names.max_features, names.hashed) != (learner.max_features, hashed):
            raise Refused(f"{fields.what} has names that are bounded in another way than its settings say")
    if learner.running_scale is not None and scaled:
        learner.running_scale.state = scale_from_parts(tensors, learner.n_features)


def _check_fits(learner: LinearLearner[Any, Any], fields: Document, *, named: bool, scaled: bool) -> None:
    if learner.n_features is not None and learner.n_features < 0:
        raise Refused(f"{fields.what} has a constant but no weight for it")
    if learner.model is None and named:
        raise Refused(f"{fields.what} has names, but no model that they belong to")
    if scaled and learner.running_scale is None:
        raise Refused(f"{fields.what} has scales, but features are not to be scaled")
    if learner.running_scale is not None and learner.model is not None and not scaled:
        raise Refused(f"{fields.what} has no scales, but features are to be scaled")
