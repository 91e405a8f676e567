"""Collinear, badly scaled streams, on which the textbook form of Sigma becomes indefinite."""

from dataclasses import dataclass

import numpy as np

FEATURES = 10


@dataclass(frozen=True)
class Stream:
    """Ten features that are one number but for a little noise, unscaled; the label needs both, and is often wrong."""

    rule: str
    values: type
    scale: float
    noise: float

    @property
    def parameters(self):
        # The textbook form is known to break down on these.
        return {"C": 1.0, "eta": 0.75} if self.rule == "scw1" else {}

    def rows(self, count, seed=0):
        rng = np.random.default_rng(seed)
        common, own = rng.normal(size=count), rng.normal(size=(count, FEATURES))
        direction = rng.normal(size=FEATURES)
        x = (self.scale * (common[:, None] + self.noise * own)).astype(self.values)
        y = np.where(common + own @ direction / np.linalg.norm(direction) >= 0, 1, -1)
        y[rng.random(count) < 0.1] *= -1
        return x, y


# Streams that are collinear and badly scaled (docs/numerics.md).
STREAMS = {
    "SCW-I, float32, scale 100, noise 1e-6": Stream("scw1", np.float32, 1e2, 1e-6),
    "SCW-I, float64, scale 1e4, noise 1e-8": Stream("scw1", np.float64, 1e4, 1e-8),
    "SCW-I, float64, scale 1e8, noise 1e-3": Stream("scw1", np.float64, 1e8, 1e-3),
    "AROW, float64, scale 1e8, noise 1e-3": Stream("arow", np.float64, 1e8, 1e-3),
}
