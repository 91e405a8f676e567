"""Forked processes."""

import os
import signal
import traceback

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here")
# Seconds after which a forked process is ended, as it hangs.
LIMIT = 20


def forked(action):
    """Run an action in a forked process; return whether it returned True."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT)
        try:
            os._exit(action() is not True)
        except BaseException:
            traceback.print_exc()
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0
