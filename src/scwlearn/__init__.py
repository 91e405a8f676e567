"""scwlearn: exact soft confidence-weighted learning and its relatives.

Every name is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scwlearn.bounds import loss_bound as loss_bound
    from scwlearn.estimators import *  # noqa: F403
    from scwlearn.kernel import KernelLearner as KernelLearner
    from scwlearn.kernel import KernelMultiLearner as KernelMultiLearner
    from scwlearn.learner import Learner as Learner
    from scwlearn.merging import merge as merge
    from scwlearn.multiclass import MultiLearner as MultiLearner
    from scwlearn.progress import progressive_validation as progressive_validation
    from scwlearn.saving import load as load
    from scwlearn.saving import save as save
    from scwlearn.stream import StreamClassifier as StreamClassifier

__version__ = "0.1.0"

_HOMES = {
    "Learner": "scwlearn.learner",
    "KernelLearner": "scwlearn.kernel",
    "KernelMultiLearner": "scwlearn.kernel",
    "MultiLearner": "scwlearn.multiclass",
    "StreamClassifier": "scwlearn.stream",
    "progressive_validation": "scwlearn.progress",
    "loss_bound": "scwlearn.bounds",
    "merge": "scwlearn.merging",
    "save": "scwlearn.saving",
    "load": "scwlearn.saving",
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
