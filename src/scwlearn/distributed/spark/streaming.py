"""Learning from streaming queries: each micro-batch exactly once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

from scwlearn._util.atomic import Path
from scwlearn.distributed.spark.classifier import SparkClassifier
from scwlearn.distributed.spark.frames import learn_frame
from scwlearn.files import read, write
from scwlearn.files.transport import pack, unpack


def learn_batches(model: Any, path: Path, *, rounds: int = 1, **columns: Any) -> Callable[[Any, int], None]:
    """Return a function for `foreachBatch` that learns each micro-batch exactly once.

    After each micro-batch, the model is saved with the number of the batch, in one atomic step. A query that stops at
    any moment is restarted from its checkpoint by Spark; the batch that it repeats is then skipped if the file has
    learned it, and learned if it has not.

    Parameters
    ----------
    model : estimator or StreamClassifier
        The model to begin with; a file at `path` is continued instead.
    path : str or path
        The model file, on the machine where the function runs: the driver, or the server of Spark Connect. It belongs
        to the checkpoint of one query: delete both, or none.
    rounds : int
        How many times the models of the partitions are merged within a batch; 1 by default.
    **columns : str
        `labelCol`, `featuresCol`, `inputCols` and `weightCol`, as for `SparkClassifier`.

    Returns
    -------
    callable
        A function of a DataFrame and the number of the batch.

    Warns
    -----
    UserWarning
        If a batch is skipped: Spark repeats it after a crash, or the checkpoint is older than the model file, or new.

    Examples
    --------
    >>> from scwlearn import StreamClassifier
    >>> from scwlearn.distributed.spark import learn_batches
    >>> learn = learn_batches(StreamClassifier("scw1"), "clicks.model", labelCol="clicked")
    >>> query = stream.writeStream.foreachBatch(learn).option("checkpointLocation", "clicks").start()  # doctest: +SKIP
    """
    classifier = SparkClassifier(model, rounds=rounds, **columns)
    path = os.path.abspath(path)

    def learn(batch: Any, number: int) -> None:
        start, last = _saved(path) or (classifier._packed, -1)
        if number > last:
            learned = learn_frame(batch, start, classifier._columns(batch.columns), rounds=rounds)
            saved = unpack(learned)
            saved.batch = number
            write(saved, path)
        else:
            # After a crash, Spark repeats the last batch.
            warnings.warn(
                f"batch {number} is skipped, since the model in {path} includes all batches up to {last}; if the "
                "checkpoint is new, delete the file or give another one",
                stacklevel=2,
            )

    return learn


def _saved(path: str) -> tuple[bytes, int] | None:
    """Return the packed model of a file and the number of its last batch; None if there is no file."""
    if not os.path.exists(path):
        return None
    saved = read(path)
    return pack(saved), -1 if saved.batch is None else saved.batch
