"""Contents of a model file: the kind of model, its settings, what it has learned, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Annotated, Any, Literal

from scwlearn import __version__
from scwlearn._util.json_fields import IGNORE_UNKNOWN, Count, Name, shorten, to_json
from scwlearn.data.run_record import Made, Record
from scwlearn.data.schema import Schema
from scwlearn.files.codec import ArrayReader, Arrays, StoredSettings, decode_settings, encode_settings
from scwlearn.files.json_reader import InvalidModelFile, read_fields, reject
from scwlearn.files.learner import (
    StoredClassifier,
    StoredLearner,
    construct,
    decode_classifier,
    decode_learner,
    encode_classifier,
    encode_learner,
    encode_rule,
)
from scwlearn.files.settings import check_settings, complete_settings
from scwlearn.learning.about import About
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.settings import FEATURES, Argument, Face, arguments_for, settings_for
from scwlearn.rules import AUTO, Rule, all_rules

#: A scikit-learn estimator, a `StreamClassifier`, a class of `scwlearn.river`, or a learner itself.
Kind = Literal["estimator", "stream", "river", "learner"]

# Imported when a model is restored: each class knows how, by `_restore`.
_HOMES = {"estimator": "scwlearn.estimators", "stream": "scwlearn.stream", "river": "scwlearn.river"}

_LEARNERS = ("Learner", "KernelLearner")


@dataclass(frozen=True)
class _StoredAttributes:
    """The JSON of the attributes of a fitted estimator."""

    n_features_in_: Count | None = None
    feature_names_in_: list[str] | None = None


@dataclass(frozen=True)
class _StoredModel:
    """The JSON of a model file."""

    kind: Kind
    class_name: Annotated[str, Name("class")]
    settings: StoredSettings
    fixed_settings: StoredSettings
    attributes: _StoredAttributes
    learner: StoredLearner | None
    classifier: StoredClassifier | None
    notes: dict[str, Any]
    schema: Schema | None = None
    record: Annotated[Record, IGNORE_UNKNOWN] | None = None
    made: Made | None = None
    batch: Count | None = None


@dataclass(eq=False)
class SavedModel:
    """Contents of a model file. Reading and writing them needs neither scikit-learn nor River.

    Attributes
    ----------
    kind : {"estimator", "stream", "river", "learner"}
        Whether the model is a scikit-learn estimator, a `StreamClassifier`, a class of `scwlearn.river` or a learner.
    class_name : str
        Name of the class.
    learner : Classifier, Learner or KernelLearner
        What has been learned: a learner for the kind "learner", else a classifier; None for an unfitted estimator.
    settings : dict
        Arguments of the constructor of an estimator or of a class of `scwlearn.river`.
    attributes : dict
        ``n_features_in_``, and ``feature_names_in_`` if there are names, of a fitted estimator.
    fixed_settings : dict
        Settings that cannot change after the first fit, as they were then, of a fitted estimator.
    notes : dict
        JSON values that were saved with the model.
    schema : Schema or None
        How `scwlearn train` read its data; later data is read in the same way.
    record : Record or None
        The record of the training run, which a report shows.
    made : Made or None
        How the model was made from others.
    batch : int or None
        Number of the last micro-batch that a streaming query has learned.
    library : str
        Version of scwlearn that wrote the file.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> from scwlearn.files import SavedModel
    >>> saved = SavedModel.from_model(StreamClassifier("arow", r=2.0))
    >>> saved.kind, saved.learner.config.parameters
    ('stream', {'r': 2.0})
    """

    kind: Kind
    class_name: str
    learner: Any
    settings: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    fixed_settings: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    record: Record | None = None
    made: Made | None = None
    batch: int | None = None
    library: str = __version__

    @classmethod
    def from_model(cls, model: Any, notes: Mapping[str, Any] | None = None) -> SavedModel:
        """Return the contents of a file for a model; nothing is copied.

        Parameters
        ----------
        model : estimator, StreamClassifier, learner, or a class of scwlearn.river
            The model, fitted or not.
        notes : dict, optional
            JSON values to save with it; None: those of the file that it was loaded from.

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
        if own and name in _LEARNERS:
            saved = cls("learner", name, model)
        elif own and name == "StreamClassifier":
            saved = cls("stream", name, model._classifier)
        elif isinstance(rule, Rule) and module == "scwlearn.river":
            saved = cls("river", name, model._model._classifier, _given(model, Face.RIVER, rule))
        elif isinstance(rule, Rule) and module == "scwlearn.estimators":
            saved = cls("estimator", name, None, _given(model, model._face, rule))
            if model.__sklearn_is_fitted__():
                saved.learner = model._current_classifier
                saved.attributes["n_features_in_"] = int(model.n_features_in_)
                if hasattr(model, "feature_names_in_"):
                    saved.attributes["feature_names_in_"] = model.feature_names_in_.tolist()
                saved.fixed_settings = dict(model._started_with)
        elif own and (part := getattr(type(model), "_part_to_save", None)):
            raise TypeError(f"a {name} cannot be saved; save its {part}")
        else:
            raise TypeError(
                f"{module}.{name} cannot be saved; only scwlearn's own estimators, streams, learners and River classes "
                "can, not their subclasses"
            )
        if isinstance(rule, Rule):
            encode_rule(rule)
        about: About | None = getattr(model, "_about", None) if saved.learner is None else saved.learner.about
        if about is not None:
            saved.notes, saved.schema = dict(about.notes), about.schema
            saved.made, saved.batch = about.made, about.batch
            if saved.learner is not None and about.counts == saved.learner.counts:
                saved.record = about.record
        if notes is not None:
            saved.notes = _checked_notes(notes)
        return saved

    @classmethod
    def from_classifier(
        cls, classifier: Classifier, notes: Mapping[str, Any] | None = None, **fit_settings: Any
    ) -> SavedModel:
        """Return the contents of a file for a linear classifier.

        Parameters
        ----------
        classifier : Classifier
            What has been learned. It becomes a `StreamClassifier` if its features have names, else an estimator.
        notes : dict, optional
            JSON values to save with it.
        **fit_settings
            Settings of `fit` of the estimator; their defaults if not given.

        Returns
        -------
        SavedModel
            The contents.
        """
        config, learner, face = classifier.config, classifier.learner, Face.ESTIMATOR
        if learner.vocabulary is not None:
            return cls("stream", "StreamClassifier", classifier, notes=_checked_notes(notes))
        assert isinstance(config.rule, Rule)
        known = {**config.settings, **fit_settings, "class_weight": classifier.class_weights.given}
        known["costs"] = None if classifier.costs is None else classifier.costs.given
        values = [(s, known.get(s.name, s.default)) for s in settings_for(face, config.rule) if s.of_model]
        saved = cls("estimator", config.rule.estimator, classifier, notes=_checked_notes(notes))
        saved.settings = config.parameters | {s.name_in(face): value for s, value in values}
        saved.fixed_settings = {s.name_in(face): value for s, value in values if not s.mutable}
        saved.attributes["n_features_in_"] = learner.n_features or 0
        return saved

    def continued(self, classifier: Classifier) -> SavedModel:
        """Return these contents after their classifier has learned more.

        Parameters
        ----------
        classifier : Classifier
            The classifier, of the same rule and settings; its parameters may differ.

        Returns
        -------
        SavedModel
            The contents, with the same class, settings and notes. Names of columns are dropped if there are more now,
            and an untrained stream that has learned from numbered features becomes an estimator.
        """
        if self.kind != "estimator" and classifier.is_fitted and classifier.learner.vocabulary is None:
            # It was untrained, and streams learn from names only.
            other = SavedModel.from_classifier(classifier, self.notes)
            return replace(other, schema=self.schema, record=self.record, made=self.made, batch=self.batch)
        settings, attributes, width = self.settings, self.attributes, classifier.learner.n_features
        if self.kind in ("estimator", "river"):
            settings = settings | classifier.config.parameters
        if width is not None and attributes.get("n_features_in_", width) != width:
            attributes = {"n_features_in_": width}
        return replace(self, learner=classifier, settings=settings, attributes=attributes)

    def to_model(self) -> Any:
        """Return the model.

        Returns
        -------
        object
            An object of the class that was saved. Estimators need scikit-learn, classes of `scwlearn.river` need River.

        Raises
        ------
        InvalidModelFile
            If the class does not accept the settings. A ValueError.
        """
        own = self.notes, self.schema, self.made, self.record, self.batch
        counts = None if self.learner is None else self.learner.counts
        # The first micro-batch has the number 0.
        about = None if own == ({}, None, None, None, None) else About(*own, counts)
        if self.learner is not None:
            self.learner.about = about
        if self.kind == "learner":
            return self.learner
        model = construct(getattr(import_module(_HOMES[self.kind]), self.class_name)._restore, self)
        if self.learner is None and about is not None:
            # An estimator that is not fitted has nothing else that could keep it.
            model._about = about
        return model


