"""What it costs to import the library, in a fresh interpreter each time."""

from __future__ import annotations

import subprocess
import sys

from speed.harness import Race, Scale, Side, comparison, share_of_time


def importing(statement: str) -> Side:
    """The seconds that the statement takes, without the start of the interpreter."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"

    def run() -> float:
        # Neither side gets the current directory or the user's start-up files to look through.
        return float(subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=True).stdout)

    return Side(statement, run, own_clock=True)


@comparison("import scwlearn", against="import numpy", target=share_of_time(1.5))
def import_package(_: Scale) -> Race:
    """The package loads its parts when they are used."""
    return Race("fresh interpreter", importing("import scwlearn"), importing("import numpy"))


@comparison("from scwlearn import Learner", against="import numpy")
def import_learner(_: Scale) -> Race:
    """All that learning needs."""
    return Race("fresh interpreter", importing("from scwlearn import Learner"), importing("import numpy"))
