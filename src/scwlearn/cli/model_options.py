"""Options for the algorithm and its model, and the configuration that they make."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from scwlearn.cli.messages import error_message
from scwlearn.cli.options import Command, SectionCommand, SectionOption, is_given, option, with_options, words
from scwlearn.display.formatting import number_text
from scwlearn.rules import Rule, all_rules, find_rule

if TYPE_CHECKING:
    from scwlearn.runs.config import ModelConfig

DEFAULT_ALGORITHM = "scw1"
_ALL = "all"
_NAMES = [rule.name for rule in all_rules()]
_SECTION = "Algorithm"
# Prefix of the parameters of algorithms among the arguments of a command.
_OWN = "own_"
# Options of one model, which a command that tries several does not pass on to train.
_NOT_PASSED_ON = {"algorithm", "model", "as_json", "quiet"}


class ParameterOption(SectionOption):
    """A parameter of some algorithms; --help lists those of the chosen algorithm separately."""

    def __init__(self, name: str) -> None:
        super().__init__([f"--{name}", _OWN + name], type=float, hidden=True)


class AlgorithmCommand(SectionCommand):
    """A command whose --help shows the parameters of the algorithm given with it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the algorithm first, since --help may come before it."""
        for index, word in enumerate(args):
            if word in ("-a", "--algorithm"):
                ctx.meta["algorithm"] = next(iter(args[index + 1 :]), None)
            elif word.startswith("--algorithm=") or (word.startswith("-a") and not word.startswith("--")):
                ctx.meta["algorithm"] = word.removeprefix("--algorithm").removeprefix("-a").removeprefix("=")
        return super().parse_args(ctx, args)

    def format_after(self, title: str, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the parameters, or whatever `format_rule` writes, of each algorithm asked for."""
        if title == _SECTION:
            default = next(param.default for param in self.params if param.name == "algorithm")
            for rule in self.rules(ctx.meta.get("algorithm") or str(default)):
                self.format_rule(rule, formatter)

    def rules(self, text: str) -> list[Rule]:
        """Return the algorithms that the option names."""
        return [rule_named(text)]

    def format_rule(self, rule: Rule, formatter: click.HelpFormatter) -> None:
        """Write the parameters of an algorithm."""
        lines = [
            (f"--{p.name} FLOAT", f"{p.meaning} Between {p.low:g} and {p.high:g}.  [default: {p.default:g}]")
            for p in rule.parameters
        ]
        _write_section(formatter, f"Parameters of {rule.name}, {rule.title} (-a NAME --help shows others)", lines)


class SeveralCommand(AlgorithmCommand):
    """A command for several algorithms, whose --help shows their grids if it has one."""

    def rules(self, text: str) -> list[Rule]:
        """Return the algorithms that the option names, if the command has a grid."""
        return rules_named(text) if any(param.name == "grid" for param in self.params) else []

    def format_rule(self, rule: Rule, formatter: click.HelpFormatter) -> None:
        """Write the grid of an algorithm."""
        lines = [(p.name, ", ".join(f"{value:g}" for value in p.grid or (p.default,))) for p in rule.parameters]
        _write_section(formatter, f"Grid of {rule.name}, {rule.title}", lines)


def _write_section(formatter: click.HelpFormatter, title: str, lines: Sequence[tuple[str, str]]) -> None:
    with formatter.section(title):
        if lines:
            formatter.write_dl(lines)
        else:
            formatter.write_text("None: this algorithm has nothing to tune.")


def _complete_rule(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _NAMES if name.startswith(incomplete)]


def _complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    before, comma, last = incomplete.rpartition(",")
    names = [name for name in (*_NAMES, _ALL) if name.startswith(last)]
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name != _ALL or not comma]


algorithm_option = option(
    "-a",
    "--algorithm",
    default=DEFAULT_ALGORITHM,
    show_default=True,
    section=_SECTION,
    metavar="NAME",
    shell_complete=_complete_rule,
    help=f"One of {', '.join(_NAMES)}.",
)


def algorithms_option(default: str) -> Callable[[Any], Any]:
    """Declare the option for several algorithms."""
    return option(
        "-a",
        "--algorithm",
        default=default,
        show_default=True,
        section=_SECTION,
        metavar="NAME,...",
        shell_complete=_complete_rules,
        help=f"{_ALL}, or one or more of {', '.join(_NAMES)}.",
    )


def parameter_options(command: Command) -> Command:
    """Declare an option for each parameter of any algorithm."""
    params = command.__dict__.setdefault("__click_params__", [])
    params += [
        ParameterOption(name) for name in reversed({p.name: None for rule in all_rules() for p in rule.parameters})
    ]
    return command


