"""The command's frame: its commands, each imported when it is used, and what becomes of their errors."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from scwlearn.cli.messages import flag, in_flags

#: What --version tells of.
PARTS = ("numpy", "scipy", "scikit-learn", "click", "rich", "pyarrow", "matplotlib")


class CommandError(click.ClickException):
    """Something that went wrong and is no bug: told in one message, exit code 1."""


@cache
def commands() -> dict[str, str]:
    """Return the one-line help of each command, read from the first line of its file, without importing it."""
    found = {}
    for path in sorted((Path(__file__).parent / "commands").glob("[a-z]*.py")):
        with path.open(encoding="utf-8") as file:
            found[path.stem] = file.readline().strip().strip('"')
    return found


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*commands()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in commands():
            return None
        command: click.Command = importlib.import_module(f"scwlearn.cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with, or fail with similar names."""
        name = args[0]
        if name not in commands() and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, commands())
            hint = f"did you mean {' or '.join(near)}?" if near else f"the commands are {', '.join(commands())}"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, with their help, and options."""
        items = [CompletionItem(name, help=text) for name, text in commands().items() if name.startswith(incomplete)]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands for --help."""
        with formatter.section("Commands"):
            formatter.write_dl([*commands().items()])


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
        from scwlearn.data.io.errors import DataError

        return _failed(f"error: {error.render(flag) if isinstance(error, DataError) else in_flags(str(error))}")
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
