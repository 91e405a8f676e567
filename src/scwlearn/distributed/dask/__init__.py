"""Training on a Dask cluster: `DaskRunner` for files, `DaskClassifier` for Dask's collections."""

from __future__ import annotations

try:
    import dask  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(f"{error}; install it with: pip install 'scwlearn[dask]'", name=error.name) from error

from scwlearn.distributed.dask.classifier import DaskClassifier
from scwlearn.distributed.dask.jobs import SchedulerLost
from scwlearn.distributed.dask.runner import DaskRunner

__all__ = ["DaskClassifier", "DaskRunner", "SchedulerLost"]
