"""scikit-learn's own checks, for every estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import scwlearn
from scwlearn.rules import estimator_names


@parametrize_with_checks([getattr(scwlearn, name)() for name in estimator_names()])
def test_estimator_passes_the_check_of_scikit_learn(estimator, check):
    check(estimator)
