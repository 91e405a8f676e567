"""A round of tasks on Spark: what a task returns, and the merges of the tree as grouped functions.

A task returns one row: its number, and either what it learned or the error that ended it. An error is data, because
Spark would repeat a failed task, and then report it as the stack trace of another process. Only tasks whose worker died
are repeated.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from scwlearn._util.threads import one_thread
from scwlearn.distributed.errors import portable_error
from scwlearn.distributed.tasks import Learned, merge_steps

#: The columns of a result.
OUTCOME = "number long, learned binary, error binary"
_ARROW = pa.schema([("number", pa.int64()), ("learned", pa.binary()), ("error", pa.binary())])


def outcome(number: int, work: Callable[[], Learned]) -> pa.RecordBatch:
    """Run a task on one thread and return its row."""
    learned = error = None
    try:
        with one_thread():
            learned = pickle.dumps(work(), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as problem:
        error = pickle.dumps(portable_error(problem))
    return _row(number, learned, error)


def _row(number: int, learned: bytes | None, error: bytes | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"number": [number], "learned": [learned], "error": [error]}, schema=_ARROW)


def merge_outcomes(outcomes: Any, start: bytes, tasks: Sequence[Any], rule: str = "auto") -> Learned:
    """Run the tasks of a round and merge what they learned by the tree of the plan.

    Parameters
    ----------
    outcomes : DataFrame
        The rows of the tasks, in any order; not computed yet.
    start : bytes
        The packed model that all tasks go on from.
    tasks : sequence of Task
        The tasks, which are numbered from 0.
    rule : str
        How to merge.

    Returns
    -------
    Learned
        The merged model, whole.

    Raises
    ------
    Exception
        The error of the first task that failed, as the task raised it.
    """
    for level in merge_steps(tasks, rule):
        group_of = [group for group, (members, _) in enumerate(level) for _ in members]
        groups = outcomes.withColumn("group", F.lit(group_of)[F.col("number")]).repartition(len(level), "group")
        # All groups of a level are merged alike.
        outcomes = groups.groupBy("group").applyInArrow(_merging(start, level[0][1]), OUTCOME)
    rows = outcomes.collect()
    for row in rows:
        if row.error is not None:
            raise pickle.loads(row.error)
    found: list[Learned] = [pickle.loads(row.learned) for row in rows]
    done = sum(len(learned.reports) for learned in found)
    if done != len(tasks):
        raise RuntimeError(f"{done} of {len(tasks)} tasks have a result; does the data change while it is read?")
    return found[0]


def _merging(start: bytes, merge: Callable[..., Learned]) -> Callable[[pa.Table], pa.Table]:
    """Return the function that merges a group."""

    def merged(group: pa.Table) -> pa.Table:
        return pa.Table.from_batches([_merged(group.to_pylist(), start, merge)])

    return merged


def _merged(rows: list[dict[str, Any]], start: bytes, merge: Callable[..., Learned]) -> pa.RecordBatch:
    rows.sort(key=lambda row: row["number"])
    number = rows[0]["group"]
    failed = next((row["error"] for row in rows if row["error"] is not None), None)
    if failed is not None:
        return _row(number, None, failed)
    return outcome(number, lambda: merge(start, [pickle.loads(row["learned"]) for row in rows]))
