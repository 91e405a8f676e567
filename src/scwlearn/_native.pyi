"""The loops of scwlearn in C++."""

from collections.abc import Sequence
from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


LARGEST_VALUE: float = 1e+150

SMALLEST_WEIGHT: float = 1e-100

LARGEST_WEIGHT: float = 1e+100

LARGEST_BLOCK: int = 4096

MOST_THREADS: int = 256

SCALARS: int = 6

def rule_names() -> list[str]:
    """The rules that were spelled in C++ when this module was built."""

class Rule:
    """A rule with its constants, or a function to call for each row."""

    @overload
    def __init__(self, name: str, constants: Sequence[float]) -> None: ...

    @overload
    def __init__(self, function: object, uses_norm: bool) -> None: ...

    def step(self, m: float, v: float, norm2: float, t: float, n: float = 1.0, w: float = 1.0) -> tuple[float, float, float, float]:
        """Its step: alpha, precision, shrink, grow."""

class Model:
    """The arrays of a model, which the loops move in place."""

    def __init__(self, covariance: str, size: int, entries: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], scalars: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], tally: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], initial_variance: float) -> None: ...

def scan_rows(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int) -> tuple[str, int, int, bool]:
    """
    The first thing wrong with a batch (value, index, offset or nothing), its row, its place, and whether the indices of each row strictly increase.
    """

def full_stride(size: int) -> int:
    """From one vector of a full covariance to the next."""

def instruction_sets() -> list[str]:
    """The instruction sets that can be used here, the best first."""

def use_instruction_set(name: str) -> None:
    """Learn with this instruction set from now on."""

def work_entries(covariance: str, size: int, block: int) -> int:
    """How many numbers of scratch memory learn_rows needs."""

def learn_rows(rule: Rule, model: Model, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, work: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], trace: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, block: int, threads: int) -> None:
    """
    Learn from the rows of a scanned batch in order; adds the rows, mistakes and updates to the tally.
    """

def score_rows(covariance: str, entries: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], scalars: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, scores: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> bool:
    """mu.x for each row; whether all of them are finite."""

class OneByOne:
    """A rule and a model, ready for one example after the other."""

    def __init__(self, rule: Rule, model: Model, names: dict, intercept: bool) -> None: ...

    def score(self, x: object, /) -> float:
        """mu.x of a float64 vector."""

    def learn(self, x: object, y: float, w: float, /) -> float:
        """Learn from a float64 vector; its score before."""

    def score_named(self, x: dict, /) -> float:
        """mu.x of a dict."""

    def learn_named(self, x: dict, y: float, w: float, /) -> float | None:
        """
        Learn from a dict; its score before. Adds new names, or returns None where the model has no room for them.
        """

def parse_libsvm(text: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)], zero_based: bool, max_features: int, single: bool) -> tuple[tuple[Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')], Annotated[NDArray, dict(shape=(None,), order='C')]], tuple[int, int], tuple[str, int, int, bytes]]:
    """
    The examples in a text of whole lines: labels, values, indices and offsets; how many lines and columns there are; the first fault, its line and column, counted from 1, and what was found there.
    """

class Together:
    """
    Models that learn from the same rows at once, in memory of their own; only the tallies of those they began as are written to.
    """

    def __init__(self, rules: Sequence[Rule], models: Sequence[Model], intercept: bool, threads: int, work: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')]) -> None: ...

    @staticmethod
    def work_entries(covariance: str, size: int, models: int) -> int:
        """How many numbers so many models take."""

    def learn(self, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Learn from the rows of a scanned batch in order; adds the rows, mistakes and updates to the tallies.
        """

    def write(self, models: Sequence[Model]) -> None:
        """Write what they have become to these models."""

def learn_each(rules: Sequence[Rule], models: Sequence[Model], values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], block: int, threads: int, inside: int) -> None:
    """
    learn_rows for each model by itself, on `threads` threads, each with `inside` of its own.
    """

def learn_coordinates(rule: Rule, model: Model, coordinates: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], residuals: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], left: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], rounding: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], least: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)], labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu', writable=False)] | None, work: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], trace: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None, support: int, room: int, block: int, threads: int) -> list[int]:
    """
    Learn from rows as coordinates in the span of the support, which grows on the way; the rows that became support, in order. Adds the rows, mistakes and updates to the tally.
    """