#: How a model is made, whatever the algorithm.
model_options = with_options(
    option(
        "--covariance",
        type=click.Choice(("auto", "full", "diagonal", "diagonal-drop", "identity")),
        section=_SECTION,
        help="Form of Sigma; auto: full for few numbered features, otherwise the diagonal that suits the algorithm.",
    ),
    option(
        "--initial-variance", type=float, section=_SECTION, help="Variance of each weight in the prior.  [default: 1]"
    ),
    option(
        "--variance-floor",
        type=float,
        section=_SECTION,
        help="Lower bound on each variance, as a fraction of the initial variance; keeps the model adaptive under "
        "drift.  [default: 0]",
    ),
    option(
        "--multi-class",
        type=click.Choice(("joint", "ovr")),
        section=_SECTION,
        help="How more than two classes are trained: jointly, or each against the rest.",
    ),
    option(
        "--shared-covariance", is_flag=True, default=None, section=_SECTION, help="Share one Sigma among all classes."
    ),
    option("--no-intercept", is_flag=True, section=_SECTION, help="Learn no intercept."),
    option("--scale", is_flag=True, default=None, section=_SECTION, help="Divide each feature by a running scale."),
    option(
        "--class-weight", section=_SECTION, metavar="balanced|A=2,B=1", help="Weight of the examples of each class."
    ),
    option(
        "--hash-bits",
        type=click.IntRange(1, 30),
        section=_SECTION,
        metavar="B",
        help="Hash feature names into 2^B weights.",
    ),
    option(
        "--max-features",
        type=click.IntRange(1),
        section=_SECTION,
        metavar="N",
        help="Keep at most N features, dropping the least certain ones.",
    ),
)

#: The algorithm with its parameters, and how its model is made.
algorithm_options = with_options(algorithm_option, parameter_options, model_options)


def rule_named(name: str) -> Rule:
    """Return an algorithm, or raise a usage error that lists the names."""
    try:
        return find_rule(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--algorithm") from None


def rules_named(text: str) -> list[Rule]:
    """Return the algorithms in a list of names, each once; raise a usage error for an unknown one."""
    names = _NAMES if text == _ALL else [word.strip() for word in words(text)]
    if not names:
        raise click.BadParameter(f"expected NAME,..., got {text!r}", param_hint="--algorithm")
    return [rule_named(name) for name in dict.fromkeys(names)]


def given_parameters(given: Mapping[str, Any]) -> dict[str, float]:
    """Return the parameters of algorithms among the arguments of a command."""
    own = {name.removeprefix(_OWN): value for name, value in given.items() if name.startswith(_OWN)}
    return {name: value for name, value in own.items() if value is not None}


def check_parameters(rule: Rule, given: Mapping[str, float]) -> dict[str, float]:
    """Return all parameters of an algorithm with their values, or raise a usage error."""
    try:
        return rule.check(given)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def model_config(rule: Rule, parameters: Mapping[str, float], given: Mapping[str, Any]) -> ModelConfig:
    """Return the configuration of a model, or raise a usage error for invalid settings."""
    from scwlearn.runs.config import ModelConfig

    config = ModelConfig(rule, parameters, model_settings(given))
    try:
        config.learner()
    except (TypeError, ValueError) as error:
        raise click.UsageError(error_message(error)) from None
    return config


def given_model_options() -> list[str]:
    """Return the model options that the user has typed."""
    return [
        max(param.opts, key=len)
        for param in click.get_current_context().command.params
        if getattr(param, "section", "") == _SECTION and param.name not in (None, "algorithm") and is_given(param.name)
    ]


def model_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model settings among the arguments of a command, by their names in Python."""
    names = ("covariance", "initial_variance", "variance_floor", "multi_class", "shared_covariance", "scale")
    settings = {name: given[name] for name in names if given[name] is not None}
    if given["no_intercept"]:
        settings["intercept"] = False
    if given["class_weight"] is not None:
        settings["class_weight"] = _class_weight(given["class_weight"])
    if given["hash_bits"] is not None and given["max_features"] is not None:
        raise click.UsageError("--hash-bits and --max-features both bound the model; give one of them")
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
            raise _class_weight_error(f"expected balanced or LABEL=WEIGHT,..., got {text!r}")
        if weight < 0 or not math.isfinite(weight):
            raise _class_weight_error(f"a weight must be a finite number >= 0; {label} has {number}")
        if label in weights:
            raise _class_weight_error(f"{label} has two weights, {weights[label]:g} and {weight:g}")
        weights[label] = weight
    return weights


def _class_weight_error(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--class-weight")


def train_command(rule: Rule, parameters: Mapping[str, float], *more: str) -> str:
    """Return the command line that trains this algorithm on the data of the current command."""
    from scwlearn.cli.commands.train import command as train

    ctx = click.get_current_context()
    passed_on = {param.name for param in train.params} - _NOT_PASSED_ON
    parts = ["scwlearn", "train", *ctx.params["data"], "-a", rule.name]
    for name, value in parameters.items():
        parts += [f"--{name}", number_text(value)]
    for param in ctx.command.params:
        if isinstance(param, click.Option) and param.name in passed_on and is_given(str(param.name)):
            parts.append(max(param.opts, key=len))
            parts += [] if param.is_flag else [str(ctx.params[param.name])]
    return shlex.join([*parts, *more])
