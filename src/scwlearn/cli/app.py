"""The command's frame: its commands, each imported when it is used, and what becomes of their errors."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem

from scwlearn.cli.wording import in_flags

#: What --version tells of.
PARTS = ("numpy", "scipy", "scikit-learn", "click", "rich", "pyarrow", "matplotlib")


class CommandError(click.ClickException):
    """Something that went wrong and is no bug: told in one message, exit code 1."""


class Later(NamedTuple):
    """A command that is not imported yet: it is `command` in its module."""

    module: str
    help: str


COMMANDS = {
    "train": Later("scwlearn.cli.train", "Learn from data, and say how well it went on the way."),
    "predict": Later("scwlearn.cli.predict", "What a model says of data: a line for each line, as they come."),
    "evaluate": Later("scwlearn.cli.evaluate", "How well a model does on data with labels."),
    "inspect": Later("scwlearn.cli.inspect", "What a model is: its algorithm, its data, its largest weights."),
    "merge": Later("scwlearn.cli.merge", "One model out of several that learned apart."),
    "convert": Later("scwlearn.cli.convert", "Data to other formats; models to weights or ONNX, and back."),
    "report": Later("scwlearn.cli.report", "A page about one or several runs (HTML)."),
    "tune": Later("scwlearn.cli.tune", "The best parameters, from a whole grid in one pass."),
    "compare": Later("scwlearn.cli.compare", "Algorithms on the same data, in several random orders."),
    "datasets": Later("scwlearn.cli.datasets", "The data sets by name: what is there, fetch, verify, show."),
    "reproduce": Later("scwlearn.cli.reproduce", "The paper's tables and figures, on its data or what is there."),
    "completions": Later("scwlearn.cli.completions", "What makes a shell complete names and options."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and help, so that it need not import them to list them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name].module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with, or an error that names what is near."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS)
            meant = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(COMMANDS)}."
            ctx.fail(f"There is no command {name!r}; {meant}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands whose names begin so, with what they do; options."""
        commands = [
            CompletionItem(name, help=later.help) for name, later in COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their names and what they do, for --help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, later.help) for name, later in COMMANDS.items()])


def _print_versions(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from scwlearn import __version__

    click.echo(f"scwlearn {__version__}\npython {platform.python_version()}")
    for part in PARTS:
        try:
            click.echo(f"{part} {version(part)}")
        except PackageNotFoundError:
            click.echo(f"{part} is not installed")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="The versions of scwlearn and of what it uses.",
)
def scwlearn() -> None:
    """Exact soft confidence-weighted learning and its relatives."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 0 good, 1 error, 2 wrong usage, 130 interrupted. A bug shows its traceback."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that does not know a letter shows another one; what was computed is not lost for it.
            stream.reconfigure(errors="replace")
    try:
        code = scwlearn.main(arguments, prog_name="scwlearn", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted", 130)
    except BrokenPipeError:
        # Who read our output has read enough.
        _forget_output()
        return 1
    except click.ClickException as error:
        return _failed(f"error: {error.format_message()}", error.exit_code)
    except OSError as error:
        named = error.filename is not None and error.strerror
        _forget_output()
        return _failed(f"error: {error.filename}: {error.strerror}" if named else f"error: {error.strerror or error}")
    except MemoryError as error:
        return _failed(f"error: not enough memory {error}".rstrip())
    except ValueError as error:
        return _failed(f"error: {in_flags(str(error))}")
    return code if isinstance(code, int) else 0


def _open_closed() -> None:
    """Streams that whoever started us has closed: nothing comes from them, and what goes there is lost."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _forget_output() -> None:
    """What standard output does not take. Python would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(message: str, code: int = 1) -> int:
    click.echo(f"scwlearn: {message}", err=True)
    return code
