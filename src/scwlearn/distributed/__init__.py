"""Training on several processes or machines, with the same result whatever the number of workers."""

from __future__ import annotations

from scwlearn.distributed.errors import OtherVersion, UnreadablePart, WorkerDied
from scwlearn.distributed.processes import Processes
from scwlearn.distributed.runner import Runner
from scwlearn.distributed.serial import Serial
from scwlearn.distributed.tasks import Report
from scwlearn.distributed.training import train

__all__ = ["OtherVersion", "Processes", "Report", "Runner", "Serial", "UnreadablePart", "WorkerDied", "train"]
