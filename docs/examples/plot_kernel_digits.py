"""
Digits in one pass with a kernel
================================

Ten kernel learners, one-vs-rest, learn a thousand of scikit-learn's digits in one pass. The lower row shows the test
digits with the largest variance of the winning score, of which the model is least sure.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier

from scwlearn import SCW1, KernelPerceptron, KernelSCW1

X, y = load_digits(return_X_y=True)
train, test = slice(0, 1000), slice(1000, None)

for model in (SCW1(random_state=0), KernelPerceptron(random_state=0), KernelSCW1(random_state=0)):
    error = 1 - OneVsRestClassifier(model).fit(X[train], y[train]).score(X[test], y[test])
    print(f"{type(model).__name__:16} test error {error:.3f}")

# %%
# The test digits of which the last model is most and least sure:

digits = OneVsRestClassifier(KernelSCW1(random_state=0)).fit(X[train], y[train])
scores = digits.decision_function(X[test])
variances = np.column_stack([one.margin_variance(X[test]) for one in digits.estimators_])
winner = scores.argmax(axis=1)
unsure = variances[np.arange(len(winner)), winner]
order = np.argsort(unsure)

figure, rows = plt.subplots(2, 10, figsize=(11, 3), layout="constrained")
for row, chosen, title in zip(rows, (order[:10], order[-10:]), ("most sure", "least sure"), strict=True):
    for panel, i in zip(row, chosen, strict=True):
        panel.imshow(X[test][i].reshape(8, 8), cmap="gray_r")
        right = digits.classes_[winner[i]] == y[test][i]
        panel.set_title(f"{digits.classes_[winner[i]]}", color="k" if right else "r", fontsize=10)
        panel.set(xticks=[], yticks=[])
    row[0].set_ylabel(title)
plt.show()
