"""Make glibc keep freed memory for reuse from task to task."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Timer
from typing import Any

from scwlearn._native import Lock

# Environment variables of glibc: what it gets from the system and gives back at once, and what it keeps. Dask sets the
# second for its workers.
_MMAP_VARIABLE, _TRIM_VARIABLE = "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"
# Parameters of mallopt, and its default for the second one.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_DEFAULT_MMAP_THRESHOLD = 128 * 2**10
# Larger allocations always come from the system; glibc allows no larger limit. And how much freed memory is kept.
_LARGEST_KEPT, _MOST_KEPT = 32 * 2**20, 256 * 2**20
# Seconds after the last task until the memory is given back.
_IDLE_SECONDS = 1.0

#: The environment of a process that keeps freed memory from its start.
KEEP_MEMORY = {_MMAP_VARIABLE: str(_LARGEST_KEPT), _TRIM_VARIABLE: str(_MOST_KEPT)}

_lock = Lock()
_active = 0
# While freed memory is kept and no task runs.
_timer: Timer | None = None


def keep_freed_memory() -> None:
    """Keep freed memory for reuse until the process ends, unless the environment says what to do with it.

    For a process with a single task, such as a command: otherwise a batch of text takes a twentieth longer.
    """
    library = _glibc()
    if library is not None and not os.environ.keys() & KEEP_MEMORY.keys():
        _keep(library)


@contextmanager
def reused_memory() -> Iterator[None]:
    """Keep freed memory for reuse, although MALLOC_TRIM_THRESHOLD_ says to give it back at once.

    A task allocates memory for every chunk of data, and for its model. Getting it from the system each time takes half
    as long as parsing and learning. It is given back a second after the last block. Nested and concurrent blocks share
    the setting.
    """
    library, trim = _glibc(), os.environ.get(_TRIM_VARIABLE, "")
    if library is None or not trim.isdecimal():
        yield
        return
    _enter(library)
    try:
        yield
    finally:
        _leave(library, int(trim))


def _enter(library: Any) -> None:
    global _active, _timer
    with _lock:
        _active += 1
        if _timer is not None:
            _timer.cancel()
            _timer = None
        elif _active == 1:
            _keep(library)


def _keep(library: Any) -> None:
    library.mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)
    library.mallopt(_TRIM_THRESHOLD, _MOST_KEPT)


def _leave(library: Any, trim: int) -> None:
    global _active, _timer
    with _lock:
        # A process that was forked within the block has begun to count anew.
        _active = max(0, _active - 1)
        if _active == 0:
            _timer = Timer(_IDLE_SECONDS, _give_back, (library, trim))
            _timer.daemon = True
            _timer.start()


def _give_back(library: Any, trim: int) -> None:
    global _timer
    with _lock:
        if _active or _timer is None:
            return
        _timer = None
        library.mallopt(_MMAP_THRESHOLD, _DEFAULT_MMAP_THRESHOLD)
        library.mallopt(_TRIM_THRESHOLD, min(trim, 2**31 - 1))
        library.malloc_trim(0)


def _forget_other_threads() -> None:
    """Forget the tasks and the timer of threads that a forked process does not have."""
    global _active, _timer
    _active, _timer = 0, None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)


@cache
def _glibc() -> Any:
    """Return the C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None
