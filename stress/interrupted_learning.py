"""Models that are interrupted at every step of learning: a batch is learned wholly, or not at all."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from random import Random
from threading import Thread
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse

from scwlearn import AutoClassifier, KernelLearner, Learner, StreamClassifier, estimators
from scwlearn._util import allocator, interrupts, memory, threads
from scwlearn.data.formats.libsvm import read_libsvm
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.learning.grid import learn_together
from scwlearn.rules import all_rules
from stress.model_state import everything
from stress.trial import Trial

_FEATURES = 6
_PACKAGE = os.path.dirname(interrupts.__file__).removesuffix("_util")
# Interruptions of each learning call.
_TIMES = 20

# Changes a model.
_Change = Callable[[Any], object]


def _case(random: Random) -> int:
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", DataWarning)
        # A job in the background ignores Ctrl-C.
        stack.callback(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        # Data frames and arrays take turns.
        warnings.filterwarnings("ignore", "X (does not have|has feature names)")
        _draw_sizes_of_blocks(random, stack)
        draws = [_draw_learner, _draw_stream, _draw_estimator, _draw_committee, _draw_kernel, _draw_grid]
        model, change, told = random.choice(draws)(random)
        whole = copy(model)
        change(whole)
        after = _state_of(whole)
        return sum(_interrupt(random, model, change, after, told) for _ in range(_TIMES))


def _draw_sizes_of_blocks(random: Random, stack: ExitStack) -> None:
    """Let small batches be learned in several blocks, with the rollback that large ones have."""
    work = random.choice([1e2, 1e3, 1e4, 1e9])
    for name, value in {
        "learning.in_blocks.WORK_OF_A_BLOCK": work,
        "learning.committee.learner.WORK_OF_A_BLOCK": work,
        "learning.committee.learner._QUICKLY_COPIED": random.choice([0, 2**17]),
        "learning.one_at_a_time._FEW_DICTS": random.choice([0, 2**12]),
        "kernels.learner._ROWS_AT_ONCE": random.choice([16, 128]),
        "model.scale._VALUES_AT_ONCE": random.choice([20, 2**20]),
    }.items():
        stack.enter_context(mock.patch(f"scwlearn.{name}", value))


def _interrupt(random: Random, model: Any, change: _Change, after: dict[str, Any], told: str) -> int:
    """Interrupt a change of a copy of the model; return 1 if there was time for it."""
    changed = copy(model)
    before = _state_of(changed)
    kind = random.choice(["line", "line of the package", "instruction", "time"])
    interrupted = _at_a_time if kind == "time" else _at_an_event
    try:
        # Measured anew: what was cached by an earlier call takes no time any more.
        with interrupted(random, kind, lambda: change(copy(model))):
            change(changed)
        raised = False
    except KeyboardInterrupt:
        raised = True
    found = _state_of(changed)
    assert found == after or (raised and found == before), f"{told}, {kind}: {_difference(found, before, after)}"
    _check_idle(told)
    if kind == "time":
        _check_free(changed, told)
    else:
        # Python answers no signal between the end of a `with` block and the call of `__exit__`, but traces it.
        _leave_shared_locks()
    return raised


def _state_of(model: Any) -> dict[str, Any]:
    # Whether a warning was shown is not part of what is learned.
    return {name: value for name, value in everything(model).items() if not name.endswith("._has_warned")}


def _difference(found: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> str:
    names = [
        sorted(name for name in found.keys() | other.keys() if found.get(name) != other.get(name))
        for other in (before, after)
    ]
    return f"differs from before in {names[0][:9]}, from after in {names[1][:9]}"


def _check_idle(told: str) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, f"{told}: the handler was not restored"
    assert interrupts._state.holder is None, f"{told}: interrupts are held"
    assert not memory._held.blocks, f"{told}: memory is held"
    assert not threads._allowed, f"{told}: BLAS is limited to one thread"


def _leave_shared_locks() -> None:
    """Leave the locks of the process that this thread still has."""
    for lock in (threads._lock, allocator._lock):
        with suppress(RuntimeError):
            while True:
                lock.__exit__()


def _check_free(model: Any, told: str) -> None:
    """Check that another thread can read the model: its lock is free."""
    thread = Thread(target=copy, args=(model,), daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), f"{told}: the model is locked"


@contextmanager
def _at_a_time(random: Random, kind: str, run: Callable[[], object]) -> Iterator[None]:
    """Interrupt the block after a part of the time of `run`."""
    start = time.perf_counter()
    run()
    delay = random.random() * (time.perf_counter() - start)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(1e-6, delay))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _at_an_event(random: Random, kind: str, run: Callable[[], object]) -> Iterator[None]:
    """Interrupt the block before a line or an instruction, one of as many as `run` has."""
    counter = _Events(kind)
    with counter.traced():
        run()
    counter = _Events(kind, random.randint(1, max(1, counter.count)))
    with counter.traced():
        yield


class _Events:
    """Counts lines or instructions of Python, and interrupts this process before the last one."""

    def __init__(self, kind: str, last: int | None = None) -> None:
        self.count, self._last = 0, last
        self._instructions, self._everywhere = kind == "instruction", kind == "line"

    @contextmanager
    def traced(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, _: object) -> Any:
        if not (self._everywhere or frame.f_code.co_filename.startswith(_PACKAGE)):
            return None
        frame.f_trace_opcodes = self._instructions
        return self._step

    def _step(self, _: FrameType, event: str, __: object) -> Any:
        if event == ("opcode" if self._instructions else "line"):
            self.count += 1
            if self.count == self._last:
                signal.raise_signal(signal.SIGINT)
        return self._step


def _numbers(random: Random) -> np.random.Generator:
    return np.random.default_rng(random.getrandbits(64))


def _draw_rows(random: Random, rows: int) -> Any:
    """Return dense or sparse rows."""
    numbers = _numbers(random)
    x = numbers.normal(size=(rows, _FEATURES)) * (numbers.random((rows, _FEATURES)) < 0.6)
    return random.choice([x, sparse.csr_array(x), x.astype(np.float32)])


def _draw_weights(random: Random, rows: int) -> Any:
    if random.random() < 0.6:
        return None
    weights = _numbers(random).uniform(0.1, 3, rows)
    weights[1::7] = 0
    return weights


def _draw_settings(random: Random, *, several: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "covariance": random.choice(["auto", "full", "diagonal", "diagonal-drop"]),
        "scale": random.choice(["none", "none", "rms", "standard", "unit"]),
        "average": random.random() < 0.3,
        "intercept": random.random() < 0.5,
    }
    if several and random.random() < 0.5:
        settings["multi_class"] = "ovr"
    return settings


def _own_rule(m: float, v: float) -> tuple[float, float]:
    return ((1 - m) / (v + 1), 1 / (v + 1)) if m < 1 else (0.0, 0.0)


def _draw_learner(random: Random) -> tuple[Any, _Change, str]:
    """Draw a learner, perhaps one that has learned, and a call."""
    classes = random.choice([None, None, 0, 3])
    rule: Any = random.choice([*[rule.name for rule in all_rules()], _own_rule])
    settings = _draw_settings(random, several=classes is not None)
    named = random.random() < 0.5
    if named and random.random() < 0.5:
        settings |= {"max_features": 12, "overflow": random.choice(["drop", "hash"])}
    learner = Learner(rule, n_classes=classes, **settings)
    learn: Callable[[Random, int | None], _Change] = _learn_dicts if named else _learn_rows
    if random.random() < 0.7:
        learn(random, classes)(learner)
    change, what = learn(random, classes), "learn"
    if learner.model is not None and not named and random.random() < 0.2:
        change, what = _draw_growth(random, classes)
    return learner, change, f"{what} of Learner({rule!r}, n_classes={classes}, {settings}), named={named}"


def _draw_growth(random: Random, classes: int | None) -> tuple[_Change, str]:
    if classes is not None:
        return (lambda learner: learner.add_classes(2)), "add_classes"
    if random.random() < 0.5:
        return (lambda learner: learner.widen(_FEATURES + 3)), "widen"
    wide = b"".join(b"%d %d:1 %d:0.5\n" % (1 - 2 * (i % 2), 1 + i % 5, 7 + i) for i in range(4))
    return (lambda learner: learner.learn_batches(read_libsvm(io.BytesIO(wide)))), "learn_batches"


def _draw_labels(random: Random, rows: int, classes: int | None) -> Any:
    if classes is None:
        return np.array([random.choice([-1, 1]) for _ in range(rows)])
    # The first of each class in order, since a number that is one too large is an error.
    return np.array([*range(3), *(random.randrange(3) for _ in range(rows - 3))])[:rows]


def _learn_rows(random: Random, classes: int | None) -> _Change:
    rows = random.choice([3, 5, 40, 200])
    x, y, weights = _draw_rows(random, rows), _draw_labels(random, rows, classes), _draw_weights(random, rows)
    if weights is not None and classes is not None:
        weights[:3] = 1
    if random.random() < 0.2:
        row = np.asarray(x.todense() if sparse.issparse(x) else x)[0]
        return lambda learner: learner.learn_one(row, int(y[0]))
    if random.random() < 0.2 and classes is None:
        return lambda learner: learner.trace(x, y, weights=weights)
    order = None if classes == 0 or random.random() < 0.5 else _numbers(random).permutation(rows)
    return lambda learner: learner.learn(x, y, order=order, weights=weights)


def _draw_records(random: Random, rows: int) -> list[dict[str, Any]]:
    start = random.randrange(30)
    return [
        {f"name {start + random.randrange(10 + i // 4)}": random.gauss(0, 1) for _ in range(3)} for i in range(rows)
    ]


def _learn_dicts(random: Random, classes: int | None) -> _Change:
    rows = random.choice([3, 5, 60, 200])
    records, y = _draw_records(random, rows), _draw_labels(random, rows, classes)
    if random.random() < 0.3:
        return lambda learner: learner.learn_one(records[0], int(y[0]))
    weights = _draw_weights(random, rows)
    if weights is not None and classes is not None:
        weights[:3] = 1
    return lambda learner: learner.learn_many(records, y, weights)


def _draw_stream(random: Random) -> tuple[Any, _Change, str]:
    """Draw a classifier of records, with classes that may be new, and a call."""
    committee = random.random() < 0.3
    settings = {} if committee else _draw_settings(random, several=True)
    settings["class_weight"] = random.choice([None, None, "balanced", {"b": 2.0, "d": 0.0}])
    rule = "auto" if committee else random.choice(["scw1", "arow", "pa1", "cw"])
    model = StreamClassifier(rule, classes=random.choice([None, ["a", "b"]]), **settings)
    if random.random() < 0.7:
        _learn_stream(random, random.choice(["a", "ab", "abc"]))(model)
    return model, _learn_stream(random, random.choice(["ab", "abc", "dcba"])), f"StreamClassifier({rule!r}, {settings})"


def _learn_stream(random: Random, labels: str) -> _Change:
    rows = random.choice([1, 5, 40, 150])
    records, y = _draw_records(random, rows), [random.choice(labels) for _ in range(rows)]
    form = random.choice(["one", "many", "many", "table"])
    if form == "one":
        weight = random.choice([1.0, 1.0, 0.0])
        return lambda model: model.learn_one(records[0], y[0], weight)
    weights = _draw_weights(random, rows)
    examples: Any = records
    if form == "table":
        import pyarrow as pa

        examples = pa.Table.from_pylist(records, pa.schema([(name, pa.float64()) for name in _names(records)]))
    return lambda model: model.learn_many(examples, y, weights)


def _names(records: list[dict[str, Any]]) -> list[str]:
    return sorted({name for record in records for name in record})


def _draw_estimator(random: Random) -> tuple[Any, _Change, str]:
    """Draw an estimator of scikit-learn's kind, and fit or partial_fit."""
    kind = random.choice([AutoClassifier, estimators.SCW1, estimators.AROW, estimators.PA1, estimators.KernelSCW1])
    settings: dict[str, Any] = {"random_state": 0, "class_weight": random.choice([None, None, "balanced"])}
    if kind in (estimators.SCW1, estimators.AROW, estimators.PA1):
        settings["scale"] = random.choice(["none", "rms", "standard"])
    if kind in (estimators.SCW1, estimators.AROW):
        settings["covariance"] = random.choice(["auto", "diagonal"])
    model = kind(**settings, n_epochs=random.choice([1, 3]))
    if random.random() < 0.8:
        x, y, _ = _draw_table(random, random.choice([2, 3]))
        model.fit(x, y)
    x, y, weights = _draw_table(random, random.choice([2, 3, 4]))
    told = f"{model!r}, fitted={hasattr(model, 'classes_')}"
    if random.random() < 0.5:
        return model, lambda model: model.fit(x, y, weights), f"fit of {told}"
    classes = random.choice([None, None, [0, 1, 2, 3, 4]])
    return model, lambda model: model.partial_fit(x, y, classes, weights), f"partial_fit of {told}, classes={classes}"