def encode(saved: SavedModel) -> tuple[dict[str, Any], Arrays]:
    """Return the JSON metadata and the arrays of a file."""
    arrays: Arrays = {}
    classifier = saved.learner if isinstance(saved.learner, Classifier) else None
    learner = saved.learner if classifier is None else classifier.learner
    stored = _StoredModel(
        kind=saved.kind,
        class_name=saved.class_name,
        settings=encode_settings(saved.settings),
        fixed_settings=encode_settings(saved.fixed_settings),
        attributes=_StoredAttributes(**saved.attributes),
        learner=None if learner is None else encode_learner(learner, arrays),
        classifier=None if classifier is None else encode_classifier(classifier, arrays),
        notes=saved.notes,
        schema=saved.schema,
        record=saved.record,
        made=saved.made,
        batch=saved.batch,
    )
    return to_json(stored, defaults=False), arrays


def decode(metadata: Any, arrays: Mapping[str, Any], library: str = __version__) -> SavedModel:
    """Return the contents of a file from untrusted metadata and arrays."""
    stored, reader = read_fields(_StoredModel, metadata, "model"), ArrayReader(arrays)
    learner, classifier = stored.learner, stored.classifier
    if learner is None and stored.kind != "estimator":
        raise InvalidModelFile("model.learner is missing")
    if (classifier is not None) != (learner is not None and stored.kind != "learner"):
        raise InvalidModelFile("model.classifier must be there if and only if a classifier has been fitted")
    learned = None if learner is None else decode_learner(learner, "model.learner", reader)
    if classifier is not None:
        learned = decode_classifier(learned, classifier, "model.classifier", reader)
    reader.finish()
    saved = SavedModel(
        kind=stored.kind,
        class_name=stored.class_name,
        learner=learned,
        settings=decode_settings(stored.settings, "model.settings"),
        attributes=_decode_attributes(stored, learned),
        fixed_settings=decode_settings(stored.fixed_settings, "model.fixed_settings"),
        notes=stored.notes,
        schema=_decode_schema(stored.schema, learned),
        record=stored.record,
        made=stored.made,
        batch=stored.batch,
        library=library,
    )
    _complete(saved)
    return saved


