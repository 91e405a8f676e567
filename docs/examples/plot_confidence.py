"""
The confidence of a linear model
================================

SCW-I keeps a Gaussian over the weights. Its mean defines the boundary, its covariance the confidence in each score. The
shading is the probability of the positive label under the Gaussian, :math:`\\Phi(f/\\sqrt{v})`. It is pale where the
model has seen no data.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

from scwlearn import SCW1

random = np.random.default_rng(0)
X = np.vstack([random.normal([1.5, 1.0], [1.2, 0.3], (100, 2)), random.normal([-1.5, -1.0], [1.2, 0.3], (100, 2))])
y = np.repeat([1, -1], 100)
order = random.permutation(200)
X, y = X[order], y[order]

side = np.linspace(-6, 6, 201)
grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])

figure, panels = plt.subplots(1, 3, figsize=(12, 4.2), sharey=True, layout="constrained")
for panel, seen in zip(panels, (2, 10, 200), strict=True):
    model = SCW1(C=1.0, eta=0.9, covariance="full").partial_fit(X[:seen], y[:seen], classes=[-1, 1])
    probability = norm.cdf(model.decision_function(grid) / np.sqrt(model.margin_variance(grid)))
    shades = panel.pcolormesh(side, side, probability.reshape(201, 201), cmap="RdBu", vmin=0, vmax=1, rasterized=True)
    panel.contour(side, side, probability.reshape(201, 201), levels=[0.5], colors="k")
    panel.scatter(*X[:seen].T, c=y[:seen], cmap="RdBu", vmin=-1.5, vmax=1.5, edgecolor="k", s=25)
    panel.set(title=f"{seen} examples, {model.n_updates_} updates", xlabel="first feature", xlim=(-6, 6), ylim=(-6, 6))
panels[0].set_ylabel("second feature")
figure.colorbar(shades, ax=panels, label="probability of the positive class")
plt.show()
