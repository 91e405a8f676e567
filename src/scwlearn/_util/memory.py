"""Early, helpful errors for allocations that would not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scwlearn._util.errors import OptionError

_CGROUP = Path("/sys/fs/cgroup")

# Smaller allocations are not checked in advance: asking the system takes longer than trying.
_UNCHECKED_BYTES = 2**24


def available_memory() -> int | None:
    """Return the number of bytes available without swapping, or None if the system does not say."""
    return min((n for n in (_machine_memory(), _cgroup_memory()) if n is not None), default=None)


def _machine_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _cgroup_memory() -> int | None:
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None


@contextmanager
def ensure_memory(needed: int, *, what: str, instead: str) -> Iterator[None]:
    """Raise an OptionError that says what to do `instead` if `needed` bytes are not available.

    The system is not asked for small amounts. A MemoryError inside the block becomes the same error.
    """
    available = available_memory() if needed > _UNCHECKED_BYTES else None
    if available is not None and needed > available:
        raise OptionError(f"{_needs(what, needed)}, but only {available / 2**30:.3g} GiB are available; {instead}")
    try:
        yield
    except MemoryError:
        raise OptionError(f"{_needs(what, needed)}, which could not be allocated; {instead}") from None


def _needs(what: str, needed: int) -> str:
    return f"{what} needs {needed / 2**30:.3g} GiB of memory"
