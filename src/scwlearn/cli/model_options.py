"""Options for the algorithm and its model, and the configuration that they make."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from scwlearn.cli.messages import option_name
from scwlearn.cli.options import Command, SectionCommand, SectionOption, is_given, option, section, usage_error, words
from scwlearn.display.formatting import number_text
from scwlearn.learning.settings import Face, Setting, settings_for
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


def _algorithm_option(default: str, metavar: str, complete: Callable[..., Any], text: str) -> Callable[[Any], Any]:
    names = ("-a", "--algorithm")
    own = option(*names, default=default, show_default=True, metavar=metavar, shell_complete=complete, help=text)
    return section(_SECTION, own)


algorithm_option = _algorithm_option(DEFAULT_ALGORITHM, "NAME", _complete_rule, f"One of {', '.join(_NAMES)}.")


def algorithms_option(default: str) -> Callable[[Any], Any]:
    """Declare the option for several algorithms."""
    return _algorithm_option(default, "NAME,...", _complete_rules, f"{_ALL}, or one or more of {', '.join(_NAMES)}.")


def parameter_options(command: Command) -> Command:
    """Declare an option for each parameter of any algorithm."""
    params = command.__dict__.setdefault("__click_params__", [])
    params += [
        ParameterOption(name) for name in reversed({p.name: None for rule in all_rules() for p in rule.parameters})
    ]
    return command


def setting_option(setting: Setting, text: str = "") -> Callable[[Any], Any]:
    """Declare the option of a setting, with its own help and default or another text."""
    name, default = setting.name_in(Face.COMMAND), setting.default_in(Face.COMMAND)
    flag, own_text = name.replace("_", "-"), setting.help_in(Face.COMMAND)
    if setting.type is bool:
        if default:
            own_text = f"Do not {own_text[0].lower()}{own_text[1:]}"
            return option(f"--no-{flag}", name, flag_value=False, default=None, help=text or own_text)
        return option(f"--{flag}", name, is_flag=True, default=None, help=text or own_text)
    if setting.choices:
        return option(f"--{flag}", name, type=click.Choice(setting.choices), help=text or own_text)
    if setting.type is None:
        return option(f"--{flag}", name, metavar="balanced|A=2,B=1", help=text or own_text)
    own_text += "" if default is None else f"  [default: {default:g}]"
    metavar = "N" if setting.type is int else None
    return option(
        f"--{flag}", name, type=setting.type, metavar=metavar, callback=_check_number(setting), help=text or own_text
    )


def _check_number(setting: Setting) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def check(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        try:
            return None if value is None else setting.check(value)
        except ValueError:
            raise click.UsageError(f"{param.opts[0]} must be {setting.allowed}, got {value!r}", ctx) from None

    return check


_SETTINGS = settings_for(Face.COMMAND)
#: How a model is made, whatever the algorithm.
model_options = section(_SECTION, *map(setting_option, _SETTINGS))

#: The algorithm with its parameters, and how its model is made.
algorithm_options = section(_SECTION, algorithm_option, parameter_options, model_options)


def rule_named(name: str) -> Rule:
    """Return an algorithm, or raise a usage error that lists the names."""
    with usage_error("--algorithm"):
        return find_rule(name)


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
    with usage_error():
        return rule.check(given)


def model_config(rule: Rule, parameters: Mapping[str, float], given: Mapping[str, Any]) -> ModelConfig:
    """Return the configuration of a model, or raise a usage error for invalid settings."""
    from scwlearn.runs.config import ModelConfig

    config = ModelConfig(rule, parameters, model_settings(given))
    with usage_error():
        config.classifier()
    return config


def given_model_options() -> list[str]:
    """Return the model options that the user has typed."""
    return [
        max(param.opts, key=len)
        for param in click.get_current_context().command.params
        if param.name in {setting.name_in(Face.COMMAND) for setting in _SETTINGS} and is_given(str(param.name))
    ]


def model_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model settings among the arguments of a command, by their names in Python."""
    settings: dict[str, Any] = {}
    for setting in _SETTINGS:
        value = given[setting.name_in(Face.COMMAND)]
        if value is None:
            continue
        if setting.type is None:
            value = _class_weights(value)
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
