"""Make glibc keep freed memory for reuse while a task runs."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

# Environment variable that makes glibc give memory back to the system; Dask sets it for its workers.
_TRIM_VARIABLE = "MALLOC_TRIM_THRESHOLD_"
# Parameters of mallopt, and its default for the second one.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_DEFAULT_MMAP_THRESHOLD = 128 * 2**10
# Larger than anything that is allocated for each chunk of data.
_KEPT = 8 * 2**20

_lock = Lock()
_active = 0


@contextmanager
def reused_memory() -> Iterator[None]:
    """Keep freed memory for reuse, although MALLOC_TRIM_THRESHOLD_ says to give it back at once.

    Parsing allocates memory for every chunk of data. Getting it from the system each time takes half as long as parsing
    and learning. All of it is given back at the end. Nested and concurrent blocks share the setting.
    """
    global _active
    library, trim = _glibc(), os.environ.get(_TRIM_VARIABLE, "")
    if library is None or not trim.isdecimal():
        yield
        return
    with _lock:
        _active += 1
        if _active == 1:
            library.mallopt(_MMAP_THRESHOLD, _KEPT)
            library.mallopt(_TRIM_THRESHOLD, 8 * _KEPT)
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if _active == 0:
                library.mallopt(_MMAP_THRESHOLD, _DEFAULT_MMAP_THRESHOLD)
                library.mallopt(_TRIM_THRESHOLD, min(int(trim), 2**31 - 1))
                library.malloc_trim(0)


@cache
def _glibc() -> Any:
    """Return the C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "gnu_get_libc_version") else None
