"""The trial of merged models knows what the library takes out before it merges."""

import numpy as np
import pytest
from stress import merges

from scwlearn import Learner

SETTINGS = {"joint": {}, "shared": {"shared_covariance": True}}


@pytest.mark.parametrize("how", ["bcm", "kl"])
@pytest.mark.parametrize("form", SETTINGS)
@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop"])
def test_what_all_classes_have_in_common_is_no_error(covariance, form, how):
    rng = np.random.default_rng(0)
    models = []
    for shift in (1e-3, 2.0):
        learner = Learner("cw", covariance=covariance, n_classes=0, **SETTINGS[form])
        learner.learn(rng.normal(size=(20, 2)), [0, 1, 2, *rng.integers(0, 3, 17)])
        learner.model.covariance.means(learner.model.memory)[:] += shift
        models.append(learner)
    assert np.abs(models[1].model.weights().sum(axis=0)).min() > 1
    merges._check(models, how, [1.0, 1.0], None, form, "models")
