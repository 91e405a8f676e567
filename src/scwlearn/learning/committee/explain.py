"""What the features of an example add to the mixed log-odds of a committee, and its largest weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_SIGNAL, NO_LIMIT, SUREST_LOGIT
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.committee.members import member_snapshots
from scwlearn.learning.explain import INTERCEPT, NamedWeights, Part, named_weights, parts_of_dict, parts_of_row
from scwlearn.model.calibration import Calibration
from scwlearn.model.snapshot import Snapshot

Array = NDArray[np.float64]


def committee_parts(
    snapshot: Snapshot,
    parts: Sequence[Mapping[Any, Sequence[Part]]],
    looks: Sequence[tuple[Array, float]],
    values: Mapping[int, float],
    names: Mapping[int, Any],
) -> dict[Any, list[Part]]:
    """Return what each feature of an example adds to the mixed score of each class.

    The log-odds of a member are nearly proportional to its score, so a feature adds its part of the score times the
    slope there. What the curve of a calibration leaves over belongs to the intercept.

    Parameters
    ----------
    snapshot : Snapshot
        The committee.
    parts : list of dict
        For each member, what the features add to its own scores. They are called by their numbers, as a feature may
        have the name of the intercept.
    looks : list of pairs
        For each member, the scores of the example (an array of one in the binary case) and their variance.
    values, names : dict
        The values of the example, before scaling, and the names of the features, by number.
    """
    mixture = snapshot.learner.mixture
    scores, variances = [look[0] for look in looks], [np.array([look[1]]) for look in looks]
    shape = (1,) if snapshot.is_binary else (1, -1)
    mixed = mixture.mix([score.reshape(shape) for score in scores], variances).reshape(-1)
    by_label = dict(zip(snapshot.class_labels(), snapshot.by_label(mixed[:, np.newaxis])[:, 0].tolist(), strict=True))
    slopes = [
        float(weight) * _slope(calibration, score, variance)
        for weight, calibration, (score, variance) in zip(mixture.weights, mixture.calibrations, looks, strict=True)
    ]
    return {
        label: _combined([own[label] for own in parts], slopes, by_label[label], values, names)
        for label in snapshot.class_labels()
    }


def _combined(
    members: Sequence[Sequence[Part]],
    slopes: Sequence[float],
    total: float,
    values: Mapping[int, float],
    names: Mapping[int, Any],
) -> list[Part]:
    adds: dict[int, float] = {}
    for parts, slope in zip(members, slopes, strict=True):
        for part in parts:
            if part.name != INTERCEPT:
                # What a member without a say adds may have overflowed.
                adds[part.name] = adds.get(part.name, 0.0) + (slope * part.adds if slope else 0.0)
    by_size = sorted(adds.items(), key=lambda item: -abs(item[1]))
    rest = total - math.fsum(adds.values())
    found = []
    for number, add in by_size:
        value = values.get(number, 0.0)
        found.append(Part(names[number], value, add / value if value else math.nan, math.nan, add))
    return [*found, Part(INTERCEPT, 1.0, rest, math.nan, rest)]


def _slope(calibration: Calibration, scores: Array, variance: float) -> float:
    """Return the ratio of the log-odds of a member to its scores, at this example."""
    known = np.isfinite(scores)
    is_binary = calibration.n_scores == 1
    is_sound = 0 <= variance < math.inf and bool(known.all() if is_binary else (scores < math.inf).all())
    size = float(np.abs(scores[known]).max(initial=0.0))
    if not is_sound or size == 0:
        # As in the mixture, a member whose numbers overflowed says nothing.
        return 0.0
    if is_binary:
        score = float(scores[0])
        if not any(calibration.slopes):
            return float(_guess(scores, variance)[0]) / score
        ends = [_logit(calibration.probability(at, variance)) for at in (score, 0.0)]
        return (ends[0] - ends[1]) / score
    if any(calibration.slopes):
        p = calibration.probabilities(scores.reshape(1, -1), np.array([variance]))[0, known]
        logs = np.maximum(np.log(p), -SUREST_LOGIT)
    else:
        logs = _guess(scores[known] - scores[known].max(), variance)
    # Relative to their size, so that no square overflows.
    away = scores[known] / size
    away -= away.mean()
    spread = float(away @ away)
    return float(away @ (logs - logs.mean())) / spread / size if spread else 0.0


def _guess(scores: Array, variance: float) -> Array:
    """Return the log-odds of a member whose curve has no slope yet: scores relative to their noise."""
    return np.clip(scores / math.sqrt(1 + variance), -1.0, 1.0)


def _logit(p: float) -> float:
    return min(max(math.log(p / (1 - p)), -SUREST_LOGIT), SUREST_LOGIT)


def typical_weights(committee: Committee) -> Array:
    """Return what a typical value of each feature adds to the mixed log-odds: (classes, features), then the intercept.

    A feature that is scaled by its deviation or size has a typical value of 1.
    """
    mixture = committee.mixture
    model: Any = committee._fitted()
    total: Any = 0.0
    for number, (config, gaussian) in enumerate(zip(committee.config.member_configs, model.gaussians, strict=True)):
        slope = mixture.weights[number] * _usual_slope(mixture.calibrations[number])
        weights = gaussian.shown_weights() * slope
        width = weights.shape[1] - committee.config.intercept
        weights[:, :width] *= _typical_values(committee, config.scale, width)
        total = total + weights
    return np.asarray(total)


def _usual_slope(calibration: Calibration) -> float:
    """Return how much the log-odds of a member change with its score, for scores of the usual size."""
    if not 0 < calibration.limits[0] < NO_LIMIT:
        return 1.0
    noisy, sure = (limit / LARGEST_SIGNAL for limit in calibration.limits)
    a, b = calibration.slopes
    return a + b * sure / noisy


def _typical_values(committee: Committee, kind: str, width: int) -> Array:
    """Return a typical value of each feature, as a member with this scale sees it."""
    scale = committee.running_scale
    if kind == "unit" and scale is not None:
        counts = scale.counts[:width]
        return np.full(width, 1 / math.sqrt(max(1.0, counts.sum() / max(1, committee.counts.seen))))
    if kind != "none" or scale is None:
        return np.ones(width)
    typical = scale.scales[:width]
    return np.where(np.isfinite(typical), typical, 0.0)


def explain_dict(snapshot: Snapshot, x: dict[Any, Any]) -> dict[Any, list[Part]]:
    """Return what the features of a dict add to the score of each class, of a committee or a single learner."""
    committee = snapshot.learner
    if not isinstance(committee, Committee) or committee.model is None:
        return parts_of_dict(snapshot, x)
    members = member_snapshots(snapshot)
    looks = [member.learner.scores_and_variances_many((x,)) for member in members]
    parts = [parts_of_dict(member, x, numbered=True) for member in members]
    shown = named_weights(members[0])
    first = [(scores[0:1].reshape(-1), float(v[0])) for scores, v in looks]
    return committee_parts(snapshot, parts, first, _values_of(shown, x), shown.names)


def _values_of(shown: NamedWeights, x: dict[Any, Any]) -> dict[int, float]:
    """Return the values of the known features of a dict by number, before scaling."""
    features, values, _ = shown.vocabulary.read(x)
    known = {i: shown.names[i] for i in features if i in shown.names}
    signs = dict(zip(known, shown.signs(known).tolist(), strict=True))
    return {i: value * signs[i] for i, value in zip(features, values, strict=True) if i in known}


def explain_row(snapshot: Snapshot, names: Sequence[Any], values: Array) -> dict[Any, list[Part]]:
    """Return what the features of a row add to the score of each class, of a committee or a single learner."""
    if not isinstance(snapshot.learner, Committee):
        return parts_of_row(snapshot, names, values)
    members, row = member_snapshots(snapshot), values[np.newaxis]
    looks = [member.learner.scores_and_top_variances(row) for member in members]
    parts = [parts_of_row(member, range(len(names)), values) for member in members]
    first = [(scores.reshape(-1), float(v[0])) for scores, v in looks]
    return committee_parts(snapshot, parts, first, dict(enumerate(values.tolist())), dict(enumerate(names)))
