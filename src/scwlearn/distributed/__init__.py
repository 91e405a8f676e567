"""Training on several processes or machines, with the same result whatever the number of workers."""

from __future__ import annotations

from scwlearn.distributed.processes import Processes, WorkerDied
from scwlearn.distributed.serial import Serial
from scwlearn.distributed.tasks import OtherVersion, UnreadablePart
from scwlearn.distributed.training import train

__all__ = ["OtherVersion", "Processes", "Serial", "UnreadablePart", "WorkerDied", "train"]
