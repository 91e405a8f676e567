"""Processes of this machine as workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, BinaryIO, Self

from scwlearn._util.allocator import KEEP_MEMORY
from scwlearn._util.checks import check_int
from scwlearn._util.threads import processors
from scwlearn.distributed.errors import WorkerDied
from scwlearn.distributed.messages import OwnStorage, StoredBytes, receive, send
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.tasks import Learned, Report, Task, merge_steps
from scwlearn.distributed.worker import CLIENT_SIGNALS

# How many workers a task may lose before it is given up: one that takes too much memory ends each of them.
_MOST_DEATHS = 10
# Seconds to wait for the exit code of a worker that has closed its pipes.
_LAST_MOMENTS = 2.0
# One thread for each worker; the environment is read before NumPy loads.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)

_Work = Callable[[bytes], Learned]


class Processes(Runner):
    """Runs tasks in processes of this machine. A worker that dies is replaced, and its task repeated.

    Parameters
    ----------
    workers : int or None
        How many; None for one for each processor.

    Examples
    --------
    >>> from scwlearn.distributed import Processes
    >>> with Processes(2) as runner:
    ...     runner.workers
    2
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = processors() if workers is None else check_int("workers", workers)
        self._running: list[_Worker] = []
        self._lock = Lock()
        self._storage: OwnStorage | None = None
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers, and remove what they have stored."""
        self._is_closed = True
        self._end_all()
        if self._storage is not None:
            self._storage.close()

    @property
    def pids(self) -> list[int]:
        """The process numbers of the workers."""
        with self._lock:
            return [worker.process.pid for worker in self._running]

    def run_round(
        self, start: bytes, tasks: Sequence[Task], on_report: Callable[[Report], None], *, rule: str = "auto"
    ) -> Learned:
        """Run tasks that go on from the same model, and merge what they learned; see `Runner`."""
        (learned,) = self.run_rounds(start, [tasks], on_report, rule=rule)
        return replace(learned, model=bytes(learned.model))

    def run_rounds(
        self,
        start: bytes,
        rounds: Iterable[Sequence[Task]],
        on_report: Callable[[Report], None],
        *,
        rule: str = "auto",
    ) -> Generator[Learned, None, None]:
        """Run rounds, each of which goes on from the merged model of the one before; see `Runner`."""
        model: Any = start
        for tasks in rounds:
            steps = merge_steps(tasks, rule)
            stored = model if isinstance(model, StoredBytes) else StoredBytes(self._opened_storage().put(model))
            learned = self._map(stored, tasks, on_report)
            for level in steps:
                merges = [partial(_merged, merge, [learned[i] for i in group]) for group, merge in level]
                learned = self._map(stored, merges)
            model = learned[0].model
            yield learned[0]

    def _opened_storage(self) -> OwnStorage:
        with self._lock:
            if self._is_closed:
                raise ValueError("these Processes are closed; make new ones")
            self._storage = self._storage or OwnStorage()
            return self._storage

    def _map(
        self,
        start: StoredBytes,
        tasks: Sequence[_Work],
        on_report: Callable[[Report], None] = lambda report: None,
    ) -> list[Learned]:
        """Return the results of tasks in their order."""
        job = _Job(start, tasks)
        threads = [
            Thread(target=self._serve, args=(job,), name=f"scwlearn worker {i}", daemon=True)
            for i in range(min(self.workers, len(tasks)))
        ]
        results: list[Learned | None] = [None] * len(tasks)
        try:
            for thread in threads:
                job.waiting.put(None)
                thread.start()
            for _ in tasks:
                number, result, error = job.finished.get()
                if error is not None:
                    raise error
                results[number] = result
                for report in () if result is None else result.reports:
                    on_report(report)
        except BaseException:
            # The other workers are busy with tasks whose results are no longer needed.
            job.is_stopped.set()
            self._end_all()
            raise
        return [result for result in results if result is not None]

    def _serve(self, job: _Job) -> None:
        """Have a worker do tasks until none is waiting."""
        worker: _Worker | None = None
        while (number := job.waiting.get()) is not None:
            try:
                worker, result, error = self._attempts(job, number, worker)
            except _Stopped:
                return
            except BaseException as problem:
                worker, result, error = None, None, problem
            job.finished.put((number, result, error))
        if worker is not None:
            worker.is_idle = True

    def _attempts(self, job: _Job, number: int, worker: _Worker | None) -> tuple[_Worker | None, Any, Any]:
        """Have a worker do a task, and others if it dies; return the last one, and the result or the error."""
        task = job.tasks[number]
        for _ in range(_MOST_DEATHS):
            worker = worker or self._acquire(job)
            try:
                return worker, *worker.run(job.start, task)
            except (EOFError, OSError):
                code, worker = self._discard(worker), None
                job.check()
        return None, None, _died(getattr(task, "place", "a merge"), _MOST_DEATHS, code)

    def _acquire(self, job: _Job) -> _Worker:
        """Return an idle worker, or a new one that is ready."""
        storage = self._opened_storage()
        for _ in range(_MOST_DEATHS):
            with self._lock:
                # After this, `_end_all` finds every worker.
                job.check()
                worker = next((each for each in self._running if each.is_idle), None)
                if worker is not None:
                    worker.is_idle = False
                    return worker
                try:
                    worker = _Worker(storage)
                except OSError as error:
                    raise WorkerDied(f"cannot start a worker process: {error}") from error
                self._running.append(worker)
            try:
                worker.wait_until_ready()
                return worker
            except (EOFError, OSError):
                code = self._discard(worker)
        raise _died("the start of a worker", _MOST_DEATHS, code)

    def _discard(self, worker: _Worker) -> int:
        """Forget a worker that has died; return its exit code."""
        with self._lock:
            if worker in self._running:
                self._running.remove(worker)
        return worker.end(after=_LAST_MOMENTS)

    def _end_all(self) -> None:
        with self._lock:
            running, self._running = self._running, []
        for worker in running:
            worker.end()


class _Stopped(Exception):
    """The job was stopped: its results are no longer needed."""


@dataclass
class _Job:
    """Tasks that go on from the same model, which threads share out among workers."""

    start: StoredBytes
    tasks: Sequence[_Work]
    #: The numbers of tasks, and a None for each thread.
    waiting: SimpleQueue[int | None] = field(default_factory=SimpleQueue)
    #: The number of a task, its result, and its error.
    finished: SimpleQueue[tuple[int, Learned | None, BaseException | None]] = field(default_factory=SimpleQueue)
    is_stopped: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        for number in range(len(self.tasks)):
            self.waiting.put(number)

    def check(self) -> None:
        """Raise _Stopped if the results are no longer needed."""
        if self.is_stopped.is_set():
            raise _Stopped


def _merged(merge: Callable[..., Learned], learned: Sequence[Learned], start: bytes) -> Learned:
    return merge(start, learned)


def _died(what: object, deaths: int, code: int) -> WorkerDied:
    names = {each.value: each.name for each in signal.Signals}
    how = f"signal {names.get(-code, -code)}" if code < 0 else f"exit code {code}"
    hint = "; is there enough memory?" if code == -signal.SIGKILL else ""
    return WorkerDied(f"{what}: {deaths} workers died, the last by {how}{hint}")


@contextmanager
def _client_signals_blocked() -> Iterator[None]:
    """Block signals in this thread, and so in a process that it starts, until that ignores them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, CLIENT_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass(eq=False)
