"""Measure the peak memory of training from a generated LIBSVM file, in a separate process."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

WIDTH = 2**20
FEATURES = 30
#: Script for a fresh interpreter, so that only the run itself is measured.
TRAIN = """if True:
    import sys, time
    from scwlearn import Learner
    from scwlearn.data.formats.libsvm import read_libsvm

    def peak():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024

    began, before = time.perf_counter(), peak()
    learner = Learner("scw1", covariance="diagonal")
    seen = learner.learn_batches(read_libsvm(sys.argv[1])).seen
    taken = time.perf_counter() - began
    print(f"{seen:,} rows in {taken:.2f} s; peak {peak():.0f} MB, {before:.0f} MB of it after the imports, ", end="")
    print(f"{learner.model.memory.nbytes / 2**20:.0f} MB the model", flush=True)
"""


def lines(size: int, width: int) -> Iterator[bytes]:
    """Yield about `size` bytes of rows in pieces: 30 of `width` features per row, with a skewed distribution.

    Labels follow hidden weights, but for one in ten.
    """
    random = np.random.default_rng(0)
    hidden = random.normal(size=width)
    written = 0
    while written < size:
        places = (width ** random.random((10_000, FEATURES))).astype(int)
        values = random.integers(1, 10_000, places.shape)
        positive = (hidden[places].sum(axis=1) > 0) ^ (random.random(len(places)) < 0.1)
        labels = np.where(positive, "+1", "-1")
        rows = (
            dict(zip(sorted({*row}), number, strict=False))
            for row, number in zip(places.tolist(), values.tolist(), strict=True)
        )
        text = "".join(
            f"{label} {' '.join(f'{i}:0.{value:04d}' for i, value in row.items())}\n"
            for label, row in zip(labels, rows, strict=True)
        )
        written += len(text)
        yield text.encode()


def generated_file(megabytes: int, width: int = WIDTH) -> Path:
    """Return the path of a file of that size; write it if it does not exist."""
    path = Path(__file__).resolve().parents[1] / "build" / "bench-data" / f"rows-{megabytes}-{width}.libsvm"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("wb") as file:
            file.writelines(lines(megabytes * 10**6, width))
        os.replace(unfinished, path)
    return path


def main() -> None:
    """Train from the file, and print time and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1000)
    path = generated_file(parser.parse_args().megabytes)
    print(f"{path.stat().st_size / 1e6:.0f} MB: ", end="", flush=True)
    subprocess.run([sys.executable, "-c", TRAIN, str(path)], check=True)


if __name__ == "__main__":
    main()