def _draw_table(random: Random, classes: int) -> tuple[Any, Any, Any]:
    rows = random.choice([6, 30, 120])
    x, weights = _draw_rows(random, rows), _draw_weights(random, rows)
    if random.random() < 0.2:
        import pandas as pd

        x = pd.DataFrame(np.asarray(x.todense() if sparse.issparse(x) else x), columns=list("abcdef"))
    return x, np.resize(np.arange(classes), rows), weights


def _draw_committee(random: Random) -> tuple[Any, _Change, str]:
    """Draw a committee that has learned, and more rows, which it learns in its memory."""
    classes, rows = random.choice([2, 3]), random.choice([120, 400])
    model = AutoClassifier(random_state=0, class_weight=random.choice([None, "balanced"]))
    model.fit(*_draw_table(random, classes)[:2])
    x, y, weights = _draw_rows(random, rows), np.resize(np.arange(classes), rows), _draw_weights(random, rows)
    return model, lambda model: model.partial_fit(x, y, None, weights), f"partial_fit of {model!r}, {classes} classes"


def _draw_kernel(random: Random) -> tuple[Any, _Change, str]:
    classes = random.choice([None, 0, 3])
    rule: Any = random.choice(["scw1", "arow", "pa1", _own_rule])
    budget = random.choice([None, 10])
    learner = KernelLearner(rule, n_classes=classes, kernel=random.choice(["rbf", "linear"]), budget=budget)

    def learn() -> _Change:
        rows = random.choice([3, 10, 60])
        x, y, weights = _draw_rows(random, rows), _draw_labels(random, rows, classes), None
        return lambda learner: learner.learn(x, y, weights=weights)

    if random.random() < 0.6:
        learn()(learner)
    return learner, learn(), f"KernelLearner({rule!r}, n_classes={classes}, budget={budget})"


class _Together:
    """Learners that learn together."""

    def __init__(self, learners: list[Learner]) -> None:
        self.learners = learners

    def __copy__(self) -> _Together:
        return _Together([copy(learner) for learner in self.learners])


def _draw_grid(random: Random) -> tuple[Any, _Change, str]:
    rules: list[Any] = [random.choice(["scw1", "arow", "pa1", _own_rule]) for _ in range(random.choice([2, 5]))]
    learners = _Together([Learner(rule, covariance="diagonal", scale=random.choice(["none", "rms"])) for rule in rules])

    def change() -> _Change:
        x, y = _draw_rows(random, 60), _draw_labels(random, 60, None)
        return lambda together: learn_together(together.learners, x, y, n_jobs=1)

    if random.random() < 0.5:
        change()(learners)
    return learners, change(), f"learn_together of {rules}"


TRIAL = Trial(
    claim="A batch is learned wholly or not at all, at whatever step of Python a signal comes",
    unit="interruptions",
    case=_case,
    quick=12,
    long=3000,
)
