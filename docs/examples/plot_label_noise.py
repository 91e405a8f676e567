"""
Why soft: labels that are wrong
===============================

CW must classify each example with confidence as soon as it has seen it, whatever that takes; a mislabelled one makes it
forget. SCW-I pays for what it does not manage instead. The more labels are flipped, the more that is worth.
"""

import matplotlib.pyplot as plt

from scwlearn import Learner
from scwlearn.datasets.synthetic import make_synthetic
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
axes.plot(noise, noise, "k:", label="the flipped labels themselves")
axes.set(xlabel="share of labels flipped", ylabel="online mistake rate")
axes.legend()
plt.show()
