"""Kill `scwlearn train --save-every` at random moments, and check that the remaining file loads and training resumes.

    .venv/bin/python benchmarks/killed_while_saving.py --times 200

The model is saved after every few examples, so most kills happen while a file is being written. The next run resumes
from what the kill left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from scwlearn.runs.trained_model import TrainedModel

_EXAMPLES, _WIDTH = 20_000, 2_000
# In seconds after the first save.
_LONGEST = 0.5


@dataclass
class Found:
    """Counts of what the kills left behind."""

    kills: int = 0
    #: Kills before the run had finished.
    in_time: int = 0
    #: Temporary files: a process killed while writing leaves one.
    unfinished: int = 0
    #: Files that could not be loaded, with the reason.
    broken: list[str] = field(default_factory=list)


def kill_often(times: int, directory: Path, seed: int) -> Found:
    """Start a training `times` times, kill it, and load what is left."""
    random = np.random.default_rng(seed)
    data, model = directory / "data.libsvm", directory / "model"
    _write_examples(data, random)
    found = Found()
    for _ in range(times):
        process = _train(data, model)
        seen = _age(model)
        while process.poll() is None and _age(model) == seen:
            time.sleep(0.002)
        time.sleep(random.uniform(0.0, _LONGEST))
        process.kill()
        ended = process.wait()
        if ended > 0:
            raise RuntimeError(f"the training failed with exit code {ended}")
        found.kills += 1
        found.in_time += ended < 0
        left = [*directory.glob(".*.tmp")]
        found.unfinished += len(left)
        for path in left:
            path.unlink()
        try:
            TrainedModel.read(model)
        except (ValueError, OSError) as error:
            found.broken.append(str(error))
    return found


def _train(data: Path, model: Path) -> subprocess.Popen[bytes]:
    words = ["train", str(data), "-m", str(model), "--save-every", "50", "-q"]
    resume = ["--resume", str(model)] if model.exists() else []
    return subprocess.Popen([sys.executable, "-m", "scwlearn.cli", *words, *resume])


def _age(model: Path) -> int:
    return model.stat().st_mtime_ns if model.exists() else 0


def _write_examples(path: Path, random: np.random.Generator) -> None:
    with path.open("w") as file:
        for _ in range(_EXAMPLES):
            columns = np.unique(random.integers(1, _WIDTH, 10))
            label = 1 if columns[0] % 2 else -1
            file.write(f"{label} {' '.join(f'{column}:1' for column in columns)}\n")


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = kill_often(given.times, Path(directory), given.seed)
    print(f"{found.kills} kills, {found.in_time} of them while it ran, {found.unfinished} in the middle of a file")
    print(f"models that could not be loaded: {len(found.broken)}")
    print(*found.broken, sep="\n", end="")
    return 1 if found.broken else 0


if __name__ == "__main__":
    sys.exit(main())
