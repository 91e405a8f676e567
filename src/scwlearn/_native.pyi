"""The loops of scwlearn in C++."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


LARGEST_VALUE: float = 1e+150

WORK_VECTORS: int = 3

SCALARS: int = 6

def rule_names() -> list[str]:
    """The rules that were spelled in C++ when this module was built."""

def step(rule: str, constants: Sequence[float], m: float, v: float, norm2: float, t: float) -> tuple[float, float, float, float]:
    """The step of a spelled rule: alpha, precision, shrink, grow."""

def scan_rows(values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int) -> tuple[str, int, int, bool]:
    """
    The first thing wrong with a batch (value, index, offset or nothing), its row, its place, and whether the indices of each row strictly increase.
    """

def learn_rows(rule: object, constants: Sequence[float], covariance: str, values: Annotated[NDArray, dict(order='C', device='cpu', writable=False)], indices: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, offsets: Annotated[NDArray, dict(order='C', device='cpu', writable=False)] | None, width: int, intercept: bool, labels: Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C', device='cpu', writable=False)], mean: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], spread: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], scalars: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], tally: Annotated[NDArray[numpy.int64], dict(order='C', device='cpu')], work: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')], initial_variance: float, trace: Annotated[NDArray[numpy.float64], dict(order='C', device='cpu')] | None) -> None:
    """
    Learn from the rows of a scanned batch in order; adds the rows, mistakes and updates to the tally.
    """
