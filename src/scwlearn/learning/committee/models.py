"""What the members of a committee know: a Gaussian each, over the same features and classes."""

from __future__ import annotations

from typing import NamedTuple

from scwlearn._native import CACHED_FEATURES, SHARED_STRIDE
from scwlearn.model.covariance import Array, Covariance, zeros
from scwlearn.model.gaussian import Gaussian


class Models(NamedTuple):
    """The Gaussians of all members, where a learner has one."""

    gaussians: tuple[Gaussian, ...]

    @property
    def size(self) -> int:
        """The number of weights of a class, the intercept included."""
        return self.gaussians[0].size

    @property
    def classes(self) -> int:
        """The number of known classes; 1 for a binary model."""
        return self.gaussians[0].classes

    @property
    def covariance(self) -> Covariance:
        """That of the first member with one, if any."""
        forms = [gaussian.covariance for gaussian in self.gaussians]
        return next((form for form in forms if form.name != "identity"), forms[0])

    @property
    def entries(self) -> int:
        """The number of entries of all memories."""
        return sum(gaussian.memory.size for gaussian in self.gaussians)

    def copy(self) -> Models:
        """Return a deep copy."""
        return Models(tuple(gaussian.copy() for gaussian in self.gaussians))

    def writable(self) -> Models:
        """Return these models, those whose memory is read-only or misaligned copied."""
        return Models(tuple(gaussian.writable() for gaussian in self.gaussians))

    def restore(self, other: Models) -> None:
        """Copy the state of models of the same shapes into the memory of these, where it can have changed."""
        for gaussian, before in zip(self.gaussians, other.gaussians, strict=True):
            if gaussian.memory.flags.writeable:
                gaussian.restore(before)

    def add_classes(self, count: int) -> None:
        """Make more classes known, which start from the prior; there must be room for them."""
        for gaussian in self.gaussians:
            gaussian.add_classes(count)

    def count_nonzero(self) -> int:
        """Return the number of weights of all members that are not zero."""
        return sum(gaussian.count_nonzero() for gaussian in self.gaussians)


class SharedLines:
    """Memory in which up to three models keep their entries for a feature in the same cache line as its scale.

    Three members and the scale then need one line per feature instead of four.

    Parameters
    ----------
    size : int
        The number of weights of a model, the intercept included.
    """

    def __init__(self, size: int) -> None:
        self._lines = zeros(size + 1, SHARED_STRIDE)
        # Behind the three numbers of the scale.
        self._left = {1: [slice(3, 4)], 2: [slice(4, 6), slice(6, 8)]}

    @staticmethod
    def entries(size: int) -> int:
        """Return the number of entries of all lines for models of this size."""
        return (size + 1) * SHARED_STRIDE

    def take(self, form: str) -> Array | None:
        """Return room for a model of this form, if there is any."""
        left = self._left[1 if form == "identity" else 2]
        return self._lines[1:, left.pop(0)] if left else None

    def scale(self, width: int) -> Array:
        """Return room for the state of a scale of this many features."""
        return self._lines[: width + 1, :3]


def gains_from_shared_lines(form: str, size: int) -> bool:
    """Return whether a binary model of this form gains from sharing cache lines; a small one is in the cache anyway."""
    return size > CACHED_FEATURES and form != "full"


def shares_lines(gaussian: Gaussian) -> bool:
    """Return whether a model shares its cache lines with others."""
    return gaussian.memory.ndim == 2 and gaussian.memory.strides[0] == 8 * SHARED_STRIDE > 8 * gaussian.memory.shape[1]
