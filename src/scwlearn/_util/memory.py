"""Refuses what would not fit in memory before it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")

# So little is there, and to ask for it takes less time than to find out.
_LITTLE = 2**20


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    known = [n for n in (_of_the_machine(), _of_the_container()) if n is not None]
    return min(known, default=None)


def _of_the_machine() -> int | None:
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


def _of_the_container() -> int | None:
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None


@contextmanager
def memory_for(needed: int, *, what: str, instead: str) -> Iterator[None]:
    """A ValueError that says how much is needed and what to choose instead, before or in place of a MemoryError."""
    needs = f"{what} needs {needed / 2**30:.3g} GiB of memory"
    available = available_memory() if needed > _LITTLE else None
    if available is not None and needed > available:
        raise ValueError(f"{needs}, of which {available / 2**30:.3g} GiB are available; {instead}")
    try:
        yield
    except MemoryError:
        raise ValueError(f"{needs}, more than can be had; {instead}") from None
