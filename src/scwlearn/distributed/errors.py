"""Errors of distributed training, and how any error is sent between processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from scwlearn.data.io.errors import DataError, python_argument


class OtherVersion(RuntimeError):
    """Raised when a worker has another version of scwlearn than the process that made the plan.

    Examples
    --------
    >>> from scwlearn.distributed import OtherVersion, train
    >>> try:  # doctest: +SKIP
    ...     trained = train("clicks.csv", runner=DaskRunner(client))
    ... except OtherVersion as error:
    ...     print(error)
    a worker has scwlearn 0.9, but the plan was made with 1.0; install the same version on all workers
    """


class UnreadablePart(ValueError):
    """Raised when a part of the data cannot be read, or cannot be learned from.

    Examples
    --------
    >>> import os, tempfile
    >>> from scwlearn.distributed import Serial, UnreadablePart, train
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "some.libsvm")
    ...     with open(path, "w") as file:
    ...         _ = file.write("1 1:1\\n-1 2:1\\n" * 2000 + "1 1:one\\n")
    ...     try:
    ...         trained = train(path, runner=Serial(), parts=2)
    ...     except UnreadablePart as error:
    ...         print(error.args[0].split(" (")[0], "line 4001" in str(error))
    round 4, part 2 True
    """

    def __init__(self, problem: str, error: Exception | None = None) -> None:
        super().__init__(problem if error is None else f"{problem}: {error}")
        self._place, self._error = problem, error if isinstance(error, DataError) else None

    def render(self, spell: Callable[[str], str | None] = python_argument) -> str:
        """Return the message, in which `spell` says how options are spelled, as in `DataError.render`."""
        return str(self) if self._error is None else f"{self._place}: {self._error.render(spell)}"


class WorkerDied(RuntimeError):
    """Raised when a task has killed too many workers.

    Examples
    --------
    >>> from scwlearn.distributed import WorkerDied, train
    >>> try:  # doctest: +SKIP
    ...     trained = train("clicks.csv", parts=8)
    ... except WorkerDied:
    ...     trained = train("clicks.csv", parts=8, max_features=2**20, overflow="hash")
    """


def portable_error(error: BaseException) -> BaseException:
    """Return an error that can be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
