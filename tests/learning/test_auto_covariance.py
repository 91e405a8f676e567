"""The covariance that "auto" chooses for several classes."""

import numpy as np
import pytest

from multi_class_full_examples import assert_close, examples
from scwlearn import SCW1, Learner
from scwlearn.learning.growing import AUTO_FULL_ENTRIES

pytestmark = pytest.mark.native


#: The largest number of classes with 500 features for which "auto" is full, and one more.
FEW, MANY = 33, 34


@pytest.mark.parametrize(
    ("classes", "how", "expected"),
    [
        (FEW, {}, "full"),
        (MANY, {}, "diagonal"),
        (MANY, {"rule": "cw"}, "diagonal-drop"),
        (MANY, {"rule": "nherd"}, "diagonal-drop"),
        (FEW, {"multi_class": "ovr"}, "full"),
        (MANY, {"multi_class": "ovr"}, "diagonal"),
        (MANY, {"shared_covariance": True}, "full"),
        (FEW, {"rule": "perceptron"}, "identity"),
    ],
)
def test_auto_chooses_full_while_all_classes_together_are_small(classes, how, expected):
    assert FEW * 500**2 <= AUTO_FULL_ENTRIES < MANY * 500**2
    learner = Learner(n_classes=classes, **how)
    learner.learn(np.eye(1, 500), [0])
    assert learner.model.covariance.name == expected


def test_auto_does_not_depend_on_the_classes_in_a_batch(monkeypatch):
    monkeypatch.setattr("scwlearn.learning.growing.AUTO_FULL_ENTRIES", 3 * 21**2)
    x, y = examples(21, 1.0)
    batch, rows = Learner(n_classes=0), Learner(n_classes=0)
    batch.learn(x, y)
    for row, label in zip(x, y, strict=True):
        rows.learn_one(row, label)
    assert batch.n_classes > 3
    assert batch.model.covariance.name == rows.model.covariance.name == "full"
    assert_close(batch.model.weights(), rows.model.weights())


def test_auto_keeps_the_form_chosen_with_two_classes(monkeypatch):
    monkeypatch.setattr("scwlearn.learning.growing.AUTO_FULL_ENTRIES", 2 * 21**2)
    x, y = examples(21, 1.0)
    model = SCW1().partial_fit(x[y < 2], y[y < 2])
    assert model.partial_fit(x, y).covariance_kind_ == "full"
    assert SCW1().fit(x, y).covariance_kind_ == "diagonal"
    assert SCW1().partial_fit(x[:1], y[:1], classes=np.unique(y)).covariance_kind_ == "diagonal"
    assert SCW1(shared_covariance=True).fit(x, y).covariance_kind_ == "full"
