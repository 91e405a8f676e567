"""The command line: ``scwlearn COMMAND``."""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
import threading
from importlib.util import find_spec

from scwlearn.cli.ending import end_at_signals, ending, ignore_signals

# Objects between two garbage collections: imports make many that live on, and commands work on arrays.
_GC_THRESHOLD = 500_000
# Larger exit codes are those of a command that a signal has ended.
_BY_SIGNAL = 128
# Seconds that other packages have to clean up after a signal: Spark tries for minutes to reach a server that is gone.
_PATIENCE = 5.0


def main() -> None:
    """Run the command line and exit."""
    sys.exit(_run())


def console() -> None:
    """Run the command line as a process of its own, and end it."""
    code = _run()
    if code > _BY_SIGNAL:
        _end_soon(code)
    # Python collects garbage several times as it exits, which takes as long as the imports of a command.
    gc.freeze()
    if all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate()):
        _end(code)
    sys.exit(code)


def _run() -> int:
    """Run the command line; return the exit code."""
    if not (find_spec("click") and find_spec("rich")):
        print('scwlearn: the command line needs click and rich: pip install "scwlearn[cli]"', file=sys.stderr)
        return 1
    gc.set_threshold(_GC_THRESHOLD)
    # Idle threads of NumPy's OpenBLAS spin for a while, and would slow down those that read and learn.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    _buffer_stdout()
    try:
        end_at_signals()
        from scwlearn.cli.app import run

        code = run()
        ignore_signals()
        return code
    except KeyboardInterrupt:
        # Before or after `run`, which reports it.
        return ending()[1]


def _end_soon(code: int) -> None:
    """End the process after a while, whatever else it waits for."""
    timer = threading.Timer(_PATIENCE, os._exit, (code,))
    timer.daemon = True
    timer.start()


def _end(code: int) -> None:
    """End the process without freeing every object one by one, unless output cannot be written."""
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        return
    os._exit(code)


def _buffer_stdout() -> None:
    """Buffer standard output despite PYTHONUNBUFFERED, which loses part of a write to a nearly full disk."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.FileIO):
        # sys.__stdout__ keeps the old stream, and so the file, open.
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=sys.stdout.encoding)
