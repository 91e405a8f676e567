"""Python code in a process of its own, in which allocations of C++ fail."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from stress.limited import failing_allocator

_PREAMBLE = """
import ctypes
library = ctypes.CDLL(None)

def fails_anywhere(call, check=lambda: None):
    # Let each allocation of a call fail in turn, and check what holds then; return how many failed.
    for at in range(10_000):
        library.fail_allocations(at, 1)
        try:
            call()
        except MemoryError:
            library.end_failures()
            check()
        else:
            library.end_failures()
            return at
    raise AssertionError("the call never succeeds")
"""


def run_with_failing_allocations(code):
    """Run code that may call `fails_anywhere(call, check)`, and return its output; it must end without an error."""
    library = failing_allocator()
    if library is None:
        pytest.skip("needs a C++ compiler and Linux")
    environment = dict(os.environ, LD_PRELOAD=str(library), PYTHONPATH=str(Path(__file__).parents[2]))
    script = _PREAMBLE + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
