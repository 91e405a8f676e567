"""Several classes: joint or one-versus-rest, with a covariance for each class or one for all."""

from __future__ import annotations

from scwlearn.multiclass.gaussians import Gaussians
from scwlearn.multiclass.learner import MultiLearner

__all__ = ["Gaussians", "MultiLearner"]
