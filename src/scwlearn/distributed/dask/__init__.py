"""Training on a Dask cluster: `DaskRunner` for files, `DaskClassifier` for Dask's collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; install it with: pip install 'scwlearn[dask]'", name=error.name) from error

from scwlearn.distributed.dask.jobs import SchedulerLost
from scwlearn.distributed.dask.runner import DaskRunner

if TYPE_CHECKING:
    from scwlearn.distributed.dask.classifier import DaskClassifier

__all__ = ["DaskClassifier", "DaskRunner", "SchedulerLost"]


def __getattr__(name: str) -> Any:
    # It loads data frames, which workers that read files do not need: 130 MB each.
    if name == "DaskClassifier":
        from scwlearn.distributed.dask.classifier import DaskClassifier

        return DaskClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
