"""
Averaged weights
================

PA-I moves its weights until the current example is classified correctly, even if its label is wrong. Here one label in
ten is wrong, and the error of the latest weights on new examples jumps up and down. The average of the weights, which
`PA1` predicts with by default, is steady and far better. SCW-I takes smaller steps as it becomes more certain, and
needs no average.
"""

import matplotlib.pyplot as plt
import numpy as np

from scwlearn import Learner

rows, features, step = 2000, 20, 10
generator = np.random.default_rng(1)
X, test = generator.normal(size=(rows, features)), generator.normal(size=(2000, features))
direction = generator.normal(size=features)
y, y_test = np.where(X @ direction >= 0, 1, -1), np.where(test @ direction >= 0, 1, -1)
y[generator.random(rows) < 0.1] *= -1

learners = {
    "PA-I, latest weights": Learner("pa1"),
    "PA-I, average=True": Learner("pa1", average=True),
    "SCW-I": Learner("scw1", covariance="full"),
}

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, learner in learners.items():
    errors = []
    for start in range(0, rows, step):
        learner.learn(X[start : start + step], y[start : start + step])
        errors.append(np.mean((learner.scores(test) >= 0) != (y_test > 0)))
    axes.plot(np.arange(step, rows + 1, step), errors, label=name)
axes.set(xlabel="examples", ylabel="error on new examples", ylim=(0, 0.4))
axes.legend()
plt.show()
