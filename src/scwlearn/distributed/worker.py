"""A worker process: runs the tasks that come in on standard input, one after the other, until it ends.

A message is (start, task): the model to start from, or None for the one of the message before, and a function of it.
The answer is (result, None) or (None, error). The first message comes from the worker, when it is ready.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any

from scwlearn.distributed.errors import portable_error
from scwlearn.distributed.messages import Storage, receive, send

#: Ctrl-C and the end of the terminal are for the client, which ends its workers.
CLIENT_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]


def main() -> None:
    """Serve until standard input ends; the arguments are directories for large results."""
    for number in CLIENT_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        # The client has blocked them, since Python would end by them while it starts.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, CLIENT_SIGNALS)
    storage = Storage(sys.argv[1:])
    messages: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_receive_all, args=(messages, storage), daemon=True).start()
    # What a task prints must not get into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Most of the time to start goes into imports, which the first tasks would need.
    for module in ("scwlearn.distributed.tasks", "scipy.linalg"):
        import_module(module)
    try:
        send(answers, "ready")
        _serve(messages, answers, storage)
    except BrokenPipeError:
        _end(storage)


def _receive_all(messages: SimpleQueue[Any], storage: Storage) -> None:
    """Receive messages, or the errors of receiving them, and end the process when its client has ended."""
    while True:
        try:
            messages.put((receive(sys.stdin.buffer), None))
        except EOFError:
            _end(storage)
        except Exception as error:
            messages.put((None, error))


def _end(storage: Storage) -> None:
    """End this process at once, whatever it is doing; the client had no chance to clean up."""
    for directory in storage.directories:
        shutil.rmtree(directory, ignore_errors=True)
    os._exit(1)


def _serve(messages: SimpleQueue[Any], answers: Any, storage: Storage) -> None:
    start: Any = None
    while True:
        message, error = messages.get()
        result: Any = None
        if error is None:
            given, task = message
            start = start if given is None else given
            try:
                result = task(start)
            except BaseException as problem:
                error = problem
            del message, given, task
        try:
            send(answers, (result, None if error is None else portable_error(error)), storage)
        except BrokenPipeError:
            raise
        except Exception as problem:
            send(answers, (None, portable_error(problem)))
