"""Several classes that learn jointly, with a Sigma each or one for all, and averaged means, against exact sums.

Before each row, the rule is asked from outside what the step will be, from the weights and variances of the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random

import numpy as np
from numpy.typing import NDArray

from scwlearn import Learner
from scwlearn.model.gaussian import Gaussian
from scwlearn.rules import Rule
from scwlearn.rules.native import native_rule
from stress.hard_streams import draw_hard_rows, draw_mild_parameters, draw_mild_weights
from stress.long_streams import RULES, draw_features, draw_settings
from stress.rounding import ALLOWED, Followed, Growth, Updates, condition
from stress.trial import Trial

Array = NDArray[np.float64]

# Rows between two checks, at most.
_AT_ONCE = 200
# The part of the terms of a margin up to which it may round differently inside and outside.
_CLOSE = 1e-7
# Smaller relative changes of margin and variance are not made (native/core/step.hpp).
_SMALLEST_STEP = 1e-12


class Watched:
    """A learner, the exact sums of its classes, and their averages in extended precision."""

    def __init__(self, learner: Learner, rule: Rule, parameters: Mapping[str, float], size: int, told: str) -> None:
        self.learner, self._told = learner, told
        classes, variance = learner.n_classes or 1, learner.config.initial_variance
        self._shared = learner.config.shared_covariance
        sigmas, means = (1, classes) if self._shared else (classes, 1)
        self._followed = [Followed(size, variance, means, asked=True) for _ in range(sigmas)]
        self._rule, self._growth, self._rounds = native_rule(rule, parameters), Growth(rule, parameters), 0
        self._weights, self._variance = np.zeros((classes, size)), variance
        self._average, self._longest = np.zeros((classes, size), dtype=np.longdouble), 0.0

    @property
    def updates(self) -> int:
        """The updates compared so far."""
        return sum(followed.updates for followed in self._followed)

    @property
    def is_compared(self) -> bool:
        """Whether every Sigma can still be compared."""
        return all(followed.is_compared for followed in self._followed)

    def learn(self, x: Array, labels: NDArray[np.int64], weights: Array | None) -> None:
        """Learn from rows, one by one, and compare."""
        found: list[list[Updates]] = [[] for _ in self._followed]
        worst = np.ones(len(found))
        for i, row in enumerate(x):
            weight = 1.0 if weights is None else float(weights[i])
            for number, update in self._learn_one(row, int(labels[i]), weight).items():
                found[number].append(update)
                worst[number] = max(worst[number], condition(self._model, number))
            self._follow_average()
        for number, (followed, updates) in enumerate(zip(self._followed, found, strict=True)):
            if updates and self.is_compared:
                followed.add(
                    Updates(*map(np.concatenate, zip(*updates, strict=True))), worst[number], self._model, number
                )
        for number, followed in enumerate(self._followed):
            if self.is_compared:
                followed.check(self._model, self._told, number)
        self._check_average()

    @property
    def _model(self) -> Gaussian:
        assert self.learner.model is not None
        return self.learner.model

    def _learn_one(self, x: Array, label: int, weight: float) -> dict[int, Updates]:
        """Learn from a row; return the update of each Sigma."""
        row = np.append(x, np.ones(self._weights.shape[1] - len(x)))
        before, updates, scores = self._weights, self.learner.counts.updates, self._weights @ row
        if self.learner.model is None:
            variances = np.full(len(scores), self._variance * (row @ row))
        else:
            variances = self._model.margin_variances(row[np.newaxis])[0]
        self.learner.learn_one(x, label, weight)
        self._rounds, self._weights = self._rounds + 1, self._model.weights()
        moved = np.flatnonzero((self._weights != before).any(axis=1))
        sign = 1 if self.learner.is_binary else 0
        own, rival = (0, 0) if sign else (label, _rival(scores, label, moved))
        margin = float(label * scores[0] if sign else scores[own] - scores[rival])
        variance = float(variances[0] if sign else variances[own] + variances[rival])
        size = abs(scores[own]) + (0.0 if sign else abs(scores[rival]))
        has_moved, growth = self.learner.counts.updates > updates, self._growth_at(weight)
        alpha, k, shows = self._ask(margin, variance, weight, size)
        if growth[0] == 1.0 and (shows > 1) != has_moved and not 0.5 < shows < 2:
            terms = np.abs(before).max(axis=0) @ np.abs(row) + np.sqrt(variance)
            close = [self._ask(margin + part * terms, variance, weight, size)[2] > 1 for part in (-_CLOSE, _CLOSE)]
            assert has_moved in close, f"a step that should {'not ' * has_moved}have been taken: {self._told}"
        if not has_moved:
            return {}
        if sign:
            return {0: _update(row, k, variances[0], scores, label * np.array([alpha]), growth)}
        parts = np.zeros(len(scores))
        parts[own], parts[rival] = alpha, -alpha
        if self._shared:
            return {0: _update(row, k, variances[0], scores, parts, growth)}
        changed = {own, rival} if growth[0] == 1.0 else {*range(len(scores))}
        return {
            c: _update(row, k * (c in (own, rival)), variances[c], scores[[c]], parts[[c]], growth) for c in changed
        }

    def _ask(self, margin: float, variance: float, weight: float, size: float) -> tuple[float, float, float]:
        """Return alpha and precision of a step, and how large it is; 0 beyond the bounds of docs/numerics.md.

        A step below 1 is not taken; `size` is that of the terms of the margin.
        """
        if not (0 < variance <= 1e305 and abs(margin) <= 1e305):
            return 0.0, 0.0, 0.0
        rows = 2.0 if self._shared else 1.0
        alpha, k, *_ = self._rule.step(margin, variance, 0.0, float(self._rounds), rows, weight)
        if not (abs(alpha) * math.sqrt(variance) <= 1e140 and abs(alpha) <= 1e250):
            return 0.0, 0.0, 0.0
        part_of_margin = abs(alpha) * variance / size if size else math.inf if alpha else 0.0
        return alpha, k, max(part_of_margin, k * variance) / _SMALLEST_STEP

    def _growth_at(self, weight: float) -> Array:
        return self._growth.at(np.array([float(self._rounds)]), np.array([weight]))

    def _follow_average(self) -> None:
        self._average += 3 / np.longdouble(self._rounds + 3) * (self._weights - self._average)
        self._longest = max(self._longest, float(np.abs(self._weights).max()))

    def _check_average(self) -> None:
        if (average := self._model.average) is None:
            return
        found = self._weights - average.lags(self._model.classes)
        bound = ALLOWED * 2.0**-53 * self._rounds * self._longest
        assert np.abs(found - self._average).max() <= bound, f"average of {self._told}"


def _update(row: Array, k: float, variance: float, scores: Array, steps: Array, growth: Array) -> Updates:
    used = row if k or steps.any() else np.zeros_like(row)
    return Updates(used[np.newaxis], np.array([k]), np.array([variance]), scores[np.newaxis], steps[np.newaxis], growth)


def _rival(scores: Array, label: int, moved: NDArray[np.intp]) -> int:
    """Return the class that moved away from the label; without one, that with the largest score."""
    others = [c for c in moved.tolist() if c != label]
    assert len(others) <= 1, "more than two classes moved"
    rest = scores.copy()
    rest[label] = -np.inf
    return others[0] if others else int(rest.argmax())


def _case(random: Random) -> int:
    rule = random.choice(RULES)
    parameters, settings = draw_mild_parameters(random, rule), draw_settings(random) | {"variance_floor": 0.0}
    classes, features = random.choice([None, 2, 3, 5]), draw_features(random)
    settings["average"] = classes is None or random.random() < 0.3
    if classes is not None:
        settings |= {"multi_class": "joint", "shared_covariance": random.random() < 0.5}
    learner = Learner(rule, n_classes=classes, **settings, **parameters)
    told = f"{rule.name} {parameters} {settings}, {features} features, {classes} classes"
    watched = Watched(learner, rule, parameters, features + learner.config.intercept, told)
    rows = 100 if rule.name == "cw" else random.choice([100, 1000, 4000])
    while rows > 0 and watched.is_compared:
        count = min(rows, random.randint(1, _AT_ONCE))
        rows -= count
        x = draw_hard_rows(random, count, features)
        labels = np.random.default_rng(random.getrandbits(64)).integers(0, classes or 2, count)
        watched.learn(x, 2 * labels - 1 if classes is None else labels, draw_mild_weights(random, count))
    return watched.updates


TRIAL = Trial(
    claim="Classes that learn jointly, with a full Sigma each or one for all, and averaged means are exact sums, too",
    unit="updates",
    case=_case,
    quick=8,
    long=3000,
)
