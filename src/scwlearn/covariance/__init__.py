"""How Sigma is kept: not at all, its diagonal (two ways), or in full."""

from __future__ import annotations

from scwlearn.covariance.base import Covariance
from scwlearn.covariance.diagonal import Diagonal, DiagonalDrop
from scwlearn.covariance.full import Full
from scwlearn.covariance.gaussian import Gaussian
from scwlearn.covariance.growing import Growing
from scwlearn.covariance.identity import Identity

__all__ = ["COVARIANCES", "Covariance", "Gaussian", "Growing", "Identity"]

COVARIANCES: dict[str, Covariance] = {c.name: c for c in (Identity(), Diagonal(), DiagonalDrop(), Full())}
