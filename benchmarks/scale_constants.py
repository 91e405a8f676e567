"""Measure what training on parts costs on this machine: the constants of scale.py, on generated sparse rows."""

from __future__ import annotations

import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.distributed.plan import FAN_IN
from scwlearn.distributed.tasks import Learned, LearnFiles, Place, merge_learned
from scwlearn.distributed.training import FileTraining
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack, unpack
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.train import TrainingRun

MODEL = ModelConfig(find_rule("scw1"), {}, {"covariance": "diagonal"})
SEED = 20120626
#: Features of a generated row, and bytes of a feature in the model: its mean and its variance.
PER_ROW, WHOLE = 30, 16
#: Features of the models that are measured, and the rows of a small and of a large change.
WIDTHS, FEW, MANY = (2**20, 2**24), 2000, 200_000
#: How many times the rows are learned: one stream needs two free cores, and is measured too slow without.
LEARNED = 10


def _constant(what: str, unit: str = "", factor: float = 1.0) -> Any:
    return field(metadata={"what": what, "unit": unit, "factor": factor})


@dataclass(frozen=True)
class Constants:
    """What is measured, in seconds and bytes."""

    row: float = _constant("a worker reads and learns a row, 2^20 features", " µs", 1e6)
    stream_row: float = _constant("one stream reads and learns a row, 2^20 features", " µs", 1e6)
    growth: float = _constant("time of a row of a worker with 2^24 features, relative to 2^20")
    stream_growth: float = _constant("the same for one stream")
    row_bytes: float = _constant(f"a row of {PER_ROW} features as LIBSVM text", " bytes")
    updating: float = _constant("rows that change the model", " %", 100)
    sent: float = _constant("sent for each changed feature", " bytes")
    task_place: float = _constant("unpack a model and pack a change, for each feature", " ns", 1e9)
    task_change: float = _constant("pack a change, for each changed feature", " ns", 1e9)
    merge_place: float = _constant("merge, for each feature of each model", " ns", 1e9)
    merge_change: float = _constant("merge, for each changed feature of each model", " ns", 1e9)
    task_memory: float = _constant("memory of a task that learns, in models")
    merge_memory: float = _constant(f"memory of a merge of {FAN_IN}, in models")

    def row_seconds(self, features: float, *, stream: bool = False) -> float:
        """Return the time of a row, which grows with the share of features outside the cache: 1 - c / log(features)."""
        small, large, here = (1 / math.log(width) for width in (*WIDTHS, features))
        row, growth = (self.stream_row, self.stream_growth) if stream else (self.row, self.growth)
        return row * (1 + (growth - 1) * (small - here) / (small - large))


@cache
def expected_distinct(features: float, draws: float) -> float:
    """Return the expected number of distinct features, where feature k has probability log(1 + 1/k) / log(features)."""
    edges = np.unique(np.geomspace(1, features, 5000).astype(np.int64)).astype(np.float64)
    count = np.diff(edges)
    p = np.log(edges[1:] / edges[:-1]) / math.log(edges[-1]) / count
    return float(-(count * np.expm1(draws * np.log1p(-p))).sum())


def text_rows(width: int, count: int, seed: int) -> Iterator[str]:
    """Yield lines of LIBSVM text with features distributed as in `expected_distinct`, and noisy labels."""
    random = np.random.default_rng(seed)
    hidden = np.random.default_rng(SEED).standard_normal(997)
    places = np.sort((width ** random.random((count, PER_ROW))).astype(np.int64), axis=1)
    values = random.integers(1, 10_000, places.shape)
    labels = np.where(hidden[places % 997].sum(axis=1) + random.standard_normal(count) > 0, "+1", "-1")
    for label, row, numbers in zip(labels, places.tolist(), values.tolist(), strict=True):
        cells = dict(zip(row, numbers, strict=True)).items()
        yield f"{label} {' '.join(f'{place}:0.{value:04d}' for place, value in cells)}\n"


