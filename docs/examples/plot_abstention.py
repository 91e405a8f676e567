"""
Answer only where it is sure
============================

A classifier that may say "I do not know" makes fewer mistakes with what it does answer. What it needs is a number that
says how sure it is: the probability of the class that it names. Here models learn 900 of scikit-learn's digits in one
pass, and then answer that share of the others of which they are surest. Means over five divisions of the digits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from scwlearn import AROW, PA1, SCW1

X, y = load_digits(return_X_y=True)
X = X / 16


def divisions(count=5, learned=900):
    """Rows to learn from, and rows to be asked about."""
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(y))
        yield order[:learned], order[learned:]


def by_probability(model, X):
    """The probability of the class that the model names."""
    return model.predict_proba(X).max(axis=1)


def by_margin(model, X):
    """How far the score of the best class is above that of the next."""
    scores = np.sort(model.decision_function(X), axis=1)
    return scores[:, -1] - scores[:, -2]


def errors_of_the_surest(Model):
    """The error among the surest examples, for each number of them, by probability and by margin; means."""
    errors = []
    for train, test in divisions():
        model = Model().fit(X[train], y[train])
        wrong = model.predict(X[test]) != y[test]
        for how_sure in (by_probability, by_margin):
            surest_first = np.argsort(-how_sure(model, X[test]), kind="stable")
            errors.append(np.cumsum(wrong[surest_first]) / np.arange(1, len(test) + 1))
    return np.mean(errors[::2], axis=0), np.mean(errors[1::2], axis=0)


figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for Model, title, color in ((PA1, "PA-I", "C0"), (SCW1, "SCW-I", "C1"), (AROW, "AROW", "C2")):
    for error, line, name in zip(errors_of_the_surest(Model), "-:", ("probability", "margin"), strict=True):
        share = 100 * np.arange(1, len(error) + 1) / len(error)
        axes.plot(share, 100 * error, line, color=color, label=f"{title}, by {name}")
axes.set(xlabel="digits answered, in %", ylabel="of those wrong, in %", xlim=(40, 100), ylim=(0, None))
axes.legend()
plt.show()

# %%
# SCW-I and AROW leave out a tenth of the digits and with it four in five of their mistakes or more. The probability
# knows a little more than the margin: it also takes into account how unsure the scores are.
#
# What was never seen
# -------------------
#
# A probability is one among the classes that the model knows. An example that belongs to none of them is another
# matter: the model may be sure that it is rather this than that. The variance of the score tells, which is large where
# the model has not learned. Here one digit is left out of what is learned. Then as many examples are refused as it
# takes to refuse one in twenty of the digits that were learned: those of the largest variance, or those of the smallest
# probability.


def strangers_refused(stranger, refused=0.05):
    """Which share of a digit that was not learned is refused: by variance, by probability, by both in halves."""
    shares = []
    for train, test in divisions():
        train = train[y[train] != stranger]
        model = AROW().fit(X[train], y[train])
        best = model.decision_function(X[test]).argmax(axis=1)
        variance = model.margin_variance(X[test])[np.arange(len(test)), best]
        doubt = 1 - by_probability(model, X[test])
        known = y[test] != stranger

        def largest(values, share, known=known):
            return values[~known] > np.quantile(values[known], 1 - share)

        both = largest(variance, refused / 2) | largest(doubt, refused / 2)
        shares.append([which.mean() for which in (largest(variance, refused), largest(doubt, refused), both)])
    return np.mean(shares, axis=0)


shares = 100 * np.array([strangers_refused(digit) for digit in range(10)])
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for number, (name, color) in enumerate((("by variance", "C2"), ("by probability", "C7"), ("half by each", "C4"))):
    axes.bar(np.arange(10) + 0.28 * (number - 1), shares[:, number], 0.28, color=color, label=name)
axes.axhline(5, color="k", linestyle=":", label="of digits that were learned")
axes.set(xlabel="the digit that was not learned", ylabel="of it refused, in %", ylim=(0, 130))
axes.set(xticks=range(10), yticks=range(0, 101, 20))
axes.legend(loc="upper left", ncols=2)
plt.show()

# %%
# The variance finds most of a digit that has strokes where the others have none. One that is made of the strokes of
# others is no news to it; there the probability, divided among these others, does better. Half of the refusals by each
# is within ten points of the better of the two for every digit.
