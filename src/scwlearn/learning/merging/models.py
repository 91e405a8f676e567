"""`merge`: one model made of several of one kind that were trained apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NoReturn, TypeVar

from scwlearn._util.locks import unchanged
from scwlearn.learning.merging.gaussians import check_merge_rule, check_model_weights, check_models, check_same
from scwlearn.model.gaussian import Gaussian
from scwlearn.rules import OwnRule, Rule

Model = TypeVar("Model")

# With a full Sigma, bcm can be repeated for these rules. The steps of the others exceed the evidence they report, and
# their sums diverge (docs/merging.md has the measurements).
_MERGED_AGAIN_BY_BCM = frozenset({"arow", "nherd", "scw1", "scw2"})
# So do those of many models of SCW, unless their evidence counts less than its sum: as K^0.25 times its mean, and at
# most this.
_DAMPED = frozenset({"scw1", "scw2"})
_MOST_EVIDENCE = 2.4


def merge(
    models: Iterable[Model],
    rule: str = "auto",
    weights: Sequence[float] | None = None,
    *,
    prior: Model | None = None,
) -> Model:
    """Merge models that were trained on different examples.

    The models must be of one kind, have the same settings, and have started from the same prior. They are not changed.
    The result has the features of all models, matched by name or else by index; a feature that a model has not seen, or
    has dropped, has the weight and variance of the prior. Beyond `max_features`, the least certain features are
    dropped. Classes are matched by label and merged one by one. Counts and rounds are added. The result can continue to
    learn.

    With L = Sigma^-1, the gain of model k over the prior dL_k = L_k - L_0, and the weights w_k:

    * "bcm" adds the gains: L = L_0 + sum w_k dL_k, L mu = L_0 mu_0 + sum w_k (L_k mu_k - L_0 mu_0). A weight says how
      many times the evidence of a model counts. Models may be merged in groups, in any grouping; for joint classes, or
      with a running scale, a full Sigma then differs slightly.
    * "ev" averages the mean of each feature, weighted by evidence:
      mu = mu_0 + sum w_k dL_k (mu_k - mu_0) / sum w_k dL_k, L = L_0 + sum (w_k dL_k)^2 / sum w_k dL_k.
      If no variance fell, the models whose mean moved count by their weights. With a full Sigma, the directions in
      which the evidence of all together is uncorrelated replace the features; where it is equal in several of them,
      it counts as a matrix. For joint classes with a diagonal Sigma, the root of a model's evidence about all classes
      replaces w_k dL_k in mu, a quarter of it without own evidence.
    * "kl" minimises sum w_k KL(N || N_k): L = mean of L_k, L mu = mean of L_k mu_k, weighted. Only the ratios of the
      weights matter. What only one model knows is diluted by the others.
    * "auto" is "bcm" for a full or diagonal Sigma, "ev" for none and for joint classes, except AROW and NHERD with a
      full Sigma. With `prior`, it is "ev" for a diagonal Sigma too; for a full one, "bcm" with AROW and NHERD, "bcm"
      with weights min(K^0.25, 2.4) / K for K models of SCW-I and SCW-II, and "kl" with other rules, for which
      repeated "bcm" diverges.

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
    check_merge_rule(rule)
    return _merge(given, prior, Method(rule, check_model_weights(weights, len(given))))


def merge_titled(models: Mapping[str, Model], rule: str = "auto", weights: Sequence[float] | None = None) -> Model:
    """Merge models that errors name by these titles; see `merge`."""
    check_merge_rule(rule)
    return _merge([*models.values()], None, Method(rule, check_model_weights(weights, len(models)), titles=[*models]))


def merge_group(models: Sequence[Model], rule: str, prior: Model | None, count: int) -> Model:
    """Merge a group of models, where `count` models in all groups have learned something; 1 for results of groups."""
    return _merge(models, prior, Method(rule, [1.0] * len(models), count))


def _merge(models: Sequence[Model], prior: Model | None, method: Method) -> Model:
    by_title = method.titled(models, prior)
    first = next(iter(by_title))
    for title, model in by_title.items():
        check_same("kind", type(models[0]), type(model), first, title)
    with unchanged([*models, prior]):
        together: Model = merged(models[0], models, prior, method)
    return together


@dataclass(frozen=True)
class Method:
    """How to merge."""

    #: As it was asked for.
    rule: str
    #: The weight of each model.
    weights: Sequence[float]
    #: How many models have learned something, if these are a group of them.
    count: int | None = None
    #: How errors name the models; "models[0]" and so on by default.
    titles: Sequence[str] | None = None

    def titled(self, models: Sequence[Model], prior: Model | None) -> dict[str, Model]:
        """Return the models, and last the one that they continued from, by their titles in errors."""
        titles = [f"models[{i}]" for i in range(len(models))] if self.titles is None else self.titles
        named = dict(zip(titles, models, strict=True))
        return named if prior is None else named | {"prior": prior}

    def refuse(self, model: Any) -> NoReturn:
        """Raise a TypeError for the kind of the models, of which this is the first or its learner."""
        title = "models[0]" if self.titles is None else self.titles[0]
        shown = f"{title} is a {type(model).__name__}, which cannot be merged"
        if part := getattr(type(model), "_part_to_save", None):
            raise TypeError(f"{shown}; merge its {part}")
        raise TypeError(f"{shown}; learners, estimators and streams without a kernel can")

    def for_models(
        self, rule: Rule | OwnRule, model: Gaussian, learned: int, *, again: bool
    ) -> tuple[str, Sequence[float]]:
        """Return how to merge models like this, with which weights.

        Parameters
        ----------
        rule : Rule or OwnRule
            The rule by which they learned.
        model : Gaussian
            One of them.
        learned : int
            How many of them have learned something.
        again : bool
            Whether they continued from a common model, not from the prior.
        """
        name, correlated = getattr(rule, "name", ""), model.covariance.correlated
        if self.rule != "auto":
            return self.rule, self.weights
        if again and correlated and name in _MERGED_AGAIN_BY_BCM:
            count = max(1, self.count or learned)
            share = min(count**0.25, _MOST_EVIDENCE) / count if name in _DAMPED else 1.0
            return "bcm", [weight * share for weight in self.weights]
        if again and correlated:
            return "kl", self.weights
        # Joint classes: the rival in a step depends on what each model knew, and the sum of their steps goes too far.
        is_sum = correlated and name in ("arow", "nherd")
        return ("ev" if model.joint and not model.is_binary and not is_sum else "auto"), self.weights


@singledispatch
def merged(first: Any, models: Sequence[Any], prior: Any, method: Method) -> Any:
    """Merge models of one type, of which `first` is one, and the model that all continued from, or None.

    Register a function for a further type.
    """
    method.refuse(first)
