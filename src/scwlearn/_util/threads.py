"""Number of threads to use, which follows the limits of BLAS."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from threading import get_ident, local
from typing import Any

from scwlearn._native import MOST_THREADS, Lock
from scwlearn._util.interrupts import interrupts_held

_lock = Lock()
# The thread of each active block of `one_blas_thread`, with the limit before the first of them lowered it.
_allowed: list[tuple[int, int]] = []
# The limits of threadpoolctl, by whether SciPy's library was loaded.
_limits: dict[bool, Any] = {}
_this_thread = local()


def allowed_threads() -> int:
    """Return the number of threads that threadpoolctl and the environment allow for linear algebra in this process."""
    if getattr(_this_thread, "is_alone", False):
        return 1
    if _allowed:
        return _allowed[0][1]
    if "threadpoolctl" not in sys.modules and not any(name.endswith("_NUM_THREADS") for name in os.environ):
        # Nothing limits the threads, and asking threadpoolctl would take longer than reading megabytes of text.
        return min(MOST_THREADS, processors())
    limits = [library["num_threads"] for library in _blas(_has_scipy()).info()]
    return min(MOST_THREADS, max(limits, default=processors()))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to the calling thread: its threads keep spinning after a call and would compete with ours.

    The limit holds for the process; nested and concurrent blocks share it, and the last one to end lifts it.
    """
    with interrupts_held(), _lock:
        block = get_ident(), _allowed[0][1] if _allowed else allowed_threads()
        _allowed.append(block)
        if _has_scipy() not in _limits:
            with _control_of_blas():
                _limits[_has_scipy()] = _blas(_has_scipy()).limit(limits=1)
    try:
        yield
    finally:
        with interrupts_held(), _lock:
            _allowed.remove(block)
            _lift_limits()


def _lift_limits() -> None:
    """Restore the limits of BLAS if no block is active."""
    if _limits and not _allowed:
        with _control_of_blas():
            # The first limit knows the original one.
            while _limits:
                _limits.popitem()[1].restore_original_limits()


def _forget_other_threads() -> None:
    _allowed[:] = [block for block in _allowed if block[0] == get_ident()]
    _lift_limits()


if hasattr(os, "register_at_fork"):
    # The child has only the thread that forked.
    os.register_at_fork(after_in_child=_forget_other_threads)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and our own loops to the calling thread, for a task that runs beside others in this process."""
    # Merging uses SciPy's BLAS, which can be limited once it is loaded.
    import scipy.linalg  # noqa: F401

    before = getattr(_this_thread, "is_alone", False)
    with one_blas_thread():
        _this_thread.is_alone = True
        try:
            yield
        finally:
            _this_thread.is_alone = before


@contextmanager
def _control_of_blas() -> Iterator[None]:
    """Let this thread change the limit of OpenBLAS: since threadpoolctl 3.8, only one thread can, until it lets go."""
    import threadpoolctl

    controller = getattr(threadpoolctl, "OpenBLASController", None)
    let_go = getattr(controller, "clear_controlling_thread", lambda force: None)
    let_go(force=True)
    try:
        yield
    finally:
        let_go(force=True)


def _has_scipy() -> bool:
    return "scipy.linalg" in sys.modules


@functools.cache
def _blas(has_scipy: bool) -> Any:
    # Cached because finding the libraries takes a millisecond; reading their limits is fast. SciPy has one of its own.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def job_threads(n_jobs: Any) -> int:
    """Return the number of threads that scikit-learn's `n_jobs` stands for.

    Parameters
    ----------
    n_jobs : int or None
        The number of threads; None for 1, -1 for all that are allowed, -2 for all but one, and so on.

    Raises
    ------
    TypeError, ValueError
        For what is no integer, and for 0.
    """
    if n_jobs is None:
        return 1
    allowed = "None, a number of threads, or negative: -1 for all cores, -2 for all but one"
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be {allowed}; got {n_jobs!r}")
    count = int(n_jobs)
    if count == 0:
        raise ValueError(f"n_jobs must be {allowed}; got 0")
    return min(MOST_THREADS, max(1, count if count > 0 else allowed_threads() + 1 + count))


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
