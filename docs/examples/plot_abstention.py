"""
Abstaining when unsure
======================

A classifier that may answer "I do not know" makes fewer mistakes on the examples it does answer. It needs a measure of
confidence: the probability of the predicted class. Here, models learn 900 of scikit-learn's digits in one pass and then
answer only the most confident share of the others. All curves are means over five random splits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from scwlearn import AROW, PA1, SCW1

X, y = load_digits(return_X_y=True)
X = X / 16


def splits(count=5, learned=900):
    """Yield indices of training and test rows."""
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(y))
        yield order[:learned], order[learned:]


def by_probability(model, X):
    """Return the probability of the predicted class."""
    return model.predict_proba(X).max(axis=1)


def by_margin(model, X):
    """Return the lead of the best score over the second best."""
    scores = np.sort(model.decision_function(X), axis=1)
    return scores[:, -1] - scores[:, -2]


def errors_of_most_confident(Model):
    """Return the mean error among the k most confident examples, for each k, by probability and by margin."""
    errors = []
    for train, test in splits():
        model = Model(random_state=0).fit(X[train], y[train])
        wrong = model.predict(X[test]) != y[test]
        for confidence in (by_probability, by_margin):
            order = np.argsort(-confidence(model, X[test]), kind="stable")
            errors.append(np.cumsum(wrong[order]) / np.arange(1, len(test) + 1))
    return np.mean(errors[::2], axis=0), np.mean(errors[1::2], axis=0)


figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for Model, title, color in ((PA1, "PA-I", "C0"), (SCW1, "SCW-I", "C1"), (AROW, "AROW", "C2")):
    for error, line, name in zip(errors_of_most_confident(Model), "-:", ("probability", "margin"), strict=True):
        share = 100 * np.arange(1, len(error) + 1) / len(error)
        axes.plot(share, 100 * error, line, color=color, label=f"{title}, by {name}")
axes.set(xlabel="digits answered (%)", ylabel="error among them (%)", xlim=(40, 100), ylim=(0, None))
axes.legend()
plt.show()

# %%
# By skipping a tenth of the digits, SCW-I and AROW avoid at least four in five of their mistakes. The probability is
# slightly better than the margin, because it also accounts for the variance of the scores.
#
# Unknown classes
# ---------------
#
# Probabilities are divided among the classes that the model knows. For an example of an unknown class, the model may
# still be confident that one known class fits better than another. The variance of the score helps: it is large where
# the model has not learned. Here, one digit is left out of training. The rejection threshold is set so that one in
# twenty of the known digits is rejected: by the largest variance, or by the smallest probability.


def unknown_rejected(unknown, rejected=0.05):
    """Return the rejected share of an unknown digit: by variance, by probability, and half by each."""
    shares = []
    for train, test in splits():
        train = train[y[train] != unknown]
        model = AROW(random_state=0).fit(X[train], y[train])
        best = model.decision_function(X[test]).argmax(axis=1)
        variance = model.margin_variance(X[test])[np.arange(len(test)), best]
        doubt = 1 - by_probability(model, X[test])
        known = y[test] != unknown

        def largest(values, share, known=known):
            return values[~known] > np.quantile(values[known], 1 - share)

        both = largest(variance, rejected / 2) | largest(doubt, rejected / 2)
        shares.append([which.mean() for which in (largest(variance, rejected), largest(doubt, rejected), both)])
    return np.mean(shares, axis=0)


shares = 100 * np.array([unknown_rejected(digit) for digit in range(10)])
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for number, (name, color) in enumerate((("by variance", "C2"), ("by probability", "C7"), ("half by each", "C4"))):
    axes.bar(np.arange(10) + 0.28 * (number - 1), shares[:, number], 0.28, color=color, label=name)
axes.axhline(5, color="k", linestyle=":", label="known digits")
axes.set(xlabel="unknown digit", ylabel="rejected (%)", ylim=(0, 130))
axes.set(xticks=range(10), yticks=range(0, 101, 20))
axes.legend(loc="upper left", ncols=2)
plt.show()

# %%
# The variance detects a digit that has strokes where the others have none. A digit that consists of the strokes of
# others looks familiar; there the probability, divided among these others, does better. Rejecting half by each is
# within ten points of the better of the two for every digit.
