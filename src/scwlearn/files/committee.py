"""Committees as parts of a model file: a Gaussian for each member, their scale, and their mixture."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scwlearn._util.json_fields import MAX_COUNT
from scwlearn.files.codec import FLOAT64, LARGEST, ArrayReader, Arrays, check_range
from scwlearn.files.gaussian import StoredGaussian, decode_gaussian, encode_gaussian
from scwlearn.files.json_reader import InvalidModelFile, read_fields
from scwlearn.files.learner import Counters, check_curve
from scwlearn.files.vocabulary import (
    StoredVocabulary,
    decode_scale,
    decode_vocabulary,
    encode_scale,
    encode_vocabulary,
)
from scwlearn.learning.committee.config import CommitteeConfig
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.committee.models import Models
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.mixture import Mixture

_MIXTURE = "mixture"


class StoredCommittee(NamedTuple):
    """The JSON of what a committee has learned, with a Gaussian for each member."""

    counters: Counters
    models: list[StoredGaussian] | None
    vocabulary: StoredVocabulary | None


def encode_committee_state(committee: Committee, arrays: Arrays) -> StoredCommittee:
    """Add the arrays to `arrays` and return the rest."""
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
    return StoredCommittee(
        counters=committee._tally.tolist(),
        models=models,
        vocabulary=None if names is None else encode_vocabulary(names, arrays),
    )


def decode_committee_state(
    config: CommitteeConfig, n_classes: int | None, fields: dict[str, Any], path: str, arrays: ArrayReader
) -> Committee:
    """Return a committee with what it has learned."""
    # With few classes, because a mixture of n_classes would be allocated at once.
    committee = Committee.from_config(config, None if n_classes is None else 0)
    counters, models, vocabulary = read_fields(StoredCommittee, fields, path)
    committee._tally = np.array(counters, dtype=np.int64)
    if models is not None:
        committee.model = _decode_models(committee, models, f"{path}.models", arrays)
        if vocabulary is not None:
            limits = {"max_features": config.max_features, "hashed": config.overflow == "hash"}
            width, where = committee.n_features or 0, f"{path}.vocabulary"
            committee.vocabulary = decode_vocabulary(vocabulary, where, arrays, width, **limits)
        if committee.running_scale is not None:
            decode_scale(committee.running_scale, arrays, committee.n_features)
    elif vocabulary is not None:
        raise InvalidModelFile(f"{path}.vocabulary: there are feature names, but no models")
    if n_classes is not None:
        committee._classes = n_classes
    committee.mixture = _decode_mixture(committee, arrays)
    return committee


def _decode_models(committee: Committee, models: list[StoredGaussian], path: str, arrays: ArrayReader) -> Models:
    configs = committee.config.member_configs
    if len(models) != len(configs):
        raise InvalidModelFile(f"{path} must be a list of {len(configs)} models, one for each member")
    gaussians: list[Gaussian] = []
    for number, (config, model) in enumerate(zip(configs, models, strict=True)):
        own, where = arrays.part(f"member_{number}."), f"{path}[{number}]"
        gaussian = decode_gaussian(model, where, own, config, binary=committee.is_binary)
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
