"""What the members of a committee know: a Gaussian each, over the same features and classes, and their scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.data.rows import Rows
from scwlearn.model.covariance import Covariance
from scwlearn.model.gaussian import Gaussian
from scwlearn.model.scale import RunningScale

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Models:
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


@dataclass(frozen=True)
class Scales:
    """The running scale of each kind that a member uses, where a learner has one."""

    by_kind: Mapping[str, RunningScale]

    @property
    def state(self) -> list[Array | None]:
        """The state of each."""
        return [scale.state for scale in self.by_kind.values()]

    def writable_state(self) -> list[Array]:
        """Return the state of each as writable arrays, copied first if they are read-only."""
        return [scale.writable_state() for scale in self.by_kind.values()]

    def learn(self, rows: Rows) -> dict[str, Rows]:
        """Update each scale with the rows and return them by kind; after an error the scales have to be restored."""
        return {"none": rows} | {kind: scale.learn(rows, undo=False) for kind, scale in self.by_kind.items()}

    def apply(self, rows: Rows) -> dict[str, Rows]:
        """Return the rows by kind, those of kind "none" as they are."""
        return {"none": rows} | {kind: scale.apply(rows) for kind, scale in self.by_kind.items()}

    def arranged(self, kept: NDArray[np.int64], n_features: int) -> Scales:
        """Return the scales of the features `kept`, followed by unseen ones up to `n_features`."""
        return Scales({kind: scale.arranged(kept, n_features) for kind, scale in self.by_kind.items()})

    def restore(self, other: Scales) -> None:
        """Copy the state of other scales, in place where the shapes agree."""
        for kind, scale in self.by_kind.items():
            scale.restore(other.by_kind[kind])

    def copy(self) -> Scales:
        """Return an independent copy."""
        return Scales({kind: scale.copy() for kind, scale in self.by_kind.items()})

    def __copy__(self) -> Scales:
        return self.copy()

    def get(self, kind: str) -> Any:
        """Return the scale of a kind; None for "none"."""
        return self.by_kind.get(kind)
