"""Models of one kind that were trained apart, made into one: `merge`, and what it does with learners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import Any, TypeVar

import numpy as np

from scwlearn._native import Vocabulary
from scwlearn.called import OwnRule
from scwlearn.covariance import Gaussian
from scwlearn.learner import Learner
from scwlearn.memory import memory_for
from scwlearn.merging.gaussians import check_models, check_rule, check_same, check_weights, merge_gaussians
from scwlearn.rules import Rule
from scwlearn.single import most_certain

Model = TypeVar("Model")
#: Features by name, as learners know them.
Names = dict[Any, int]

# With a full Sigma bcm can be repeated for these; the steps of the others become larger than what they say they have
# learned, and their sums run away (docs/merging.md has the measurements).
_MERGED_AGAIN_BY_BCM = frozenset({"arow", "nherd", "scw1", "scw2"})

# What learners must have in common.
_SETTINGS = ("rule", "parameters", "covariance", "intercept", "initial_variance", "max_features", "overflow")


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
    Where that makes more than `max_features`, the least certain of them are dropped. Counts and rounds are added. The
    result can go on learning.

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
        Learners. One alone, without a weight, gives a copy.
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

    def merge(self, rule: Rule | OwnRule, gaussians: Sequence[Gaussian], prior: Gaussian | None) -> Gaussian:
        """What models that learn by this rule know (of one class, say), in the order of the models, as one Gaussian."""
        again = prior is not None and prior.covariance.name == "full"
        unsure = again and getattr(rule, "name", None) not in _MERGED_AGAIN_BY_BCM
        return merge_gaussians(gaussians, "kl" if unsure and self.rule == "auto" else self.rule, self.weights, prior)


@singledispatch
def merged(first: Any, models: Sequence[Any], prior: Any, how: How) -> Any:
    """The models, of which `first` is one, and the model that all went on from or None, as one model.

    They are known to be of one type. A further kind is added by registering a function for its type.
    """
    known = ", ".join(sorted(kind.__name__ for kind in merged.registry if kind is not object))
    raise TypeError(f"models[0] is a {type(first).__name__}, which cannot be merged; what can: {known}")


@merged.register
def _(first: Learner, models: Sequence[Learner], prior: Learner | None, how: How) -> Learner:
    everyone = {f"models[{i}]": model for i, model in enumerate(models)}
    if prior is not None:
        everyone["prior"] = prior
    for title, model in everyone.items():
        for setting in _SETTINGS:
            check_same(setting, getattr(first, setting), getattr(model, setting), "models[0]", title)
    together = first._twin()
    before = np.zeros_like(first._tally) if prior is None else prior._tally
    together._tally = sum((model._tally - before for model in models), before)
    taught = {title: model for title, model in everyone.items() if model.gaussian is not None}
    if taught:
        vocabulary = _united_names(taught)
        gaussians = _arranged([*everyone.values()], vocabulary)
        gaussian = how.merge(first.rule, gaussians[: len(models)], None if prior is None else gaussians[-1])
        together.gaussian, together.vocabulary = _bounded(gaussian, vocabulary, first.intercept)
    return together


def _united_names(taught: dict[str, Learner]) -> Vocabulary | None:
    """All names, in the order in which the models met them; None if the features have none."""
    kinds = {title: "without names" if model.vocabulary is None else "with names" for title, model in taught.items()}
    _check_all_same("kind of features", kinds)
    vocabularies = {title: model.vocabulary for title, model in taught.items() if model.vocabulary is not None}
    if not vocabularies:
        return None
    # One that has met no key yet agrees with all.
    types = {title: one.key_type for title, one in vocabularies.items() if one.key_type is not None}
    _check_all_same("type of keys", types)
    first, *others = vocabularies.values()
    return reduce(Vocabulary.united, others, copy(first))


def _check_all_same(what: str, found: dict[str, Any]) -> None:
    for title, value in found.items():
        first = next(iter(found))
        check_same(what, found[first], value, first, title)


def _bounded(gaussian: Gaussian, vocabulary: Vocabulary | None, intercept: bool) -> tuple[Gaussian, Vocabulary | None]:
    """The model without the features, if any, that are too many for its vocabulary."""
    if vocabulary is None or vocabulary.max_features is None or len(vocabulary) <= vocabulary.max_features:
        return gaussian, vocabulary
    too_many = len(vocabulary) - vocabulary.max_features
    return most_certain(gaussian, vocabulary, gaussian.size - intercept, too_many)


def _arranged(learners: Sequence[Learner], vocabulary: Vocabulary | None) -> list[Gaussian]:
    """The Gaussians over the same features; of those that have learned nothing, the prior."""
    # Names that are hashed have their places.
    names = None if vocabulary is None or vocabulary.hashed else vocabulary.names
    gaussians = [learner.gaussian for learner in learners]
    taught = next(gaussian for gaussian in gaussians if gaussian is not None)
    intercept = learners[0].intercept
    width = max(len(names or ()), *(learner.n_features or 0 for learner in learners), 0)
    covariance, size = taught.covariance, width + intercept
    # A copy of each, and what a QR decomposition takes.
    copies = len(learners) + (8 if covariance.name == "full" else 1)
    what = f"merging {len(learners)} models with {size} weights"
    with memory_for(8 * covariance.entries(size) * copies, what=what, instead="merge fewer at a time"):
        return [
            Gaussian.prior(covariance, size, learner.initial_variance)
            if gaussian is None
            else arranged(gaussian, width, intercept, learner.names, names)
            for learner, gaussian in zip(learners, gaussians, strict=True)
        ]


def arranged(gaussian: Gaussian, width: int, intercept: bool, known: Names | None, names: Names | None) -> Gaussian:
    """The Gaussian with room for `width` features, and those that it knows by name where `names` has them."""
    room = gaussian.size - intercept
    if width > room:
        gaussian = gaussian.widened(room, width - room)
    if known is None or names is None:
        return gaussian
    used = set(known.values())
    free = (column for column in range(width) if column not in used)
    order = [known[name] if name in known else next(free) for name in names]
    order += [*free, width][: gaussian.size - len(order)]
    return gaussian if order == [*range(gaussian.size)] else gaussian.reordered(np.array(order))
