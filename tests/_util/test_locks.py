"""The lock of a model: re-entrant, fair, interruptible, and free in a forked process."""

import os
import signal
import threading
import traceback

import pytest

from scwlearn import StreamClassifier, merge
from scwlearn._native import Lock
from scwlearn._util.locks import unchanged

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here")
# Seconds after which a forked process is ended, as it hangs.
LIMIT = 20


def forked(action):
    """Run an action in a forked process; return whether it succeeded."""
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


@needs_fork
def test_a_forked_process_can_predict_while_another_thread_made_a_handle():
    from scwlearn.learning.one_at_a_time import STATE_LOCK

    model = StreamClassifier("arow")
    model.learn_many([{"a": 1.0}, {"b": 1.0}], ["x", "y"])
    with Holder(STATE_LOCK):
        # A copy has no handle yet.
        assert forked(lambda: model.copy().predict_one({"a": 1.0}) == "x")


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