def learn_task(path: Path) -> LearnFiles:
    """Return the task that learns all of a file."""
    prepared = FileTraining([path], MODEL, parts=1).prepare()
    [[stretch]] = prepared.plan.stretches()
    return LearnFiles(Place(1, 1, 1), prepared.data.part(*stretch), prepared.schema, ReaderOptions())


def start_model(directory: Path, width: int) -> bytes:
    """Return a packed model of `width` features that has learned a few rows."""
    path = directory / "start.libsvm"
    path.write_text(f"+1 {width}:1\n-1 1:1\n" + "".join(text_rows(width, FEW, 1)))
    untrained = pack(SavedModel.from_classifier(MODEL.classifier()))
    return merge_learned(untrained, [learn_task(path)(untrained)], whole=True).model


def changed_features(start: bytes, learned: Learned) -> int:
    """Return how many features a task has changed."""
    before, after = (saved.learner.learner.model.memory for saved in (unpack(start), unpack(learned.model, start)))
    return int((before != after).any(axis=1).sum())


def _best(function: Callable[..., Any], *given: Any, repeats: int = 3) -> float:
    """Return the shortest of some times, as others use the machine too."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        function(*given)
        times.append(time.perf_counter() - began)
    return min(times)


def _models(width: int, function: Callable[..., Any], *given: Any) -> float:
    """Return the peak memory of a task and of the packed model that it starts from, in models."""
    tracemalloc.start()
    function(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return 1 + peak / (WHOLE * width)


def _stream(path: Path, start: bytes) -> float:
    """Return the seconds of one stream, without those of unpacking the model."""
    run = TrainingRun(unpack(start).learner)
    began = time.perf_counter()
    batches = read_batches([path])[1]
    run.run(lambda epoch: batches)
    return time.perf_counter() - began


def _unpack_and_pack(start: bytes, after: SavedModel) -> None:
    unpack(start)
    pack(after, start)


def measure(directory: Path) -> Constants:
    """Measure the constants, on generated rows."""
    path, rows, timed = directory / "rows.libsvm", [], []
    for width in WIDTHS:
        print(f"measuring with {width:,} features", file=sys.stderr, flush=True)
        start = start_model(directory, width)
        for count in (FEW, MANY):
            with path.open("w") as file:
                file.writelines(text_rows(width, count, 2))
            task = learn_task(path)
            learned = task(start)
            around = _best(_unpack_and_pack, start, unpack(learned.model, start))
            merging = _best(merge_learned, start, [learned] * FAN_IN) / FAN_IN
            timed.append((width, changed_features(start, learned), around, merging))
        alone = _best(task, start, repeats=LEARNED) - around
        rows.append((alone / MANY, min(_stream(path, start) for _ in range(LEARNED)) / MANY))
    report, found = learned.reports[0], np.array(timed)
    expected = expected_distinct(width, report.updates * PER_ROW)
    print(f"changed features: {found[-1, 1]:,.0f}, expected {expected:,.0f}", file=sys.stderr)
    # Seconds are a * features + b * changed features, by least squares of relative errors.
    (task_place, task_change), (merge_place, merge_change) = (
        np.linalg.lstsq(found[:, :2] / seconds[:, np.newaxis], np.ones(len(found)))[0].clip(0).tolist()
        for seconds in found[:, 2:].T
    )
    return Constants(
        row=rows[0][0],
        stream_row=rows[0][1],
        growth=rows[1][0] / rows[0][0],
        stream_growth=rows[1][1] / rows[0][1],
        row_bytes=path.stat().st_size / MANY,
        updating=report.updates / report.seen,
        sent=len(learned.model) / float(found[-1, 1]),
        task_place=task_place,
        task_change=task_change,
        merge_place=merge_place,
        merge_change=merge_change,
        task_memory=_models(width, task, start),
        merge_memory=_models(width, merge_learned, start, [learned] * FAN_IN),
    )
