"""Whole commands, from process start to exit."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from scwlearn.data.io.output import open_output
from speed import data, peers
from speed.files import text
from speed.harness import Bar, Group, Quality, Race, Scale, Side, comparison, share_of_time, times_faster

TRAIN = "scwlearn train, the whole command"
VOWPAL_WABBIT = "python -m vowpalwabbit"


def python(name: str, *words: str, counted: str = "") -> Side:
    """Return a side that runs a fresh isolated interpreter; `counted` matches the number of examples in its output."""

    def run() -> str:
        done = subprocess.run([sys.executable, "-I", *words], capture_output=True, check=True, text=True)
        return done.stdout + done.stderr

    def judge(output: str) -> Quality:
        found = re.search(counted, output)
        if found is None:
            raise ValueError(f"{name} does not say how many examples it has seen")
        return {"seen": int(found[1])}

    return Side(name, run, judge if counted else lambda _: {}, counted=False)


def ours(*words: str, counted: str = "") -> Side:
    """Return our command."""
    return python("scwlearn", "-m", "scwlearn.cli", *words, counted=counted)


def train(files: data.TextFiles) -> Race:
    """Return the race of two commands that learn the same rows once, each in its own format, and save the model."""
    peers.module("vowpalwabbit")
    models = Path(tempfile.mkdtemp())
    bits = str(int(np.log2(data.HASHED_WIDTH)))
    asked = ["-d", str(files.vw), "-b", bits, "--loss_function", "hinge", "--quiet", "--no_stdin"]
    peer = python(VOWPAL_WABBIT, "-m", "vowpalwabbit", *asked, "-f", str(models / "vw"))
    learning = ours("train", str(files.libsvm), "-q", "-m", str(models / "ours"))
    return Race(str(files), learning, peer, files.megabytes, note="both read ahead in threads of their own")


@comparison(
    f"{TRAIN}, LIBSVM file to a saved model",
    against=VOWPAL_WABBIT,
    target=times_faster(2),
    chart=Bar(Group.FILE, "scwlearn train, 35 MB", "vw command"),
)
def command_vowpal_wabbit_small(scale: Scale) -> Race:
    """A small file, where starting the process matters."""
    return train(data.text_files(scale.of(83_000, 5_000)))


@comparison(
    f"{TRAIN}, LIBSVM file to a saved model",
    against=VOWPAL_WABBIT,
    target=times_faster(4),
    chart=Bar(Group.FILE, "scwlearn train, 280 MB", "vw command"),
)
def command_vowpal_wabbit(scale: Scale) -> Race:
    """A large file."""
    return train(data.text_files(scale.of(661_000, 20_000)))


@comparison(f"{TRAIN}, gzip file", against="the plain file", target=share_of_time(1.5))
def command_gzip(scale: Scale) -> Race:
    """Decompression runs in the thread that reads, while the model learns."""
    return compressed(scale, ".gz")


@comparison(f"{TRAIN}, zstd file", against="the plain file", target=share_of_time(1.5))
def command_zstd(scale: Scale) -> Race:
    """As `command_gzip`."""
    return compressed(scale, ".zst")


def compressed(scale: Scale, suffix: str) -> Race:
    """Return the race of a compressed LIBSVM file and the plain one."""
    files = text(scale)

    def compress(path: Path) -> None:
        with open_output(path) as file, files.libsvm.open("rb") as plain:
            shutil.copyfileobj(plain, file)

    path = data.cached_file(files.libsvm.name + suffix, compress)
    peer = replace(ours("train", str(files.libsvm), "-q"), name="the plain file")
    return Race(str(files), ours("train", str(path), "-q"), peer, files.megabytes)


@comparison("scwlearn --version", against='python -c "import numpy"', target=share_of_time(2.5))
def command_version(_: Scale) -> Race:
    """The start-up cost of the command."""
    importing = python('python -c "import numpy"', "-c", "import numpy")
    return Race("fresh interpreter", ours("--version"), importing)
