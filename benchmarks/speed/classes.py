"""Twenty classes, compared with scikit-learn's linear models, which learn one-vs-rest."""

from __future__ import annotations

from speed import data, fit, peers
from speed.fit import PERCEPTRON_IN_ORDER, SCW1_DEFAULT, SCW1_IN_ORDER, SGD
from speed.harness import Race, Scale, comparison, times_faster

OVR = 'SCW1(covariance="diagonal", multi_class="ovr")'
DATA = "20 classes, CSR"


def rows(scale: Scale) -> data.Rows:
    """Return text in unit rows."""
    return data.newsgroups().first(scale.of(20_000, 2_000))


@comparison(
    f"{SCW1_DEFAULT}.fit, {DATA}",
    against=SGD,
    target=times_faster(2),
    chart=fit.bar("SCW1, 20 classes, sparse, shuffled", "SGDClassifier"),
)
def classes_joint_sgd(scale: Scale) -> Race:
    """The default of both sides: ours learns the classes jointly, with a covariance per class."""
    return fit.race(rows(scale), fit.scw1, SGD, peers.sgd)


@comparison(f"{SCW1_IN_ORDER}.fit, {DATA}", against=PERCEPTRON_IN_ORDER)
def classes_joint_perceptron(scale: Scale) -> Race:
    """The cheapest possible update, twenty times."""
    return fit.race(rows(scale), fit.scw1_in_order, PERCEPTRON_IN_ORDER, peers.perceptron_in_order)


@comparison(f"{OVR}.fit, {DATA}", against=SGD, target=times_faster(1))
def classes_one_versus_rest_sgd(scale: Scale) -> Race:
    """One-vs-rest, as the peers do."""
    return fit.race(rows(scale), lambda: fit.scw1(multi_class="ovr"), SGD, peers.sgd)
