"""Options for the algorithm and its model, and the configuration that they make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scwlearn.cli.messages import is_given, option_name
from scwlearn.cli.options import (
    STDIO,
    Params,
    SectionCommand,
    SectionOption,
    option,
    section,
    shell_line,
    usage_error,
    words,
)
from scwlearn.data.io.remote import without_credentials
from scwlearn.display.formatting import number_text
from scwlearn.learning.settings import BY_NAME, Face, Setting, settings_for
from scwlearn.rules import AUTO, Rule, all_rules, find_rule

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from scwlearn.runs.config import ModelConfig
    from scwlearn.runs.trained_model import TrainedModel

_ALL = "all"
_NAMES = [rule.name for rule in all_rules()]
_CHOICES = [AUTO.name, *_NAMES]
_SECTION = "Algorithm"
# Prefix of the parameters of algorithms among the arguments of a command.
_OWN = "own_"
# Options of one model, which a command that tries several does not pass on to train.
_NOT_PASSED_ON = {"algorithm", "model", "as_json", "quiet"}


class AlgorithmName(click.ParamType):  # type: ignore[type-arg]
    """Name of an algorithm, which becomes its rule; with `several`, names that become a list of rules."""

    name = "algorithm"

    def __init__(self, *, several: bool = False) -> None:
        self.several = several

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the rules, each once; fail for an unknown name."""
        with usage_error("--algorithm"):
            if not self.several:
                return find_rule(value)
            names = _NAMES if value == _ALL else [word.strip() for word in words(value)]
            if not names:
                raise ValueError(f"expected NAME,..., got {value!r}")
            return [find_rule(name) for name in dict.fromkeys(names)]

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the last name."""
        from click.shell_completion import CompletionItem

        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        names = [*_NAMES, _ALL] if self.several and not comma else _NAMES if self.several else _CHOICES
        return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(last)]


class AlgorithmCommand(SectionCommand):
    """A command whose --help shows the parameters of the algorithm given with it, or the grids of several."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments for --help, which may come before the algorithm."""
        ctx.meta["arguments"] = [*args]
        return super().parse_args(ctx, args)

    def format_after(self, title: str, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a section for each algorithm asked for."""
        if title != _SECTION:
            return
        params = {param.name: param for param in self.params}
        option = params["algorithm"]
        given = self.make_parser(ctx).parse_args([*ctx.meta["arguments"]])[0].get("algorithm")
        chosen = option.type.convert(given or option.default, option, ctx)
        if isinstance(chosen, Rule):
            lines = [
                (f"--{p.name} FLOAT", f"{p.meaning} Between {p.low:g} and {p.high:g}.  [default: {p.default:g}]")
                for p in chosen.parameters
            ]
            _write(formatter, f"Parameters of {chosen.name}, {chosen.title} (-a NAME --help shows others)", lines)
        elif "grid" in params:
            for rule in chosen:
                lines = [(p.name, ", ".join(f"{value:g}" for value in p.grid or (p.default,))) for p in rule.parameters]
                _write(formatter, f"Grid of {rule.name}, {rule.title}", lines)


def _write(formatter: click.HelpFormatter, title: str, lines: Sequence[tuple[str, str]]) -> None:
    with formatter.section(title):
        if lines:
            formatter.write_dl(lines)
        else:
            formatter.write_text("None: this algorithm has nothing to tune.")


def algorithm_options(default: str = "scw1", *, several: bool = False) -> Params:
    """Declare the options for an algorithm and its parameters, or for several algorithms."""
    kind, listed = AlgorithmName(several=several), ", ".join(_NAMES if several else _CHOICES)
    text, metavar = (f"{_ALL}, or one or more of {listed}.", "NAME,...") if several else (f"One of {listed}.", "NAME")
    own = option("-a", "--algorithm", type=kind, default=default, show_default=True, metavar=metavar, help=text)
    # An option for each parameter of any algorithm, hidden because --help shows those of one algorithm.
    names = [] if several else {p.name: None for rule in all_rules() for p in rule.parameters}
    parameters = [option(f"--{name}", _OWN + name, type=float, hidden=True) for name in names]
    return section(_SECTION, own, *parameters)


def setting_option(setting: Setting, text: str = "") -> SectionOption:
    """Declare the option of a setting, with its own help and default or another text."""
    name, default = setting.name_in(Face.COMMAND), setting.default_in(Face.COMMAND)
    flag, own_text = name.replace("_", "-"), setting.help_in(Face.COMMAND)
    more: dict[str, Any] = {}
    if setting.type is bool and setting.optional:
        flag, more = f"{flag}/--no-{flag}", {"default": None}
    elif setting.type is bool:
        more = {"flag_value": not default, "default": None}
        if default:
            flag, own_text = f"no-{flag}", f"Do not {own_text[0].lower()}{own_text[1:]}"
    elif setting.choices:
        more = {"type": click.Choice(setting.choices)}
    elif setting.type is None:
        more = {"metavar": _BY_LABEL[setting.name].metavar}
    else:
        more = {
            "type": setting.type,
            "metavar": "N" if setting.type is int else None,
            "callback": partial(_check, setting),
        }
        own_text += "" if default is None else f"  [default: {default:g}]"
    return option(f"--{flag}", name, help=text or own_text, **more)


def _check(setting: Setting, ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    try:
        return None if value is None else setting.check(value)
    except ValueError:
        raise click.UsageError(f"{param.opts[0]} must be {setting.allowed}, got {value!r}", ctx) from None


def given_parameters(given: Mapping[str, Any]) -> dict[str, float]:
    """Return the parameters of algorithms among the arguments of a command."""
    own = {name.removeprefix(_OWN): value for name, value in given.items() if name.startswith(_OWN)}
    return {name: value for name, value in own.items() if value is not None}


def check_parameters(rule: Rule, given: Mapping[str, float]) -> dict[str, float]:
    """Return all parameters of an algorithm with their values, or raise a usage error."""
    with usage_error():
        return rule.check(given)


def model_config(rule: Rule, parameters: Mapping[str, float], given: Mapping[str, Any]) -> ModelConfig:
    """Return the configuration of a model, or raise a usage error for invalid parameters or settings."""
    from scwlearn.runs.config import ModelConfig

    settings = model_settings(given)
    with usage_error():
        config = ModelConfig(rule, rule.check(parameters), settings)
        config.check()
    return config


def given_model_options() -> list[str]:
    """Return the model options that the user has typed."""
    names = {setting.name_in(Face.COMMAND) for setting in _SETTINGS}
    params = click.get_current_context().command.params
    return [_typed(param) for param in params if param.name in names and is_given(param)]


def _typed(param: click.Parameter) -> str:
    """Return the option as the user has typed it: of --this/--no-this the right one."""
    negated = param.secondary_opts and click.get_current_context().params[param.name or ""] is False
    return max(param.secondary_opts if negated else param.opts, key=len)


def model_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model settings among the arguments of a command, by their names in Python."""
    settings: dict[str, Any] = {}
    for setting in _SETTINGS:
        value = given[setting.name_in(Face.COMMAND)]
        if value is None:
            continue
        if setting.type is None:
            with usage_error(option_name(setting.name)):
                value = _BY_LABEL[setting.name].parse(value)
        several = {setting.name: value} if setting.expand is None else setting.expand(value)
        if taken := settings.keys() & several.keys():
            raise click.UsageError(f"give either {option_name(taken.pop())} or {option_name(setting.name)}, not both")
        settings |= several
    return settings


def _class_weights(text: str) -> str | dict[str, float]:
    """Parse balanced, or LABEL=WEIGHT,..."""
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
            raise ValueError(f"expected balanced or LABEL=WEIGHT,..., got {text!r}")
        if weight < 0 or not math.isfinite(weight):
            raise ValueError(f"a weight must be a finite number >= 0; {label} has {number}")
        if label in weights:
            raise ValueError(f"{label} has two weights, {weights[label]:g} and {weight:g}")
        weights[label] = weight
    return weights


def _costs(text: str) -> dict[str, dict[str, float]]:
    """Parse TRUE:PREDICTED=COST,..."""
    costs: dict[str, dict[str, float]] = {}
    for part in text.split(","):
        pair, _, number = part.rpartition("=")
        true, _, predicted = pair.partition(":")
        try:
            cost = float(number)
        except ValueError:
            predicted = ""
        if not true or not predicted:
            raise ValueError(f"expected TRUE:PREDICTED=COST,..., got {text!r}")
        if cost < 0 or not math.isfinite(cost):
            raise ValueError(f"a cost must be a finite number >= 0; {pair} has {number}")
        if predicted in costs.setdefault(true, {}):
            raise ValueError(f"{pair} has two costs, {costs[true][predicted]:g} and {cost:g}")
        costs[true][predicted] = cost
    return costs


class _ByLabel(NamedTuple):
    """How the value of a setting by label is written."""

    metavar: str
    parse: Callable[[str], Any]


_BY_LABEL = {"class_weight": _ByLabel("balanced|A=2,B=1", _class_weights), "costs": _ByLabel("A:B=5,B:A=2", _costs)}
_SETTINGS = settings_for(Face.COMMAND)
#: How a model is made, whatever the algorithm.
model_options = section(_SECTION, *map(setting_option, _SETTINGS))
#: For commands that use a trained model.
decision_options = section(
    "Decisions",
    setting_option(
        BY_NAME["costs"], "Costs of wrong predictions, by true and predicted label, instead of those of the model."
    ),
)


def with_costs(model: TrainedModel, text: str | None) -> TrainedModel:
    """Return a trained model with the costs of --costs, or raise a usage error."""
    from scwlearn.data.costs import Costs
    from scwlearn.runs.config import with_labels_like

    if text is None:
        return model
    classes = model.classifier.classes
    with usage_error("--costs"):
        costs = with_labels_like(classes.labels, _costs(text), "cost")
        Costs(costs).check_labels(classes)
    return replace(model, classifier=model.classifier.with_costs(costs))


def train_command(rule: Rule, parameters: Mapping[str, float], *more: str) -> str:
    """Return the command line that trains this algorithm on the data of the current command, without credentials."""
    from scwlearn.cli.commands.train import command as train

    ctx = click.get_current_context()
    # As typed, before their types convert them: values of a type need not print as they are written.
    typed = ctx.command.make_parser(ctx).parse_args([*ctx.meta["arguments"]])[0]
    data = [*map(without_credentials, typed["data"])]
    options = ["-a", rule.name]
    for name, value in parameters.items():
        options += [f"--{name}", number_text(value)]
    passed_on = {param.name for param in train.params} - _NOT_PASSED_ON
    for param in ctx.command.params:
        if isinstance(param, click.Option) and param.name in passed_on and is_given(param):
            values = [] if param.is_flag else typed[param.name] if param.multiple else [typed[param.name]]
            options += [word for value in values for word in (_typed(param), value)] or [_typed(param)]
    options += more
    looks_like_option = any(name.startswith("-") and name != STDIO for name in data)
    return shell_line(["scwlearn", "train", *([*options, "--", *data] if looks_like_option else [*data, *options])])
