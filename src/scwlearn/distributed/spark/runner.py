"""Spark as the runner of plans on files."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from scwlearn.distributed.runner import Runner
from scwlearn.distributed.spark.rounds import OUTCOME, merge_outcomes, outcome
from scwlearn.distributed.tasks import Learned, Report, Task


class SparkRunner(Runner):
    """Runs tasks on the executors of Spark. Spark repeats the tasks of executors and workers that die.

    The files of the plan must have the same paths on all executors, and scwlearn the same version.

    Parameters
    ----------
    session : SparkSession, optional
        A session, also of Spark Connect; by default the active one, or a new one.

    Examples
    --------
    >>> from scwlearn.distributed.spark import SparkRunner
    >>> runner = SparkRunner()

    A plan takes it as it takes `Processes`, and gets the same model:

    >>> run = prepared.run(runner)  # doctest: +SKIP
    """

    def __init__(self, session: Any = None) -> None:
        self._session = session

    @property
    def session(self) -> Any:
        """The session; started when it is first used."""
        if self._session is None:
            self._session = SparkSession.builder.getOrCreate()
        return self._session

    def run_round(
        self, start: bytes, tasks: Sequence[Task], on_report: Callable[[Report], None], *, rule: str = "auto"
    ) -> Learned:
        """Run tasks that go on from the same model, and merge what they learned; see `Runner`.

        `on_report` is called at the end of the round: results stay on the executors until they are merged.
        """
        pickled = [pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL) for task in tasks]
        table = pa.table({"number": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(pickled, pa.binary())})
        # By range, since by hash two tasks could share a partition, and another have none.
        frame = self.session.createDataFrame(table).repartitionByRange(len(tasks), "number")
        learned = merge_outcomes(frame.mapInArrow(_learning(start), OUTCOME), start, tasks, rule)
        for report in learned.reports:
            on_report(report)
        return learned


def _learning(start: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that runs the tasks of a partition."""

    def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield _learned(row["number"], row["task"], start)

    return learn


def _learned(number: int, task: bytes, start: bytes) -> pa.RecordBatch:
    # A task of another version may not even be readable.
    return outcome(number, lambda: pickle.loads(task)(start))
