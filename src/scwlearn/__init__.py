"""scwlearn: exact soft confidence-weighted learning and its relatives.

Names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scwlearn.data.features import Features as Features
    from scwlearn.estimators import *  # noqa: F403
    from scwlearn.estimators.tuned import TunedClassifier as TunedClassifier
    from scwlearn.files import load as load
    from scwlearn.files import save as save
    from scwlearn.kernels import KernelLearner as KernelLearner
    from scwlearn.learning.bounds import loss_bound as loss_bound
    from scwlearn.learning.learner import Learner as Learner
    from scwlearn.learning.merging import merge as merge
    from scwlearn.learning.progressive import progressive_validation as progressive_validation
    from scwlearn.stream import StreamClassifier as StreamClassifier

__version__ = "0.1.0"

_HOMES = {
    "Features": "scwlearn.data.features",
    "Learner": "scwlearn.learning.learner",
    "KernelLearner": "scwlearn.kernels",
    "StreamClassifier": "scwlearn.stream",
    "TunedClassifier": "scwlearn.estimators.tuned",
    "progressive_validation": "scwlearn.learning.progressive",
    "loss_bound": "scwlearn.learning.bounds",
    "merge": "scwlearn.learning.merging",
    "save": "scwlearn.files",
    "load": "scwlearn.files",
}


def _estimators() -> list[str]:
    from scwlearn.rules import estimator_names

    return estimator_names()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "__all__":
        return ["__version__", *_HOMES, *_estimators()]
    if not name.startswith("_") and name in _estimators():
        return getattr(importlib.import_module("scwlearn.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_estimators()})
