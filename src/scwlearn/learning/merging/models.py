"""`merge`: one model made of several of one kind that were trained apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NoReturn, TypeVar

from scwlearn.learning.merging.gaussians import check_merge_rule, check_model_weights, check_models, check_same
from scwlearn.model.covariance import Covariance
from scwlearn.rules import OwnRule, Rule

Model = TypeVar("Model")

# With a full Sigma, bcm can be repeated for these rules. The steps of the others exceed the evidence they report, and
# their sums diverge (docs/merging.md has the measurements).
_MERGED_AGAIN_BY_BCM = frozenset({"arow", "nherd", "scw1", "scw2"})


def merge(
    models: Iterable[Model],
    rule: str = "auto",
    weights: Sequence[float] | None = None,
    *,
    prior: Model | None = None,
) -> Model:
    """Merge models that were trained on different examples.

    The models must be of one kind, have the same settings, and have started from the same prior. They are not changed.
    The result has the features of all models, matched by name or else by index; a feature that a model has not seen has
    the weight and variance of the prior. Beyond `max_features`, the least certain features are dropped. Classes are
    matched by label and merged one by one. Counts and rounds are added. The result can continue to learn.

    With L = Sigma^-1, the gain of model k over the prior dL_k = L_k - L_0, and the weights w_k:

    * "bcm" adds the gains: L = L_0 + sum w_k dL_k, L mu = L_0 mu_0 + sum w_k (L_k mu_k - L_0 mu_0). A weight says how
      many times the evidence of a model counts. Models may be merged in groups, in any grouping.
    * "ev" averages the mean of each feature, weighted by evidence:
      mu = mu_0 + sum w_k dL_k (mu_k - mu_0) / sum w_k dL_k, L = L_0 + sum (w_k dL_k)^2 / sum w_k dL_k.
      If no variance fell, the models whose mean moved count by their weights. With a full Sigma, the directions in
      which the evidence of all together is uncorrelated replace the features.
    * "kl" minimises sum w_k KL(N || N_k): L = mean of L_k, L mu = mean of L_k mu_k, weighted. Only the ratios of the
      weights matter. What only one model knows is diluted by the others.
    * "auto" is "bcm" for a full or diagonal Sigma, "ev" for none. With `prior`, it is "ev" for a diagonal Sigma too;
      for a full one, "bcm" with AROW, NHERD, SCW-I and SCW-II, and "kl" with other rules, for which repeated "bcm"
      diverges.

    Parameters
    ----------
    models : list
        Learners, stream classifiers or fitted estimators, without a kernel. A single one without a weight gives a
        copy.
    rule : {"auto", "bcm", "ev", "kl"}
        How to merge.
    weights : sequence of float, optional
        A positive number for each model; 1 each if not given.
    prior : model, optional
        The model that all of them continued from, if they did not start untrained. When models are merged repeatedly,
        this is the previous merged model.

    Returns
    -------
    model
        A model of the same kind.

    Raises
    ------
    TypeError
        For a kind of model that cannot be merged.
    ValueError
        For models that differ in more than what they have learned.

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
    check_merge_rule(rule)
    method = Method(rule, check_model_weights(weights, len(given)))
    if prior is not None:
        check_same("kind", type(given[0]), type(prior), "models[0]", "prior")
    together: Model = merged(given[0], given, prior, method)
    return together


@dataclass(frozen=True)
class Method:
    """How to merge: the rule that was asked for, and the weight of each model."""

    rule: str
    weights: Sequence[float]

    def rule_for(self, rule: Rule | OwnRule, covariance: Covariance, *, again: bool) -> str:
        """Return how to merge models of a learning rule, from the prior or again from a common model."""
        unsure = again and covariance.correlated and getattr(rule, "name", None) not in _MERGED_AGAIN_BY_BCM
        return "kl" if unsure and self.rule == "auto" else self.rule


@singledispatch
def merged(first: Any, models: Sequence[Any], prior: Any, method: Method) -> Any:
    """Merge models of one type, of which `first` is one, and the model that all continued from, or None.

    Register a function for a further type.
    """
    refuse(first)


def refuse(model: Any) -> NoReturn:
    """Raise a TypeError for a kind that cannot be merged."""
    raise TypeError(
        f"models[0] is a {type(model).__name__}, which cannot be merged; learners, estimators and streams without a "
        "kernel can"
    )


def titled(models: Sequence[Model], prior: Model | None) -> dict[str, Model]:
    """Return the models, and last the one that they continued from, by their titles in errors."""
    named = {f"models[{i}]": model for i, model in enumerate(models)}
    return named if prior is None else named | {"prior": prior}
