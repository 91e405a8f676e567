"""Learning with kernels: the Gaussian lives in the span of the examples that moved it (Lemma 1)."""

from scwlearn.kernel.functions import Kernel as Kernel
from scwlearn.kernel.learner import KernelLearner as KernelLearner
from scwlearn.kernel.multi import KernelMultiLearner as KernelMultiLearner

__all__ = ["Kernel", "KernelLearner", "KernelMultiLearner"]
