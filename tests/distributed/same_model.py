"""Train one plan in processes, on Dask and on Spark, with 1, 2 and 4 workers, undisturbed and while workers are killed.

All runs must give the same SHA-256. Run it as a command, with tests/_support on PYTHONPATH; it takes some minutes::

    PYTHONPATH=tests/_support python tests/distributed/same_model.py [--runners processes dask spark] [--kills 20]
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

from distributed_examples import digest, prepared, write_libsvm

RUNNERS = ("processes", "dask", "spark")
WORKERS = (1, 2, 4)


@contextmanager
def processes(workers):
    """Yield a runner, and a function that returns the process numbers of its workers."""
    from scwlearn.distributed import Processes

    with Processes(workers) as runner:
        yield runner, lambda: runner.pids


@contextmanager
def dask(workers):
    """The same for a Dask cluster of processes, which their nannies start again."""
    from distributed import Client, LocalCluster

    from scwlearn.distributed.dask import DaskRunner

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield DaskRunner(client), lambda: [each.pid for each in cluster.workers.values() if each.pid is not None]


@contextmanager
def spark(workers):
    """The same for a Spark cluster with an executor for each worker; its Python processes are killed."""
    from scwlearn.distributed.spark import SparkRunner
    from spark_examples import python_workers, start_session

    with tempfile.TemporaryDirectory() as directory:
        session = start_session(directory, f"local-cluster[{workers},1,1024]")
        try:
            yield SparkRunner(session), python_workers
        finally:
            session.stop()


def digests(runner, pids, plan, kills):
    """Run the plan until `kills` workers were killed at random moments; return the digests of all models."""
    moments, left, stop = random.Random(kills), [kills], threading.Event()

    def strike():
        while left[0] and not stop.wait(moments.uniform(0.05, 0.5)):
            if found := pids():
                with suppress(ProcessLookupError):
                    os.kill(moments.choice(found), signal.SIGKILL)
                    left[0] -= 1

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        found = {digest(plan.run(runner))}
        while left[0]:
            found.add(digest(plan.run(runner)))
    finally:
        stop.set()
        thread.join()
    return found


def check(kind, workers, kills):
    """Print the digests of a runner with some workers."""
    with tempfile.TemporaryDirectory() as directory:
        plan = prepared(write_libsvm(Path(directory, "some.libsvm")), parts=10)
        with globals()[kind](workers) as (runner, pids):
            for times in (0, kills):
                print(kind, workers, "workers", times, "kills", *digests(runner, pids, plan, times), flush=True)


def main():
    """Check all runners, each in a process of its own; exit with 1 unless there is one digest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runners", nargs="+", choices=RUNNERS, default=RUNNERS)
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.here:
        check(asked.runners[0], asked.workers[0], asked.kills)
        return
    found = set()
    for kind in asked.runners:
        for workers in asked.workers:
            own = ["--here", "--runners", kind, "--workers", str(workers), "--kills", str(asked.kills)]
            done = subprocess.run([sys.executable, __file__, *own], stdout=subprocess.PIPE, text=True, check=True)
            print(done.stdout, end="", flush=True)
            found.update(word for line in done.stdout.splitlines() for word in line.split()[5:])
    print(f"{len(found)} different models")
    sys.exit(len(found) != 1)


if __name__ == "__main__":
    main()
