"""Wording of messages: errors and option names."""

from __future__ import annotations

import re

import click
from click.core import ParameterSource

#: Key in the context of a command whose model says how data are read.
SCHEMA_FIXED = "scwlearn.schema_fixed"

#: What several commands say of sorted data.
SORTED_LABELS = "labels come in long runs, as in a sorted file"

# Options with another name than the argument of Python.
_OPTIONS = {
    "columns": "--numeric, --categorical, --text",
    "intercept": "--no-intercept",
}
_SETTING = re.compile(
    r"^(covariance|initial_variance|variance_floor|multi_class|shared_covariance|scale|max_features)\b"
)
_HASHED = 'features with names can be hashed into fewer weights: overflow="hash"'
_SHARED = "--shared-covariance needs --multi-class joint"


def option_name(name: str) -> str | None:
    """Return the option for an argument of Python: ``--zero-based`` for ``zero_based``.

    None if the command has no such option, or if a model has fixed how its data are read.
    """
    option = _OPTIONS.get(name) or "--" + name.replace("_", "-")
    ctx = click.get_current_context(silent=True)
    if ctx is None:
        return option
    found = next((param for param in ctx.command.params if option.partition(",")[0] in param.opts), None)
    if found is None or (SCHEMA_FIXED in ctx.meta and not _is_given(ctx, found)):
        return None
    return option


def _is_given(ctx: click.Context, param: click.Parameter) -> bool:
    return ctx.get_parameter_source(param.name or "") == ParameterSource.COMMANDLINE


def error_message(error: BaseException) -> str:
    """Return the message of an error, in the terms of the command line."""
    if isinstance(error, click.ClickException):
        return _click_message(error)
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror
        return f"{error.filename}: {error.strerror}" if named else error.strerror or str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory {error}".rstrip()
    if hasattr(error, "render"):
        return str(error.render(option_name))
    return in_flags(str(error))


def _click_message(error: click.ClickException) -> str:
    message = error.format_message().removesuffix(".")
    if message[:1].isupper() and message[1:2].islower():
        # Messages of Click open with a capital; ours do not.
        message = message[0].lower() + message[1:]
    if isinstance(error, click.UsageError) and error.ctx is not None:
        message += f"\nRun '{error.ctx.command_path} --help' for usage."
    return message


def in_flags(message: str) -> str:
    """A message of the library, with flags for arguments."""
    message = message.replace("may have max_features = ", "may have --max-features ")
    message = message.replace('covariance="diagonal"', "--covariance diagonal")
    message = message.replace(_HASHED, "--hash-bits N takes 2^N")
    message = message.replace('shared_covariance=True needs multi_class="joint"', _SHARED)
    return _SETTING.sub(lambda found: str(option_name(found[1])), message)
