"""Representations of a full Sigma, each in NumPy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from exact_sigma import Array, Exact, squared, symmetric, udu
from scipy.linalg import solve_triangular


class Form(ABC):
    """Repeated update Sigma <- (Sigma^-1 + k x x')^-1; `kept` is the state of a form between rows."""

    title = ""
    look_flops = ""
    move_flops = ""
    #: Whether `exact` is Sigma^-1.
    inverse = False

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        self.kept: Array = np.eye(size, dtype=dtype)

    @abstractmethod
    def look(self, x: Array) -> float:
        """Return x'Sigma x."""

    @abstractmethod
    def move(self, k: float, v: float) -> Array:
        """Return Sigma x for the last row, and update Sigma by k."""

    def exact(self) -> Exact:
        """Return the exact matrix represented by `kept`."""
        return symmetric(self.kept)


class Textbook(Form):
    """Textbook update, as printed in papers."""

    title = "Sigma - (beta g) g'"
    look_flops, move_flops = "2d^2", "2d^2"

    def look(self, x: Array) -> float:
        self.g = self.kept @ x
        return float(x @ self.g)

    def move(self, k: float, v: float) -> Array:
        self.kept -= np.outer(self.kept.dtype.type(k / (1 + k * v)) * self.g, self.g)
        return self.g


class Symmetric(Textbook):
    """Textbook update scaled after the outer product, which keeps Sigma exactly symmetric."""

    title = "Sigma - beta (g g'), symmetric"
    look_flops, move_flops = "2d^2", "d^2 (one triangle)"

    def move(self, k: float, v: float) -> Array:
        self.kept -= self.kept.dtype.type(k / (1 + k * v)) * np.outer(self.g, self.g)
        return self.g


class Joseph(Textbook):
    """(I - K x') Sigma (I - K x')' + K K'/k with the gain K: a sum of two positive terms."""

    title = "Joseph"
    look_flops, move_flops = "2d^2", "8d^2"

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        super().__init__(size, dtype)
        self.x: Array = np.zeros(size, dtype)

    def look(self, x: Array) -> float:
        self.x = x
        return super().look(x)

    def move(self, k: float, v: float) -> Array:
        cast = self.kept.dtype.type
        gain = cast(k / (1 + k * v)) * self.g
        half = self.kept - np.outer(gain, self.g)
        self.kept = half - np.outer(half @ self.x, gain) + cast(1 / k) * np.outer(gain, gain)
        self.kept = (self.kept + self.kept.T) / 2
        return self.g


class Potter(Form):
    """Sigma = R R', R <- R (I - c p p') with p = R'x."""

    title = "Potter, Sigma = R R'"
    look_flops, move_flops = "2d^2", "4d^2"

    def look(self, x: Array) -> float:
        self.p = x @ self.kept
        return float(self.p @ self.p)

    def move(self, k: float, v: float) -> Array:
        g: Array = self.kept @ self.p
        root = math.sqrt(1 + k * v)
        self.kept -= np.outer(self.kept.dtype.type(k / (root * (1 + root))) * g, self.p)
        return g

    def exact(self) -> Exact:
        return squared(self.kept)


class Bierman(Form):
    """Sigma = U D U' with U unit upper triangular; `kept` holds U with D on its diagonal. Used by scwlearn."""

    title = "Bierman, Sigma = U D U'"
    look_flops, move_flops = "d^2", "2d^2"

    def look(self, x: Array) -> float:
        self.d = self.kept.diagonal().copy()
        self.u = self.kept.copy()
        np.fill_diagonal(self.u, 1)
        self.f = x @ self.u
        return float(self.d @ (self.f * self.f))

    def move(self, k: float, v: float) -> Array:
        g = self.d * self.f
        f, cast, before = self.f, self.kept.dtype.type, 1.0
        gain: Array = np.zeros_like(g)
        for j in range(len(g)):
            after = before + k * float(f[j]) * float(g[j])
            old = self.u[:j, j].copy()
            self.kept[:j, j] = old - cast(k * float(f[j]) / before) * gain[:j]
            self.kept[j, j] = self.d[j] * cast(before / after)
            gain[:j] += g[j] * old
            gain[j] = g[j]
            before = after
        return gain

    def exact(self) -> Exact:
        unit = self.kept.copy()
        np.fill_diagonal(unit, 1)
        return udu(unit, self.kept.diagonal())


class Precision(Form):
    """Sigma^-1 itself: an update only adds, a score solves a linear system."""

    title = "Sigma^-1"
    look_flops, move_flops = "2d^3/3", "d^2 (one triangle)"
    inverse = True

    def look(self, x: Array) -> float:
        self.x = x
        try:
            self.g = np.linalg.solve(self.kept, x)
        except np.linalg.LinAlgError:
            # Numerically singular: there is no variance, so the row is rejected.
            return math.nan
        return float(x @ self.g)

    def move(self, k: float, v: float) -> Array:
        self.kept += self.kept.dtype.type(k) * np.outer(self.x, self.x)
        return self.g


class PrecisionRoot(Form):
    """Sigma^-1 = L L' with L lower triangular: an update turns sqrt(k) x into L by rotations."""

    title = "Cholesky, Sigma^-1 = L L'"
    look_flops, move_flops = "d^2", "4d^2"
    inverse = True

    def look(self, x: Array) -> float:
        self.x = x
        self.p = solve_triangular(self.kept, x, lower=True, check_finite=False)
        return float(self.p @ self.p)

    def move(self, k: float, v: float) -> Array:
        g: Array = solve_triangular(self.kept, self.p, lower=True, trans=1, check_finite=False)
        w = self.kept.dtype.type(math.sqrt(k)) * self.x
        for j in range(len(w)):
            column = self.kept[j:, j]
            radius = np.hypot(column[0], w[j])
            cosine, sine = column[0] / radius, w[j] / radius
            column[:], w[j:] = cosine * column + sine * w[j:], cosine * w[j:] - sine * column
        return g

    def exact(self) -> Exact:
        return squared(self.kept)


FORMS: tuple[type[Form], ...] = (Textbook, Symmetric, Joseph, Potter, Bierman, Precision, PrecisionRoot)
