"""Threads that copy, save, merge, predict and learn at once, processes that fork meanwhile, and arrays that change."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from operator import methodcaller
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

from scwlearn import SCW1, AutoClassifier, KernelSCW1, Learner, StreamClassifier, load, merge, save
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack
from stress.trial import Trial

Call = Callable[[Any], object]

# Seconds after which a forked process hangs.
_LIMIT = 60


def _case(random: Random) -> int:
    return random.choice([_snapshots, _snapshots, _writers, _forks, _changing_arrays])(random)


class Lesson:
    """A model that has not learned, the calls that teach it, and the states between two of them."""

    def __init__(self, random: Random, calls: int) -> None:
        self.new, self.calls = random.choice([_stream, _stream, _stream, _vectors, _estimator, _kernel])(random, calls)
        model = self.new()
        self.states, self.merged = {_digest(model)}, set[bytes]()
        for call in self.calls:
            call(model)
            self.states.add(_digest(model))
            if isinstance(model, StreamClassifier):
                self.merged.add(_digest(merge([model, model])))

    def teach(self, model: Any) -> None:
        """Make all calls."""
        for call in self.calls:
            call(model)


def _digest(model: Any) -> bytes:
    """Return a digest of all that a model file holds."""
    return hashlib.sha256(pack(SavedModel.from_model(model))).digest()


def _draw_dict(random: Random, names: int) -> dict[str, Any]:
    found: dict[str, Any] = {f"name {random.randrange(names)}": random.gauss(0, 1) for _ in range(random.randint(0, 9))}
    return found | ({"word": random.choice("abcdef")} if random.random() < 0.3 else {})


def _stream(random: Random, calls: int) -> tuple[Callable[[], Any], list[Call]]:
    """Return a classifier of dicts, with names and classes that appear all the time."""
    # Merging a large full Sigma, which the committee has too, would take most of the time.
    names = random.choice([12, 60, 3000])
    settings: dict[str, Any] = {"max_features": random.choice([None, 40, 400])}
    settings["covariance"] = "diagonal" if names > 60 else random.choice(["full", "diagonal"])
    if random.random() < 0.3:
        settings["class_weight"] = "balanced"
    if random.random() < 0.3:
        settings["scale"] = random.choice(["rms", "standard"])
    rule = random.choice(["scw1", "arow", "pa1", "auto"])
    if rule == "auto":
        # It cannot drop features.
        settings, names = {"class_weight": settings.get("class_weight")}, min(names, 60)
    most = random.choice([2, 3, 8])
    found: list[Call] = []
    for i in range(calls):
        count = random.choice([1, 1, 1, 2, 30])
        examples = [_draw_dict(random, names) for _ in range(count)]
        labels = [random.randrange(min(most, 2 + i // 10)) for _ in range(count)]
        if count == 1:
            found.append(methodcaller("learn_one", examples[0], labels[0]))
        else:
            found.append(methodcaller("learn_many", examples, labels))
    return lambda: StreamClassifier(rule, **settings), found


def _rows(random: Random, count: int, width: int) -> Any:
    numbers = np.random.default_rng(random.getrandbits(64))
    x = numbers.normal(size=(count, width)) * (numbers.random((count, width)) < 0.4)
    return sparse.csr_array(x) if random.random() < 0.5 else x


def _vectors(random: Random, calls: int) -> tuple[Callable[[], Any], list[Call]]:
    """Return a learner from rows, with classes that appear all the time."""
    width, covariance = random.choice([5, 40]), random.choice(["diagonal", "full"])
    found: list[Call] = []
    for i in range(calls):
        count = random.choice([1, 1, 40])
        x = _rows(random, count, width)
        y = np.minimum(np.arange(count) + random.randrange(3), i // 8)
        if count == 1 and not sparse.issparse(x):
            found.append(methodcaller("learn_one", x[0], int(y[0])))
        else:
            found.append(methodcaller("learn", x, y))
    return lambda: Learner("scw1", n_classes=0, covariance=covariance), found


def _estimator(random: Random, calls: int) -> tuple[Callable[[], Any], list[Call]]:
    """Return an estimator, with classes that appear all the time."""
    kind, width = random.choice([SCW1, SCW1, AutoClassifier]), random.choice([5, 40])
    settings: dict[str, Any] = {"scale": "standard"} if kind is SCW1 and random.random() < 0.5 else {}
    return lambda: kind(**settings), _partial_fits(random, calls, width)


def _kernel(random: Random, calls: int) -> tuple[Callable[[], Any], list[Call]]:
    """Return an estimator with a kernel."""
    budget = random.choice([None, 20])
    return lambda: KernelSCW1(budget=budget), _partial_fits(random, calls // 4, 5)


def _partial_fits(random: Random, calls: int, width: int) -> list[Call]:
    found: list[Call] = []
    for i in range(calls):
        count = random.choice([1, 3, 40])
        x, y = _rows(random, count, width), np.array([random.randrange(2 + i // 10) for _ in range(count)])
        found.append(methodcaller("partial_fit", x, y))
    return found


@contextmanager
def _impatient() -> Iterator[None]:
    """Switch threads as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _at_once(*tasks: Callable[[], object]) -> None:
    """Run tasks in threads of their own, and raise the first of their errors."""
    failed: list[BaseException] = []

    def run(task: Callable[[], object]) -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    with _impatient():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]


