"""What long work needs, whatever it does: somebody who is told how it goes on, and files to itself."""

from __future__ import annotations

from typing import BinaryIO, Protocol

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


class Report(Protocol):
    """Who is told how far it is, in units of the work's own."""

    def advance(self, amount: float, note: str = "") -> None:
        """So much more is done."""

    def done_before(self, amount: float) -> None:
        """So much was done in an earlier run."""

    def note(self, text: str) -> None:
        """Something to say."""


def lock(file: BinaryIO, *, wait: bool = False) -> bool:
    """Keep other processes from locking an open file, until it is closed; whether that could be done.

    The system gives the lock back if the process is killed. Where there are no locks, all are allowed to go on.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True
