"""Errors that name options, which each interface spells in its own way."""

from __future__ import annotations

import re
from collections.abc import Callable


class OptionError(ValueError):
    """Error about options; ``str(error)`` spells them as keyword arguments.

    Parameters
    ----------
    template : str
        The message, with options as ``{name}`` or ``{name=value}``.

    Examples
    --------
    >>> from scwlearn._util.errors import OptionError
    >>> error = OptionError("{shared_covariance=True} needs {multi_class=joint}")
    >>> str(error)
    'shared_covariance=True needs multi_class="joint"'
    >>> error.render(lambda option: "--" + option.replace("_", "-").replace("=", " "))
    '--shared-covariance True needs --multi-class joint'
    """

    def __init__(self, template: str) -> None:
        super().__init__(_spelled(template, _keyword))
        self.template = template

    def render(self, spell: Callable[[str], str | None]) -> str:
        """Return the message with each option as `spell` returns it, or as a keyword argument if that is None."""
        return _spelled(self.template, lambda option: spell(option) or _keyword(option))


def _spelled(template: str, spell: Callable[[str], str]) -> str:
    return re.sub(r"{([^{}]*)}", lambda option: spell(option[1]), template)


def _keyword(option: str) -> str:
    name, _, value = option.partition("=")
    if not value:
        return name
    return f"{name}={value}" if value in ("True", "False") else f'{name}="{value}"'
