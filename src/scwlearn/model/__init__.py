"""How Sigma is kept: not at all, its diagonal (two ways), or in full."""

from __future__ import annotations

from scwlearn.model.appendable_full import Growing
from scwlearn.model.covariance import Covariance
from scwlearn.model.diagonal import Diagonal, DiagonalDrop
from scwlearn.model.full import Full
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.identity import Identity

__all__ = ["COVARIANCES", "Covariance", "Gaussian", "Growing", "Identity"]

COVARIANCES: dict[str, Covariance] = {c.name: c for c in (Identity(), Diagonal(), DiagonalDrop(), Full())}
