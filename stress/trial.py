"""A trial: a random case, repeated with new random numbers."""

from __future__ import annotations

import faulthandler
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import NamedTuple


@dataclass(frozen=True)
class Trial:
    """A random case, and how often to run it. Each is the `TRIAL` of a module of this package.

    Attributes
    ----------
    claim : str
        What holds in every case: a row of the table in docs/testing.md.
    unit : str
        What is counted, in the plural: "kills", "files", "updates".
    case : function
        Draws a case from random numbers, runs it, and returns the number of units that it covered. Raises an error if
        the claim does not hold.
    quick : int
        Number of cases in `make test`: a few seconds.
    long : int
        Number of cases in `make stress`.
    """

    claim: str
    unit: str
    case: Callable[[Random], int]
    quick: int
    long: int


class Result(NamedTuple):
    """What one case did: the units that it covered, its time, and the traceback if it failed."""

    number: int
    units: int
    seconds: float
    failure: str | None


def trials() -> dict[str, Trial]:
    """Return all trials by name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = {name: import_module(f"stress.{name}") for name in names if name not in ("__init__", "__main__", "trial")}
    return {name: module.TRIAL for name, module in modules.items() if hasattr(module, "TRIAL")}


def run_cases(trial: Trial, seed: int, numbers: range, *, limit: float | None = None) -> Iterator[Result]:
    """Run cases by number; a case depends only on its number and the seed.

    If a case takes more than `limit` seconds, print where each thread is, and end the process.
    """
    for number in numbers:
        if limit is not None:
            faulthandler.dump_traceback_later(limit, exit=True)
        start, units, failure = time.perf_counter(), 0, None
        try:
            units = trial.case(Random(f"{seed}/{number}"))
        except Exception:
            failure = traceback.format_exc()
        yield Result(number, units, time.perf_counter() - start, failure)
    faulthandler.cancel_dump_traceback_later()
