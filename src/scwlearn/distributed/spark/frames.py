"""Training on the rows of a DataFrame: its partitions are the parts of the plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from scwlearn import __version__
from scwlearn.distributed.errors import UnreadablePart
from scwlearn.distributed.plan import Plan, few_examples, warm_up_of
from scwlearn.distributed.spark.columns import Columns, labels, matrix, records
from scwlearn.distributed.spark.rounds import OUTCOME, merge_outcomes, outcome
from scwlearn.distributed.tasks import Learned, Place, learn_rows, seen_by
from scwlearn.learning.data_warnings import DataWarning

# `monotonically_increasing_id` has the number of the partition above these bits, and below that of the row.
_ROW_BITS = 33


@dataclass(frozen=True)
class PartitionTask:
    """A task of a round: rows of one partition."""

    number: int
    place: Place
    partition: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.end - self.begin

    def __str__(self) -> str:
        """Return which rows they are."""
        return f"partition {self.partition}, rows {self.begin} to {self.end - 1}"


def learn_frame(dataset: Any, start: bytes, columns: Columns, *, rounds: int) -> bytes:
    """Learn from a DataFrame by the rounds of a plan.

    Parameters
    ----------
    dataset : DataFrame
        The examples. Kept in Spark's cache for the time of the training, unless it is cached already: a frame that is
        computed anew may have other partitions.
    start : bytes
        The packed model to go on from.
    columns : Columns
        What the columns are.
    rounds : int
        How many times the models of all partitions are merged.

    Returns
    -------
    bytes
        The packed model; `start` if there are no rows.

    Raises
    ------
    TypeError, ValueError
        If columns are missing, have other types, or nulls.
    UnreadablePart
        If the model cannot learn from some of the rows.
    """
    with _cached(columns.examples(dataset), dataset) as cached:
        # On top of the cache: the optimizer would number the rows of a local relation before they have partitions.
        examples = cached.withColumn("place", F.monotonically_increasing_id())
        counts = _count_rows(examples, columns)
        for message in few_examples(sum(counts.values()), max(1, len(counts))):
            warnings.warn(message, DataWarning, stacklevel=4)
        for tasks in _rounds(counts, rounds, seen_by(start)):
            chosen = examples.where(_is_in(tasks))
            outcomes = chosen.mapInArrow(_learning(start, tasks, is_record=bool(columns.inputs)), OUTCOME)
            start = merge_outcomes(outcomes, start, tasks).model
    return start


@contextmanager
def _cached(examples: Any, dataset: Any) -> Iterator[Any]:
    """Keep examples in the cache, unless the dataset that they come from is there."""
    level = dataset.storageLevel
    if level.useMemory or level.useDisk:
        yield examples
        return
    examples.persist()
    try:
        yield examples
    finally:
        examples.unpersist()


def _count_rows(examples: Any, columns: Columns) -> dict[int, int]:
    """Return the number of rows of each partition that has any; raise a ValueError for nulls."""
    names = {"label": columns.label, "weight": columns.weight, "x": columns.features}
    nulls = [F.count_if(F.col(name).isNull()).alias(name) for name in columns.checked]
    partition = F.shiftright("place", _ROW_BITS).alias("partition")
    found = examples.groupBy(partition).agg(F.count(F.lit(1)).alias("rows"), *nulls).collect()
    total = sum(row.rows for row in found)
    for name in columns.checked:
        missing = sum(row[name] for row in found)
        if missing:
            own = names[name]
            raise ValueError(
                f"column {own!r} is null in {missing} of {total} rows; fill them, or drop them with "
                f"dropna(subset=[{own!r}])"
            )
    return {row.partition: row.rows for row in sorted(found, key=lambda row: row.partition)}


def _rounds(counts: Mapping[int, int], rounds: int, seen: int) -> Iterator[list[PartitionTask]]:
    """Yield the tasks of each round that has any, for a model that has seen some examples."""
    if not counts:
        return
    plan = Plan(len(counts), rounds, warm_up=warm_up_of(seen))
    for number in range(plan.first_round, plan.rounds + 1):
        tasks: list[PartitionTask] = []
        for part, (partition, count) in enumerate(counts.items(), 1):
            rows = plan.rows(part, number, count)
            if rows:
                tasks.append(PartitionTask(len(tasks), Place(1, number, part), partition, rows.start, rows.stop))
        if tasks:
            yield tasks


def _is_in(tasks: list[PartitionTask]) -> Any:
    """Return the condition for the rows of a round."""
    count = max(task.partition for task in tasks) + 1
    begins, ends = [0] * count, [0] * count
    for task in tasks:
        begins[task.partition], ends[task.partition] = task.begin, task.end
    partition, row = F.shiftright("place", _ROW_BITS), F.col("place").bitwiseAND(F.lit(2**_ROW_BITS - 1))
    # Beyond the last partition, the bounds are null.
    return (row >= F.get(F.lit(begins), partition)) & (row < F.get(F.lit(ends), partition))


def _learning(
    start: bytes, tasks: list[PartitionTask], *, is_record: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that learns the rows of a partition."""
    by_partition, version = {task.partition: task for task in tasks}, __version__

    def learn(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [batch for batch in batches if len(batch)]
        if rows:
            task = by_partition[rows[0].column("place")[0].as_py() >> _ROW_BITS]
            yield outcome(task.number, lambda: _learned(start, task, pa.Table.from_batches(rows), is_record, version))

    return learn


def _learned(start: bytes, task: PartitionTask, table: Any, is_record: bool, version: str) -> Learned:
    if len(table) != task.end - task.begin:
        raise UnreadablePart(f"{task.place} ({task}): the DataFrame has changed while it was read; cache it first")
    table = table.combine_chunks()
    x, y, *weights = (table.column(name).chunk(0) for name in ("x", "label", "weight") if name in table.column_names)
    try:
        examples = records(x) if is_record else matrix(x)
    except ValueError as error:
        raise UnreadablePart(f"{task.place} ({task})", error) from error
    given = weights[0].to_numpy() if weights else None
    return learn_rows(start, examples, labels(y), given, place=task.place, data=str(task), version=version)
