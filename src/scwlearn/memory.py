"""Refuses what would not fit in memory before it is asked for."""

from __future__ import annotations

import os


def available_memory() -> int | None:
    """Bytes that can be had without swapping; None where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def require_memory(needed: int, *, what: str, instead: str) -> None:
    """Raise a ValueError that says how much is needed, how much there is and what to choose instead."""
    available = available_memory()
    if available is not None and needed > available:
        raise ValueError(
            f"{what} needs {needed / 2**30:.3g} GiB of memory and {available / 2**30:.3g} GiB are available; {instead}"
        )
