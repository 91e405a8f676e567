"""Wording of messages: errors and option names."""

from __future__ import annotations

import click
from click.core import ParameterSource

from scwlearn.data.io.remote import without_credentials

#: Key in the context of a command whose model determines how data is read.
SCHEMA_FIXED = "scwlearn.schema_fixed"
#: The same, for what values mean only.
FEATURES_FIXED = "scwlearn.features_fixed"
# Options that declare features of a model without a schema, too: what its cells hold.
_OF_CELLS = ("--ignore", "--numeric", "--categorical")

# Options of reading that apply to the data of a model, too.
_NOT_IN_SCHEMA = {"on_error", "max_record_bytes", "format", "header", "no_header", "delimiter"}
# Options that declare features.
_FEATURES = (
    "--ignore", "--numeric", "--categorical", "--text", "--date", "--missing", "--decimal", "--ngram", "--skips",
    "--char-ngrams", "--interactions",
)  # fmt: skip


def option_name(argument: str) -> str | None:
    """Return the option for an argument of Python: ``--zero-based`` for ``zero_based``.

    With a value, ``multi_class=joint``, it is ``--multi-class joint``. None if the command has no such option, or if
    the schema of a model determines it and the user has not typed it.
    """
    name, _, value = argument.partition("=")
    option = f"--{name.replace('_', '-')}"
    if value:
        option, value = _setting_option(name, value) or (option, value)
    ctx = click.get_current_context(silent=True)
    if name == "features":
        own = [p for p in ctx.command.params if p.opts[0] in _FEATURES] if ctx else []
        given = [p.opts[0] for p in own if is_given(p)]
        may_be_given = [] if ctx and FEATURES_FIXED in ctx.meta else [p.opts[0] for p in own] or _FEATURES
        return ", ".join(given or may_be_given) or None
    if ctx is not None:
        found = next((p for p in ctx.command.params if option in (*p.opts, *p.secondary_opts)), None)
        is_fixed = (SCHEMA_FIXED in ctx.meta and name not in _NOT_IN_SCHEMA) or (
            FEATURES_FIXED in ctx.meta and option in _FEATURES and option not in _OF_CELLS
        )
        if found is None or (is_fixed and not is_given(found)):
            return None
    return option if value in ("", "True") else f"{option} {value}"


def _setting_option(name: str, value: str) -> tuple[str, str] | None:
    """Return the option that stands for a setting with this value, if it has another name, and its metavar."""
    from scwlearn.learning.settings import Face, settings_for

    for setting in settings_for(Face.COMMAND):
        if setting.expand is not None and setting.expand(1).get(name) == value:
            return f"--{setting.name.replace('_', '-')}", "N"
    return None


def is_given(param: click.Parameter | str) -> bool:
    """Return whether the user has typed an option of the current command."""
    name = param if isinstance(param, str) else param.name or ""
    return click.get_current_context().get_parameter_source(name) == ParameterSource.COMMANDLINE


def error_message(error: BaseException) -> str:
    """Return the message of an error, in the terms of the command line."""
    if isinstance(error, click.ClickException):
        message = error.format_message()
        if not message.endswith("..."):
            message = message.removesuffix(".")
        if message[:1].isupper() and message[1:2].islower():
            # Messages of Click open with a capital; ours do not.
            message = message[0].lower() + message[1:]
        usage = isinstance(error, click.UsageError) and error.ctx
        return f"{message}\nRun '{usage.command_path} --help' for usage." if usage else message
    if isinstance(error, OSError):
        named = error.filename is not None and error.strerror
        # It may come from another package, or name a file by a path made of a URL.
        parts = [str(error.filename), str(error.strerror)] if named else [error.strerror or str(error)]
        return ": ".join(map(without_credentials, parts))
    if isinstance(error, MemoryError) and not hasattr(error, "render"):
        return f"not enough memory: {error}".removesuffix(": ")
    return str(error.render(option_name) if hasattr(error, "render") else error)
