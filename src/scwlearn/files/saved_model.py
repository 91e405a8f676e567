"""Contents of a model file: the kind of model, its settings, what it has learned, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scwlearn import __version__
from scwlearn.files.bare import BARE, bare_from_parts, bare_to_parts
from scwlearn.files.classes import class_learner_from_parts, class_learner_to_parts
from scwlearn.files.codec import ArrayReader, Arrays, decode_settings, encode_settings
from scwlearn.files.json_reader import InvalidModelFile, JsonObject, shorten
from scwlearn.files.learners import made, rule_name
from scwlearn.learning.classifier import ClassLearner
from scwlearn.learning.learner import Learner
from scwlearn.learning.multi_learner import MultiLearner
from scwlearn.learning.settings import kernel_settings, settings, stream_settings
from scwlearn.rules import Rule, all_rules

#: A scikit-learn estimator, a `StreamClassifier`, a class of `scwlearn.river`, or a learner itself.
KINDS = ("estimator", "stream", "river", "learner")

# Settings of `fit` that are not part of the model.
_FIT_SETTINGS = ("n_epochs", "shuffle", "random_state")


@dataclass
class SavedModel:
    """Contents of a model file. Reading and writing them needs neither scikit-learn nor River.

    Attributes
    ----------
    kind : {"estimator", "stream", "river", "learner"}
        Whether the model is a scikit-learn estimator, a `StreamClassifier`, a class of `scwlearn.river` or a learner.
    class_name : str
        Name of the class.
    learner : object
        What has been learned; None for an unfitted estimator.
    settings : dict
        Arguments of the constructor of an estimator or of a class of `scwlearn.river`.
    attributes : dict
        ``n_features_in_``, and ``feature_names_in_`` if there are names, of a fitted estimator.
    fixed_settings : dict
        Settings that cannot change after the first fit, as they were then, of a fitted estimator.
    notes : dict
        JSON values that were saved with the model.
    library : str
        Version of scwlearn that wrote the file.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> from scwlearn.files import SavedModel
    >>> saved = SavedModel.from_model(StreamClassifier("arow", r=2.0))
    >>> saved.kind, saved.learner.recipe.parameters
    ('stream', {'r': 2.0})
    """

    kind: str
    class_name: str
    learner: Any
    settings: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    fixed_settings: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    library: str = __version__

    @classmethod
    def from_model(cls, model: Any, notes: Mapping[str, Any] | None = None) -> SavedModel:
        """Return the contents of a file for a model; nothing is copied.

        Parameters
        ----------
        model : estimator, StreamClassifier, learner, or a class of scwlearn.river
            The model, fitted or not.
        notes : dict, optional
            JSON values to save with it.

        Returns
        -------
        SavedModel
            The contents, from which `to_model` makes an equal model.

        Raises
        ------
        TypeError
            If a model of this class cannot be saved.
        """
        own = type(model).__module__.startswith("scwlearn.")
        module, name, rule = type(model).__module__, type(model).__name__, getattr(type(model), "_rule", None)
        if own and name in BARE:
            saved = cls("learner", name, model)
        elif own and name == "StreamClassifier":
            saved = cls("stream", name, model._learner)
        elif isinstance(rule, Rule) and module == "scwlearn.river":
            given = {setting.name: getattr(model, setting.name) for setting in stream_settings(rule)}
            saved = cls("river", name, model._model._learner, given)
        elif isinstance(rule, Rule) and module == "scwlearn.estimators":
            given = {setting.name: getattr(model, setting.name) for setting in _estimator_settings(rule, name)}
            saved = cls("estimator", name, None, given)
            if model.__sklearn_is_fitted__():
                saved.learner = model._learner
                saved.attributes["n_features_in_"] = int(model.n_features_in_)
                if hasattr(model, "feature_names_in_"):
                    saved.attributes["feature_names_in_"] = model.feature_names_in_.tolist()
                saved.fixed_settings = {setting: model._began[setting] for setting in _fixed_settings(rule, name)}
        else:
            raise TypeError(
                f"{module}.{name} cannot be saved; only scwlearn's own estimators, streams, learners and River classes "
                "can, not their subclasses"
            )
        if isinstance(rule, Rule):
            rule_name(rule)
        saved.notes = dict(notes or {})
        return saved

    @classmethod
    def from_learner(
        cls, learner: ClassLearner, notes: Mapping[str, Any] | None = None, **fit_settings: Any
    ) -> SavedModel:
        """Return the contents of a file for what a linear learner has learned.

        The model is a `StreamClassifier` if features have names, else an estimator with these settings of `fit`.
        """
        inner, recipe = learner.learner, learner.recipe
        if getattr(inner, "vocabulary", None) is not None:
            return cls("stream", "StreamClassifier", learner, notes=dict(notes or {}))
        known = recipe.parameters | recipe.how | recipe.how_several | fit_settings
        known["class_weight"] = learner.class_weights.given
        if "intercept" in recipe.how:
            known["fit_intercept"] = recipe.how["intercept"]
        name = recipe.rule.estimator
        given = {setting.name: known.get(setting.name, setting.default) for setting in settings(recipe.rule)}
        fixed = {setting: given[setting] for setting in _fixed_settings(recipe.rule, name)}
        attributes = {"n_features_in_": inner.n_features or 0}
        return cls("estimator", name, learner, given, attributes, fixed, dict(notes or {}))

    def to_model(self) -> Any:
        """Return the model. Estimators need scikit-learn, and classes of `scwlearn.river` need River."""
        if self.kind == "learner":
            return self.learner
        if self.kind == "stream":
            return _stream(self.learner)
        if self.kind == "river":
            from scwlearn import river

            model = made(getattr(river, self.class_name), **self.settings)
            model._model = _stream(self.learner)
            return model
        from scwlearn import estimators

        model = made(getattr(estimators, self.class_name), **self.settings)
        if self.learner is not None:
            model._learner, model._began = self.learner, dict(self.fixed_settings)
            model.n_features_in_ = self.attributes["n_features_in_"]
            if "feature_names_in_" in self.attributes:
                model.feature_names_in_ = np.array(self.attributes["feature_names_in_"], dtype=object)
        return model


def encode(saved: SavedModel) -> tuple[dict[str, Any], Arrays]:
    """Return the JSON metadata and the arrays of a file."""
    arrays: Arrays = {}
    learned: dict[str, Any] | None = None
    if isinstance(saved.learner, ClassLearner):
        learned = class_learner_to_parts(saved.learner, arrays)
    elif saved.learner is not None:
        learned = bare_to_parts(saved.learner, arrays)
    metadata = {
        "kind": saved.kind,
        "class": saved.class_name,
        "settings": encode_settings(saved.settings),
        "attributes": saved.attributes,
        "began": encode_settings(saved.fixed_settings),
        "learner": learned,
        "notes": saved.notes,
    }
    return metadata, arrays


def decode(metadata: Any, arrays: Mapping[str, Any], library: str = __version__) -> SavedModel:
    """Return the contents of a file from untrusted metadata and arrays."""
    fields, reader = JsonObject(metadata, "model"), ArrayReader(arrays)
    kind, name = fields.one_of("kind", KINDS), fields.text("class")
    given, fixed = decode_settings(fields, "settings"), decode_settings(fields, "began")
    attributes, notes = fields.document("attributes"), fields.fields("notes")
    learned = fields.document_or_none("learner")
    fields.end()
    if learned is None and kind != "estimator":
        raise InvalidModelFile("model.learner is missing")
    learner: Any = None
    if learned is not None:
        learner = (
            bare_from_parts(name, learned, reader) if kind == "learner" else class_learner_from_parts(learned, reader)
        )
    reader.end()
    saved = SavedModel(kind, name, learner, given, {}, fixed, notes, library)
    if kind == "estimator" and learner is not None:
        saved.attributes = _decode_attributes(learner, attributes)
    attributes.end()
    _check_class(saved)
    return saved


def _decode_attributes(learner: ClassLearner, fields: JsonObject) -> dict[str, Any]:
    width = fields.whole("n_features_in_")
    attributes: dict[str, Any] = {"n_features_in_": width}
    inner: Any = learner.learner
    known = inner.n_features if isinstance(inner, Learner | MultiLearner) else inner.model.n_features
    if known not in (None, width):
        fields.refuse("n_features_in_", width, f"{known}, the number of features of the learner")
    if fields.has("feature_names_in_"):
        names = attributes["feature_names_in_"] = fields.list("feature_names_in_")
        if len(names) != width or not all(isinstance(name, str) for name in names):
            fields.refuse("feature_names_in_", names, f"a list of {width} strings")
    return attributes


def _check_class(saved: SavedModel) -> None:
    """Check that the class exists, has learned by its own rule, and takes these settings."""
    name = saved.class_name
    expected: dict[str, set[str]] = {"settings": set(), "fixed_settings": set()}
    if saved.kind == "stream" and name != "StreamClassifier":
        raise InvalidModelFile(f"model.class must be 'StreamClassifier', got {shorten(name)}")
    if saved.kind in ("estimator", "river"):
        rule = _rule_of(saved)
        declared = stream_settings(rule) if saved.kind == "river" else _estimator_settings(rule, name)
        expected["settings"] = {setting.name for setting in declared}
        if saved.kind == "estimator" and saved.learner is not None:
            expected["fixed_settings"] = set(_fixed_settings(rule, name))
    for part, names in expected.items():
        check_names(getattr(saved, part), names, f"model.{part}")


def check_names(given: Mapping[str, Any], expected: set[str], what: str) -> None:
    """Refuse settings that are missing or unexpected."""
    problems = []
    if missing := sorted(expected - set(given)):
        problems.append(f"missing settings: {', '.join(missing)}")
    if unexpected := sorted(set(given) - expected):
        problems.append(f"unexpected settings: {', '.join(map(shorten, unexpected))}")
    if problems:
        raise InvalidModelFile(f"{what}: {'; '.join(problems)}")


def _rule_of(saved: SavedModel) -> Rule:
    """Return the rule of an estimator or River class."""
    for rule in all_rules():
        names = (rule.estimator,) if saved.kind == "river" else (rule.estimator, rule.kernel_estimator)
        if saved.class_name in names:
            break
    else:
        raise InvalidModelFile(
            f"unknown class {shorten(saved.class_name)}; declare a rule of your own before loading its models"
        )
    if saved.learner is not None:
        recipe = saved.learner.recipe
        with_kernel = saved.class_name == rule.kernel_estimator
        if recipe.rule is not rule or (recipe.for_two is not Learner) != with_kernel:
            raise InvalidModelFile(
                f"model.class is {saved.class_name!r}, but the learner's rule is {recipe.rule.name!r}"
            )
    return rule


def _estimator_settings(rule: Rule, class_name: str) -> tuple[Any, ...]:
    return kernel_settings(rule) if class_name == rule.kernel_estimator else settings(rule)


def _fixed_settings(rule: Rule, class_name: str) -> list[str]:
    """Return the names of the settings of an estimator that cannot change after its first fit."""
    free = {*_FIT_SETTINGS, *(parameter.name for parameter in rule.parameters)}
    return [setting.name for setting in _estimator_settings(rule, class_name) if setting.name not in free]


def _stream(learner: ClassLearner) -> Any:
    from scwlearn.stream import StreamClassifier

    stream = object.__new__(StreamClassifier)
    stream._learner = learner
    return stream
