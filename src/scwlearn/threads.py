"""How many threads may be used: as many as BLAS may."""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager
from typing import Any

from scwlearn._native import MOST_THREADS


def allowed_threads() -> int:
    """What threadpoolctl's limits and the environment leave to linear algebra in this process."""
    limits = [library["num_threads"] for library in _blas().info()]
    return min(MOST_THREADS, max(limits, default=_processors()))


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keeps BLAS to the calling thread: its threads stay awake after a call, and would be in the way of our own."""
    limits: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limits


@functools.cache
def _blas() -> Any:
    # Looking for the libraries takes a millisecond; asking them for their limits does not.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
