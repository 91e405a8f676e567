"""LIBSVM text in batches: chunk sizes do not matter, threads end, and memory stays flat."""

import io
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

from libsvm_text import VALID, loaded, native, same
from scwlearn import Learner
from scwlearn._native import parse_libsvm
from scwlearn.data.formats.libsvm import load_libsvm, read_libsvm
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows

# Batches


class Trickle(io.RawIOBase):
    """A file that gives a few bytes at a time, and counts them; fails or never ends where asked to."""

    def __init__(self, text, step=3, fails_at=None, endless=False):
        self.text, self.step, self.fails_at, self.endless, self.given = text, step, fails_at, endless, 0

    def readable(self):
        return True

    def readinto(self, memory):
        if self.fails_at is not None and self.given >= self.fails_at:
            raise OSError("the disk is gone")
        at = self.given % len(self.text) if self.endless else self.given
        part = self.text[at : at + min(self.step, len(memory))]
        memory[: len(part)] = part
        self.given += len(part)
        return len(part)


class OnlyRead:
    """A file that has nothing but read."""

    def __init__(self, text):
        self.read = io.BytesIO(text).read


@native
def test_chunks_that_end_at_any_byte_give_the_same():
    whole = loaded(VALID)
    for ending in (b"", b"\n", b"\n\n", b"\r\n", b" "):
        for chunk_bytes in range(1, len(VALID) + 5):
            assert same(loaded(VALID + ending, chunk_bytes=chunk_bytes), whole)
            assert same(load_libsvm(Trickle(VALID + ending), ReaderOptions(chunk_bytes=chunk_bytes)), whole)
    assert same(load_libsvm(OnlyRead(VALID), ReaderOptions(chunk_bytes=10)), whole)


