"""Jobs of a Dask cluster that are submitted again when their results are lost."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Event
from typing import Any
from uuid import uuid4

import dask
from dask.utils import parse_timedelta
from distributed import Client, KilledWorker, get_client
from distributed.comm import CommClosedError

from scwlearn.distributed.errors import WorkerDied

# Dask itself repeats a job whose worker dies, distributed.scheduler.allowed-failures times. How often we submit one
# again that it has given up, and how often in a row results may be lost before another job finishes.
_MOST_REPEATS, _MOST_LOSSES = 2, 20
# Seconds between two looks at the connection.
_POLL = 0.2
_CANCELLED: tuple[type[BaseException], ...] = (asyncio.CancelledError, concurrent.futures.CancelledError)
_LOST: tuple[type[BaseException], ...] = (*_CANCELLED, CommClosedError, KilledWorker)
_UNREACHABLE: tuple[type[BaseException], ...] = (OSError, *_LOST)


class SchedulerLost(ConnectionError):
    """The connection to the scheduler of a cluster has ended."""


class Job:
    """A job whose result stays on the cluster.

    Parameters
    ----------
    submit : callable
        Submits it: a function of the futures of the jobs that it needs.
    needs : sequence of Job
        The jobs whose results it needs.
    """

    def __init__(self, submit: Callable[..., Any], needs: Sequence[Job] = ()) -> None:
        self._submit, self._needs = submit, needs
        self.future: Any = None
        self._ended: Event | None = None

    def submitted(self) -> Any:
        """Return the future of the result; submit the job and those it needs if they have none."""
        if self.future is None:
            self.future = self._submit(*[need.submitted() for need in self._needs])
        return self.future

    def forget(self) -> None:
        """Drop the result; the cluster forgets it when no other job needs it."""
        self.future = self._ended = None

    def wait(self, seconds: float) -> None:
        """Wait until the job has ended in any way, or for some seconds.

        Not by `distributed.wait`: the error that it raises after that time would keep the future alive.
        """
        if self.future is None:
            return
        if self._ended is None:
            self._ended = ended = Event()
            self.future.add_done_callback(lambda future: ended.set())
        self._ended.wait(seconds)

    @property
    def is_finished(self) -> bool:
        """Whether the result is there."""
        return self._status == "finished"

    @property
    def is_cancelled(self) -> bool:
        """Whether something that the job needs is lost for good."""
        return self._status in ("cancelled", "lost")

    @property
    def has_failed(self) -> bool:
        """Whether the job has raised an error, or was given up by Dask."""
        return self._status == "error"

    @property
    def _status(self) -> str:
        return getattr(self.future, "status", "")


class Lazy(Job):
    """A job that is part of the jobs that need it, so that its result is kept no longer than they need it.

    Parameters
    ----------
    delayed : Delayed
        The value.
    """

    def __init__(self, delayed: Any) -> None:
        super().__init__(lambda: delayed)

    def submitted(self) -> Any:
        """Return the delayed value."""
        return self._submit()


class JobGroup:
    """Jobs that need each other.

    Parameters
    ----------
    client : Client
        The connection to the cluster.
    jobs : iterable of Job
        All of them.
    scattered : Job
        The one of them that Dask cannot repeat.
    """

    def __init__(self, client: Client, jobs: Iterable[Job], scattered: Job) -> None:
        self._client, self._jobs, self._scattered = client, list(jobs), scattered
        self._address = getattr(client.scheduler, "address", "an unknown address")
        self._kills: Counter[str] = Counter()
        self._losses = 0

    def submit(self, job: Job) -> None:
        """Submit a job and what it needs; a lost connection is reported by `wait_for`."""
        self._tolerant(job.submitted)

    def wait_for(self, job: Job) -> bool:
        """Submit what is missing, wait a while, and return whether a job has finished.

        Raises
        ------
        SchedulerLost
            If there is no connection to the scheduler.
        WorkerDied
            If a job was lost too often.
        Exception
            The error of a job.
        """
        self.wait_for_scheduler()
        self.submit(job)
        self._tolerant(lambda: job.wait(_POLL))
        # Look at the others, too: a job may be cancelled because one that it needs has failed.
        self._look_at_errors([job for job in self._jobs if job.has_failed])
        self._forget_lost()
        return job.is_finished

    def _tolerant(self, action: Callable[[], Any]) -> None:
        """Call a function that fails if something is lost; the status of each job then shows what."""
        try:
            action()
        except _UNREACHABLE as error:
            self._count_loss(error)
        except Exception:
            if self._client.status == "running":
                raise

    def count_progress(self) -> None:
        """Note that a job has finished since results were lost."""
        self._losses = 0

    def result(self, job: Job) -> Any:
        """Return the result of a finished job, or None if it has been lost since."""
        try:
            return job.future.result()
        except _LOST as error:
            self._count_loss(error)
        job.forget()
        return None

    def _look_at_errors(self, failed: Iterable[Job]) -> None:
        """Raise the error of a job, or a WorkerDied if a job has ended worker after worker."""
        killers: dict[str, Any] = {}
        for job in failed:
            try:
                job.future.result()
            except KilledWorker as error:
                # Several jobs may need the one that ended workers.
                killers[_name_of(error.task)] = error
            except _LOST as error:
                self._count_loss(error)
        for name, killed in killers.items():
            self._kills[name] += 1
            if self._kills[name] > _MOST_REPEATS:
                raise WorkerDied(
                    f"{name}: all workers died that tried this task, the last at {killed.last_worker.address}; is "
                    "there enough memory?"
                ) from killed

    def _count_loss(self, error: BaseException) -> None:
        """Raise a WorkerDied if results are lost faster than jobs finish."""
        self._losses += 1
        if self._losses > _MOST_LOSSES:
            raise WorkerDied(
                f"results were lost {self._losses} times in a row, because workers died ({error}); is the cluster "
                "stable?"
            ) from error

    def wait_for_scheduler(self) -> None:
        """Wait while the client tries to connect again; raise a SchedulerLost if it has given up."""
        deadline = time.monotonic() + parse_timedelta(dask.config.get("distributed.comm.timeouts.connect"))
        while self._client.status != "running":
            if self._client.status != "connecting" or time.monotonic() > deadline:
                raise SchedulerLost(
                    f"lost the connection to the Dask scheduler at {self._address}; training has stopped, and no model "
                    "was changed"
                )
            time.sleep(_POLL / 2)

    def _forget_lost(self) -> None:
        """Forget what was lost, so that it is submitted again."""
        if any(job.is_cancelled for job in self._jobs):
            # The client may not know yet that scattered data are gone.
            self._scattered.forget()
        for job in self._jobs:
            if job.is_cancelled or job.has_failed:
                job.forget()

    def cancel(self) -> None:
        """Stop all jobs that have not begun."""
        futures = [job.future for job in self._jobs if hasattr(job.future, "status")]
        for job in self._jobs:
            job.forget()
        # What happened before is the error to report.
        with suppress(Exception):
            if self._client.status == "running":
                self._client.cancel(futures, force=True)


def _name_of(key: Any) -> str:
    """Return what a key says, without the part that makes ours unique."""
    return key.rpartition("-")[0] if str(key).startswith("scwlearn-") else str(key)


def submit(client: Client, name: str, function: Callable[..., Any], *needs: Any, **options: Any) -> Any:
    """Submit a function of futures and lazy values under a name that is unique, so that no earlier result is used."""
    key = f"{name}-{uuid4().hex}"
    if any(dask.is_dask_collection(need) for need in needs):
        lazy = dask.delayed(function, pure=False)(*needs, dask_key_name=key)
        # What is lazy has been optimized.
        return client.compute(lazy, optimize_graph=False, **options)
    return client.submit(function, *needs, key=key, pure=False, **options)


def scatter(client: Client, name: str, value: Any, *, broadcast: bool) -> Any:
    """Send a value to the workers, and wait for one if there is none."""
    if not client.nthreads():
        # A task that waits makes an adaptive cluster start workers; scattered data do not.
        client.submit(bool, key=f"scwlearn-wait-{uuid4().hex}", pure=False).result()
    key = f"{name}-{uuid4().hex}"
    return client.scatter({key: value}, broadcast=broadcast, hash=False)[key]


def find_client(client: Client | None) -> Client:
    """Return the given client, or else the current one.

    Raises
    ------
    ValueError
        If there is none, or if it is closed or asynchronous.
    """
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "no Dask client; make one first, client = distributed.Client(), or pass client=..."
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client, got {client!r}")
    if client.status in ("closing", "closed"):
        raise ValueError("the Dask client is closed; make a new one")
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous; pass one made without asynchronous=True")
    return client
