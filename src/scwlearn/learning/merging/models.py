"""Models of one kind that were trained apart, made into one: `merge`, which asks what is registered for that kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NoReturn, TypeVar

from scwlearn.learning.merging.gaussians import check_models, check_rule, check_same, check_weights
from scwlearn.rules import Rule
from scwlearn.rules.native import OwnRule

Model = TypeVar("Model")

# With a full Sigma bcm can be repeated for these; the steps of the others become larger than what they say they have
# learned, and their sums run away (docs/merging.md has the measurements).
_MERGED_AGAIN_BY_BCM = frozenset({"arow", "nherd", "scw1", "scw2"})


def merge(
    models: Iterable[Model],
    rule: str = "auto",
    weights: Sequence[float] | None = None,
    *,
    prior: Model | None = None,
) -> Model:
    """One model made of several that were trained on different examples.

    The models are of one kind, with the same settings, and began from the same prior. They are not changed. Features
    are united, by name where they have names, else by number: a model knows what it has not met as the prior does.
    Where that makes more than `max_features`, the least certain of them are dropped. Classes are united, too, by their
    labels, and merged one by one. Counts and rounds are added. The result can go on learning.

    With L = Sigma^-1, what each has learned over the prior, dL_k = L_k - L_0, and the weights w_k:

    * "bcm" adds what they have learned: L = L_0 + sum w_k dL_k, L mu = L_0 mu_0 + sum w_k (L_k mu_k - L_0 mu_0).
      A weight says how many times the evidence of a model counts. It can be done in parts, however they are grouped.
    * "ev" takes the mean, for each feature, by what each has learned about it:
      mu = mu_0 + sum w_k dL_k (mu_k - mu_0) / sum w_k dL_k, L = L_0 + sum (w_k dL_k)^2 / sum w_k dL_k.
      A weight multiplies evidence here, too. Where none became surer, those that moved count the same. With a full
      Sigma, directions in which the evidence of all together has no correlations take the place of the features.
    * "kl" is the Gaussian with the least sum of w_k KL(it || N_k): L = mean of L_k, L mu = mean of L_k mu_k, weighted.
      Only the ratios of the weights matter. What one model alone knows is drowned by what the others do not.
    * "auto" is "bcm" for a full or diagonal Sigma, "ev" where none is kept. With `prior` it is "ev" for a diagonal
      Sigma, too, and "kl" for a full one with a rule whose steps "bcm" would sum up without end: all but AROW, NHERD,
      SCW-I and SCW-II.

    Parameters
    ----------
    models : list
        Learners, classifiers of streams, or estimators that are fitted, without a kernel. One alone, without a weight,
        gives a copy.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge.
    weights : sequence of float, optional
        A positive number for each model; 1 each if not given.
    prior : model, optional
        The model that all of them went on from, where that is not the untaught one: when models are merged again and
        again while they learn, the merged model of the last time, of which each is a copy that has learned on.

    Examples
    --------
    >>> from scwlearn import Learner, merge
    >>> north, south = Learner("scw1"), Learner("scw1")
    >>> _ = north.learn_one({"snow": 1, "rain": 1}, 1)
    >>> _ = south.learn_one({"rain": 1, "sand": 1}, -1)
    >>> both = merge([north, south])
    >>> both.names, both.counts.seen
    ({'snow': 0, 'rain': 1, 'sand': 2}, 2)
    >>> both.score_one({"snow": 1}) > 0 > both.score_one({"sand": 1})
    True

    Estimators may know different classes:

    >>> from scwlearn import AROW
    >>> north = AROW().fit([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1]], ["snow", "rain"])
    >>> south = AROW().fit([[0.1, 1.0, 0.0], [0.0, 0.2, 1.0]], ["rain", "sand"])
    >>> both = merge([north, south])
    >>> both.classes_.tolist(), both.n_seen_
    (['rain', 'sand', 'snow'], 4)
    >>> both.predict([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).tolist()
    ['snow', 'rain', 'sand']
    """
    given = check_models(models)
    for i, model in enumerate(given):
        check_same("kind", type(given[0]), type(model), "models[0]", f"models[{i}]")
    check_rule(rule)
    how = How(rule, check_weights(weights, len(given)))
    if prior is not None:
        check_same("kind", type(given[0]), type(prior), "models[0]", "prior")
    together: Model = merged(given[0], given, prior, how)
    return together


@dataclass(frozen=True)
class How:
    """How to merge: the way that was asked for, and a weight for each model."""

    rule: str
    weights: Sequence[float]

    def rule_for(self, rule: Rule | OwnRule, covariance: str, *, again: bool) -> str:
        """The way to merge models that learn by this rule, from the prior or again from what they have in common."""
        unsure = again and covariance == "full" and getattr(rule, "name", None) not in _MERGED_AGAIN_BY_BCM
        return "kl" if unsure and self.rule == "auto" else self.rule


@singledispatch
def merged(first: Any, models: Sequence[Any], prior: Any, how: How) -> Any:
    """The models, of which `first` is one, and the model that all went on from or None, as one model.

    They are known to be of one type. A further kind is added by registering a function for its type.
    """
    refuse(first)


def refuse(model: Any) -> NoReturn:
    """An error for a kind that cannot be merged."""
    raise TypeError(
        f"models[0] is a {type(model).__name__}, which cannot be merged; learners, estimators and streams without a "
        "kernel can"
    )


def everyone(models: Sequence[Model], prior: Model | None) -> dict[str, Model]:
    """The models, and the one that they went on from last, by what errors call them."""
    named = {f"models[{i}]": model for i, model in enumerate(models)}
    return named if prior is None else named | {"prior": prior}