@native
@pytest.mark.parametrize("read_ahead", [True, False])
def test_batches_have_checked_rows_of_growing_width(read_ahead):
    text = b"".join(b"%d %d:1 %d:%d\n" % (i % 2, i, i // 2 + 1, i) for i in range(3, 400))
    batches = [*read_libsvm(io.BytesIO(text), ReaderOptions(chunk_bytes=300, read_ahead=read_ahead))]
    assert len(batches) > 10
    widths = [batch.x.width for batch in batches]
    assert widths == sorted(widths)
    assert widths[-1] == 399
    for batch in batches:
        rows, labels = batch.x, batch.labels
        (block,) = rows.blocks(len(rows))
        checked = Rows(block.matrix())
        (again,) = checked.blocks(len(rows))
        assert len(labels) == len(rows) == len(checked)
        assert (rows.stored, block.values.dtype, block.indices.dtype) == (checked.stored, np.float64, np.int32)
        assert np.array_equal(block.indices, again.indices)
        assert np.array_equal(block.offsets, again.offsets)
    assert np.array_equal(np.concatenate([batch.labels for batch in batches]), np.arange(3, 400) % 2)


@native
def test_learning_from_batches_equals_learning_from_the_whole_file():
    rng = np.random.default_rng(3)
    text = "".join(f"{rng.choice([-1, 1])} {rng.integers(1, 50)}:{rng.normal()!r} 50:1\n" for _ in range(500)).encode()
    one, many = (Learner("scw1", covariance="diagonal") for _ in range(2))
    one.learn(*loaded(text))
    for batch in read_libsvm(io.BytesIO(text), ReaderOptions(chunk_bytes=999), n_features=50):
        many.learn(batch.x, batch.labels)
    assert one.counts == many.counts
    assert np.array_equal(one.model.weights(), many.model.weights())


def test_a_line_without_end_is_rejected_before_it_fills_the_memory():
    for text in (b"1" * 1000, b"# words ", b"1 1:1 "):
        endless = Trickle(text, step=100, endless=True)
        with pytest.raises(
            ValueError,
            match=r"^the file, line 1: a line has at most 5000 bytes; found '.{40}'\.\.\. \(raise the limit with ",
        ):
            load_libsvm(endless, ReaderOptions(chunk_bytes=64, max_line_bytes=5000))
        assert endless.given == 5000
    fits = b"1 1:1\n1 " + b" " * 4980 + b"1:1\n"
    assert loaded(fits, chunk_bytes=64, max_line_bytes=5000)[0].shape == (2, 1)
    with pytest.raises(ValueError, match=r"^the file, line 2: a line has at most 4900"):
        loaded(fits, chunk_bytes=64, max_line_bytes=4900)


# The threads


@pytest.fixture(params=[1, 2, 5])
def threads(request, monkeypatch):
    monkeypatch.setattr("scwlearn.data.reader.allowed_threads", lambda: request.param)
    return request.param


def reading_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("scwlearn")]


TEXT = b"1 1:1 2:2\n" * 1000


@native
def test_a_file_is_closed_and_the_threads_ended_however_the_reading_ends(tmp_path, threads):
    path = tmp_path / "some.svm"
    path.write_bytes(TEXT)
    descriptors = len(os.listdir("/dev/fd"))

    def left():
        return reading_threads(), len(os.listdir("/dev/fd"))

    assert sum(len(batch) for batch in read_libsvm(path, ReaderOptions(chunk_bytes=100))) == 1000
    assert left() == ([], descriptors)
    with closing(read_libsvm(path, ReaderOptions(chunk_bytes=100))) as batches:
        next(batches)
        assert len(reading_threads()) == threads
    assert left() == ([], descriptors)
    read_libsvm(path).close()
    assert left() == ([], descriptors)
    for batch in read_libsvm(path, ReaderOptions(chunk_bytes=100)):
        assert len(batch) == 10
        break
    assert left() == ([], descriptors)
    path.write_bytes(TEXT + b"1 x\n")
    with pytest.raises(ValueError, match="line 1001"):
        list(read_libsvm(path, ReaderOptions(chunk_bytes=100)))
    assert left() == ([], descriptors)
    batches = read_libsvm(path, ReaderOptions(chunk_bytes=100))
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        batches.throw(KeyboardInterrupt)
    assert left() == ([], descriptors)


def test_a_file_that_was_passed_open_stays_open():
    file = io.BytesIO(TEXT)
    with closing(read_libsvm(file, ReaderOptions(chunk_bytes=100))) as batches:
        next(batches)
    assert not file.closed


@native
@pytest.mark.threads
def test_batches_come_in_the_order_of_the_file(threads):
    text = b"".join(b"%d 1:%d\n" % (i, i) for i in range(5000))
    for chunk_bytes in (7, 100, 1000):
        batches = [*read_libsvm(io.BytesIO(text), ReaderOptions(chunk_bytes=chunk_bytes))]
        assert np.concatenate([batch.labels for batch in batches]).tolist() == list(range(5000))


class LateFirst:
    """A parser that is done with a chunk only when the chunks after it, up to a turn, are: the other way round.

    Turns that begin after the chunk `last` are parsed at once: reading may stop in the middle of them.
    """

    def __init__(self, chunks, turn, last=None):
        self.turn, self.done = turn, [threading.Event() for _ in range(chunks)]
        self.last = chunks if last is None else last

    def __call__(self, characters, *options):
        chunk = int(bytes(characters).split()[0]) - 1
        parsed = parse_libsvm(characters, *options)
        if (chunk + 1) % self.turn and chunk - chunk % self.turn <= self.last:
            assert self.done[chunk + 1].wait(60)
        self.done[chunk].set()
        return parsed


def test_chunks_parsed_out_of_order_are_yielded_in_order(threads, monkeypatch):
    monkeypatch.setattr("scwlearn.data.formats.libsvm.parse_libsvm", LateFirst(20, threads))
    text = b"".join(b"%02d %d:1\n" % (i, 30 - i) for i in range(1, 21))
    batches = [*read_libsvm(io.BytesIO(text), ReaderOptions(chunk_bytes=10))]
    assert [batch.labels.tolist() for batch in batches] == [[i] for i in range(1, 21)]
    assert [batch.x.width for batch in batches] == [29] * 20


def test_the_first_error_of_the_file_is_raised_after_all_batches_before_it(threads, monkeypatch):
    monkeypatch.setattr("scwlearn.data.formats.libsvm.parse_libsvm", LateFirst(20, threads, last=11))
    lines = [b"%02d 1:1 # c\n" % i for i in range(1, 21)]
    lines[11], lines[12], lines[14] = b"12 1:x # c\n", b"13 1:y # c\n", b"15 1:z # c\n"
    batches = read_libsvm(io.BytesIO(b"".join(lines)), ReaderOptions(chunk_bytes=len(lines[0])))
    assert [next(batches).labels.tolist() for _ in range(11)] == [[i] for i in range(1, 12)]
    with pytest.raises(ValueError, match=r"line 12, column 6: a value must be .*; found 'x'"):
        next(batches)
    assert next(batches, None) is None
    assert reading_threads() == []


def test_a_long_line_is_counted_after_all_lines_before_it(threads):
    text = TEXT + b"1 " + b" " * 5000 + b"1:1\n" + TEXT
    batches = read_libsvm(io.BytesIO(text), ReaderOptions(chunk_bytes=64, max_line_bytes=4000))
    # Six lines fit into a chunk.
    assert sum(len(next(batches).labels) for _ in range(166)) == 996
    assert len(next(batches).labels) == 4
    with pytest.raises(ValueError, match=r"^the file, line 1001: a line has at most 4000"):
        next(batches)


def test_without_reading_ahead_there_is_no_thread(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", None)
    batches = read_libsvm(io.BytesIO(TEXT), ReaderOptions(chunk_bytes=100, read_ahead=False))
    assert sum(map(len, batches)) == 1000


def test_an_error_of_a_thread_is_raised_at_the_consumer_with_its_own_traceback(threads):
    batches = read_libsvm(Trickle(TEXT, step=50, fails_at=250), ReaderOptions(chunk_bytes=100))
    assert [len(next(batches)) for _ in range(3)] == [10, 10, 5]
    with pytest.raises(OSError, match="the disk is gone") as caught:
        next(batches)
    assert caught.traceback[-1].name == "readinto"
    assert reading_threads() == []
    assert next(batches, None) is None


def test_no_more_batches_are_read_ahead_than_there_are_threads(threads):
    file = Trickle(TEXT, step=10)
    batches = read_libsvm(file, ReaderOptions(chunk_bytes=100))
    for taken in range(1, 20):
        next(batches)
        # Those taken, and one per thread.
        assert file.given <= 100 * (taken + threads)
    batches.close()


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_silent_pipe_does_not_delay_closing(buffering, threads):
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=buffering) as file, open(writer, "wb", buffering=0) as into:
        batches = read_libsvm(file, ReaderOptions(chunk_bytes=100))
        into.write(TEXT[:150])
        assert len(next(batches)) == 10
        batches.close()
        assert reading_threads() == []


def test_ctrl_c_ends_a_program_that_waits_for_standard_input():
    program = """if True:
        import sys
        from scwlearn.data.formats.libsvm import read_libsvm
        from scwlearn.data.options import ReaderOptions
        for batch in read_libsvm(sys.stdin.buffer, ReaderOptions(chunk_bytes=100)):
            print(len(batch.x), flush=True)
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        process.stdin.write(TEXT[:150])
        process.stdin.flush()
        assert process.stdout.readline() == b"10\n"
        process.send_signal(signal.SIGINT)
        # Before its input ends.
        assert process.wait(60) == -signal.SIGINT
        assert process.stderr.read().endswith(b"KeyboardInterrupt\n")


# Memory

MEASURE = """if True:
    import sys
    from scwlearn import Learner
    from scwlearn.data.formats.libsvm import load_libsvm, read_libsvm
    from scwlearn.data.options import ReaderOptions

    def peak():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024

    learner = Learner("scw1", covariance="diagonal")
    learner.learn_batches(read_libsvm(sys.argv[2]))
    before = peak()
    if sys.argv[1] == "learn":
        learner.learn_batches(read_libsvm(sys.argv[3], ReaderOptions(chunk_bytes=2**20)))
    else:
        load_libsvm(sys.argv[3])
    print(peak() - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read from /proc")
def test_memory_stays_flat_while_a_large_file_is_learned_from(tmp_path):
    # Not ru_maxrss, which a child inherits from its parent.
    line = b"1 " + b" ".join(b"%d:0.25" % i for i in range(100, 120)) + b"\n"
    small, large = tmp_path / "small.svm", tmp_path / "large.svm"
    small.write_bytes(line)
    large.write_bytes(line * (60 * 2**20 // len(line)))

    def grown(how):
        command = [sys.executable, "-c", MEASURE, how, small, large]
        environment = os.environ | {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}
        return float(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)

    assert grown("learn") < 20
    assert grown("load") > 60
