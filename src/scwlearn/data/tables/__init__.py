"""What tables share. Modules are imported on first use: a command needs few of them, and some import pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from scwlearn.data.io.errors import DataError


def table_class(module: str, name: str, *arguments: Any) -> Callable[..., Any]:
    """Return a function that imports a class of this package and calls it, first with the given arguments."""

    def create(*more: Any) -> Any:
        return getattr(import_module(f"{__name__}.{module}"), name)(*arguments, *more)

    return create


def arrow_class(name: str, module: str = "arrow_tables") -> Callable[..., Any]:
    """Return the same for a class or function that needs pyarrow."""

    def create(*arguments: Any) -> Any:
        try:
            import_module("pyarrow")
        except ImportError:
            hint = 'pip install "scwlearn[cli]"'
            raise DataError("Parquet and Arrow data need pyarrow", hint=hint) from None
        return table_class(module, name)(*arguments)

    return create
