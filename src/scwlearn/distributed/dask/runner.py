"""`DaskRunner`: carries out the rounds of a plan on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Self
from uuid import uuid4

import numpy as np
from distributed import Client, get_worker

from scwlearn._util.allocator import reused_memory
from scwlearn._util.checks import check_int
from scwlearn._util.threads import one_thread
from scwlearn.distributed.dask.jobs import Job, JobGroup, find_client, scatter, submit
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.tasks import Learned, MergeStep, Report, Task, merge_steps

# Merges run first, because they free memory.
_MERGE = 1
# The topic of the events by which workers tell the client how tasks went. The scheduler keeps the latest of a topic, so
# all runs share one; if two threads train with one client at a time, the earlier run shows its progress late.
_TOPIC = "scwlearn-reports"


class DaskRunner(Runner):
    """Runs the tasks of a plan on a Dask cluster.

    The result is the same to the last bit as that of `Processes`, whatever the number of workers. Models stay on the
    cluster; the client gets a copy of each merged one while the next round begins. What a dead worker takes with it is
    computed again: at most the tasks of one round, and those of the next that have begun.

    Parameters
    ----------
    client : distributed.Client, optional
        The connection to the cluster; the current client if not given.
    retries : int
        How many times a task that raises an error is repeated, for data that are unavailable for a moment.

    Examples
    --------
    >>> from distributed import Client
    >>> from scwlearn.distributed.dask import DaskRunner
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    ...     runner = DaskRunner(client)
    """

    def __init__(self, client: Client | None = None, *, retries: int = 0) -> None:
        self.client = find_client(client)
        self.retries = check_int("retries", retries, minimum=0)

    def run_round(
        self, start: bytes, tasks: Sequence[Task], on_report: Callable[[Report], None], *, rule: str = "auto"
    ) -> Learned:
        """Run tasks that go on from the same model, and merge what they learned; see `Runner`."""
        (learned,) = self.run_rounds(start, [tasks], on_report, rule=rule)
        return learned

    def run_rounds(
        self,
        start: bytes,
        rounds: Iterable[Sequence[Task]],
        on_report: Callable[[Report], None],
        *,
        rule: str = "auto",
        rows: Sequence[Job] = (),
    ) -> Generator[Learned, None, None]:
        """Run rounds, each of which goes on from the merged model of the one before; yield the result of each.

        Parameters
        ----------
        start : bytes
            The packed model that the first round goes on from.
        rounds : iterable of sequences of Task
            What to learn; the tasks of a round in parallel.
        on_report : callable
            Called with the report of each task when it has ended, in any order.
        rule : str
            How to merge.
        rows : sequence of Job
            The rows that each task of a round learns from, for tasks that take them as a second argument.

        Yields
        ------
        Learned
            The merged model of a round, whole.

        Raises
        ------
        SchedulerLost
            If there is no connection to the scheduler.
        WorkerDied
            If a task loses too many workers.
        """
        made = (_Round(self.client, tasks, rule=rule, rows=rows, retries=self.retries) for tasks in rounds)
        with _Events(self.client) as events:
            this, following = next(made, None), None
            try:
                if this is not None:
                    this.start.content = start
                while this is not None:
                    following = next(made, None)
                    learned = this.finish(events, on_report, following)
                    yield learned
                    this, following = following, None
            except BaseException:
                for each in (this, following):
                    if each is not None:
                        each.group.cancel()
                raise


class _Events:
    """What workers tell about tasks that have ended, while this is entered."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._queue: SimpleQueue[Any] = SimpleQueue()

    def __enter__(self) -> Self:
        # A lost connection is reported by `wait_for`.
        with suppress(Exception):
            self._client.subscribe_topic(_TOPIC, self._queue.put)
        return self

    def __exit__(self, *error: object) -> None:
        # An error here would hide the one that matters.
        with suppress(Exception):
            self._client.unsubscribe_topic(_TOPIC)

    def new(self) -> Iterator[dict[str, Any]]:
        """Yield the events received so far."""
        with suppress(Empty):
            while True:
                yield self._queue.get_nowait()[1]


class _Model(Job):
    """The model that a round starts from: what the round before has merged, or else a copy that the client scatters."""

    def __init__(self, client: Client, name: str, *, broadcast: bool) -> None:
        super().__init__(lambda: scatter(client, name, self.content, broadcast=broadcast))
        self.content = b""


