"""The command scwlearn."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from importlib.util import find_spec
from types import FrameType

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
    # Whoever runs us in the background may want it ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    _buffer_output()
    try:
        from scwlearn.cli.app import run

        code = run()
    except KeyboardInterrupt:
        # Before anything that could have told about it was there.
        code = 130
    sys.exit(code)


def _buffer_output() -> None:
    """PYTHONUNBUFFERED means none, and that Python loses what a disk that is nearly full does not take at once."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.FileIO):
        # The old one stays in sys.__stdout__, and so the file open.
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=sys.stdout.encoding)


def _interrupt(_: int, __: FrameType | None) -> None:
    """Ctrl-C counts once: what is saved and tidied up after it is not to be torn by a second one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt
