"""What a model file holds: the kind of model, what it was told, what it has learned, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn.files.bare import BARE, bare_from_parts, bare_to_parts
from scwlearn.files.classes import class_learner_from_parts, class_learner_to_parts
from scwlearn.files.document import Document, Refused, shown
from scwlearn.files.gaussians import Arrays
from scwlearn.files.learners import made, rule_name
from scwlearn.files.values import Tensors, settings_from_json, settings_to_json
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.learning.settings import kernel_settings, settings, stream_settings
from scwlearn.rules import Rule, all_rules

#: What a file may hold: a scikit-learn estimator, a `StreamClassifier`, one of River's classes, or a learner by itself.
KINDS = ("estimator", "stream", "river", "learner")

# What says how `fit` goes over the data, and is no part of the model.
_OF_FIT = ("n_epochs", "shuffle", "random_state")


@dataclass
class Stored:
    """A model as a file holds it. Reading and writing it needs neither scikit-learn nor River.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> from scwlearn.files import stored_of
    >>> stored = stored_of(StreamClassifier("arow", r=2.0))
    >>> stored.kind, stored.learner.recipe.parameters
    ('stream', {'r': 2.0})
    """

    #: One of KINDS.
    kind: str
    #: The name of the class within its kind.
    class_name: str
    #: A `ClassLearner`, or of the kind "learner" the learner itself; None for an estimator that is not fitted.
    learner: Any
    #: What the constructor of an estimator or of one of River's classes was told.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Of an estimator that is fitted: n_features_in_, and feature_names_in_ where it has names.
    attributes: dict[str, Any] = field(default_factory=dict)
    #: Of an estimator that is fitted: the settings that cannot change any more, as they were when it began.
    began: dict[str, Any] = field(default_factory=dict)
    #: What others keep with the model, as JSON has it.
    notes: dict[str, Any] = field(default_factory=dict)
    #: The version that wrote the file.
    library: str = __version__

    def model(self) -> Any:
        """The model as Python knows it. Estimators need scikit-learn, River's classes River."""
        if self.kind == "learner":
            return self.learner
        if self.kind == "stream":
            return _stream(self.learner)
        if self.kind == "river":
            return self._of_river()
        return self._estimator()

    def _of_river(self) -> Any:
        from scwlearn import river

        model = made(getattr(river, self.class_name), **self.settings)
        model._model = _stream(self.learner)
        return model

    def _estimator(self) -> Any:
        from scwlearn import estimators

        model = made(getattr(estimators, self.class_name), **self.settings)
        if self.learner is not None:
            model._learner, model._began = self.learner, dict(self.began)
            model.n_features_in_ = self.attributes["n_features_in_"]
            if "feature_names_in_" in self.attributes:
                model.feature_names_in_ = np.array(self.attributes["feature_names_in_"], dtype=object)
        return model


def stored_of(model: Any, notes: Mapping[str, Any] | None = None) -> Stored:
    """A model as a file holds it; a TypeError for one that no file can hold. Nothing is copied.

    Examples
    --------
    >>> from scwlearn import Learner
    >>> from scwlearn.files import stored_of
    >>> learner = Learner("arow")
    >>> stored_of(learner).model() is learner
    True
    """
    kept = dict(notes or {})
    if type(model).__name__ in BARE and _is_ours(model):
        return Stored("learner", type(model).__name__, model, notes=kept)
    if _is_ours(model) and type(model).__name__ == "StreamClassifier":
        return Stored("stream", "StreamClassifier", model._learner, notes=kept)
    rule = getattr(type(model), "_rule", None)
    module, name = type(model).__module__, type(model).__name__
    if isinstance(rule, Rule) and module == "scwlearn.river":
        rule_name(rule)
        told = {setting.name: getattr(model, setting.name) for setting in stream_settings(rule)}
        return Stored("river", name, model._model._learner, told, notes=kept)
    if isinstance(rule, Rule) and module == "scwlearn.estimators":
        rule_name(rule)
        return _of_estimator(model, rule, kept)
    raise TypeError(
        f"a {type(model).__module__}.{name} cannot be saved; scwlearn's estimators, streams and learners can, and "
        "classes for River, but no classes derived from them"
    )


def _is_ours(model: Any) -> bool:
    return type(model).__module__.startswith("scwlearn.")


def _of_estimator(model: Any, rule: Rule, notes: dict[str, Any]) -> Stored:
    told = {setting.name: getattr(model, setting.name) for setting in _settings_of(rule, type(model).__name__)}
    if not model.__sklearn_is_fitted__():
        return Stored("estimator", type(model).__name__, None, told, notes=notes)
    attributes: dict[str, Any] = {"n_features_in_": int(model.n_features_in_)}
    if hasattr(model, "feature_names_in_"):
        attributes["feature_names_in_"] = model.feature_names_in_.tolist()
    began = {name: model._began[name] for name in _fixed(rule, type(model).__name__)}
    return Stored("estimator", type(model).__name__, model._learner, told, attributes, began, notes)


