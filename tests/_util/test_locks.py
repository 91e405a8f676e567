"""The lock of a model: re-entrant, fair, interruptible, and free in a forked process."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from forks import LIMIT, forked, needs_fork
from scwlearn import StreamClassifier, merge
from scwlearn._native import Holding, Lock
from scwlearn._util.locks import unchanged

pytestmark = pytest.mark.threads


class Holder:
    """A thread that is in a block until the end of the `with`."""

    def __init__(self, block):
        self.block, self.is_inside, self.may_leave = block, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with self.block:
            self.is_inside.set()
            self.may_leave.wait()

    def __enter__(self):
        self.thread.start()
        self.is_inside.wait()
        return self

    def __exit__(self, *_):
        self.may_leave.set()
        self.thread.join()


def refused(lock):
    """Whether a lock cannot be had in this process."""
    try:
        with lock:
            return False
    except RuntimeError as error:
        return "when this process was forked" in str(error)


def test_a_thread_may_take_a_lock_again():
    lock = Lock()
    with lock, lock.changing, lock, lock.changing:
        pass
    with Holder(lock), Holder(Lock()):
        pass


def test_threads_take_turns():
    lock, inside, most = Lock(), [], []

    def run():
        for i in range(300):
            with lock.changing if i % 2 else lock:
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 1200


def test_a_waiting_thread_is_next():
    lock, done, order = Lock(), threading.Event(), []

    def wait():
        with lock:
            order.append("waiting")
        done.set()

    thread = threading.Thread(target=wait)
    with lock:
        thread.start()
        # Until it waits, or nearly so.
        done.wait(0.05)
    while not done.is_set():
        with lock:
            order.append("busy")
    thread.join()
    assert order.count("waiting") == 1


def test_ctrl_c_ends_the_wait_for_a_lock():
    lock, interrupted = Lock(), []

    class Interrupting(Holder):
        def run(self):
            with self.block:
                self.is_inside.set()
                while not self.may_leave.wait(0.01):
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def interrupt(*_):
        if not interrupted:
            interrupted.append(True)
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt), Interrupting(lock), lock:
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    with lock:
        pass


@needs_fork
def test_a_signal_handler_may_fork_and_use_the_lock_that_is_waited_for():
    lock, handled, children = Lock(), [], []

    class Interrupting(Holder):
        def run(self):
            with self.block:
                self.is_inside.set()
                while not self.may_leave.wait(0.01):
                    if not handled:
                        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def fork(*_):
        if handled:
            return
        handled.append(True)
        children.append(os.fork())
        if children == [0]:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(LIMIT)
            with lock:
                pass
            raise KeyboardInterrupt
        holder.may_leave.set()

    before, holder = signal.signal(signal.SIGINT, fork), Interrupting(lock)
    try:
        with holder, lock:
            pass
    except KeyboardInterrupt:
        # Only the forked process. Another thread waits, and is next.
        waiting = Holder(lock)
        with lock:
            waiting.thread.start()
        waiting.may_leave.set()
        waiting.thread.join()
        os._exit(refused(lock))
    finally:
        signal.signal(signal.SIGINT, before)
    assert os.waitpid(children[0], 0)[1] == 0


def test_several_locks_are_taken_together_and_none_is_kept_after_an_interruption():
    first, last = sorted((Lock(), Lock()), key=id)
    both, tried = Holding([last, first, last]), []
    with both, both, first:
        pass

    def try_both():
        with both:
            tried.append(True)

    def interrupt(*_):
        raise KeyboardInterrupt

    def wait_in_vain():
        threading.Thread(target=lambda: signal.pthread_kill(ident, signal.SIGINT)).start()
        with both:
            pass

    before, ident = signal.signal(signal.SIGINT, interrupt), threading.main_thread().ident
    for held, free in ((first, last), (last, first)):
        with Holder(held), pytest.raises(KeyboardInterrupt):
            wait_in_vain()
        with Holder(free), Holder(held):
            pass
    signal.signal(signal.SIGINT, before)
    thread = threading.Thread(target=try_both)
    thread.start()
    thread.join()
    assert tried == [True]


EXIT = """
import os, sys, threading
from scwlearn import StreamClassifier
import json

