"""Parameters that are set while an estimator trains."""

import threading

import numpy as np
import pandas as pd
import pytest

from scwlearn import SCW1

X = np.eye(4)
NAMED = pd.DataFrame(X, columns=["a", "b", "c", "d"])


class LabelsDuringWhich:
    """Labels that another thread uses for a call, while they are converted."""

    def __init__(self, call):
        self.call = call

    def __array__(self, dtype=None, copy=None):
        thread = threading.Thread(target=self.call)
        thread.start()
        thread.join()
        return np.array([0, 1, 0, 1])


@pytest.mark.parametrize("train", [SCW1.fit, SCW1.partial_fit])
def test_parameters_that_another_thread_sets_during_training_are_kept(train):
    model = SCW1().fit(X, [0, 1, 0, 1])
    train(model, X, LabelsDuringWhich(lambda: model.set_params(C=0.125, n_epochs=3)))
    assert (model.C, model.n_epochs) == (0.125, 3)
    # From the next call on.
    model.partial_fit(X, [0, 1, 0, 1])
    assert model._classifier.config.parameters["C"] == 0.125


def test_training_on_columns_without_names_forgets_the_names():
    model = SCW1().fit(NAMED, [0, 1, 0, 1])
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    model.fit(X[:, :3], [0, 1, 0, 1])
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
