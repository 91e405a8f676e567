"""The command's frame: its commands, each imported when it is used, and what becomes of their errors."""

from __future__ import annotations

import difflib
import importlib
import os
import platform
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

#: What --version tells of.
PARTS = ("numpy", "scipy", "scikit-learn", "click", "rich", "matplotlib")


class CommandError(click.ClickException):
    """Something that went wrong and is no bug: told in one message, exit code 1."""


class Later(NamedTuple):
    """A command that is not imported yet: it is `command` in its module."""

    module: str
    help: str


COMMANDS = {
    "datasets": Later("scwlearn.cli.datasets", "The data sets by name: what is there, fetch, verify, show."),
    "reproduce": Later("scwlearn.cli.reproduce", "The paper's tables and figures, on its data or what is there."),
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
            near = difflib.get_close_matches(name, COMMANDS)
            meant = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(COMMANDS)}."
            ctx.fail(f"There is no command {name!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their names and what they do, for --help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, later.help) for name, later in COMMANDS.items()])


def _print_versions(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
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
        # Who read our output has read enough. Python would write the rest at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except click.ClickException as error:
        return _failed(f"error: {error.format_message()}", error.exit_code)
    except OSError as error:
        named = error.filename is not None and error.strerror
        return _failed(f"error: {error.filename}: {error.strerror}" if named else f"error: {error}")
    except MemoryError as error:
        return _failed(f"error: not enough memory {error}".rstrip())
    except ValueError as error:
        return _failed(f"error: {error}")
    return code if isinstance(code, int) else 0


def _failed(message: str, code: int = 1) -> int:
    click.echo(f"scwlearn: {message}", err=True)
    return code
