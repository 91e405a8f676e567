"""Scaled models, committees, one versus rest, and streams of dicts in which features appear late.

Row by row, each full Sigma in them is, bit for bit, that of a binary learner, of which every step can be recorded. It
is compared with the exact sums over these steps, as in long_streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Learner, StreamClassifier
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows
from scwlearn.learning.committee.config import CommitteeConfig, configure
from scwlearn.learning.committee.learner import Committee
from scwlearn.learning.config import LearnerConfig
from scwlearn.model.full import Full
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.scale import RunningScale
from scwlearn.rules import Rule
from stress.hard_streams import draw_hard_rows, draw_mild_parameters, draw_mild_weights
from stress.long_streams import RULES, draw_features, draw_settings
from stress.rounding import Followed, Recorder, worst_condition
from stress.trial import Trial

Array = NDArray[np.float64]

# Columns of the exact sums for features that a model of named features has room for, but has not seen.
_SPARE = 100


@dataclass
class Twin:
    """A binary learner like a member of a committee, or like one of several classes."""

    learner: Learner
    scale: RunningScale | None
    followed: Followed
    recorder: Recorder
    #: The number of the class against the others; None if there are two.
    lane: int | None = None

    def learn(self, x: Array, given: Any, numbers: NDArray[np.int64], weights: Array | None) -> None:
        """Learn from rows, given as the learner takes them, with class numbers."""
        y = np.where(numbers == (1 if self.lane is None else self.lane), 1, -1)
        worst = worst_condition(self.learner, given, y, weights)
        trace = self.learner.trace(given, y, weights=weights)
        seen = x if self.scale is None else self.scale.learn(x).dense()
        rows = np.hstack([seen, np.zeros((len(x), _SPARE)), np.ones((len(x), 1))])
        updates = self.recorder.updates(rows, y, weights, trace)
        self.followed.add(updates, worst, self.model, columns=self._columns())

    def check(self, model: Gaussian, told: str) -> None:
        """Raise an error if a model differs from this one, or this one from the exact sums."""
        lane = self.lane or 0
        assert np.array_equal(model.memory[lane], self.model.memory[0]), f"not its twin: {told}"
        if self.followed.is_compared:
            self.followed.check(model, told, lane, self._columns())

    @property
    def model(self) -> Gaussian:
        """Its model."""
        assert self.learner.model is not None
        return self.learner.model

    def _columns(self) -> NDArray[np.intp]:
        """Return the column of each weight in the rows."""
        names, size = self.learner.names, self.model.size - self.learner.config.intercept
        known = [*range(size)] if names is None else [*names]
        assert self.scale is None or self.scale.width is not None
        unseen = [-2 - number for number in range(size - len(known))]
        return np.array(known + unseen + [-1] * self.learner.config.intercept)


@contextmanager
def row_by_row() -> Iterator[None]:
    """Let models with a full Sigma learn row by row: the last bits depend on the blocks."""
    block = Full.block
    try:
        Full.block = lambda self, size, stored, lanes, joint: 1  # type: ignore[method-assign]
        yield
    finally:
        Full.block = block  # type: ignore[method-assign]


def _draw_config(random: Random) -> LearnerConfig:
    """Return the configuration of a learner or of a committee."""
    settings = draw_settings(random)
    if random.random() < 0.5:
        rule = random.choice(RULES)
        own = draw_mild_parameters(random, rule) | {"scale": random.choice(["none", "rms", "standard", "unit"])}
        return configure(rule, settings | own | {"multi_class": "ovr"})
    variance, floor = settings.pop("initial_variance"), settings.pop("variance_floor")
    members: list[dict[str, Any]] = []
    for rule in random.choices(RULES, k=random.randint(1, 4)):
        own = draw_mild_parameters(random, rule) | {"scale": random.choice(["none", "rms", "standard", "unit"])}
        members.append({"rule": rule.name, "initial_variance": variance, "variance_floor": floor} | own)
    return configure("auto", settings | {"members": members, "multi_class": "ovr"})


def _twins(config: LearnerConfig, features: int, classes: int) -> list[list[Twin]]:
    """Return the twins of each member: one, or one per class."""
    members = config.member_configs if isinstance(config, CommitteeConfig) else (config,)
    return [
        [_twin(member, features, lane) for lane in ([None] if classes == 2 else range(classes))] for member in members
    ]


def _twin(config: LearnerConfig, features: int, lane: int | None) -> Twin:
    assert isinstance(config.rule, Rule)
    followed = Followed(features + _SPARE + 1, config.initial_variance)
    scale = None if config.scale == "none" else RunningScale(config.scale)
    return Twin(Learner.from_config(config), scale, followed, Recorder(config.rule, config.parameters), lane)


def _case(random: Random) -> int:
    config, features, classes = _draw_config(random), draw_features(random), random.choice([2, 2, 3, 5])
    assert isinstance(config.rule, Rule)
    told = f"{config.rule.name} {dict(config.parameters)} {config.settings}, {features} features, {classes} classes"
    twins, named = _twins(config, features, classes), random.random() < 0.5
    if named:
        settings: dict[str, Any] = {**config.settings, **config.parameters}
        stream = StreamClassifier(config.rule, classes=[*range(classes)], **settings)
        learner = stream._classifier.learner
    else:
        kind = Committee if isinstance(config, CommitteeConfig) else Learner
        learner = kind.from_config(config, None if classes == 2 else classes)
    rows = random.choice([100, 1000, 5000])
    with row_by_row():
        while rows > 0:
            count = min(rows, random.choice([1, 20, random.randint(1, 1000)]))
            x, numbers = draw_hard_rows(random, count, features), _draw_numbers(random, count, classes)
            if learner.model is None and not named:
                # The first batch decides about the order of the features in U, by values that are not 0.
                x, numbers, count = np.ones((1, features)), numbers[:1], 1
            rows, weights = rows - count, draw_mild_weights(random, count)
            given: Any = x if random.random() < 0.7 else sparse.csr_array(x)
            if named:
                examples = [{int(i): float(row[i]) for i in np.flatnonzero(row)} for row in x]
                _learn_dicts(random, stream, examples, numbers, weights)
                values, columns = [v for e in examples for v in e.values()], [i for e in examples for i in e]
                ends = np.cumsum([0, *map(len, examples)])
                named_rows = Rows.from_csr(np.array(values, float), np.array(columns, np.int32), ends, features)
                given = NamedRows(named_rows, [*range(features)])
            else:
                learner.learn(given, np.where(numbers == 1, 1, -1) if classes == 2 else numbers, weights=weights)
            if classes > 2 and not named:
                # Classes see no zeros, which changes the order of some sums.
                given = sparse.csr_array(x)
            for member, gaussian in zip(twins, getattr(learner.model, "gaussians", [learner.model]), strict=True):
                for twin in member:
                    twin.learn(x, given, numbers, weights)
                    twin.check(gaussian, told)
    return sum(twin.followed.updates for member in twins for twin in member)


def _draw_numbers(random: Random, rows: int, classes: int) -> NDArray[np.int64]:
    numbers = np.random.default_rng(random.getrandbits(64))
    found: NDArray[np.int64] = numbers.integers(0, classes, rows)
    return found if random.random() < 0.7 else np.resize(np.arange(classes), rows)


def _learn_dicts(
    random: Random, stream: StreamClassifier, examples: list[dict[int, float]], numbers: Any, weights: Array | None
) -> None:
    if random.random() < 0.5:
        stream.learn_many(examples, numbers.tolist(), weights)
        return
    for i, example in enumerate(examples):
        stream.learn_one(example, int(numbers[i]), 1.0 if weights is None else float(weights[i]))


TRIAL = Trial(
    claim="Scaled models, the members of committees, classes against the rest, and streams of dicts with new features "
    "are also the exact sums over their updates",
    unit="updates",
    case=_case,
    quick=4,
    long=2000,
)
