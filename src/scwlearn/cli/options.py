"""Commands whose --help has sections, and options that several of them take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from scwlearn.rules import Rule, all_rules, find_rule

Command = TypeVar("Command", bound=Callable[..., Any])

DEFAULT_ALGORITHM = "scw1"
# The parameters of algorithms among the arguments of a function; they have names such as C.
_OWN = "own_"


class SectionOption(click.Option):
    """An option that stands in some section of --help."""

    def __init__(self, *args: Any, section: str = "Options", **kwargs: Any) -> None:
        self.section = section
        super().__init__(*args, **kwargs)


class OwnOption(SectionOption):
    """A parameter of some of the algorithms."""

    def __init__(self, name: str, rules: Sequence[Rule]) -> None:
        self.rules = {rule.name: next(p for p in rule.parameters if p.name == name) for rule in rules}
        super().__init__([f"--{name}", _OWN + name], type=float, section="own", help="")


class SectionCommand(click.Command):
    """A command that sorts its options by section, and shows the parameters of the algorithm that is asked for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """What is typed. Which algorithm it is has to be known before --help, wherever that stands."""
        for flag in ("-a", "--algorithm"):
            for place, word in enumerate(args):
                if word == flag and place + 1 < len(args):
                    ctx.meta["algorithm"] = args[place + 1]
                elif word.startswith(f"{flag}=") or (flag == "-a" and word.startswith("-a") and len(word) > 2):
                    ctx.meta["algorithm"] = word[len(flag) :].removeprefix("=")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All options by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            if isinstance(option, OwnOption | click.Argument):
                continue
            if (line := option.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(option, "section", "Options"), []).append(line)
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl(lines)
            if title == "Algorithm":
                self.format_own(ctx, formatter)

    def format_own(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The parameters of the algorithm that is asked for."""
        asked = ctx.meta.get("algorithm", DEFAULT_ALGORITHM)
        try:
            rule = find_rule(asked)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param_hint="--algorithm") from None
        lines = [
            (f"--{p.name} FLOAT", f"{p.meaning} Between {p.low:g} and {p.high:g}.  [default: {p.default:g}]")
            for p in rule.parameters
        ]
        with formatter.section(f"Parameters of {rule.name}, {rule.title} (-a NAME --help shows those of others)"):
            if lines:
                formatter.write_dl(lines)
            else:
                formatter.write_text("None: there is nothing to tune.")


class FiniteRange(click.FloatRange):
    """A range of numbers, of which NaN is none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        number = super().convert(value, param, ctx)
        if number != number:
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


def option(*names: str, section: str, **kwargs: Any) -> Callable[[Command], Command]:
    """An option in a section of --help."""
    return click.option(*names, cls=SectionOption, section=section, **kwargs)


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Several options at once, in this order."""

    def decorate(command: Command) -> Command:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


def own_options(command: Command) -> Command:
    """An option for each parameter that some algorithm has."""
    names = {p.name: None for rule in all_rules() for p in rule.parameters}
    for name in reversed(names):
        rules = [rule for rule in all_rules() if any(p.name == name for p in rule.parameters)]
        command.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        command.__click_params__.append(OwnOption(name, rules))  # type: ignore[attr-defined]
    return command


def own_parameters(given: Mapping[str, Any]) -> dict[str, float]:
    """The parameters of algorithms among the arguments of a command."""
    return {
        name.removeprefix(_OWN): value for name, value in given.items() if name.startswith(_OWN) and value is not None
    }


def checked_own(rule: Rule, given: Mapping[str, float]) -> dict[str, float]:
    """All parameters of an algorithm with their values, or a usage error that names what is wrong."""
    try:
        return rule.check(given)
    except (TypeError, ValueError) as error:
        raise click.UsageError(str(error)) from None


def words(text: str | None) -> tuple[str, ...]:
    """What is given as a,b,c."""
    return tuple(word for word in (text or "").split(",") if word)


def _rule_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [rule.name for rule in all_rules() if rule.name.startswith(incomplete)]


def _files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    # The shell knows the files best.
    return [CompletionItem(incomplete, type="file")]


algorithm_option = option(
    "-a",
    "--algorithm",
    default=DEFAULT_ALGORITHM,
    show_default=True,
    section="Algorithm",
    metavar="NAME",
    shell_complete=_rule_names,
    help=f"One of {', '.join(rule.name for rule in all_rules())}.",
)
quiet_option = option("-q", "--quiet", is_flag=True, section="Output", help="Say nothing on standard error but errors.")

FORMATS = ("auto", "libsvm", "vw", "csv", "tsv", "jsonl", "parquet", "arrow")


@dataclass(frozen=True)
class Data:
    """What a user says about the data."""

    sources: tuple[str, ...]
    format: str | None
    label: str | None
    weight: str | None
    ignore: tuple[str, ...]
    columns: dict[str, str]
    zero_based: bool
    on_error: str

    @classmethod
    def of(cls, given: dict[str, Any]) -> Data:
        """Taken out of the arguments of a command."""
        columns: dict[str, str] = {}
        for kind in ("numeric", "categorical", "text"):
            for name in words(given.pop(f"{kind}_columns")):
                if columns.setdefault(name, kind) != kind:
                    raise click.UsageError(f"the column {name!r} is given as --{columns[name]} and as --{kind}")
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


data_options = with_options(
    click.argument("data", nargs=-1, required=True, metavar="DATA...", shell_complete=_files),
    option(
        "-f",
        "--format",
        "data_format",
        type=click.Choice(FORMATS),
        default="auto",
        section="Data",
        help="What the data is; auto looks at its first bytes.",
    ),
    option("--label", section="Data", metavar="NAME", help="The column or key of the label."),
    option("--weight", section="Data", metavar="NAME", help="The column or key of the weight."),
    option("--ignore", section="Data", metavar="A,B,...", help="Columns, keys or VW namespaces to leave out."),
    option("--numeric", "numeric_columns", section="Data", metavar="A,B,...", help="Columns that hold numbers."),
    option("--categorical", "categorical_columns", section="Data", metavar="A,B,...", help="Columns of one word each."),
    option("--text", "text_columns", section="Data", metavar="A,B,...", help="Columns of words."),
    option("--zero-based", is_flag=True, section="Data", help="The indices of LIBSVM data count from 0."),
    option(
        "--on-error",
        type=click.Choice(("stop", "skip")),
        default="stop",
        show_default=True,
        section="Data",
        help="What to do about a broken line: stop there, or skip and count it.",
    ),
)
model_argument = click.argument("model", type=click.Path(path_type=Path, dir_okay=False))
