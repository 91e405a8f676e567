"""Options that several commands share, in sections of --help, and the options for input data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from scwlearn.cli.app import CommandError
from scwlearn.cli.messages import error_message
from scwlearn.data.formats import format_names

Command = TypeVar("Command", bound=Callable[..., Any])


class SectionOption(click.Option):
    """An option with its section of --help."""

    section = ""


class SectionCommand(click.Command):
    """A command whose --help sorts options by section."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; word its errors here, where its options are known."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            raise CommandError(error_message(error)) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (line := param.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(param, "section", "") or "Options", []).append(line)
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl(lines)
            self.format_after(title, ctx, formatter)

    def format_after(self, title: str, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write more after a section."""


class FiniteRange(click.FloatRange):
    """A range of floats without NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or fail if it is outside of the range."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


option = partial(click.option, cls=SectionOption)


def count_option(*names: str, text: str, default: int | None = None, low: int = 1) -> Callable[[Command], Command]:
    """Declare an option that takes a whole number of at least `low`."""
    shown = default is not None
    return option(*names, type=click.IntRange(low), default=default, show_default=shown, metavar="N", help=text)


def section(title: str, *options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Combine options into one decorator that puts them into a section of --help, in this order."""

    def decorate(command: Command) -> Command:
        for one in reversed(options):
            before = len(getattr(command, "__click_params__", ()))
            command = one(command)
            for param in command.__click_params__[before:]:  # type: ignore[attr-defined]
                param.section = getattr(param, "section", "") or title
        return command

    return decorate


@contextmanager
def usage_error(option: str | None = None) -> Iterator[None]:
    """Report a TypeError or ValueError in the block as wrong usage, of an option if one is named."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = error_message(error)
        raise (click.BadParameter(message, param_hint=option) if option else click.UsageError(message)) from None


def is_given(name: str) -> bool:
    """Return whether the user has typed an option of the current command."""
    return click.get_current_context().get_parameter_source(name) == ParameterSource.COMMANDLINE


def words(text: str | None) -> tuple[str, ...]:
    """Split text at commas, without empty parts."""
    return tuple(word for word in (text or "").split(",") if word)


def _files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


model_argument = click.argument("model", type=click.Path(path_type=Path, dir_okay=False))
quiet_option = option("-q", "--quiet", is_flag=True, help="Print nothing but errors.")


def json_option(text: str) -> Callable[[Command], Command]:
    """Declare the option --json."""
    return option("--json", "as_json", is_flag=True, help=text)


@dataclass(frozen=True)
class DataOptions:
    """What the user says about the data."""

    sources: tuple[str, ...]
    format: str | None
    label: str | None
    weight: str | None
    ignore: tuple[str, ...]
    columns: dict[str, str]
    zero_based: bool
    on_error: str

    @classmethod
    def take(cls, given: dict[str, Any]) -> DataOptions:
        """Take the data options out of the arguments of a command."""
        columns: dict[str, str] = {}
        for kind in ("numeric", "categorical", "text"):
            for name in words(given.pop(f"{kind}_columns")):
                if columns.setdefault(name, kind) != kind:
                    raise click.UsageError(f"column {name!r} is both --{columns[name]} and --{kind}")
        return cls(
            sources=given.pop("data"),
            format=None if (format := given.pop("data_format")) == "auto" else format,
            label=given.pop("label"),
            weight=given.pop("weight"),
            ignore=words(given.pop("ignore")),
            columns=columns,
            zero_based=given.pop("zero_based"),
            on_error=given.pop("on_error"),
        )

    def schema_options(self) -> dict[str, Any]:
        """Return the options that decide how records are read."""
        return {name: getattr(self, name) for name in ("label", "weight", "ignore", "columns", "zero_based")}


data_options = section(
    "Data",
    click.argument("data", nargs=-1, required=True, metavar="DATA...", shell_complete=_files),
    option(
        "-f",
        "--format",
        "data_format",
        type=click.Choice(("auto", *format_names())),
        default="auto",
        help="Data format; auto detects it from the content.",
    ),
    option("--label", metavar="NAME", help="Column or key of the label."),
    option("--weight", metavar="NAME", help="Column or key of the example weight."),
    option("--ignore", metavar="A,B,...", help="Columns, keys or VW namespaces to ignore."),
    option("--numeric", "numeric_columns", metavar="A,B,...", help="Columns of numbers."),
    option("--categorical", "categorical_columns", metavar="A,B,...", help="Columns of categories."),
    option("--text", "text_columns", metavar="A,B,...", help="Columns of words, a feature each."),
    option("--zero-based", is_flag=True, help="LIBSVM indices start at 0."),
    option(
        "--on-error",
        type=click.Choice(("stop", "skip")),
        default="stop",
        show_default=True,
        help="At an invalid line: stop, or skip and count it.",
    ),
)
