"""What is merged: Gaussians that went on from a common prior, each with a weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scwlearn.model import Gaussian
from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import GROWTH, ROUNDS


class Shard(NamedTuple):
    """A Gaussian, how much its evidence counts, and how much its Sigma has grown where it saw nothing."""

    gaussian: Gaussian
    weight: float
    #: Since the prior; 1 for rules that let no variance grow.
    growth: float


@dataclass(frozen=True)
class Shards:
    """Gaussians of one kind and size, how much the evidence of each counts, and the Gaussian that all began from."""

    gaussians: Sequence[Gaussian]
    weights: Sequence[float]
    prior: Gaussian

    def __iter__(self) -> Iterator[Shard]:
        before = self.prior.scalars[GROWTH]
        for gaussian, weight in zip(self.gaussians, self.weights, strict=True):
            yield Shard(gaussian, weight, float(gaussian.scalars[GROWTH] / before))

    @property
    def growth(self) -> float:
        """How much Sigma has grown where no one saw anything: as much as in the one where it is furthest from 1.

        Not the product: growth fades from round to round (IELLIP), or belongs to the time that passed for all at once
        (forgetting).
        """
        return max((shard.growth for shard in self), key=lambda growth: (abs(math.log(growth)), growth))

    def growth_by(self, rule: str) -> float:
        """The same of the Gaussian that the rule makes: kl averages precisions, those of the prior too."""
        return 1 / sum(shard.weight / shard.growth for shard in self) if rule == "kl" else self.growth

    def rounds(self) -> float:
        """How many rounds the prior and all shards have been through."""
        before: float = self.prior.scalars[ROUNDS]
        return before + sum(float(gaussian.scalars[ROUNDS]) - before for gaussian in self.gaussians)

    def normed(self) -> Shards:
        """The same with weights that sum to 1."""
        total = sum(self.weights)
        return Shards(self.gaussians, [weight / total for weight in self.weights], self.prior)

    def evidence(self) -> list[bool]:
        """Which of them have learned anything."""
        before = self.prior.weights(), self.prior.variances()
        return [not _is_same(shard, *before) for shard in self]

    def only(self, taught: Sequence[bool]) -> Shards:
        """Those that have learned something; the first where none has."""
        kept = [shard for shard, has in zip(self, taught, strict=True) if has] or [*self][:1]
        return Shards([shard.gaussian for shard in kept], [shard.weight for shard in kept], self.prior)

    def check(self) -> None:
        """An error where a Gaussian cannot have gone on from the prior."""
        before = self.prior.scalars[ROUNDS]
        for i, gaussian in enumerate(self.gaussians):
            if gaussian.scalars[ROUNDS] < before:
                raise ValueError(
                    f"models[{i}] is at round {gaussian.scalars[ROUNDS]:.0f} and prior at round {before:.0f}; "
                    "prior must be the model that all models went on from"
                )


def check_finite(*numbers: ArrayLike) -> None:
    """An error where something is too large, or became so on the way: CW with wrong labels gets that far."""
    if not all(np.isfinite(some).all() for some in numbers):
        raise ValueError("the models cannot be merged: some weights or variances are too large or too small for floats")


def _is_same(shard: Shard, mean: Array, variances: Array) -> bool:
    # Sigma is nowhere larger than that of the prior, so where its diagonal is the same all of it is.
    gaussian, growth = shard.gaussian, shard.growth
    return np.array_equal(gaussian.weights(), mean) and np.array_equal(gaussian.variances(), growth * variances)
