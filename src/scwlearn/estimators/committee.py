"""The estimator of a committee: several linear classifiers, mixed by how well they predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.rows import Rows
from scwlearn.estimators.base import OnlineClassifier
from scwlearn.estimators.linear import ExplainedClassifier
from scwlearn.estimators.making import make_class
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.committee.config import configure
from scwlearn.learning.settings import Face
from scwlearn.rules import AUTO


class CommitteeClassifier(ExplainedClassifier):
    """Several linear classifiers that learn together, and a mixture of their probabilities."""

    _face = Face.ESTIMATOR

    @property
    def member_weights_(self) -> dict[str, float]:
        """The weight of each member in the mixture, by what it is."""
        learner = self._fitted("member_weights_").learner
        return dict(zip(learner.config.titles, learner.mixture.weights.tolist(), strict=True))

    def _new_classifier(self, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float64] | None) -> Classifier:
        settings = self._settings()
        class_weight: Any = settings.pop("class_weight", None)
        return Classifier(configure(AUTO, settings, defaults_of=self._face), class_weight)


def make_committee() -> type[OnlineClassifier]:
    """Return the estimator class of a committee."""
    return make_class(AUTO, Face.ESTIMATOR, CommitteeClassifier)
