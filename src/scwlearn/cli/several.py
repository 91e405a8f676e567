"""Options for several algorithms at once, and the command that trains the best of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from scwlearn.cli.options import SectionCommand, option, words
from scwlearn.rules import Rule, all_rules, find_rule

_ALL = "all"
_NAMES = [rule.name for rule in all_rules()]
# Of the options that a command shares with train, those that say what becomes of one model.
_NOT_KEPT = ("algorithm", "model", "as_json", "quiet")


class SeveralCommand(SectionCommand):
    """A command of which --help shows what the algorithms that are asked for are tried with."""

    def format_own(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The grid of each, if the command has one."""
        if not any(param.name == "grid" for param in self.params):
            return
        asked = ctx.meta.get("algorithm", self._default())
        for rule in rules_of(asked):
            lines = [(p.name, ", ".join(f"{value:g}" for value in p.grid or (p.default,))) for p in rule.parameters]
            with formatter.section(f"Grid of {rule.name}, {rule.title}"):
                if lines:
                    formatter.write_dl(lines)
                else:
                    formatter.write_text("Nothing to tune.")

    def _default(self) -> str:
        return str(next(param.default for param in self.params if param.name == "algorithm"))


def algorithms_option(default: str) -> Callable[[Any], Any]:
    """Which algorithms."""
    return option(
        "-a",
        "--algorithm",
        default=default,
        show_default=True,
        section="Algorithm",
        metavar="NAME,...",
        shell_complete=_complete,
        help=f"{_ALL}, or one or several of {', '.join(_NAMES)}.",
    )


def rules_of(text: str) -> list[Rule]:
    """The algorithms that are asked for, each once; a usage error that lists the names."""
    names = _NAMES if text == _ALL else [word.strip() for word in words(text)]
    try:
        found = {name: find_rule(name) for name in names}
    except ValueError as error:
        raise click.BadParameter(f"{error}; {_ALL} means all", param_hint="--algorithm") from None
    if not found:
        raise click.BadParameter(f"expected NAME,..., got {text!r}", param_hint="--algorithm")
    return [*found.values()]


def train_command(rule: Rule, parameters: Mapping[str, float], *more: str) -> str:
    """What trains this algorithm on the same data as the command that runs, to be pasted into a shell."""
    from scwlearn.cli.commands.train import command as train

    ctx = click.get_current_context()
    known = {param.name for param in train.params} - {*_NOT_KEPT}
    parts = ["scwlearn", "train", *ctx.params["data"], "-a", rule.name]
    for name, value in parameters.items():
        parts += [f"--{name}", number(value)]
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name or "") == ParameterSource.COMMANDLINE
        if isinstance(param, click.Option) and given and param.name in known:
            parts.append(max(param.opts, key=len))
            parts += [] if param.is_flag else [str(ctx.params[param.name])]
    return shlex.join([*parts, *more])


def number(value: float) -> str:
    """A number as one types it: all that is needed to read the same again."""
    return repr(value).removesuffix(".0")


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    before, comma, last = incomplete.rpartition(",")
    names = [name for name in (*_NAMES, _ALL) if name.startswith(last)]
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name != _ALL or not comma]