class Number:
    def __float__(self):
        is_inside.set()
        threading.Event().wait()

class Last:
    def __init__(self, model):
        self.model, self.write = model, os.write

    def __del__(self):
        try:
            self.model.copy()
        except RuntimeError as error:
            self.write(1, str(error).encode())

is_inside, model = threading.Event(), StreamClassifier("arow")
# No other thread refers to it there, so that Python deletes it at the end, before the modules that it uses.
json.last = Last(model)
threading.Thread(target=model.learn_one, args=({"a": Number()}, "y"), daemon=True).start()
is_inside.wait()
sys.exit(7)
"""


def test_a_process_exits_though_a_thread_that_has_ended_holds_the_lock():
    ended = subprocess.run([sys.executable, "-c", EXIT], capture_output=True, text=True, timeout=LIMIT)
    assert (ended.returncode, ended.stderr) == (7, "")
    assert "half changed" in ended.stdout


@needs_fork
def test_a_lock_that_another_thread_holds_is_free_in_a_forked_process():
    lock = Lock()
    with Holder(lock):
        assert forked(lambda: not refused(lock) and not refused(lock))


@needs_fork
def test_what_another_thread_was_changing_is_refused_in_a_forked_process():
    lock = Lock()
    with Holder(lock.changing):
        assert forked(lambda: refused(lock) and refused(lock.changing))
    assert not refused(lock)


@needs_fork
def test_a_thread_that_forks_keeps_its_locks():
    lock = Lock()
    with lock.changing:
        assert forked(lambda: not refused(lock))
    assert forked(lambda: not refused(lock))


@needs_fork
def test_a_forked_process_can_use_all_models_but_the_half_changed_one():
    class Number:
        def __float__(self):
            if threading.current_thread() is not threading.main_thread():
                is_inside.set()
                may_leave.wait()
            return 1.0

    is_inside, may_leave = threading.Event(), threading.Event()
    model, other = (StreamClassifier("arow") for _ in range(2))
    for each in (model, other):
        each.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    thread = threading.Thread(target=model.learn_one, args=({"a": Number()}, "y"))
    thread.start()
    is_inside.wait()

    def use():
        with pytest.raises(RuntimeError, match="half changed"):
            model.copy()
        with pytest.raises(RuntimeError, match="half changed"):
            model.learn_one({"a": 1.0}, "x")
        with pytest.raises(RuntimeError, match="half changed"):
            merge([other, model])
        other.learn_one({"c": 1.0}, "z")
        return model.predict_one({"b": 1.0}) == other.copy().predict_one({"b": 1.0}) == "y"

    try:
        assert forked(use)
    finally:
        may_leave.set()
        thread.join()
    assert model.copy().counts.seen == 3


def test_two_threads_may_merge_the_same_models_in_any_order():
    models = [StreamClassifier("arow") for _ in range(3)]
    for i, model in enumerate(models):
        model.learn_many([{"a": 1.0}, {f"{i}": 1.0}], ["x", "y"])

    def run(given):
        for _ in range(100):
            with unchanged(given):
                merge(given)

    threads = [threading.Thread(target=run, args=(given,)) for given in (models, models[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_block_that_was_not_entered_cannot_be_left():
    lock = Lock()
    for block in (lock, lock.changing):
        with pytest.raises(RuntimeError, match="this thread does not have the lock"):
            block.__exit__()
    with lock, pytest.raises(RuntimeError, match="does not have the lock"):
        lock.changing.__exit__()
    with lock.changing, pytest.raises(RuntimeError, match="does not have the lock"):
        lock.__exit__()
    with lock, ThreadPoolExecutor() as pool:
        for block in (lock, lock.changing):
            with pytest.raises(RuntimeError, match="does not have the lock"):
                pool.submit(block.__exit__).result()
    with lock, lock.changing, lock:
        pass
