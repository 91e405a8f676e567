"""Memory that runs out in any public call: a MemoryError, and a model that is as it was."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from random import Random
from typing import Any

from scwlearn.data.io.errors import DataError
from stress.limited import Forks, limited_memory
from stress.memory_calls import draw_call, draw_reading, warm
from stress.trial import Trial

_CALLS = 3
# What other errors say where there is no memory: those of NumPy, which sometimes returns without a result and without
# an exception, of Python's locks, of the system, and of Arrow.
_REASONS = ("without", "can't allocate lock", "more memory than there is", "Cannot allocate memory")

__all__ = ["TRIAL", "run", "warm"]


def run(random: Random) -> int:
    """Run public calls while memory runs out, and check that each succeeds, or raises and changes nothing."""
    warnings.simplefilter("ignore")
    if random.random() < 0.3:
        return _run_reading(random)
    model, call = draw_call(random)
    for _ in range(_CALLS):
        _, action, told = call(random)
        _check(random, model, action, told)
    return _CALLS


def _check(random: Random, model: Any, action: Callable[[Any], Any], told: str) -> None:
    other, before = copy(model.value), model.state()
    wanted = action(other)
    after = model.state_of(other)
    with limited_memory(random) as how:
        found, error = _attempt(lambda: action(model.value))
    told = f"{told}; {how}; {error!r}"
    if error is not None:
        assert model.state() == before, f"changed by a failed call: {told}"
        found = action(model.value)
    assert model.state() == after, f"another state than with enough memory: {told}"
    assert found == wanted, f"another answer than with enough memory: {told}"


def _run_reading(random: Random) -> int:
    read, told = draw_reading(random)
    wanted = read()
    # Arrow itself ends the process where an allocation fails; that the limit leaves some memory is checked before.
    with limited_memory(random, by_allocator=not told.startswith(("arrow", "parquet"))) as how:
        found, error = _attempt(read)
    if error is not None:
        found = read()
    assert found == wanted, f"read otherwise than with enough memory: {told}; {how}"
    return 1


def _attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return what a call returns, or the error by which it reports a lack of memory."""
    try:
        return call(), None
    except MemoryError as error:
        # Its frames hold what the call has allocated.
        return None, error.with_traceback(None)
    except (SystemError, RuntimeError, OSError, DataError) as error:
        if not any(reason in str(error) for reason in _REASONS):
            raise
        # Its frames hold what the call has allocated.
        return None, error.with_traceback(None)


_forks = Forks("stress.out_of_memory")

TRIAL = Trial(
    claim="Where address space runs out, or C++ gets no memory, a public call raises an error and changes nothing",
    unit="calls",
    case=lambda random: _forks.run(str(random.getrandbits(64))),
    quick=12,
    long=10_000,
)
