"""Shuffling within a buffer gives the order of a plain loop, with all fields of each example."""

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from scwlearn.data.batch import Batch, NamedRows
from scwlearn.data.options import ReaderOptions
from scwlearn.data.rows import Rows
from scwlearn.data.schema import Schema
from scwlearn.data.shuffle import shuffled
from table_text import Reading


def plainly_shuffled(items, buffer, seed):
    """Shuffle in plain Python, one item after another."""
    random = np.random.default_rng(seed)
    waiting = []
    for item in items:
        if len(waiting) < buffer:
            waiting.append(item)
        else:
            place = int(random.random() * buffer)
            yield waiting[place]
            waiting[place] = item
    yield from (waiting[place] for place in random.permutation(len(waiting)))


def libsvm(count, chunk_bytes):
    text = b"".join(b"%d %d:%d %d:0.5\n" % (i, i % 7 + 1, i, i + 10) for i in range(count))
    return Reading(io.BytesIO(text), Schema("libsvm"), ReaderOptions(chunk_bytes=chunk_bytes))


def vw(count, chunk_bytes):
    lines = (f"{i} {i / 2} tag{i}|s {' '.join(f'w{j}' for j in range(i, i + 1 + i % 4))} x:{i}" for i in range(count))
    return Reading(io.BytesIO("\n".join(lines).encode()), Schema("vw"), ReaderOptions(chunk_bytes=chunk_bytes))


def told(batches):
    """Each example by itself: label, weight, line, tag and features."""
    found = []
    for batch in batches:
        named = isinstance(batch.x, NamedRows)
        rows, names = (batch.x.rows, batch.x.names) if named else (batch.x, range(2**20))
        assert isinstance(names, range) or len(set(names)) == len(names)
        (block,) = rows.blocks(len(rows))
        for i in range(len(batch)):
            part = slice(block.offsets[i], block.offsets[i + 1])
            columns = block.indices[part].tolist()
            assert len(columns) == len(set(columns))
            features = {names[j]: value for j, value in zip(columns, block.values[part].tolist(), strict=True)}
            label = None
            if batch.labels is not None and (batch.labelled is None or batch.labelled[i]):
                label = batch.labels[i].item() if isinstance(batch.labels, np.ndarray) else batch.labels[i]
            weight = None if batch.weights is None else float(batch.weights[i])
            tag = None if batch.tags is None else batch.tags[i]
            found.append((label, weight, int(batch.lines[i]), tag, sorted(features.items())))
    return found


@pytest.mark.parametrize("read", [libsvm, vw])
@pytest.mark.parametrize(
    ("count", "buffer"), [(1, 1), (5, 10), (10, 10), (11, 10), (3000, 1), (3000, 100), (5000, 2000)]
)
def test_the_order_is_that_of_a_plain_loop_whatever_the_batches(read, count, buffer):
    expected = [*plainly_shuffled(told(read(count, 2**20)), buffer, 7)]
    for chunk_bytes in (100, 5000, 2**20):
        assert told(shuffled(read(count, chunk_bytes), buffer, 7)) == expected
    assert sorted(expected) == sorted(told(read(count, 2**20)))


def test_another_seed_gives_another_order():
    one, same, other = (told(shuffled(libsvm(500, 1000), 50, seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_the_buffer_bounds_how_far_an_example_moves():
    # A buffer of one example changes nothing; a large one changes nearly everything.
    lines = [line for _, _, line, _, _ in told(shuffled(libsvm(1000, 500), 1, 0))]
    assert lines == [*range(1, 1001)]
    lines = np.array([line for _, _, line, _, _ in told(shuffled(libsvm(2000, 500), 300, 0))])
    # An example is never emitted before it was read.
    assert (lines <= np.arange(2000) + 301).all()
    assert (lines != np.arange(2000) + 1).mean() > 0.95


def test_names_that_no_longer_occur_are_dropped():
    batches = [*shuffled(vw(20_000, 5000), 100, 3)]
    assert max(len(batch.x.names) for batch in batches) < 5 * 1500
    assert all(len(batch.x.names) == batch.x.rows.width for batch in batches)
    for batch in batches:
        (block,) = batch.x.rows.blocks(len(batch))
        assert set(block.indices.tolist()) == set(range(len(batch.x.names)))


def test_memory_is_bounded(monkeypatch):
    from scwlearn.data import shuffle

    most = 0

    class Watched(shuffle._Buffer):
        def exchange(self, batch):
            nonlocal most
            replaced = super().exchange(batch)
            most = max(most, sum(map(len, self._held)))
            return replaced

    monkeypatch.setattr(shuffle, "_Buffer", Watched)
    assert sum(len(batch) for batch in shuffled(libsvm(40_000, 5000), 1000, 0)) == 40_000
    assert most <= 2 * 1000 + 2 * 1500


def examples(labels, *, names=None, labelled=None, weights=None, tags=None, source="a"):
    count = len(labels) if labels is not None else 2
    x = Rows(np.arange(1.0, count + 1)[:, None])
    return Batch(
        x=x if names is None else NamedRows(x, names),
        labels=None if labels is None else np.array(labels),
        weights=weights,
        lines=np.arange(count) + 1,
        source=source,
        labelled=labelled,
        tags=tags,
    )


def test_values_beyond_the_last_row_of_a_matrix_are_not_shuffled():
    matrix = sparse.csr_array(np.eye(3))
    matrix.data, matrix.indices = np.append(matrix.data, 7.0), np.append(matrix.indices, 0).astype(np.int32)
    batches = [replace(examples([1.0, 2.0, 3.0]), x=Rows(matrix)) for _ in range(2)]
    (out,) = shuffled(batches, 100, 0)
    assert out.x.dense()[np.argsort(out.labels)].tolist() == np.repeat(np.eye(3), 2, axis=0).tolist()
    assert Rows(matrix).occurrences().tolist() == [1, 1, 1]


def test_fields_that_only_some_batches_have_are_filled_in():
    batches = [
        examples([1.0, 2.0]),
        examples(None, weights=np.array([5.0, 6.0]), source="b"),
        examples([3.0, 0.0], labelled=np.array([True, False]), tags=["x", "y"]),
    ]
    (out,) = shuffled(batches, 100, 0)
    order = np.lexsort((out.lines, np.where(out.labelled, out.labels, 9)))
    told_ = [(out.labelled[i], out.labels[i] if out.labelled[i] else None, out.weights[i], out.tags[i]) for i in order]
    assert told_[:3] == [(True, 1.0, 1.0, ""), (True, 2.0, 1.0, ""), (True, 3.0, 1.0, "x")]
    assert sorted(told_[3:], key=str) == [(False, None, 1.0, "y"), (False, None, 5.0, ""), (False, None, 6.0, "")]
    assert out.source == "several sources"


def test_labels_of_two_kinds_are_not_converted():
    (out,) = shuffled([examples([1.0, 2.0]), examples(["a", "bcd"])], 100, 0)
    assert sorted(map(repr, out.labels.tolist())) == ["'a'", "'bcd'", "1.0", "2.0"]
    (out,) = shuffled([examples(["a", "b"]), examples(["abcdef", "b"])], 100, 0)
    assert sorted(out.labels.tolist()) == ["a", "abcdef", "b", "b"]


def test_dense_rows_become_sparse_ones():
    (out,) = shuffled([examples([1.0, 2.0], names=["n"])], 100, 0)
    assert sorted(out.x.rows.dense().ravel().tolist()) == [1.0, 2.0]
    assert out.x.names == ["n"]


def test_closing_the_reader_closes_the_source():
    closed = []

    def batches():
        try:
            while True:
                yield examples([1.0, 2.0])
        finally:
            closed.append(True)

    some = shuffled(batches(), 10, 0)
    next(some)
    assert not closed
    some.close()
    assert closed


def test_an_empty_stream_stays_empty_and_a_bad_option_is_rejected_at_once():
    assert [*shuffled([], 10, 0)] == []
    with pytest.raises(ValueError, match="buffer must be an integer >= 0, got -1"):
        shuffled([], -1, 0)
    with pytest.raises(ValueError, match="seed must be an integer >= 0, got -1"):
        shuffled([], 1, -1)
