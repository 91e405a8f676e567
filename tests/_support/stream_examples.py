"""Streams of dicts with new names and new classes, and the full state of a stream classifier."""

import numpy as np

from scwlearn import StreamClassifier
from scwlearn.learning.explain import INTERCEPT

# In order of appearance, which is not their sorted order.
LABELS = ("pear", "apple", "quince", "fig", "plum")


SETTINGS = {
    "default": {},
    "scale": {"scale": "rms"},
    "standard": {"scale": "standard"},
    "unit": {"scale": "unit"},
    "drop": {"max_features": 16},
    "hash": {"max_features": 16, "overflow": "hash"},
    "scale-drop": {"scale": "rms", "max_features": 16},
    "scale-hash": {"scale": "rms", "max_features": 16, "overflow": "hash"},
    "standard-drop": {"scale": "standard", "max_features": 16},
    "standard-hash": {"scale": "standard", "max_features": 16, "overflow": "hash"},
    "unit-hash": {"scale": "unit", "max_features": 512, "overflow": "hash"},
    "full": {"covariance": "full"},
    "full-ovr-scale": {"covariance": "full", "multi_class": "ovr", "scale": "rms"},
    "full-standard": {"covariance": "full", "scale": "standard"},
    "ovr": {"multi_class": "ovr"},
    "shared": {"shared_covariance": True},
    "shared-full": {"shared_covariance": True, "covariance": "full", "max_features": 16},
    "by-class": {"class_weight": {"pear": 0.5, "quince": 3.0}},
    "without-figs": {"class_weight": {"fig": 0, "apple": 2}},
    "balanced": {"class_weight": "balanced"},
    "balanced-scale-ovr": {"class_weight": "balanced", "scale": "rms", "multi_class": "ovr"},
    "floor": {"variance_floor": 0.1},
    "no-constant": {"intercept": False},
    "drop-rule": {"covariance": "diagonal-drop"},
    "named": {"classes": LABELS},
    "two-named": {"classes": ["fig", "pear"], "class_weight": "balanced"},
}

# A small example with names that the stream does not have.
X = {"a": 1.0, "b": 2.0}


def draw_stream(rows=60, seed=0, features=12, labels=LABELS):
    """Return examples with numbers, words and bags of words, and labels of 1, then 2, 3 and all classes."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(len(labels), features))
    examples, targets = [], []
    for i in range(rows):
        known = (1, 2, 3, len(labels))[min(3, 4 * i // rows)]
        x = rng.normal(size=features) * (rng.random(features) < 0.4) * 10.0 ** (np.arange(features) % 3)
        number = int((directions[:known] @ x).argmax()) if rng.random() < 0.8 else int(rng.integers(known))
        # Each new class appears at the beginning of its quarter.
        number = known - 1 if 4 * i % rows < 4 else number
        example = {f"feature {j}": x[j] for j in rng.permutation(np.flatnonzero(x))}
        examples.append(example | {"words": [f"word {i // 4}", "and", "and"], "place": f"{i // 10}"})
        targets.append(labels[number])
    return examples, targets


EXAMPLES, TARGETS = draw_stream()


def new(rule, settings):
    return StreamClassifier(rule, **SETTINGS[settings])


def taught(rule="arow", count=None, **settings):
    model = StreamClassifier(rule, **settings)
    model.learn_many(EXAMPLES[:count], TARGETS[:count])
    return model


def numbers_of(example):
    """Return the example with numbers only, and the intercept."""
    numbers = {}
    for key, value in example.items():
        for word in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
            numbers[f"{key}={word}"] = numbers.get(f"{key}={word}", 0.0) + 1.0
        if isinstance(value, float):
            numbers[key] = value
    return numbers | {INTERCEPT: 1.0}


def weights_of(count):
    return np.resize([1.0, 0.5, 2.0, 0.0, 1.5], count)


def one_by_one(model, examples, labels, weights=None):
    for example in zip(examples, labels, *([] if weights is None else [weights]), strict=True):
        model.learn_one(*example)
    return model


def full_state(model):
    """Return the state of a stream classifier, or of River's, bit for bit."""
    classifier = getattr(model, "_model", model)._classifier
    classes = classifier.classes
    return (
        learner_state(classifier.learner),
        classifier.calibration.state.tobytes(),
        # Declared classes without an example do not differ from unknown ones.
        np.trim_zeros(classifier.class_weights.seen, "b").tolist(),
        list(map(repr, classes.values)),
        classes.kind,
        classifier.is_binary,
    )


def learner_state(learner):
    """Return the state of a learner, bit for bit."""
    model, scale, names = learner.model, learner.running_scale, learner.vocabulary
    return (
        None if model is None else (model.size, model.memory.tobytes(), model.scalars.tobytes()),
        learner.n_classes,
        None if scale is None or scale.state is None else scale.state.tobytes(),
        None if names is None else vocabulary_state(names),
        learner.counts,
    )


def vocabulary_state(vocabulary):
    most, hashed, key_type, names, slots = vocabulary.__getstate__()
    return most, hashed, key_type, list(names.items()), repr(slots)
