"""The input of a merge: binary Gaussians that continued from a common prior, each with a weight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from scwlearn.model.covariance import Array
from scwlearn.model.gaussian import GROWTH, MEAN_SCALE, ROUNDS, Gaussian

_COMPARED_AT_ONCE = 2**14


class Shard(NamedTuple):
    """A Gaussian, the weight of its evidence, and the growth of its Sigma in directions never seen."""

    gaussian: Gaussian
    weight: float
    #: Since the prior; 1 for rules that let no variance grow.
    growth: float


@dataclass(frozen=True)
class Shards:
    """Gaussians of one kind and size, the weight of the evidence of each, and the Gaussian that all started from."""

    gaussians: Sequence[Gaussian]
    weights: Sequence[float]
    prior: Gaussian

    def __iter__(self) -> Iterator[Shard]:
        before = self.prior.scalars[0, GROWTH]
        for gaussian, weight in zip(self.gaussians, self.weights, strict=True):
            yield Shard(gaussian, weight, float(gaussian.scalars[0, GROWTH] / before))

    @property
    def growth(self) -> float:
        """The growth of Sigma in directions that no shard has seen: the one furthest from 1.

        Not the product: growth fades from round to round (IELLIP), or belongs to the time that passed for all at once
        (forgetting).
        """
        return max((shard.growth for shard in self), key=lambda growth: (abs(math.log(growth)), growth))

    def growth_by(self, rule: str) -> float:
        """Return the growth of the merged Gaussian: kl averages precisions, those of the prior too."""
        return 1 / sum(shard.weight / shard.growth for shard in self) if rule == "kl" else self.growth

    def rounds(self) -> float:
        """Return the rounds of the prior and of all shards together."""
        before: float = self.prior.scalars[0, ROUNDS]
        return before + sum(float(gaussian.scalars[0, ROUNDS]) - before for gaussian in self.gaussians)

    def normed(self) -> Shards:
        """Return the shards with weights that sum to 1."""
        total = sum(self.weights)
        return Shards(self.gaussians, [weight / total for weight in self.weights], self.prior)

    def evidence(self) -> list[bool]:
        """Return which of them have learned anything."""
        return [not _is_same(shard, self.prior) for shard in self]

    def only(self, learned: Sequence[bool]) -> Shards:
        """Return those that have learned something; the first if none has."""
        kept = [shard for shard, has in zip(self, learned, strict=True) if has] or [*self][:1]
        return Shards([shard.gaussian for shard in kept], [shard.weight for shard in kept], self.prior)

    def check(self) -> None:
        """Raise a ValueError for a Gaussian that cannot have continued from the prior."""
        before = self.prior.scalars[0, ROUNDS]
        for i, gaussian in enumerate(self.gaussians):
            if gaussian.scalars[0, ROUNDS] < before:
                raise ValueError(
                    f"models[{i}] is at round {gaussian.scalars[0, ROUNDS]:.0f} and prior at round {before:.0f}; "
                    "prior must be the model that all models continued from"
                )


def check_finite(*numbers: ArrayLike) -> None:
    """Raise a ValueError for overflow, which CW with wrong labels can reach."""
    if not all(np.isfinite(some).all() for some in numbers):
        raise ValueError("the models cannot be merged: some weights or variances are too large or too small for floats")


def _is_same(shard: Shard, prior: Gaussian) -> bool:
    gaussian, growth = shard.gaussian, shard.growth
    # In slices, because a model that has learned anything soon differs.
    for start in range(0, prior.size, _COMPARED_AT_ONCE):
        part = slice(start, start + _COMPARED_AT_ONCE)
        if not np.array_equal(_means(gaussian, part), _means(prior, part)):
            return False
    # Sigma is nowhere larger than the prior's, so if its diagonal is the same, all of it is.
    return np.array_equal(gaussian.variances(), growth * prior.variances())


def _means(gaussian: Gaussian, part: slice) -> Array:
    means = gaussian.covariance.means(gaussian.memory)[: gaussian.classes, part]
    scaled: Array = means * gaussian.scalars[: gaussian.classes, MEAN_SCALE, np.newaxis]
    return scaled
