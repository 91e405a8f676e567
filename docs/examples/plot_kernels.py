"""
The confidence of a kernel model
================================

KernelSCW1 after one pass over two moons and over a checkerboard. The shading is the probability of the positive label
under the Gaussian, :math:`\\Phi(f/\\sqrt{v})`: strong near the data and pale away from them, where the variance is
still that of the prior. Circles mark the support, the examples that span the model.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_moons

from scwlearn import KernelSCW1

random = np.random.default_rng(0)
board = random.uniform(0, 3, (400, 2))
sets = {
    "two moons": (*make_moons(400, noise=0.15, random_state=0), 2.0),
    "checkerboard": (board, np.floor(board).sum(axis=1) % 2, 4.0),
}

figure, panels = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for panel, (name, (X, y, gamma)) in zip(panels, sets.items(), strict=True):
    model = KernelSCW1(gamma=gamma, eta=0.9, fit_intercept=False, random_state=0).fit(X, y)
    sides = [np.linspace(X[:, i].min() - 1.5, X[:, i].max() + 1.5, 151) for i in (0, 1)]
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(*sides)])
    probability = norm.cdf(model.decision_function(grid) / np.sqrt(model.margin_variance(grid))).reshape(151, 151)
    shades = panel.pcolormesh(*sides, probability, cmap="RdBu", vmin=0, vmax=1, rasterized=True)
    panel.contour(*sides, probability, levels=[0.5], colors="k", linewidths=0.8)
    panel.scatter(*X.T, c=y, cmap="RdBu", s=12, edgecolor="none", vmin=-0.2, vmax=1.2)
    panel.scatter(*model.support_vectors_.T, s=40, facecolor="none", edgecolor="k", linewidths=0.7)
    panel.set(title=f"{name}: support {model.n_support_} of 400")
figure.colorbar(shades, ax=panels, label="probability of the positive class")
plt.show()