def stored_estimator(
    learner: ClassLearner, n_features: int, *, notes: Mapping[str, Any] | None = None, **of_fit: Any
) -> Stored:
    """What a linear estimator would be stored as that has learned what this learner has.

    `of_fit` are n_epochs, shuffle and random_state.
    """
    recipe = learner.recipe
    known = recipe.parameters | recipe.how | recipe.how_several | {"class_weight": learner.class_weights.given} | of_fit
    if "intercept" in recipe.how:
        known["fit_intercept"] = recipe.how["intercept"]
    told = {s.name: known.get(s.name, s.default) for s in settings(recipe.rule)}
    began = {name: told[name] for name in _fixed(recipe.rule, recipe.rule.estimator)}
    attributes = {"n_features_in_": n_features}
    return Stored("estimator", recipe.rule.estimator, learner, told, attributes, began, dict(notes or {}))


def to_parts(stored: Stored) -> tuple[dict[str, Any], Arrays]:
    """What stands in the text of a file, and its arrays."""
    arrays: Arrays = {}
    learner = stored.learner
    learned: dict[str, Any] | None
    if isinstance(learner, ClassLearner):
        learned = class_learner_to_parts(learner, arrays)
    else:
        learned = None if learner is None else bare_to_parts(learner, arrays)
    document = {
        "kind": stored.kind,
        "class": stored.class_name,
        "settings": settings_to_json(stored.settings),
        "attributes": stored.attributes,
        "began": settings_to_json(stored.began),
        "learner": learned,
        "notes": stored.notes,
    }
    return document, arrays


def from_parts(document: Any, arrays: Mapping[str, Any], library: str = __version__) -> Stored:
    """What a file holds, all of it checked."""
    fields, tensors = Document(document, "the model"), Tensors(arrays)
    kind, name = fields.one_of("kind", KINDS), fields.text("class")
    told, began = settings_from_json(fields, "settings"), settings_from_json(fields, "began")
    attributes, notes = fields.document("attributes"), fields.fields("notes")
    learned = fields.document_or_none("learner")
    fields.end()
    learner: Any = None
    if kind == "learner":
        learner = bare_from_parts(name, _there(learned), tensors)
    elif learned is not None or kind != "estimator":
        learner = class_learner_from_parts(_there(learned), tensors)
    tensors.end()
    stored = Stored(kind, name, learner, told, {}, began, notes, library)
    if kind == "estimator":
        stored.attributes = _attributes(stored, attributes)
    attributes.end()
    _check_class(stored)
    return stored


def _there(learned: Document | None) -> Document:
    if learned is None:
        raise Refused("the model has no learner")
    return learned


def _attributes(stored: Stored, fields: Document) -> dict[str, Any]:
    if stored.learner is None:
        return {}
    width = fields.whole("n_features_in_")
    found: dict[str, Any] = {"n_features_in_": width}
    inner = stored.learner.learner
    known = inner.n_features if isinstance(inner, Learner | MultiLearner) else inner.model.n_features
    if known not in (None, width):
        fields.refuse("n_features_in_", width, f"{known}, the number that was learned from")
    if fields.has("feature_names_in_"):
        names = found["feature_names_in_"] = fields.list("feature_names_in_")
        if len(names) != width or not all(isinstance(name, str) for name in names):
            fields.refuse("feature_names_in_", names, f"a list of {width} names")
    return found


def _check_class(stored: Stored) -> None:
    """Whether there is such a class, and it takes these settings."""
    if stored.kind in ("learner", "stream"):
        expected, fixed, taken = stored.class_name if stored.kind == "learner" else "StreamClassifier", set(), set()
    else:
        rule = _rule_of(stored)
        expected = stored.class_name
        river = stored.kind == "river"
        taken = {s.name for s in (stream_settings(rule) if river else _settings_of(rule, expected))}
        fixed = set() if river or stored.learner is None else set(_fixed(rule, expected))
    if stored.class_name != expected:
        raise Refused(f"the model.class must be {expected!r}, got {shown(stored.class_name)}")
    for what, given, wanted in (("settings", stored.settings, taken), ("began", stored.began, fixed)):
        if set(given) != wanted:
            odd = sorted(set(given) ^ wanted)
            raise Refused(f"the model.{what} must be those of {expected}; {', '.join(odd)} is missing or too much")


def _rule_of(stored: Stored) -> Rule:
    """The rule whose class it is."""
    for rule in all_rules():
        names = (rule.estimator,) if stored.kind == "river" else (rule.estimator, rule.kernel_estimator)
        if stored.class_name in names:
            break
    else:
        raise Refused(
            f"the model is a {shown(stored.class_name)}, which there is not; a rule of your own must be declared "
            "before a model that learns by it is loaded"
        )
    if stored.learner is not None:
        recipe = stored.learner.recipe
        with_kernel = stored.class_name == rule.kernel_estimator
        if recipe.rule is not rule or (recipe.for_two is not Learner) != with_kernel:
            raise Refused(f"the model is a {stored.class_name}, but has learned by {recipe.rule.name!r}")
    return rule


def _settings_of(rule: Rule, class_name: str) -> tuple[Any, ...]:
    return kernel_settings(rule) if class_name == rule.kernel_estimator else settings(rule)


def _fixed(rule: Rule, class_name: str) -> list[str]:
    """The settings of an estimator that cannot change once it has begun."""
    free = {*_OF_FIT, *(parameter.name for parameter in rule.parameters)}
    return [setting.name for setting in _settings_of(rule, class_name) if setting.name not in free]


def _stream(learner: ClassLearner) -> Any:
    from scwlearn.stream import StreamClassifier

    stream = object.__new__(StreamClassifier)
    stream._learner = learner
    return stream