class _Worker:
    """A process that waits for tasks."""

    storage: OwnStorage
    process: Any = field(init=False)
    is_idle: bool = field(default=False, init=False)
    _start: StoredBytes | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # It finds modules where this process finds them, and not in the current directory.
        places = [place for place in sys.path if isinstance(place, str)]
        program = f"import sys; sys.path[:] = {places}; from scwlearn.distributed.worker import main; main()"
        with _client_signals_blocked():
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, *self.storage.directories],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**KEEP_MEMORY, **os.environ, **_ONE_THREAD},
            )

    def wait_until_ready(self) -> None:
        """Wait until the process has loaded everything; raise an EOFError or OSError if it dies before."""
        receive(self._files[1], keep=True)

    def run(self, start: StoredBytes, task: _Work) -> tuple[Any, Any]:
        """Return the result and the error of a task; raise an EOFError or OSError if the worker has died."""
        send(self._files[0], (None if self._start is start else start, task))
        result, error = receive(self._files[1], keep=True)
        # After an error it may not have got the model.
        self._start = start if error is None else None
        return result, error

    @property
    def _files(self) -> tuple[BinaryIO, BinaryIO]:
        return self.process.stdin, self.process.stdout

    def end(self, after: float = 0.0) -> int:
        """End the process, whatever it is doing, unless it ends within some seconds; return its exit code."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(after)
        self.process.kill()
        code: int = self.process.wait()
        for file in self._files:
            with suppress(OSError):
                file.close()
        return code
