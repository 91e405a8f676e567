"""
Active learning: ask when unsure
================================

Examples are cheap, labels are expensive. A model that knows its uncertainty can request only the labels that it would
learn from. Here, digits arrive in batches of 20. The model requests the labels of those whose best class leads the
second best by less than some number of standard deviations,

.. math:: F_1 - F_2 < t \\sqrt{v_1 + v_2},

with the scores :math:`F` from `decision_function` and their variances :math:`v` from `margin_variance`. During
learning, variances fall and margins grow, so it requests fewer and fewer labels. The baseline requests labels at
random.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from scwlearn import AROW

X, y = load_digits(return_X_y=True)
X = X / 16
streamed, batch, orders = 1200, 20, 5


def unsure(model, X, t):
    """Return which examples are decided by less than t standard deviations."""
    scores, variances = model.decision_function(X), model.margin_variance(X)
    second, first = np.argsort(scores, axis=1)[:, -2:].T
    rows = np.arange(len(X))
    margin = scores[rows, first] - scores[rows, second]
    return margin < t * np.sqrt(variances[rows, first] + variances[rows, second])


def run(ask, seed):
    """Return the number of requested labels after each batch, and the final error on the other digits."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(y))
    stream, rest = order[:streamed], order[streamed:]
    model = AROW().partial_fit(X[stream[:batch]], y[stream[:batch]], classes=range(10))
    asked = [batch]
    for start in range(batch, streamed, batch):
        rows = stream[start : start + batch]
        rows = rows[ask(model, X[rows], random)]
        if len(rows):
            model.partial_fit(X[rows], y[rows])
        asked.append(asked[-1] + len(rows))
    return np.array(asked), (model.predict(X[rest]) != y[rest]).mean()


def mean_of_runs(ask):
    """Average `run` over several orders of the digits."""
    asked, errors = zip(*(run(ask, seed) for seed in range(orders)), strict=True)
    return np.mean(asked, axis=0), np.mean(errors)


by_doubt = {t: mean_of_runs(lambda model, X, _, t=t: unsure(model, X, t)) for t in (0.05, 0.1, 0.2, 0.5, 1.0)}
at_random = [mean_of_runs(lambda _, X, random, p=p: random.random(len(X)) < p) for p in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0)]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
for name, runs in (("at random", at_random), ("when unsure", by_doubt.values())):
    left.plot(*zip(*((asked[-1], 100 * error) for asked, error in runs), strict=True), "o-", label=name)
for t, (asked, error) in by_doubt.items():
    left.annotate(f"t = {t:g}", (asked[-1], 100 * error), (-6, -10), textcoords="offset points", fontsize=8, ha="right")
    right.plot(np.arange(batch, streamed + 1, batch), asked, label=f"t = {t:g}")
left.set(xlabel=f"requested labels, of {streamed}", ylabel="test error (%)", xlim=(0, None), ylim=(0, None))
left.legend(title="requests")
right.plot([0, streamed], [0, streamed], "k:", label="all")
right.set(xlabel="digits", ylabel="requested labels")
right.legend()
plt.show()

# %%
# For the same error it requests half to two thirds of the labels. Note that its probabilities are then calibrated on
# the requested examples, which are the hard ones.
