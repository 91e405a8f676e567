"""Sigma diagonal: one variance per feature, at the cost of the features that an example has."""

from __future__ import annotations

from scwlearn.model.interleaved import Interleaved


class Diagonal(Interleaved):
    """Inverts the diagonal of the new Sigma^-1: 1/s_i grows by precision x_i^2, as if feature i had been alone."""

    name = "diagonal"
    by_precision = True


class DiagonalDrop(Interleaved):
    """Keeps the diagonal of the new Sigma: s_i falls by beta (s_i x_i)^2, more slowly than in `Diagonal`."""

    name = "diagonal-drop"
