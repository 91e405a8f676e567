"""
Learning with wrong labels
==========================

CW must classify each example with confidence after learning it, at any cost, so a wrong label destroys much of what it
has learned. SCW-I has a soft constraint: it may pay a penalty instead. The more labels are flipped, the larger its
advantage.
"""

import matplotlib.pyplot as plt

from scwlearn import Learner
from scwlearn.datasets import make_synthetic
from scwlearn.rules import find_rule

noise = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
algorithms = {"pa": {}, "cw": {"eta": 0.8}, "arow": {"r": 1.0}, "scw1": {"C": 0.25, "eta": 0.8}}

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, parameters in algorithms.items():
    rates = []
    for share in noise:
        X, y = make_synthetic(5000, label_noise=share, seed=1)
        rates.append(Learner(name, **parameters).learn(X, y).mistakes / 5000)
    axes.plot(noise, rates, marker="o", label=find_rule(name).title)
axes.plot(noise, noise, "k:", label="flipped labels")
axes.set(xlabel="fraction of flipped labels", ylabel="progressive mistake rate")
axes.legend()
plt.show()
