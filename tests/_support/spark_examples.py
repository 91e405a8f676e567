"""A Spark session for tests, and tasks whose workers die."""

import os
import shutil
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scwlearn.distributed.runner import Runner

#: "local[cores, failures of a task]"; a cluster of two executors is "local-cluster[2,1,1024]".
MASTER = os.environ.get("SCWLEARN_SPARK_MASTER", "local[2,100]")

DAEMON = "spark_daemon"


def has_java():
    """Whether Spark can be started."""
    return shutil.which("java") is not None


def start_session(directory, master=MASTER):
    """A session whose Python workers import what the tests import."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    if master.startswith("local-cluster"):
        os.environ["SPARK_HOME"] = str(linked_home(Path(directory) / "home"))
    builder = SparkSession.builder.master(master).appName("tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.task.maxFailures": "100",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(directory),
        "spark.log.level": "ERROR",
        "spark.python.daemon.module": DAEMON,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def linked_home(home):
    """A directory of links to Spark's own, to which a cluster of this machine may write."""
    import pyspark

    home.mkdir()
    for path in Path(pyspark.__file__).parent.iterdir():
        if path.name != "work":
            (home / path.name).symlink_to(path)
    return home


@dataclass(frozen=True)
class Fragile:
    """A task whose worker is killed when it has learned, on the first attempt; a file counts it."""

    task: Any
    directory: str

    @property
    def place(self):
        return self.task.place

    @property
    def size(self):
        return self.task.size

    def __call__(self, start):
        learned = self.task(start)
        try:
            os.close(os.open(Path(self.directory, str(self.place)), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return learned
        return os.kill(os.getpid(), signal.SIGKILL)


class FragileRunner(Runner):
    """A runner that gives each task to a worker that dies, and kills the idle workers after each round."""

    def __init__(self, runner, directory):
        self._runner, self._directory, self.killed = runner, directory, 0

    def run_round(self, start, tasks, on_report, *, rule="auto"):
        learned = self._runner.run_round(
            start, [Fragile(task, self._directory) for task in tasks], on_report, rule=rule
        )
        for pid in python_workers():
            os.kill(pid, signal.SIGKILL)
            self.killed += 1
        return learned


@dataclass(frozen=True)
class OldRunner(Runner):
    """A runner whose tasks were planned by another version."""

    runner: Any

    def run_round(self, start, tasks, on_report, *, rule="auto"):
        return self.runner.run_round(start, [replace(task, version="0.0.9") for task in tasks], on_report, rule=rule)


def python_workers():
    """The process numbers of the Python workers of the executors that this process has started."""
    parents, daemons = {}, set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(path.name)] = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if DAEMON.encode() in (path / "cmdline").read_bytes():
                daemons.add(int(path.name))
        except OSError:
            continue
    return [pid for pid in daemons if parents[pid] in daemons and os.getpid() in _ancestors(pid, parents)]


def _ancestors(pid, parents):
    found = []
    while pid in parents:
        pid = parents[pid]
        found.append(pid)
    return found