def _decode_attributes(stored: _StoredModel, learned: Any) -> dict[str, Any]:
    path, width, names = "model.attributes", stored.attributes.n_features_in_, stored.attributes.feature_names_in_
    if stored.kind != "estimator" or learned is None:
        if stored.attributes != _StoredAttributes():
            raise InvalidModelFile(f"{path} must be empty unless the model is a fitted estimator")
        return {}
    if width is None:
        raise InvalidModelFile(f"{path}.n_features_in_ is missing")
    known = learned.learner.n_features
    if known not in (None, width):
        reject(f"{path}.n_features_in_", width, f"{known}, the number of features of the learner")
    if names is None:
        return {"n_features_in_": width}
    if len(names) != width:
        reject(f"{path}.feature_names_in_", names, f"a list of {width} strings")
    return {"n_features_in_": width, "feature_names_in_": names}


def _checked_notes(notes: Mapping[str, Any] | None) -> dict[str, Any]:
    if notes is None:
        return {}
    if not isinstance(notes, Mapping) or not all(isinstance(name, str) for name in notes):
        raise TypeError(f"notes must be a dict whose keys are strings, got {shorten(notes)}")
    return dict(notes)


def _decode_schema(schema: Schema | None, learned: Any) -> Schema | None:
    """Return the schema with the features of the model."""
    if schema is None:
        return None
    if not isinstance(learned, Classifier):
        raise InvalidModelFile("model.schema must be missing unless a classifier has been fitted")
    return schema.fixed(learned.features)


