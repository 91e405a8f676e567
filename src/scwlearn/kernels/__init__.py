"""Learning with kernels: the Gaussian lives in the span of the examples that moved it (Lemma 1)."""

from scwlearn.kernels.functions import Kernel as Kernel
from scwlearn.kernels.learner import KernelLearner as KernelLearner

__all__ = ["Kernel", "KernelLearner"]
