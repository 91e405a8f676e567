"""Kernel learning: the Gaussian lies in the span of the examples that updated it (Lemma 1)."""

from scwlearn.kernels.functions import Kernel as Kernel
from scwlearn.kernels.learner import KernelLearner as KernelLearner

__all__ = ["Kernel", "KernelLearner"]
