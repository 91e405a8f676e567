"""Import times, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys

from speed.harness import Race, Scale, Side, comparison, share_of_time


def importing(statement: str) -> Side:
    """Return the time of a statement, without the start of the interpreter."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"

    def run() -> float:
        # -I isolates both sides from the current directory and the user's start-up files.
        return float(subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True).stdout)

    return Side(statement, run, own_clock=True, counted=False)


@comparison("import scwlearn", against="import numpy", target=share_of_time(1.5))
def import_package(_: Scale) -> Race:
    """The package loads its modules lazily."""
    return Race("fresh interpreter", importing("import scwlearn"), importing("import numpy"))


@comparison("from scwlearn import Learner", against="import numpy")
def import_learner(_: Scale) -> Race:
    """Everything that learning needs."""
    return Race("fresh interpreter", importing("from scwlearn import Learner"), importing("import numpy"))
