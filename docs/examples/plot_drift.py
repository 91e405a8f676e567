"""
A stream that changes
=====================

The more examples a second-order learner has seen, the surer it is of its weights and the less it moves them. That is
right as long as the examples keep coming from the same place. Here the labels follow one direction in the first half
of the stream and another in the second. With `variance_floor` no variance falls below a part of that of the prior, and
the learner keeps moving; what it gives for that in the first half is how far the curves lie apart there.
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
axes.axvline(rows // 2, color="k", linestyle=":", label="the direction changes")
axes.set(xlabel="examples", ylabel=f"mistakes, by {window} examples", ylim=(0, 0.6))
axes.legend()
plt.show()