class _Round:
    """The jobs of a round: the tasks learn from the same model; the results are merged."""

    def __init__(self, client: Client, tasks: Sequence[Task], *, rule: str, rows: Sequence[Job], retries: int) -> None:
        self._client, self._place = client, tasks[0].place
        self._id = uuid4().hex
        self._waiting = {task.place for task in tasks}
        self.start = _Model(client, self._name("model"), broadcast=len(tasks) > 1)
        learn = [
            self._learn(task, rows[i : i + 1], retries=retries, **preferred)
            for i, (task, preferred) in enumerate(zip(tasks, self._preferred(len(tasks), rows), strict=True))
        ]
        # Only the workers know which partitions have rows.
        merges = self._merges(learn, merge_steps(tasks, rule), counts=bool(rows) and len(tasks) > 1)
        self._merged = merges[-1]
        self._own = [self.start, *learn, *merges]
        self.group = JobGroup(client, [*self._own, *rows], self.start)

    def finish(self, events: _Events, on_report: Callable[[Report], None], following: _Round | None) -> Learned:
        """Return the merged model; the following round begins while it is on its way to this process."""
        learned: Learned | None = None
        while learned is None:
            while not self.group.wait_for(self._merged):
                self._report(events, on_report)
            self._report(events, on_report)
            if following is not None:
                following.start.future = self._merged.future
                following.group.submit(following._merged)
            learned = self.group.result(self._merged)
            if learned is None and following is not None:
                following.forget()
        learned = replace(learned, model=bytes(learned.model))
        if following is not None:
            following.start.content = learned.model
        # Events may be late, or lost with a connection.
        for report in learned.reports:
            self._report_once(report, on_report)
        self.forget()
        return learned

    def forget(self) -> None:
        """Let the cluster forget the round, but for what another one needs."""
        for job in self._own:
            job.forget()

    def _report(self, events: _Events, on_report: Callable[[Report], None]) -> None:
        """Hand on the reports that have come in."""
        for message in events.new():
            if message["round"] == self._id:
                self._report_once(Report.from_json(message["report"]), on_report)

    def _report_once(self, report: Report, on_report: Callable[[Report], None]) -> None:
        """Hand on a report, unless it is that of a repeated task."""
        if report.place in self._waiting:
            self._waiting.remove(report.place)
            self.group.count_progress()
            on_report(report)

    def _preferred(self, count: int, rows: Sequence[Job]) -> list[dict[str, Any]]:
        """Return a preferred worker for each task; none for tasks that should run where their rows are.

        Left alone, Dask runs all tasks where the model is.
        """
        workers: list[str] = []
        # A lost connection is reported by `wait_for`.
        with suppress(Exception):
            workers = [*self._client.nthreads()]
        if rows or not workers:
            return [{}] * count
        return [{"workers": workers[i % len(workers)], "allow_other_workers": True} for i in range(count)]

    def _learn(self, task: Task, rows: Sequence[Job], **options: Any) -> Job:
        name = self._name("learn", part=task.place.part)
        send = partial(submit, self._client, name, partial(_learn, task, self._id), **options)
        return Job(send, (self.start, *rows))

    def _merges(self, learned: Sequence[Job], levels: Sequence[Sequence[MergeStep]], *, counts: bool) -> list[Job]:
        """Return the jobs of the tree, the last of which merges all; with `counts`, they count who has learned."""
        flags = [
            Job(self._submission("count", _has_learned, part=number), (job,))
            for number, job in enumerate(learned if counts else (), 1)
        ]
        merges: list[Job] = []
        for height, level in enumerate(levels, 1):
            below, learned = learned, []
            seen = flags if height == 1 else []
            for number, (group, merge) in enumerate(level, 1):
                function = partial(_merge, merge, len(group))
                send = self._submission("merge", function, level=height, group=number, priority=_MERGE)
                learned.append(Job(send, (self.start, *[below[i] for i in group], *seen)))
            merges += learned
        return [*flags, *merges]

    def _submission(self, kind: str, function: Callable[..., Any], *, priority: int = 0, **numbers: int) -> Any:
        return partial(submit, self._client, self._name(kind, **numbers), function, priority=priority)

    def _name(self, kind: str, **numbers: int) -> str:
        """Return the beginning of a key; Dask's dashboard groups keys by their words up to the first number."""
        parts = {"round": self._place.round, **numbers}
        if self._place.epoch > 1:
            parts["epoch"] = self._place.epoch
        return f"scwlearn-{kind}-" + "-".join(f"{part}-{number}" for part, number in parts.items())


def _learn(task: Callable[..., Learned], round_id: str, start: Any, *rows: Any) -> Learned:
    # A worker may have several threads, which run a task each.
    with one_thread(), reused_memory():
        learned = task(_model(start), *rows)
    for report in learned.reports:
        get_worker().log_event(_TOPIC, {"round": round_id, "report": report.to_json()})
    return _as_array(learned)


def _has_learned(learned: Learned) -> bool:
    return any(report.seen for report in learned.reports)


def _merge(merge: Callable[..., Learned], size: int, start: Any, *given: Any) -> Learned:
    """Merge results; after them may come whether each task of the round has learned anything."""
    learned, has_learned = given[:size], given[size:]
    counted = {"count": max(1, sum(has_learned))} if has_learned else {}
    with one_thread(), reused_memory():
        return _as_array(merge(_model(start), learned, **counted))


def _model(start: Any) -> Any:
    """Return the model that a round starts from: scattered, or part of the result of the round before."""
    return start.model if isinstance(start, Learned) else start


def _as_array(learned: Learned) -> Learned:
    """Return the result with the model as an array, which Dask sends without copying it."""
    model: Any = np.frombuffer(learned.model, dtype=np.uint8)
    return replace(learned, model=model)
