"""How Python exits while threads read, learn or predict: with the exit code of the script, and nothing on stderr."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
from io import BytesIO
from threading import Event, Thread
import numpy as np
from scipy.sparse import csr_array
from scwlearn import *
from scwlearn import Learner, StreamClassifier
from scwlearn.data.formats.libsvm import read_libsvm
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.learning.grid import learn_grid

random = np.random.default_rng(0)
X = random.normal(size=(500, 30))
SPARSE = csr_array(X * (X > 0))
SIGNS, NUMBERS = np.where(X[:, 0] > 0, 1, -1), random.integers(0, 3, 500).astype(np.int32)
DICTS, WORDS = [{f"f{j}": float(v) for j, v in enumerate(row)} for row in X], ["x" if s > 0 else "y" for s in SIGNS]
FITTED = SCW1(covariance="diagonal").fit(X, SIGNS)
LIBSVM = b"+1 1:0.5 7:2\\n-1 2:1e-3\\n" * 3000
VW = b"1 |a x:1 y:2\\n-1 |a z |b t:0.5\\n" * 3000
CSV = b"label,a,b\\n" + b"1,0.5,red\\n0,3,blue\\n" * 3000
JSON = b'{"label": 1, "a": 0.5}\\n{"label": 0, "b": "red"}\\n' * 3000
OPTIONS = ReaderOptions(read_ahead=False)

class Number:
    def __float__(self):
        return float(sum(range(100)))

def repeat(work, once):
    try:
        while True:
            work()
            once.set()
    finally:
        once.set()

# Most of these release the GIL.
WORK = [
    lambda: Learner('scw1', covariance='diagonal').learn(X, SIGNS),
    lambda: Learner('arow', covariance='diagonal').learn(SPARSE, SIGNS),
    lambda: Learner('scw1', covariance='full').learn(X, SIGNS),
    lambda: Learner('pa1', n_classes=3, covariance='diagonal').learn(X, NUMBERS),
    lambda: SCW1(multi_class='ovr', n_jobs=2, covariance='diagonal').fit(X, NUMBERS),
    lambda: Learner('scw1', covariance='diagonal', scale='rms').learn(X, SIGNS),
    lambda: FITTED.predict_proba(X),
    lambda: AutoClassifier(n_jobs=2).fit(X, SIGNS),
    lambda: KernelSCW1().fit(X[:50], SIGNS[:50]),
    lambda: learn_grid('pa1', [{'C': c} for c in (0.1, 1.0)], X, SIGNS),
    lambda: StreamClassifier('scw1', covariance='diagonal').learn_many(DICTS, WORDS),
    lambda: Learner(lambda m, v: (0.1, 0.0), covariance='diagonal').learn(X[:50], SIGNS[:50]),
    lambda: StreamClassifier('scw1').learn_one({'a': Number()}, 'x'),
    lambda: [*read_libsvm(BytesIO(LIBSVM), options=OPTIONS)],
    lambda: [*read_batches([BytesIO(VW)], format='vw', options=OPTIONS)[1]],
    lambda: [*read_batches([BytesIO(CSV)], format='csv', options=OPTIONS)[1]],
    lambda: [*read_batches([BytesIO(JSON)], format='jsonl', options=OPTIONS)[1]],
    lambda: merge([FITTED, FITTED]),
]
for work in WORK:
    once = Event()
    Thread(target=repeat, args=(work, once), daemon=True).start()
    once.wait()
sys.exit(7)
"""


def run(script, *arguments):
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("repetition", range(3))
def test_daemon_threads_do_not_change_the_exit_code(repetition):
    ended = run(SCRIPT)
    assert (ended.returncode, ended.stderr) == (7, "")


READING = """
import sys
from scwlearn.data.reading import read_batches
from scwlearn.data.options import ReaderOptions
schema, batches = read_batches(sys.argv[1:], options=ReaderOptions(chunk_bytes=2000))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of some thousand chunks for each kind of reader."""
    folder = tmp_path_factory.mktemp("files")
    lines = {"libsvm": b"+1 1:0.5 7:2\n-1 2:1\n", "vw": b"1 | a:1 b:2\n-1 | c\n", "jsonl": b'{"label": 1, "a": 0.5}\n'}
    for name, text in lines.items():
        (folder / name).write_bytes(text * 200_000)
    (folder / "csv").write_bytes(b"label,a\n" + b"1,0.5\n0,red\n" * 200_000)
    return folder


@pytest.mark.parametrize("format", ["libsvm", "vw", "jsonl", "csv"])
def test_a_reader_that_is_alive_does_not_change_the_exit_code(format, files):
    ended = run(READING + "next(iter(batches)); sys.exit(7)", files / format)
    assert (ended.returncode, ended.stderr) == (7, "")


@pytest.mark.parametrize(("end", "code"), [("raise SystemExit(7)", 7), ("raise KeyError", 1)])
def test_an_exception_while_reading_ends_python_as_usual(end, code, files):
    ended = run(READING + "for batch in batches:\n    " + end, files / "libsvm")
    assert (ended.returncode, "terminate" in ended.stderr) == (code, False)


def test_threads_of_a_reader_have_ended_when_python_exits(files):
    # Exit handlers run in reverse order: this one after those of the library.
    check = """
import atexit, threading
atexit.register(lambda: print(*(thread.name for thread in threading.enumerate())))
"""
    ended = run(check + READING + "next(iter(batches))", files / "libsvm")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "MainThread\n", "")


def test_the_gil_is_released_in_one_place():
    native = Path(__file__).parents[2] / "native"
    users = [path.name for path in sorted(native.rglob("*.?pp")) if "PyEval_RestoreThread" in path.read_text()]
    others = [path.name for path in sorted(native.rglob("*.?pp")) if "nb::gil_scoped" in path.read_text()]
    assert (users, others) == (["gil.hpp"], [])
