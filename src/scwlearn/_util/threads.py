"""How many threads may be used: as many as BLAS may."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from scwlearn._native import MOST_THREADS

_lock = Lock()
# What was allowed before BLAS was kept to one thread, and the limits that keep it so.
_allowed: list[int] = []
_limits: list[Any] = []


def allowed_threads() -> int:
    """What threadpoolctl's limits and the environment leave to linear algebra in this process."""
    if _allowed:
        return _allowed[0]
    limits = [library["num_threads"] for library in _blas().info()]
    return min(MOST_THREADS, max(limits, default=_processors()))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keeps BLAS to the calling thread: its threads stay awake after a call, and would be in the way of our own.

    The limit is that of the process: who comes first sets it, who leaves last lifts it.
    """
    with _lock:
        if not _limits:
            _allowed.append(allowed_threads())
        _limits.append(_blas().limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            # The first one knows what there was before.
            _limits.pop().restore_original_limits()
            if not _limits:
                _allowed.pop()


@functools.cache
def _blas() -> Any:
    # Looking for the libraries takes a millisecond; asking them for their limits does not.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
