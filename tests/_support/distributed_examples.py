"""Small plans on files, and what every runner must make of them."""

import hashlib
import os
import random
import signal
import threading
import time
from dataclasses import dataclass

import numpy as np

from scwlearn.distributed.training import FileTraining
from scwlearn.rules import find_rule
from scwlearn.runs.config import ModelConfig


def write_libsvm(path, rows=3000, features=300, classes=3, seed=0):
    """Rows with a few of many features, in several classes."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(features, classes))
    with open(path, "w") as file:
        for _ in range(rows):
            own = np.sort(rng.choice(features, 8, replace=False))
            values = rng.normal(size=8)
            label = int((values @ weights[own] + rng.normal(size=classes)).argmax())
            file.write(f"{label} " + " ".join(f"{i + 1}:{v:.4f}" for i, v in zip(own, values, strict=True)) + "\n")
    return path


def prepared(path, rule="scw1", parts=5, rounds=3, settings=None, **more):
    """A plan on a file."""
    config = ModelConfig(find_rule(rule), {}, settings or {})
    return FileTraining([path], config, parts=parts, rounds=rounds, **more).prepare()


def digest(run):
    """The SHA-256 of the model."""
    return hashlib.sha256(run.model).hexdigest()


class Killer:
    """Kills a random worker shortly after a task has finished, some times in all, at moments that the seed decides."""

    def __init__(self, pids, kill, times, seed=0):
        self.left, self._pids, self._kill, self._random = times, pids, kill, random.Random(seed)

    def __call__(self, report=None, size=0):
        """Plan a murder; it follows progress, so that a slow machine is not stopped."""
        if self.left:
            self.left -= 1
            threading.Timer(self._random.choice([0.0, 0.01, 0.03, 0.1]), self._strike).start()

    def _strike(self):
        if pids := self._pids():
            self._kill(self._random.choice(pids))


@dataclass(frozen=True)
class Sleep:
    """A task that takes long."""

    seconds: float = 60.0

    def __call__(self, start):
        """Tell that it has begun, and sleep."""
        print("asleep", flush=True)
        time.sleep(self.seconds)


class Suicide:
    """A task that ends its worker."""

    place = "round 1, part 1"

    def __call__(self, start):
        """Die."""
        os.kill(os.getpid(), signal.SIGKILL)


class Unreadable:
    """A task that a worker cannot unpickle."""

    def __reduce__(self):
        """Return what fails there."""
        return eval, ("1 / 0",)
