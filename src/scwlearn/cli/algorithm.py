"""The options that say which algorithm learns, and how its model is made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from scwlearn.cli.messages import in_flags
from scwlearn.cli.options import algorithm_option, option, own_options, with_options
from scwlearn.rules import Rule, find_rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scwlearn.runs.config import Choices

_MODEL = "Algorithm"

#: How a model is made, whatever the algorithm.
model_options = with_options(
    option(
        "--covariance",
        type=click.Choice(("auto", "full", "diagonal", "diagonal-drop", "identity")),
        section=_MODEL,
        help="How Sigma is kept; auto: full for few numbered features, else the diagonal that suits the algorithm.",
    ),
    option("--initial-variance", type=float, section=_MODEL, help="The prior is N(0, this I).  [default: 1]"),
    option(
        "--variance-floor",
        type=float,
        section=_MODEL,
        help="The part of it below which no variance falls, for streams that change.  [default: 0]",
    ),
    option(
        "--multi-class", type=click.Choice(("joint", "ovr")), section=_MODEL, help="How more than two classes learn."
    ),
    option("--shared-covariance", is_flag=True, default=None, section=_MODEL, help="One Sigma for all classes."),
    option("--no-intercept", is_flag=True, section=_MODEL, help="Learn no constant."),
    option("--scale", is_flag=True, default=None, section=_MODEL, help="Divide each feature by a running scale."),
    option(
        "--class-weight",
        section=_MODEL,
        metavar="balanced|A=2,B=1",
        help="What the examples of each class weigh.",
    ),
    option(
        "--hash-bits",
        type=click.IntRange(1, 30),
        section=_MODEL,
        metavar="B",
        help="Hash the names of features into 2^B weights.",
    ),
    option(
        "--max-features",
        type=click.IntRange(1),
        section=_MODEL,
        metavar="N",
        help="Keep at most N features; the least certain make room.",
    ),
)

#: The algorithm with its own parameters, and how its model is made.
algorithm_options = with_options(algorithm_option, own_options, model_options)


def rule_of(name: str) -> Rule:
    """The algorithm of that name, or a usage error that lists the names."""
    try:
        return find_rule(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithm") from None


def choices_of(rule: Rule, parameters: Mapping[str, float], given: dict[str, Any]) -> Choices:
    """What is to be learned and how, or a usage error for settings that no model can have."""
    from scwlearn.runs.config import Choices

    choices = Choices(rule, parameters, settings_of(given))
    try:
        choices.learner()
    except (TypeError, ValueError) as error:
        raise click.UsageError(in_flags(str(error))) from None
    return choices


def given_model_options() -> list[str]:
    """The flags about how a model is made that stand on the command line."""
    ctx = click.get_current_context()
    return [
        max(param.opts, key=len)
        for param in ctx.command.params
        if getattr(param, "section", "") == _MODEL
        and param.name not in (None, "algorithm")
        and ctx.get_parameter_source(param.name) == ParameterSource.COMMANDLINE
    ]


def settings_of(given: dict[str, Any]) -> dict[str, Any]:
    """What was said about the model, by the names of the settings."""
    names = ("covariance", "initial_variance", "variance_floor", "multi_class", "shared_covariance", "scale")
    settings = {name: given[name] for name in names if given[name] is not None}
    if given["no_intercept"]:
        settings["fit_intercept"] = False
    if given["class_weight"] is not None:
        settings["class_weight"] = _class_weight(given["class_weight"])
    if given["hash_bits"] is not None and given["max_features"] is not None:
        raise click.UsageError("--hash-bits and --max-features are two ways to bound a model; give one")
    if given["hash_bits"] is not None:
        settings |= {"max_features": 2 ** given["hash_bits"], "overflow": "hash"}
    if given["max_features"] is not None:
        settings |= {"max_features": given["max_features"], "overflow": "drop"}
    return settings


def _class_weight(text: str) -> str | dict[str, float]:
    if text == "balanced":
        return text
    weights: dict[str, float] = {}
    for part in text.split(","):
        label, _, number = part.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            label = ""
        if not label:
            raise _wrong_class_weight(f"expected balanced or LABEL=WEIGHT,..., got {text!r}")
        if weight < 0 or not math.isfinite(weight):
            raise _wrong_class_weight(f"a weight is 0 or a positive number; {label} has {number}")
        if label in weights:
            raise _wrong_class_weight(f"{label} has two weights, {weights[label]:g} and {weight:g}")
        weights[label] = weight
    return weights


def _wrong_class_weight(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--class-weight")
