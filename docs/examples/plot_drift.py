"""
Concept drift
=============

The more examples a second-order learner has seen, the more certain it is of its weights and the less it moves them.
This is right as long as the distribution stays the same. Here, the labels follow one direction in the first half of the
stream and another in the second. `variance_floor` is a lower bound on the variances, as a fraction of the initial
variance, which keeps the learner adaptive. Its price is the distance between the curves in the first half.
"""

import matplotlib.pyplot as plt
import numpy as np

from scwlearn import Learner

rows, features, window = 8000, 20, 250
generator = np.random.default_rng(0)
X = generator.normal(size=(rows, features))
first, second = np.linalg.qr(generator.normal(size=(features, 2)))[0].T
y = np.where(np.arange(rows) < rows // 2, X @ first, X @ second) + 0.1 * generator.normal(size=rows)
y = np.where(y >= 0, 1, -1)

learners = {
    "AROW": Learner("arow", covariance="diagonal"),
    "AROW, variance_floor=0.01": Learner("arow", covariance="diagonal", variance_floor=0.01),
    "AROW, variance_floor=0.1": Learner("arow", covariance="diagonal", variance_floor=0.1),
    "PA-I": Learner("pa1"),
}

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, learner in learners.items():
    wrong = (learner.trace(X, y).score >= 0) != (y > 0)
    axes.plot(np.arange(window, rows + 1, window), wrong.reshape(-1, window).mean(axis=1), label=name)
axes.axvline(rows // 2, color="k", linestyle=":", label="drift")
axes.set(xlabel="examples", ylabel=f"mistake rate per {window} examples", ylim=(0, 0.6))
axes.legend()
plt.show()
