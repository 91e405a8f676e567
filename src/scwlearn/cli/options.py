"""Options that commands share: sections of --help, input data, output files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from scwlearn._util.special import is_special, names_directory, open_descriptor
from scwlearn.cli.messages import error_message
from scwlearn.data.formats import format_names
from scwlearn.data.io.remote import without_credentials

#: Arguments and options of a command.
Params = list[click.Parameter]

#: The file name that stands for standard input or output.
STDIO = "-"
# The descriptors of standard input and output.
_STDIN, _STDOUT = 0, 1


class SectionOption(click.Option):
    """An option with its section of --help."""

    section = "Options"


class SectionCommand(click.Command):
    """A command whose --help sorts options by section."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; word its errors here, where its options are known."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            raise click.ClickException(error_message(error)) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (line := param.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(param, "section", "Options"), []).append(line)
        for title, lines in sections.items():
            with formatter.section(title):
                formatter.write_dl(lines)
            self.format_after(title, ctx, formatter)

    def format_after(self, title: str, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write more after a section."""


def option(*names: str, **settings: Any) -> SectionOption:
    """Declare an option."""
    return SectionOption(names, **settings)


def count_option(*names: str, text: str, default: int | None = None, low: int = 1) -> SectionOption:
    """Declare an option that takes a whole number of at least `low`."""
    shown = default is not None
    return option(*names, type=click.IntRange(low), default=default, show_default=shown, metavar="N", help=text)


def choice_option(name: str, *choices: str, text: str) -> SectionOption:
    """Declare an option that takes one of several words, by default the first."""
    return option(name, type=click.Choice(choices), default=choices[0], show_default=True, help=text)


def section(title: str, *options: SectionOption) -> Params:
    """Put options into a section of --help, in this order."""
    for each in options:
        each.section = title
    return [*options]


@contextmanager
def usage_error(option: str | None = None) -> Iterator[None]:
    """Report a TypeError or ValueError in the block as wrong usage, of an option if one is named."""
    try:
        yield
    except (TypeError, ValueError) as error:
        message = error_message(error)
        raise (click.BadParameter(message, param_hint=option) if option else click.UsageError(message)) from None


def words(text: str | None) -> list[str]:
    """Split text at commas, without empty parts."""
    return [word for word in (text or "").split(",") if word]


class CharRange(click.ParamType):  # type: ignore[type-arg]
    """Shortest and longest number of characters: 3-5, or 4 for both."""

    name = "range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Return both numbers."""
        least, _, most = str(value).partition("-")
        try:
            return int(least), int(most or least)
        except ValueError:
            self.fail(f"expected two numbers such as 3-5, got {value!r}", param, ctx)


model_argument = click.Argument(["model"], type=click.Path(path_type=Path, dir_okay=False))


def output_options(
    *options: SectionOption, json: str | None = None, quiet: str | None = "Print nothing but errors."
) -> Params:
    """Declare options for the output, and --json and --quiet with these help texts."""
    last = []
    if json is not None:
        last.append(option("--json", "as_json", is_flag=True, help=json))
    if quiet is not None:
        last.append(option("-q", "--quiet", is_flag=True, help=quiet))
    return section("Output", *options, *last)


data_options: Params = [
    click.Argument(["data"], nargs=-1, required=True, metavar="DATA...", type=click.Path(readable=False))
]
data_options += section(
    "Data",
    option(
        "-f",
        "--format",
        "data_format",
        type=click.Choice(("auto", *format_names())),
        default="auto",
        help="Data format; auto detects it from the content.",
    ),
    option("--label", metavar="NAME", help="Column or key of the label; or the number of a column, -1 for the last."),
    option("--weight", metavar="NAME", help="Column or key of the example weight."),
    option("--delimiter", metavar="CHAR", help="What separates the cells of CSV data: a character, or tab."),
    option(
        "--header/--no-header", default=None, help="Whether a CSV or TSV file starts with the names of its columns."
    ),
    option("--zero-based", is_flag=True, help="LIBSVM indices start at 0."),
    choice_option("--on-error", "stop", "skip", text="At an invalid line: stop, or skip and count it."),
)


data_options += section(
    "Features",
    option("--ignore", "ignore_columns", metavar="A,B,...", help="Columns, keys or VW namespaces to ignore."),
    option("--numeric", "numeric_columns", metavar="A,B,...", help="Columns of numbers."),
    option("--categorical", "categorical_columns", metavar="A,B,...", help="Columns of categories."),
    option("--text", "text_columns", metavar="A,B,...", help="Columns of text; each word is a feature."),
    option("--date", "date_columns", metavar="A,B,...", help="Columns of dates, as in 2026-11-17 14:30."),
    option("--ngram", type=click.IntRange(0, 8), metavar="N", help="Add sequences of up to N words of a text."),
    option("--skips", type=click.IntRange(0, 8), metavar="N", help="Words that a sequence may skip."),
    option("--char-ngrams", type=CharRange(), metavar="A-B", help="Add sequences of A to B characters of words."),
    option(
        "--interactions",
        multiple=True,
        metavar="A:B",
        help="Add the products of features of two columns (or more, A:B:C); * is any column. May be repeated.",
    ),
    option(
        "--missing",
        metavar="A,B,...",
        help="Markers of missing values, besides NA, NaN, null and ?; or ignore, to drop NaN from JSON and Parquet.",
    ),
    option("--decimal", type=click.Choice((".", ",")), help="Decimal mark of numbers in text.  [default: .]"),
)


class OutputFile(click.Path):
    """Path of a file to write, in a directory that exists and may be written to.

    With `or_stdout` it may be -, or a path of standard output such as /dev/stdout, which becomes -. A device or a pipe
    is written directly. A `picture` has the suffix .svg or .png.
    """

    def __init__(self, *, or_stdout: bool = False, picture: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=False, readable=False)
        self._or_stdout, self._picture = or_stdout, picture

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail if no file can be written there."""
        if names_directory(value):
            raise click.ClickException(f"cannot write {value}: not a file name")
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        if self._picture and path.suffix.lower() not in (".svg", ".png"):
            self.fail(f"expected a file name ending in .svg or .png, got {str(path)!r}", param, ctx)
        if self._picture and find_spec("matplotlib") is None:
            raise click.ClickException('--plot needs Matplotlib: pip install "scwlearn[paper]"')
        if str(path) == STDIO or open_descriptor(path) == _STDOUT:
            if self._or_stdout:
                return Path(STDIO)
            self.fail(f"cannot write this file to standard output; use .{os.sep}- for a file named -", param, ctx)
        if is_special(path):
            return path
        # Writing through a symbolic link replaces its target.
        directory = os.path.dirname(os.path.realpath(path))
        problem = ""
        if not os.path.isdir(directory):
            problem = f"no directory {directory}"
        elif not os.access(directory, os.W_OK | os.X_OK):
            problem = f"no permission to write to {directory}"
        elif path.exists() and not path.is_file():
            problem = "not a regular file"
        if problem:
            raise click.ClickException(f"cannot write {path}: {problem}")
        return path


def plot_option(text: str) -> SectionOption:
    """Declare the option --plot."""
    return option("--plot", type=OutputFile(picture=True), metavar="FILE.svg|png", help=text)


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path] = ()) -> None:
    """Raise a usage error if an output file, given by its option, is an input or another output.

    Inputs are paths of this machine; - is standard input. The shell may have opened that and standard output from any
    file.
    """
    written: dict[str, str] = {}
    inputs = {str(path) for path in inputs}
    read = {os.path.realpath(path) for path in inputs if path != STDIO}
    for option, path in outputs.items():
        if path is None or str(path) == STDIO or is_special(path):
            continue
        place = os.path.realpath(path)
        if place in read or (STDIO in inputs and _is_open(_STDIN, place)):
            raise click.UsageError(f"{option} {path} would overwrite an input file; choose another name")
        if _is_open(_STDOUT, place):
            raise click.UsageError(f"{option} {path} would replace the file of standard output; choose another name")
        if place in written:
            raise click.UsageError(f"{written[place]} and {option} are the same file, {path}; choose another name")
        written[place] = option


def _is_open(descriptor: int, path: str) -> bool:
    """Return whether a descriptor is open on the file at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:  # closed, or no such file
        return False


def shell_line(words: Iterable[str]) -> str:
    """Return words as a line that can be pasted into a shell, without control characters."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    escaped = (
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b"'\\" else f"\\x{byte:02x}" for byte in os.fsencode(word)
    )
    return f"$'{''.join(escaped)}'"


def invocation() -> dict[str, Any]:
    """Return the command line, without credentials, and the time, for a record or a model file."""
    return {
        "command": shell_line(["scwlearn", *map(without_credentials, sys.argv[1:])]),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }
