"""Holding signals while a model changes: when they take effect, and in which threads."""

import os
import signal
import threading

import pytest

from scwlearn._util.interrupts import check_interrupts, interruptible, interrupts_held


@pytest.fixture(autouse=True)
def _restored_handlers():
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def done():
    """What has been done, in order."""
    return []


def test_a_signal_takes_effect_after_the_outermost_block(ctrl_c, done):
    def learn():
        with interrupts_held():
            with interrupts_held():
                ctrl_c()
                done.append("inner")
            done.append("outer")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        learn()
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_takes_effect_where_the_block_checks_and_what_undoes_the_block_is_not_interrupted(ctrl_c, done):
    def learn():
        with interrupts_held():
            try:
                ctrl_c()
                done.append("block")
                check_interrupts()
                done.append("next block")
            except KeyboardInterrupt:
                ctrl_c()
                done.append("undone")
                raise

    with pytest.raises(KeyboardInterrupt):
        learn()
    assert done == ["block", "undone"]


def test_a_signal_takes_effect_at_once_where_that_is_allowed(ctrl_c, done):
    def learn(before):
        with interrupts_held():
            try:
                if before:
                    ctrl_c()
                done.append("held")
                with interruptible():
                    done.append("allowed")
                    ctrl_c()
                    done.append("too late")
            except KeyboardInterrupt:
                ctrl_c()
                done.append("undone")
                raise

    with pytest.raises(KeyboardInterrupt):
        learn(before=False)
    assert done == ["held", "allowed", "undone"]
    done.clear()
    with pytest.raises(KeyboardInterrupt):
        learn(before=True)
    assert done == ["held", "undone"]


def test_a_block_within_one_that_may_be_interrupted_is_done_as_a_whole(ctrl_c, done):
    def learn():
        with interrupts_held(), interruptible():
            with interrupts_held():
                ctrl_c()
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        learn()
    assert done == ["inner"]
    with interrupts_held():
        ctrl_c_is_held = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert ctrl_c_is_held


def test_a_signal_that_comes_often_takes_effect_once(done):
    signal.signal(signal.SIGINT, lambda *_: done.append("handled"))
    with interrupts_held():
        for _ in range(10_000):
            signal.raise_signal(signal.SIGINT)
        assert done == []
    assert done == ["handled"]


def test_a_handler_that_raises_nothing_stops_nothing(done):
    signal.signal(signal.SIGINT, lambda *_: done.append("handled"))
    with interrupts_held():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("held")
        check_interrupts()
        with interruptible():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("allowed")
    assert done == ["held", "handled", "handled", "allowed"]


def test_a_handler_that_replaces_itself_stays_replaced(done):
    def second(*_):
        done.append("second")

    def first(*_):
        signal.signal(signal.SIGINT, second)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, first)

    def learn():
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGINT)
            try:
                check_interrupts()
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                done.append("undone")

    with pytest.raises(KeyboardInterrupt):
        learn()
    assert done == ["undone", "second"]
    assert signal.getsignal(signal.SIGINT) is second


def test_all_signals_that_were_held_take_effect(ctrl_c, done):
    def terminate(*_):
        done.append("terminated")
        raise SystemExit

    signal.signal(signal.SIGTERM, terminate)

    def learn():
        with interrupts_held():
            ctrl_c()
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SystemExit) as ended:
        learn()
    assert done == ["terminated"]
    assert isinstance(ended.value.__context__, KeyboardInterrupt)


def test_a_signal_that_is_ignored_or_kills_keeps_its_handler():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with interrupts_held():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        os.kill(os.getpid(), signal.SIGINT)


def test_other_threads_hold_nothing_and_answer_no_signal_of_the_main_thread(ctrl_c, done):
    def elsewhere():
        with interrupts_held(), interruptible():
            check_interrupts()
            done.append("elsewhere")

    def here():
        with interrupts_held():
            ctrl_c()
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            done.append("here")

    with pytest.raises(KeyboardInterrupt):
        here()
    assert done == ["elsewhere", "here"]
    thread = threading.Thread(target=elsewhere)
    thread.start()
    ctrl_c_is_answered = False
    try:
        thread.join()
        ctrl_c()
    except KeyboardInterrupt:
        ctrl_c_is_answered = True
    assert ctrl_c_is_answered


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_by_another_thread_holds_nothing(ctrl_c, done):
    def fork():
        child = os.fork()
        if not child:
            try:
                ctrl_c()
                for _ in range(1000):
                    pass
            except KeyboardInterrupt:
                os._exit(7)
            os._exit(1)
        done.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    with interrupts_held():
        thread = threading.Thread(target=fork)
        thread.start()
        thread.join()
    assert done == [7]
