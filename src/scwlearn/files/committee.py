"""Committees as parts of a model file: a Gaussian for each member, their scale, and their mixture."""

from __future__ import annotations

from typing import Any

from scwlearn.files.codec import FLOAT64, LARGEST, ArrayReader, Arrays, check_range
from scwlearn.files.gaussian import decode_gaussian, encode_gaussian
from scwlearn.files.json_reader import MAX_COUNT, InvalidModelFile, JsonObject
from scwlearn.files.learner import check_curve, decode_counters
from scwlearn.files.vocabulary import decode_scale, decode_vocabulary, encode_scale, encode_vocabulary
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.committee.models import Models
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.mixture import Mixture

_MIXTURE = "mixture"


def encode_committee_state(committee: Committee, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays to `arrays` and return the JSON metadata."""
    models = None
    if committee.model is not None:
        models = []
        for number, gaussian in enumerate(committee.model.gaussians):
            own: Arrays = {}
            models.append(encode_gaussian(gaussian, own))
            arrays |= {f"member_{number}.{name}": array for name, array in own.items()}
    if committee.running_scale is not None:
        encode_scale(committee.running_scale, arrays)
    arrays[_MIXTURE] = committee.mixture.state
    names = None if models is None else committee.vocabulary
    return {
        "counters": committee._tally.tolist(),
        "models": models,
        "vocabulary": None if names is None else encode_vocabulary(names, arrays),
    }


def decode_committee_state(
    config: CommitteeConfig, n_classes: int | None, fields: JsonObject, arrays: ArrayReader
) -> Committee:
    """Return a committee with what it has learned."""
    # With few classes, because a mixture of n_classes would be allocated at once.
    committee = Committee.from_config(config, None if n_classes is None else 0)
    committee._tally, models = decode_counters(fields), fields.value("models")
    vocabulary = fields.optional_object("vocabulary")
    fields.finish()
    if models is not None:
        committee.model = _decode_models(committee, models, fields.path, arrays)
        if vocabulary is not None:
            limits = {"max_features": config.max_features, "hashed": config.overflow == "hash"}
            committee.vocabulary = decode_vocabulary(vocabulary, arrays, committee.n_features or 0, **limits)
        if committee.running_scale is not None:
            decode_scale(committee.running_scale, arrays, committee.n_features)
    elif vocabulary is not None:
        raise InvalidModelFile(f"{fields.path}: there are feature names, but no models")
    if n_classes is not None:
        committee._classes = n_classes
    committee.mixture = _decode_mixture(committee, arrays)
    return committee


def _decode_models(committee: Committee, models: Any, path: str, arrays: ArrayReader) -> Models:
    configs = committee.config.member_configs
    if not isinstance(models, list) or len(models) != len(configs):
        raise InvalidModelFile(f"{path}.models must be a list of {len(configs)} models, one for each member")
    gaussians: list[Gaussian] = []
    for number, (config, model) in enumerate(zip(configs, models, strict=True)):
        own, where = arrays.part(f"member_{number}."), f"{path}.models[{number}]"
        gaussian = decode_gaussian(JsonObject(model, where), own, config, binary=committee.is_binary)
        own.finish()
        first = gaussians[0] if gaussians else gaussian
        if (gaussian.size, gaussian.classes) != (first.size, first.classes):
            raise InvalidModelFile(f"{where} must have as many weights and classes as the first member")
        if gaussian.size < committee.config.intercept:
            raise InvalidModelFile(f"{where} has no weight for the intercept")
        gaussians.append(gaussian)
    return Models(tuple(gaussians))


def _decode_mixture(committee: Committee, arrays: ArrayReader) -> Mixture:
    members = len(committee.config.member_configs)
    state = arrays.take(_MIXTURE, FLOAT64, (None,))
    mixture = Mixture(members)
    if not committee.is_binary:
        one, two = len(mixture.state), len(Mixture(members, 2).state)
        classes = max(2, committee._known_classes())
        # Check the length first: a forged file must not make us allocate a huge mixture.
        if len(state) != one + (classes - 1) * (two - one):
            raise InvalidModelFile(f"array {_MIXTURE!r} does not fit {classes} classes")
        mixture = Mixture(members, classes)
    if state.shape != mixture.state.shape:
        raise InvalidModelFile(f"array {_MIXTURE!r} must have {len(mixture.state)} numbers, got {len(state)}")
    check_range(_MIXTURE, state, -LARGEST, LARGEST, "value must be finite")
    curves = mixture.own_entries
    check_range(_MIXTURE, state, 0, LARGEST, "weight of all rows must be >= 0", slice(curves - 2, curves - 1))
    rows = float(state[curves - 1])
    if not (0 <= rows <= MAX_COUNT and rows.is_integer()):
        raise InvalidModelFile(f"{_MIXTURE}[{curves - 1}]: row count must be an integer >= 0, got {rows}")
    for start in range(curves, len(state), (len(state) - curves) // members):
        check_curve(_MIXTURE, state, start)
    mixture.state = state
    return mixture
