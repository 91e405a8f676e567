"""Learners as part of a model file: their configuration, and what they have learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.files.codec import ArrayReader, Arrays, decode_settings, encode_settings
from scwlearn.files.gaussian import decode_gaussian, encode_gaussian
from scwlearn.files.json_reader import InvalidModelFile, JsonObject, shorten
from scwlearn.files.vocabulary import decode_scale, decode_vocabulary, encode_vocabulary
from scwlearn.learning.config import LearnerConfig
from scwlearn.learning.learner import Learner
from scwlearn.learning.settings import Face, settings_for
from scwlearn.rules import Rule, find_rule

_MAX_CLASSES = 2**31 - 1

#: Fills a learner that has learned nothing with what a file says.
Fill = Callable[[Any, JsonObject, ArrayReader], None]


def encode_config(config: LearnerConfig) -> dict[str, Any]:
    """Return the rule, its parameters and all settings as JSON metadata."""
    settings, kernel = dict(config.settings), None
    if config.face is Face.KERNEL_LEARNER:
        from scwlearn.files.kernel_learner import encode_kernel

        kernel = encode_kernel(settings.pop("kernel"))
    return {
        "algorithm": rule_name(config.rule),
        "parameters": encode_settings(config.parameters),
        "settings": encode_settings(settings),
        "kernel": kernel,
    }


def decode_config(fields: JsonObject) -> LearnerConfig:
    """Return the configuration of a linear learner, or if the file has a kernel of a kernel learner."""
    name = fields.text("algorithm")
    try:
        rule = find_rule(name)
    except ValueError as error:
        raise InvalidModelFile(f"{fields.what}: {error}; declare your own rules before you load their models") from None
    parameters, settings = decode_settings(fields, "parameters"), decode_settings(fields, "settings")
    kernel = fields.document_or_none("kernel")
    face = Face.LEARNER
    create: Callable[..., LearnerConfig] = LearnerConfig.create
    if kernel is not None:
        from scwlearn.files.kernel_learner import decode_kernel
        from scwlearn.kernels.learner import kernel_config

        face, create = Face.KERNEL_LEARNER, kernel_config
        settings["kernel"] = decode_kernel(kernel)
    check_names(settings, {setting.name for setting in settings_for(face)}, f"{fields.what}.settings")
    check_names(parameters, {parameter.name for parameter in rule.parameters}, f"{fields.what}.parameters")
    config: LearnerConfig = construct(create, rule, {**parameters, **settings})
    return config


def rule_name(rule: Any) -> str:
    """Return the name by which a rule is found when the file is loaded."""
    if not isinstance(rule, Rule):
        raise TypeError(
            "the rule is a function, and a model file holds no code; declare it with scwlearn.rules.rule, and it is "
            "saved by name"
        )
    try:
        declared = find_rule(rule.name)
    except ValueError:
        declared = None
    if declared is not rule:
        raise ValueError(f"another rule is declared under the name {rule.name!r} now; declare this one again")
    return rule.name


def construct(make: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Call a constructor, which checks the settings of a file."""
    try:
        return make(*given, **named)
    except (TypeError, ValueError) as error:
        raise InvalidModelFile(f"invalid settings: {error}") from None


def check_names(given: Any, expected: set[str], what: str) -> None:
    """Refuse settings that are missing or unexpected."""
    problems = []
    if missing := sorted(expected - set(given)):
        problems.append(f"missing settings: {', '.join(missing)}")
    if unexpected := sorted(set(given) - expected):
        problems.append(f"unexpected settings: {', '.join(map(shorten, unexpected))}")
    if problems:
        raise InvalidModelFile(f"{what}: {'; '.join(problems)}")


def encode_learner(learner: Any, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a learner to `arrays` and return the JSON metadata."""
    metadata = encode_config(learner.config) | {"binary": learner.is_binary}
    return metadata | {"learned": encode_learned(learner, arrays)}


def decode_learner(fields: JsonObject, arrays: ArrayReader) -> Any:
    """Return a learner."""
    config, binary, learned = decode_config(fields), fields.flag("binary"), fields.document("learned")
    fields.end()
    learner_type, fill = learner_of(config)
    learner = learner_type.from_config(config, None if binary else 0)
    fill(learner, learned, arrays)
    return learner


def learner_of(config: LearnerConfig) -> tuple[type[Any], Fill]:
    """Return the class of the learners with this configuration, and the function that restores them."""
    if config.face is Face.LEARNER:
        return Learner, fill_learner
    from scwlearn.files.kernel_learner import fill_kernel_learner
    from scwlearn.kernels import KernelLearner

    return KernelLearner, fill_kernel_learner


def encode_learned(learner: Any, arrays: Arrays) -> dict[str, Any]:
    """Add what a learner has learned to `arrays` and return the JSON metadata."""
    if not isinstance(learner, Learner):
        from scwlearn.files.kernel_learner import encode_kernel_learner

        return encode_kernel_learner(learner, arrays)
    vocabulary, scale, model = learner.vocabulary, learner.running_scale, learner.model
    scaled = scale is not None and scale.state is not None
    if scale is not None and scale.state is not None:
        arrays["scale"] = scale.state
    return {
        "counters": learner._tally.tolist(),
        "classes": learner._classes,
        "model": None if model is None else encode_gaussian(model, arrays),
        "vocabulary": None if model is None or vocabulary is None else encode_vocabulary(vocabulary, arrays),
        "scaled": scaled,
    }


def decode_counters(fields: JsonObject) -> NDArray[np.int64]:
    """Return the counts of rows, mistakes and updates."""
    return np.array(fields.wholes("counters", 3), dtype=np.int64)


def fill_learner(learner: Learner, fields: JsonObject, arrays: ArrayReader) -> None:
    """Fill a learner that has learned nothing with what a file says."""
    config, binary, what = learner.config, learner.is_binary, fields.what
    tally, model = decode_counters(fields), fields.document_or_none("model")
    vocabulary, scaled = fields.document_or_none("vocabulary"), fields.flag("scaled")
    learner._classes = fields.whole("classes", least=int(binary), most=1 if binary else _MAX_CLASSES)
    if model is not None:
        joint, shared = config.multi_class == "joint", config.shared_covariance
        learner.model = decode_gaussian(model, arrays, binary=binary, joint=joint, shared=shared)
    fields.end()
    learner._tally = tally
    if learner.n_features is not None and learner.n_features < 0:
        raise InvalidModelFile(f"{what}: a model with an intercept must have a weight for it")
    if learner.model is None and vocabulary is not None:
        raise InvalidModelFile(f"{what}: names without a model")
    if scaled and learner.running_scale is None:
        raise InvalidModelFile(f"{what}: scales, but the features are not scaled")
    if learner.running_scale is not None and learner.model is not None and not scaled:
        raise InvalidModelFile(f"{what}: the scales of the features are missing")
    if vocabulary is not None:
        bound = {"max_features": config.max_features, "hashed": config.overflow == "hash"}
        learner.vocabulary = decode_vocabulary(vocabulary, arrays, learner.n_features or 0, **bound)
    if learner.running_scale is not None and scaled:
        learner.running_scale.state = decode_scale(arrays, learner.n_features)
