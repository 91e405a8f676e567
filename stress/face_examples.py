"""Random models and random examples: records of every kind of value, and rows of numbers."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scwlearn import Features, StreamClassifier
from scwlearn.learning.setting import Face
from scwlearn.learning.settings import settings_for
from scwlearn.rules import AUTO, Rule, all_rules
from stress.hard_streams import draw_mild_parameters

Array = NDArray[np.float64]
Record = dict[str, Any]

_WORDS = ("free", "offer", "Meeting", "you,", "now", "été", "100", "x-ray", 'the "Hague"', "Ulm|Neu", "a;b")
_FEW = ("red", "green", "Köln; Bonn", 'the "Hague"', "deep,blue")


class Records(NamedTuple):
    """Records with labels and, if they differ, weights."""

    values: list[Record]
    labels: list[Any]
    weights: list[float] | None
    #: Whether each value fits into a cell of a table of text.
    is_flat: bool


def draw_rule(random: Random) -> Rule:
    """Return a rule, or the committee."""
    return random.choice([AUTO, AUTO, *all_rules()])


def draw_settings(random: Random, rule: Rule, labels: list[Any], face: Face) -> dict[str, Any]:
    """Return parameters and settings of a classifier, by the names of `StreamClassifier`."""
    choices: dict[str, list[Any]] = {
        "covariance": ["auto", "diagonal", "diagonal", "diagonal-drop", "identity", "full"],
        "initial_variance": [0.1, 3.0],
        "variance_floor": [0.01, 0.5],
        "multi_class": ["ovr"],
        "shared_covariance": [True],
        "rivals": ["uniform", "proportional"],
        "scale": ["rms", "standard", "unit"],
        "average": [True, False],
        "intercept": [False],
        "class_weight": ["balanced", {labels[0]: 0.5, labels[-1]: 3.0}, {labels[0]: 0.0}],
        "costs": [{labels[0]: {labels[-1]: 4.0}}],
        "max_features": [8, 40, 100, 512],
        "overflow": ["hash"],
    }
    applicable = {s.name for s in settings_for(face, rule) if s.applies_to is None or s.applies_to(rule)}
    while True:
        drawn = {name: random.choice(choices[name]) for name in choices if name in applicable and random.random() < 0.3}
        settings = drawn | (draw_mild_parameters(random, rule) if random.random() < 0.6 else {})
        try:
            StreamClassifier(rule, **settings)
        except (ValueError, TypeError):
            continue
        return settings


def draw_features(random: Random, kinds: dict[str, str]) -> Features:
    """Return what the values of records with columns of these kinds mean."""
    if random.random() < 0.4:
        return Features()
    names = [*kinds, "*"]
    declared = {name: "categorical" if kind == "integer" else kind for name, kind in kinds.items()}
    allowed = {"categorical", "text", "date", "ignore"}
    return Features(
        kinds={name: kind for name, kind in declared.items() if kind in allowed and random.random() < 0.7},
        interactions=tuple(tuple(random.choices(names, k=random.randint(2, 3))) for _ in range(random.randint(0, 2))),
        ngram=random.choice([1, 1, 2]),
        skips=random.choice([0, 0, 1]),
        char_ngrams=random.choice([None, None, (2, 3)]),
        lowercase=random.random() < 0.8,
        missing=random.choice([(), (), ("red",)]),
    )


def draw_records(random: Random, classes: int, label_of: Any) -> tuple[Records, dict[str, str]]:
    """Return records and the kind of each column; every record has all columns, in the same order."""
    kinds = {
        f"{random.choice('abc')}{i}": random.choice(
            ["number", "number", "number", "integer", "categorical", "bool", "text", "date", "list"]
        )
        for i in range(random.randint(1, 10))
    }
    missing = {name: random.choice([0.0, 0.0, 0.3, 0.9]) for name in kinds}
    sizes = {name: 10.0 ** random.randint(-3, 3) for name in kinds}
    rows = random.choice([1, 3, 20, 60])
    values: list[Record] = []
    labels: list[Any] = []
    for _ in range(rows):
        known = max(1, min(classes, 2 + len(values) // 8))
        label = random.randrange(known)
        values.append(
            {
                name: None if random.random() < missing[name] else _draw_value(random, kind, sizes[name], label)
                for name, kind in kinds.items()
            }
        )
        labels.append(label_of(label if random.random() < 0.8 else random.randrange(known)))
    weights = [random.choice([1.0, 0.5, 2.0, 0.0]) for _ in range(rows)] if random.random() < 0.3 else None
    if weights is not None:
        weights[0] = 1.0
    return Records(values, labels, weights, "list" not in kinds.values()), kinds


def _draw_value(random: Random, kind: str, size: float, label: int) -> Any:
    if kind == "number":
        return size * (random.gauss(0, 1) + label) if random.random() < 0.9 else 0.0
    if kind == "integer":
        return random.randint(0, 4)
    if kind == "bool":
        return random.random() < 0.5
    if kind == "categorical":
        return random.choice(_FEW) if random.random() < 0.7 else f"rare {random.randrange(40)}"
    if kind == "date":
        date = f"2026-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
        return date if random.random() < 0.5 else f"{date} {random.randint(0, 23):02}:30:00"
    words = [random.choice(_WORDS) if random.random() < 0.8 else f"w{random.randrange(60)}" for _ in range(4)]
    return " ".join(words) if kind == "text" else words


def draw_rows(random: Random, classes: int) -> tuple[Array, NDArray[np.int64], Array | None]:
    """Return rows of numbers with zeros among them, class numbers, and weights or None."""
    numbers = np.random.default_rng(random.getrandbits(64))
    rows, features = random.choice([2, 9, 40, 120]), random.choice([2, 3, 8, 30])
    x = numbers.normal(size=(rows, features)) * (numbers.random((rows, features)) < random.choice([0.3, 0.7, 1.0]))
    # No empty rows, whose scores may be ties.
    x[np.arange(rows), numbers.integers(0, features, rows)] += numbers.uniform(0.5, 1.5, rows)
    x *= 10.0 ** numbers.integers(-3, 4, features) if random.random() < 0.5 else 1.0
    y = (x @ numbers.normal(size=(features, classes)) + numbers.normal(size=(rows, classes))).argmax(axis=1)
    y[: min(rows, classes)] = np.arange(min(rows, classes))
    weights = numbers.choice([0.0, 0.5, 1.0, 2.0], rows) if random.random() < 0.3 else None
    if weights is not None:
        weights[: min(rows, classes)] = 1.0
    return x, y, weights


def cuts(random: Random, rows: int) -> list[slice]:
    """Return random parts, in order, some of which may be empty or single."""
    ends = sorted(random.randint(0, rows) for _ in range(random.randint(0, 4)))
    return [slice(a, b) for a, b in zip([0, *ends], [*ends, rows], strict=True)]
