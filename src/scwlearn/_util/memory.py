"""Early, helpful errors for allocations that would not fit in memory, and memory held for what must not fail."""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor

from scwlearn._util.errors import OptionError

_CGROUP = Path("/sys/fs/cgroup")

# Smaller allocations are not checked in advance: asking the system takes longer than trying.
_UNCHECKED_BYTES = 2**24

# What Python needs to end a call or to undo it: some of its arenas of a megabyte, and the growth of the heap of C.
_ALWAYS_HELD = 2**22

#: Address space of a thread, of which little is used.
STACK = 2**23
# Of a thread of OpenBLAS: address space of its buffer, for which OpenBLAS waits forever where there is none.
_BLAS_BUFFER = 2**25
# More threads of BLAS are rare, and need little more.
_MOST_BLAS_THREADS = 8
# How long to wait for an item before looking whether its thread is alive (seconds).
_PATIENCE = 1.0

T = TypeVar("T")


class NotEnoughMemory(OptionError, MemoryError):
    """Error about an allocation that would not fit in memory, with what to do instead."""


class _Held(threading.local):
    """Blocks of memory that a thread holds."""

    def __init__(self) -> None:
        self.blocks: list[mmap.mmap] = []


_held = _Held()
# Anonymous memory that nothing shares is quick to get. It takes no part of the machine's until it is written.
_FLAGS: dict[str, Any] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


class memory_held:
    """Memory held while something is learned, for what must not fail afterwards: to keep it, or to undo it.

    Call `give_back_memory` where that begins. A block within another one holds only what it asks for.

    Parameters
    ----------
    size : int
        The number of bytes that are needed, apart from some for Python.

    Raises
    ------
    MemoryError
        If there is not that much.
    """

    __slots__ = ("_block", "_size")

    def __init__(self, size: int = 0) -> None:
        self._size = size

    def __enter__(self) -> None:
        needed = self._size + (0 if _held.blocks else _ALWAYS_HELD)
        self._block = new_memory(needed) if needed else None
        if self._block is not None:
            _held.blocks.append(self._block)

    def __exit__(self, *_: object) -> None:
        if self._block is not None:
            self._block.close()
            _held.blocks.remove(self._block)


def give_back_memory() -> None:
    """Give back what this thread holds."""
    for block in _held.blocks:
        block.close()


def check_memory(size: int) -> None:
    """Raise a MemoryError unless this number of bytes can be allocated.

    For code that would crash without them, as BLAS does.
    """
    new_memory(_ALWAYS_HELD + size).close()


def check_memory_for_blas() -> None:
    """Raise a MemoryError unless there is memory for what BLAS allocates itself: its threads and their buffers.

    OpenBLAS ends the process or waits forever where it gets none. NumPy allocates the results, and reports errors.
    """
    check_memory((STACK + _BLAS_BUFFER) * min(os.cpu_count() or 1, _MOST_BLAS_THREADS))


def start_thread(thread: threading.Thread) -> bool:
    """Start a thread; return whether there is one, and memory for it.

    `Thread.start` would wait forever for a thread that has no memory to begin.
    """
    try:
        check_memory(STACK)
        thread.start()
    except (MemoryError, RuntimeError):
        return False
    return True


@contextmanager
def thread_pool(threads: int) -> Iterator[Executor]:
    """Yield a pool of threads; raise a MemoryError unless there is memory for them."""
    from concurrent.futures import ThreadPoolExecutor

    check_memory(STACK * threads)
    with ThreadPoolExecutor(threads) as pool:
        yield pool


def receive(queue: SimpleQueue[T], threads: Iterable[threading.Thread]) -> T:
    """Return the next item of a queue; raise a MemoryError if one of the threads that fill it has ended."""
    while True:
        try:
            return queue.get(timeout=_PATIENCE)
        except Empty:
            if queue.empty() and not all(thread.is_alive() for thread in threads):
                raise MemoryError("a thread has ended, probably for lack of memory") from None


def new_memory(size: int) -> mmap.mmap:
    """Return memory from the system, which takes no part of the machine's until it is used.

    Raises a MemoryError if there is none.
    """
    try:
        return mmap.mmap(-1, size, **_FLAGS)
    except (OSError, OverflowError):
        raise MemoryError(f"{size} bytes of memory could not be allocated") from None


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
    """Raise a NotEnoughMemory that says what to do `instead` if `needed` bytes are not available.

    The system is not asked for small amounts. A MemoryError inside the block becomes the same error.
    """
    available = available_memory() if needed > _UNCHECKED_BYTES else None
    if available is not None and needed > available:
        raise NotEnoughMemory(f"{_needs(what, needed)}, but only {available / 2**30:.3g} GiB are available; {instead}")
    try:
        yield
    except NotEnoughMemory:
        raise
    except MemoryError:
        raise NotEnoughMemory(f"{_needs(what, needed)}, which could not be allocated; {instead}") from None


def _needs(what: str, needed: int) -> str:
    return f"{what} needs {needed / 2**30:.3g} GiB of memory"
