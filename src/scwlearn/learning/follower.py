"""A thread that follows a learner through a batch and works on the parts behind it."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, Self

from scwlearn._util.memory import start_thread
from scwlearn.learning.class_axis import Recorded

#: Rows of a part: enough that Python's overhead is negligible, few enough that the follower ends soon after learning.
ROWS_OF_A_PART = 2**14


class Follower:
    """Calls a function for each part of a batch once it has been learned from, in a thread of its own.

    The thread starts with the first part, and ends with the `with` block, after an error without the parts that wait.
    If it cannot be started, nothing is called. If it has too little memory, it stops.
    """

    def __init__(self, work: Callable[[Recorded, slice], None]) -> None:
        self._work = work
        self._parts: SimpleQueue[tuple[Recorded, slice] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._is_given_up = False
        self._error: Exception | None = None

    def follow(self, record: Recorded, part: slice) -> None:
        """Let the thread work on a part of the record, after those before."""
        if self._thread is None and part.start == 0:
            thread = Thread(target=self._run, daemon=True)
            if not start_thread(thread):
                return
            self._thread = thread
        self._parts.put((record, part))

    @property
    def has_parts(self) -> bool:
        """Whether there is a thread that has worked on all parts."""
        return self._thread is not None and self._error is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self._is_given_up = kind is not None
        if self._thread is not None:
            self._parts.put(None)
            self._thread.join()
        if self._error is not None and kind is None and not isinstance(self._error, MemoryError):
            raise self._error

    def _run(self) -> None:
        try:
            while (part := self._parts.get()) is not None and not self._is_given_up:
                self._work(*part)
        except Exception as error:
            self._error = error