def _complete(saved: SavedModel) -> None:
    """Check that the class exists and has learned by its own rule, and complete its settings."""
    settings: dict[str, Any] = {}
    fixed: dict[str, Any] = {}
    required: list[str] = []
    if saved.kind in ("estimator", "river"):
        rule, face = _rule_of(saved)
        settings = {argument.name: argument.default for argument in _saved_arguments(face, rule)}
        required = [parameter.name for parameter in rule.parameters]
        if saved.attributes:
            fixed = {s.name_in(face): s.default_in(face, rule) for s in settings_for(face, rule) if not s.mutable}
    else:
        expected = "StreamClassifier" if saved.kind == "stream" else type(saved.learner).__name__
        if saved.class_name != expected:
            raise InvalidModelFile(f"model.class must be {expected!r}, got {shorten(saved.class_name)}")
    saved.settings = complete_settings(saved.settings, settings, "model.settings", required)
    saved.fixed_settings = complete_settings(saved.fixed_settings, fixed, "model.fixed_settings")
    if settings:
        check_settings(saved.settings, face, rule, "model.settings")
        check_settings(saved.fixed_settings, face, rule, "model.fixed_settings")


def _rule_of(saved: SavedModel) -> tuple[Rule, Face]:
    """Return the rule of an estimator or River class, and its interface."""
    for rule in (AUTO, *all_rules()):
        faces = {rule.estimator: Face.RIVER if saved.kind == "river" else Face.ESTIMATOR}
        if saved.kind == "estimator" and not rule.is_committee:
            faces[rule.kernel_estimator] = Face.KERNEL_ESTIMATOR
        if saved.class_name in faces:
            break
    else:
        raise InvalidModelFile(
            f"unknown class {shorten(saved.class_name)}; declare a rule of your own before loading its models"
        )
    face = faces[saved.class_name]
    if saved.learner is not None:
        config = saved.learner.config
        with_kernel = face is Face.KERNEL_ESTIMATOR
        if config.rule is not rule or (config.face is Face.KERNEL_LEARNER) != with_kernel:
            raise InvalidModelFile(
                f"model.class is {saved.class_name!r}, but the learner's rule is {config.rule.name!r}"
            )
    return rule, face


def _given(model: Any, face: Face, rule: Rule) -> dict[str, Any]:
    return {argument.name: getattr(model, argument.name) for argument in _saved_arguments(face, rule)}


def _saved_arguments(face: Face, rule: Rule) -> list[Argument]:
    """Return the arguments of a class that a model file contains."""
    # Features are saved with the classifier.
    left_out = {FEATURES.name, *(setting.name_in(face) for setting in settings_for(face, rule) if not setting.of_model)}
    return [argument for argument in arguments_for(face, rule) if argument.name not in left_out]
