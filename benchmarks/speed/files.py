"""From a text file to a model, and parsing alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from scwlearn import Learner
from scwlearn.data.formats.libsvm import read_libsvm
from scwlearn.data.options import ReaderOptions
from speed import data, peers
from speed.harness import Bar, Group, Quality, Race, Scale, Side, comparison, megabytes_a_second, times_faster

WORK = "LIBSVM file to a diagonal model"


def text(scale: Scale) -> data.TextFiles:
    """Return the files."""
    return data.text_files(scale.of(300_000, 20_000))


def ours(path: Path) -> Side:
    """Return our learner reading with our parser."""

    def learn() -> Learner:
        learner = Learner("scw1", covariance="diagonal", C=1.0, eta=0.9)
        learner.learn_batches(read_libsvm(path))
        return learner

    return Side(
        "scwlearn",
        learn,
        lambda learner: {"seen": learner.counts.seen, "mistakes": learner.counts.mistakes},
        threads=os.cpu_count() or 1,
    )


@comparison(WORK, against="Vowpal Wabbit, one pass, no cache", target=times_faster(4))
def file_vowpal_wabbit(scale: Scale) -> Race:
    """The same rows as Vowpal Wabbit text. Both sides read ahead in a thread."""
    peers.module("vowpalwabbit")
    files = text(scale)
    bits = int(np.log2(data.HASHED_WIDTH))
    peer = Side(
        "Vowpal Wabbit, one pass, no cache",
        lambda: peers.vowpal_wabbit(files.vw, bits),
        lambda _: peers.vowpal_wabbit(files.vw, bits, judged=True),
    )
    return Race(str(files), ours(files.libsvm), peer, files.megabytes, note="both sides parse in threads of their own")


@comparison(
    WORK,
    against="load_svmlight_file + SGDClassifier(max_iter=1)",
    target=times_faster(20),
    chart=Bar(Group.FILE, "Learner, LIBSVM, 127 MB", "load_svmlight_file, SGD"),
)
def file_sklearn(scale: Scale) -> Race:
    """The usual way with scikit-learn."""
    files = text(scale)

    def learn() -> tuple[Any, Any, Any]:
        x, y = load_svmlight_file(str(files.libsvm), n_features=data.HASHED_WIDTH, zero_based=False)
        # load_svmlight_file returns 64-bit indices, which SGDClassifier rejects.
        x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
        return peers.sgd().fit(x, y), x, y

    def judge(learned: tuple[Any, Any, Any]) -> Quality:
        model, x, y = learned
        return {"seen": x.shape[0], **peers.accuracy(model, x, y)}

    peer = Side("load_svmlight_file + SGDClassifier(max_iter=1)", learn, judge)
    return Race(str(files), ours(files.libsvm), peer, files.megabytes, note="ours parses in threads of its own")


def parsing(path: Path) -> Side:
    """Return our parser alone, in one thread; learning from the rows verifies that it finds all of them."""

    def parse() -> None:
        for _ in read_libsvm(path, ReaderOptions(read_ahead=False)):
            pass

    learner = ours(path)
    return Side("scwlearn", parse, lambda _: {"rows": learner.judge(learner.run())["seen"]})


@comparison("parsing LIBSVM text, 1 thread", against="wc -l", target=megabytes_a_second(200))
def parse_wc(scale: Scale) -> Race:
    """Count lines: a single scan of the bytes."""
    files = text(scale)

    def count() -> int:
        return int(subprocess.run(["wc", "-l", str(files.libsvm)], capture_output=True, check=True).stdout.split()[0])

    peer = Side("wc -l", count, lambda lines: {"lines": lines}, counted=False)
    return Race(str(files), parsing(files.libsvm), peer, files.megabytes)


@comparison("parsing LIBSVM text, 1 thread", against="reading the bytes")
def parse_read(scale: Scale) -> Race:
    """The limit: reading the bytes from the page cache."""
    files = text(scale)
    buffer = memoryview(bytearray(2**20))

    def read() -> int:
        total = 0
        with files.libsvm.open("rb", buffering=0) as file:
            while got := file.readinto(buffer):
                total += got
        return total

    peer = Side("reading the bytes", read, lambda total: {"bytes": total})
    return Race(str(files), parsing(files.libsvm), peer, files.megabytes)