def _snapshots(random: Random) -> int:
    """Copy, pickle, save, merge and look at a model while another thread teaches it."""
    lesson, done = Lesson(random, 40), threading.Event()
    model = lesson.new()
    taken = [0]

    def learn() -> None:
        try:
            lesson.teach(model)
        finally:
            done.set()

    def read(way: Callable[[Any], Any], known: set[bytes]) -> None:
        while True:
            last = done.is_set()
            assert _digest(way(model)) in known, f"{way.__name__} of {model!r} is no state between two calls"
            taken[0] += 1
            if last:
                return

    ways = random.sample([copy.copy, copy.deepcopy, _pickled, _saved], 2)
    readers: list[Callable[[], object]] = [partial(read, way, lesson.states) for way in ways]
    if isinstance(model, StreamClassifier):
        readers.append(lambda: read(_merged, lesson.merged | {_digest(merge([lesson.new(), lesson.new()]))}))
        readers.append(lambda: _look(model, done))
    _at_once(learn, *readers)
    assert _digest(model) in lesson.states
    return taken[0]


def _pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


def _saved(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as directory:
        model_file = Path(directory) / "model"
        save(model, model_file)
        return load(model_file)


def _merged(model: Any) -> Any:
    return merge([model, model])


def _look(model: StreamClassifier, done: threading.Event) -> None:
    x = {"name 1": 1.0, "name 7": -1.0, "word": "a"}
    while not done.is_set():
        model.predict_one(x)
        if model.counts.seen:
            chances = model.predict_proba_one(x)
            # While the first example is learned, its class is not known yet.
            assert not chances or abs(sum(chances.values()) - 1) < 1e-9
            model.top_features(3)
            model.explain(x)


def _writers(random: Random) -> int:
    """Teach a model in several threads."""
    lessons = [_stream(random, 40)[1] for _ in range(3)]
    settings: dict[str, Any] = {"class_weight": "balanced"} if random.random() < 0.5 else {}
    model, alone = (StreamClassifier("arow", max_features=random.choice([None, 100]), **settings) for _ in range(2))
    for i, calls in enumerate(lessons):
        # A class of its own for each thread.
        calls.insert(random.randrange(len(calls)), methodcaller("learn_one", {"own": 1.0}, 100 + i))
        for call in calls:
            call(alone)

    def teach(calls: list[Call]) -> None:
        for call in calls:
            call(model)

    _at_once(*(partial(teach, calls) for calls in lessons))
    assert model.classes == alone.classes
    assert model.counts.seen == alone.counts.seen
    assert _digest(_pickled(model)) == _digest(model)
    return sum(map(len, lessons))


def _forks(random: Random) -> int:
    """Fork while other threads learn and predict; the child can use every model that was not half changed."""
    lesson, done = Lesson(random, 20), threading.Event()
    model, other = lesson.new(), StreamClassifier("arow")
    other.learn_many([{"a": 1.0}, {"b": 1.0}], [0, 1])
    count = 4

    def learn() -> None:
        while not done.is_set():
            lesson.teach(lesson.new())
            lesson.teach(model)

    def predict() -> None:
        while not done.is_set():
            # A copy has no handle for single examples yet.
            copy.copy(other).predict_one({"a": 1.0})

    def fork() -> None:
        try:
            for _ in range(count):
                child = os.fork()
                if child == 0:
                    os._exit(_use(model, other))
                _wait_for(child)
        finally:
            done.set()

    _at_once(learn, predict, predict, fork)
    return count


def _copied(model: Any) -> Any:
    """Return a copy, or None if the model was half changed when this process was forked."""
    try:
        return copy.copy(model)
    except RuntimeError as error:
        if "forked" in str(error):
            return None
        raise


def _use(model: Any, other: StreamClassifier) -> int:
    """Use models in a forked process; return its exit code."""
    try:
        assert other.copy().predict_one({"a": 1.0}) == 0
        other.learn_one({"c": 1.0}, 2)
        assert merge([other, other]).classes == [0, 1, 2]
        again = _copied(model)
        assert again is None or _digest(again) == _digest(model)
        return 0
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1


def _wait_for(child: int) -> None:
    end = time.monotonic() + _LIMIT
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            assert status == 0, f"the forked process ended with status {status}"
            return
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise AssertionError("the forked process hangs")
        time.sleep(0.001)


def _changing_arrays(random: Random) -> int:
    """Learn from arrays, and score them, while another thread writes anything into them."""
    numbers = np.random.default_rng(random.getrandbits(64))
    rows, width = random.choice([30, 150, 800]), random.choice([3, 50, 1000])
    x = sparse.random_array((rows, width), density=min(1.0, 40 / width), format="csr", rng=numbers)
    x = x.astype(random.choice([np.float32, np.float64]))
    if random.random() < 0.5:
        x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    y, weights = numbers.integers(0, random.choice([2, 4]), rows), numbers.random(rows) + 0.5
    dense, order = x.toarray(), numbers.permutation(rows)
    first = sparse.csr_array((1, width), dtype=x.dtype)
    first.data, first.indices, first.indptr = x.data[: x.indptr[1]], x.indices[: x.indptr[1]], x.indptr[:2]
    arrays = [x.data, x.indices, x.indptr, y, weights, dense, order]
    valid, done = [array.copy() for array in arrays], threading.Event()

    def change() -> None:
        while not done.is_set():
            for array, right in zip(arrays, valid, strict=True):
                if array.dtype.kind == "f":
                    array[:] = random.choice([np.nan, np.inf, -1.0])
                elif array.size:
                    array[:] = numbers.integers(-2, 2 * array.size, array.size) if numbers.random() < 0.5 else 2**30
                array[:] = right

    def use() -> None:
        try:
            for _ in range(4):
                given = (x, first) if random.random() < 0.7 else (dense, dense[:1])
                _try_all(random, *given, y, weights, order)
        finally:
            done.set()

    _at_once(change, use)
    return 4 * 7


def _try_all(random: Random, x: Any, first: Any, y: Any, weights: Any, order: Any) -> None:
    """Learn from arrays and score them; an error that says what is wrong is as good as an answer."""
    covariance = random.choice(["full", "diagonal"]) if x.shape[1] < 100 else "diagonal"
    learner = Learner("scw1", covariance=covariance, n_classes=random.choice([None, 4]), scale=random.choice(_SCALES))
    # SciPy's own operators, such as slices, trust the arrays.
    estimator = random.choice([SCW1, AutoClassifier, *([KernelSCW1] if x.shape[0] <= 150 else [])])(random_state=0)
    labels = y if learner.n_classes else np.where(y > 0, 1, -1).astype(np.int8)
    calls: list[Callable[[], object]] = [
        lambda: learner.learn(x, labels, weights=weights, order=random.choice([None, order])),
        lambda: learner.scores_and_variances(x),
        lambda: learner.margin_variances(x),
        lambda: estimator.fit(x, y, weights),
        lambda: estimator.partial_fit(x, y),
        lambda: estimator.predict_proba(x),
        lambda: estimator.explain(first) if hasattr(estimator, "explain") else None,
    ]
    for call in calls:
        with suppress(ValueError, TypeError, IndexError, AttributeError, MemoryError), np.errstate(all="ignore"):
            call()


_SCALES = ("none", "unit", "rms", "standard")

TRIAL = Trial(
    claim="What is copied, pickled, saved or merged while other threads learn is the model between two calls; several "
    "threads may learn; a forked process does not hang; arrays may change while they are read",
    unit="snapshots, calls and forks",
    case=_case,
    quick=12,
    long=5_000,
)
