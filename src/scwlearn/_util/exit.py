"""What is stopped before Python exits: threads that are still at work when it does may never end."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_stops: set[Callable[[], None]] = set()


@contextmanager
def stopped_at_exit(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` if Python exits during the block."""
    _stops.add(stop)
    try:
        yield
    finally:
        _stops.discard(stop)


@atexit.register
def _stop_all() -> None:
    while _stops:
        _stops.pop()()


if hasattr(os, "register_at_fork"):
    # The child has none of the threads.
    os.register_at_fork(after_in_child=_stops.clear)
