"""Compare the time of training with one worker process, two, Dask and one stream on a generated LIBSVM file.

They take turns, so that noise affects all of them alike. Start-up is measured separately.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

from distributed import Client, LocalCluster
from file_memory import WIDTH, generated_file

from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.distributed import Processes
from scwlearn.distributed.dask import DaskRunner
from scwlearn.distributed.run import DistributedRun
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.training import FileTraining, PreparedTraining
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig
from scwlearn.runs.train import TrainingRun

MODEL = ModelConfig(find_rule("scw1"), {})


@contextmanager
def dask(workers: int) -> Iterator[DaskRunner]:
    """Start a Dask cluster of processes with one thread each."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        yield DaskRunner(client)


def warmed_up(runner: Runner, small: PreparedTraining) -> Runner:
    """Have every worker load what it needs."""
    small.run(runner)
    return runner


def by_plan(runner: Runner, plan: PreparedTraining) -> Callable[[], DistributedRun]:
    """Return a function that trains on parts."""
    return lambda: plan.run(runner)


def one_stream(path: Path, *, read_ahead: bool) -> int:
    """Train in one stream, as `scwlearn train` does; with `read_ahead`, other threads parse."""
    options = ReaderOptions(read_ahead=read_ahead)
    _, batches = read_batches([path], options=options)
    run = TrainingRun(MODEL.classifier())
    run.run(lambda epoch: batches)
    return run.counts.seen


def main() -> None:
    """Print the times, their ratios, and the peak memory of the workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--features", type=int, default=WIDTH)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--parts", type=int, help="by default as many as scwlearn chooses")
    parser.add_argument("--rounds", type=int, help="by default as many as scwlearn chooses")
    asked = parser.parse_args()
    path = generated_file(asked.megabytes, asked.features)
    plan = FileTraining([path], MODEL, parts=asked.parts, rounds=asked.rounds).prepare()
    small = FileTraining([generated_file(1, asked.features)], MODEL, parts=2, rounds=1).prepare()
    ways: dict[str, Callable[[], Any]] = {
        "one stream": lambda: one_stream(path, read_ahead=True),
        "one stream, one thread": lambda: one_stream(path, read_ahead=False),
    }
    runners: dict[str, Callable[[], AbstractContextManager[Runner]]] = {
        "1 process": lambda: Processes(1),
        "2 processes": lambda: Processes(2),
        "Dask, 2 processes": lambda: dask(2),
    }
    with ExitStack() as stack:
        for name, start in runners.items():
            began = time.perf_counter()
            runner = warmed_up(stack.enter_context(start()), small)
            print(f"start of {name}: {time.perf_counter() - began:.2f} s", flush=True)
            ways[name] = by_plan(runner, plan)
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(asked.repeats):
            for name, train in ways.items():
                began = time.perf_counter()
                result = train()
                times[name].append(time.perf_counter() - began)
                if isinstance(result, DistributedRun):
                    memory = max(report.memory for report in result.reports)
                    about = f"peak {memory / 1e6:.0f} MB a worker, model {sha256(result.model).hexdigest()[:8]}"
                else:
                    about = f"{result:,} rows"
                print(f"{name}: {times[name][-1]:.2f} s, {about}", flush=True)
    size = path.stat().st_size
    print(f"\n{size / 1e6:.0f} MB, {plan.plan.parts} parts, {plan.plan.rounds} rounds; medians of {asked.repeats}")
    for name, taken in times.items():
        print(f"{name:24} {median(taken):5.2f} s  {size / 1e6 / median(taken):5.0f} MB/s")
    two, cluster = "2 processes", "Dask, 2 processes"
    for one, other in (("1 process", two), ("one stream, one thread", two), ("one stream", two), (cluster, two)):
        ratio = median(a / b for a, b in zip(times[one], times[other], strict=True))
        print(f"{one} / {other}: {ratio:.2f}")


if __name__ == "__main__":
    main()
