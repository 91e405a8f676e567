"""The command scwlearn."""

from __future__ import annotations

import gc
import os
import sys
from importlib.util import find_spec

# Garbage is looked for after so many new objects: what a command imports is none, and it works on arrays.
_OBJECTS = 50_000


def main() -> None:
    """The entry of the command; never returns."""
    if not (find_spec("click") and find_spec("rich")):
        print('scwlearn: the command needs click and rich: pip install "scwlearn[cli]"', file=sys.stderr)
        sys.exit(1)
    gc.set_threshold(_OBJECTS)
    # Once made, the threads of NumPy's OpenBLAS stay awake for a while, in the way of those that read and learn.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from scwlearn.cli.app import run

    sys.exit(run())
