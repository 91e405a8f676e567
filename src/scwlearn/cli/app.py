"""The frame of the command line: finds commands, runs one and reports its errors."""

from __future__ import annotations

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scwlearn.cli.ending import ending
from scwlearn.cli.messages import error_message
from scwlearn.display.formatting import without_controls

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

#: Packages listed by --version.
PACKAGES = ("numpy", "scipy", "scikit-learn", "click", "rich", "pyarrow", "matplotlib")


class _ReaderGone(Exception):
    """The reader of the output has closed its pipe."""


_COMMANDS = Path(__file__).parent / "commands"


@cache
def command_names() -> tuple[str, ...]:
    """Return the names of all commands: one for each file."""
    return tuple(sorted(path.stem for path in _COMMANDS.glob("[a-z]*.py")))


@cache
def commands() -> dict[str, str]:
    """Return the one-line help of each command, read from the first line of its file, without importing it."""
    found = {}
    for name in command_names():
        with (_COMMANDS / f"{name}.py").open(encoding="utf-8") as file:
            found[name] = file.readline().strip().strip('"')
    return found


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return [*command_names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in command_names():
            return None
        command: click.Command = importlib.import_module(f"scwlearn.cli.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments begin with, or fail with similar names."""
        name = args[0]
        if name not in command_names() and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, command_names())
            hint = f"did you mean {' or '.join(near)}?" if near else f"the commands are {', '.join(command_names())}"
            ctx.fail(f"no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; raise _ReaderGone after a BrokenPipeError, for which Click would exit with 1."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderGone from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands, with their help, and options."""
        from click.shell_completion import CompletionItem

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
    for package in PACKAGES:
        try:
            click.echo(f"{package} {version(package)}")
        except PackageNotFoundError:
            click.echo(f"{package} is not installed")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Show the versions of scwlearn and its dependencies and exit.",
)
def scwlearn() -> None:
    """Online confidence-weighted linear classification."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 success, 1 error, 2 wrong usage; 129 terminal closed, 130 interrupted, 141 output closed by its reader, 143
    terminated. A bug shows its traceback.
    """
    # The parent process may have closed standard streams.
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        # Commands that print nothing work without it.
        sys.stdout = io.TextIOWrapper(_ClosedOutput(), "utf-8", write_through=True)
    _reconfigure_output()
    try:
        code = scwlearn.main(arguments, prog_name="scwlearn", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return _fail(*ending())
    except (BrokenPipeError, _ReaderGone):
        # A reader such as head has closed the pipe: no message, and the exit code of a program that SIGPIPE ends.
        _discard_output()
        return 141
    except (click.ClickException, OSError, MemoryError, ValueError) as error:
        if isinstance(error, OSError):
            _discard_output()
        return _fail(f"error: {error_message(error)}", getattr(error, "exit_code", 1))
    return code if isinstance(code, int) else 0


def _reconfigure_output() -> None:
    """Print every character: in UTF-8 to files and pipes, and a replacement for what a terminal lacks."""
    for stream in (sys.stdout, sys.stderr):
        if not hasattr(stream, "reconfigure"):
            continue
        if stream is sys.stdout and not stream.isatty():
            # Results are data, as in the files that commands write. In JSON, the escape of half a character is its own.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        else:
            stream.reconfigure(errors="replace")


class _ClosedOutput(io.RawIOBase):
    """Standard output that the parent process has closed: results that are lost must not look like success."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, _: Any) -> int:
        """Raise an OSError."""
        raise OSError(errno.EBADF, "closed; nothing can be written", "standard output")


def _discard_output() -> None:
    """Drop buffered output that cannot be written; Python would try again at exit, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> int:
    click.echo(f"scwlearn: {without_controls(message)}", err=True)
    return code
