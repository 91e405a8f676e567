"""Number of threads to use, which follows the limits of BLAS."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from scwlearn._native import MOST_THREADS

_lock = Lock()
# The limit before `one_blas_thread` lowered it, and the active threadpoolctl limits.
_allowed: list[int] = []
_limits: list[Any] = []


def allowed_threads() -> int:
    """Return the number of threads that threadpoolctl and the environment allow for linear algebra in this process."""
    if _allowed:
        return _allowed[0]
    limits = [library["num_threads"] for library in _blas().info()]
    return min(MOST_THREADS, max(limits, default=_processors()))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling thread: its threads keep spinning after a call and would compete with ours.

    The limit holds for the process; nested and concurrent blocks share it, and the last one to end lifts it.
    """
    with _lock:
        if not _limits:
            _allowed.append(allowed_threads())
        _limits.append(_blas().limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            # Only the first limit knows the original one; the others restore 1.
            _limits.pop().restore_original_limits()
            if not _limits:
                _allowed.pop()


@functools.cache
def _blas() -> Any:
    # Cached because finding the libraries takes a millisecond; reading their limits is fast.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
