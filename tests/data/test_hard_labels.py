"""Labels come back as they are, or are refused: NumPy would remove a NUL at the end of a string."""

import io
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import scwlearn
from scwlearn import SCW1, StreamClassifier
from scwlearn.data.labels import as_labels
from scwlearn.data.reading import read_batches
from table_text import exactly

NUL = "y has the label 'a\\x00', but a label must not end with NUL: NumPy would remove it"
X = [[1.0], [-1.0]]
HARD = ["", " a", "a ", "\0a", "a\0b", "01", "1", "\ufeffa", "a\u2028", "\n", "é", "e\u0301", "\ud800", "x" * 300]


def objects(*values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


@pytest.mark.parametrize("labels", [["a\0", "b"], objects("b", "a\0"), ("b", "a\0")])
def test_a_label_with_nul_at_its_end_is_refused_everywhere(labels):
    stream = StreamClassifier("scw1")
    for refused in (
        lambda: SCW1().fit(X, labels),
        lambda: SCW1().partial_fit(X, labels),
        lambda: as_labels(labels),
        lambda: stream.learn_many([{"x": 1.0}, {"x": -1.0}], labels),
    ):
        with pytest.raises(ValueError, match=exactly(NUL)):
            refused()
    assert stream.counts.seen == 0
    with pytest.raises(ValueError, match=exactly(NUL)):
        stream.learn_one({"x": 1.0}, "a\0")
    with pytest.raises(ValueError, match="must not end with NUL"):
        SCW1().partial_fit(X, ["b", "c"], classes=labels)
    with pytest.raises(ValueError, match="must not end with NUL"):
        StreamClassifier("scw1", classes=labels)


@pytest.mark.parametrize(
    "labels",
    [
        [b"a", b"b"],
        np.array([b"a", b"b"]),
        objects(b"a", b"b"),
        [Fraction(1, 2), Fraction(1, 3)],
        objects(Decimal(1), 2),
        np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[s]"),
        np.array([1, 2j]),
    ],
)
def test_labels_that_no_file_holds_are_refused_before_learning(labels):
    stream = StreamClassifier("scw1")
    for refused in (
        lambda: SCW1().fit(X, labels),
        lambda: SCW1().partial_fit(X, labels, classes=labels),
        lambda: as_labels(labels),
        lambda: stream.learn_one({"x": 1.0}, labels[0]),
        lambda: stream.learn_many([{"x": 1.0}, {"x": -1.0}], labels),
    ):
        with pytest.raises(TypeError, match=r"labels must be strings, numbers or bools, got |labels of mixed types"):
            refused()
    assert stream.counts.seen == 0


@pytest.mark.parametrize("make", [list, lambda labels: objects(*labels), np.array])
def test_all_other_labels_come_back_from_models_and_their_files(make, tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 4)), rng.permutation(np.arange(200) % len(HARD)).tolist()
    labels = make([HARD[i] for i in y])
    model = SCW1().fit(x, labels)
    assert model.classes_.tolist() == sorted(HARD)
    assert {*model.predict(x).tolist()} <= {*HARD}
    model.save(tmp_path / "hard.model")
    assert scwlearn.load(tmp_path / "hard.model").classes_.tolist() == sorted(HARD)
    stream = StreamClassifier("scw1")
    stream.learn_many([{"x": float(row[0])} for row in x], labels)
    assert stream.predict_proba_one({"x": 1.0}).keys() == {*HARD}
    stream.save(tmp_path / "stream.model")
    again = scwlearn.load(tmp_path / "stream.model")
    assert again.predict_proba_one({"x": 1.0}) == stream.predict_proba_one({"x": 1.0})


@pytest.mark.parametrize("format", ["jsonl", "json", "parquet", "arrow"])
def test_a_reader_refuses_a_label_with_nul_at_its_end(format):
    file = io.BytesIO()
    if format == "jsonl":
        file.write(b'{"label": "b", "x": 1}\n{"label": "a\\u0000", "x": 1}\n')
    elif format == "json":
        file.write(json.dumps([{"label": "b"}, {"label": "a\0"}]).encode())
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        table = pa.table({"label": ["b", "a\0"], "x": [1.0, 2.0]})
        (parquet.write_table if format == "parquet" else feather.write_feather)(table, file)
    file.seek(0)
    with pytest.raises(
        ValueError, match=r"2, column 'label': a label must not end with a NUL character; found 'a\\x00'"
    ):
        [*read_batches([file])[1]]


def fitted(x, y):
    return scwlearn.AROW(random_state=0).fit(x, y)


def partly_fitted(x, y):
    return scwlearn.AROW().partial_fit(x, y)


def many(x, y):
    stream = StreamClassifier("arow")
    stream.learn_many([{"a": a, "b": b} for a, b in x.tolist()], y)
    return stream


def one_by_one(x, y):
    stream = StreamClassifier("arow")
    for (a, b), label in zip(x.tolist(), y, strict=True):
        stream.learn_one({"a": a, "b": b}, label)
    return stream


def declared(x, y):
    del x
    return StreamClassifier("arow", classes=y)


def merged(x, y):
    return scwlearn.merge([many(x, y), many(x, y[::-1])])


LEARNED = [fitted, partly_fitted, many, one_by_one, declared, merged]
TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "U5", "U60"]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("learned", LEARNED, ids=lambda learned: learned.__name__)
def test_arrays_of_labels_may_have_any_type_and_byte_order(learned, kind, order, tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 2)), rng.permutation(np.arange(20) % 2).astype(f"{order}{kind}")
    model = learned(x, y)
    model.save(tmp_path / "it.model")
    classes = [each._classifier.classes for each in (model, scwlearn.load(tmp_path / "it.model"))]
    for known in classes:
        assert known.labels.dtype.isnative
        assert known.labels.dtype == classes[0].labels.dtype
        assert known.values == classes[0].values
        assert known.values_in_order == sorted({*y.tolist()})


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is float64 here")
@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("make", [np.array, list, lambda labels: objects(*labels)])
@pytest.mark.parametrize("learned", LEARNED, ids=lambda learned: learned.__name__)
def test_labels_of_more_than_64_bits_are_refused_before_learning(learned, make, order):
    labels = np.array([0, 1] * 5, np.dtype(np.longdouble).newbyteorder(order))
    # scikit-learn refuses numbers in arrays of objects.
    said = "has labels of type longdouble; convert them to float64|Unknown label type"
    with pytest.raises((TypeError, ValueError), match=said):
        learned(np.ones((10, 2)), make(labels))


@pytest.mark.parametrize("labels", [[1.5e308, 1.0], [-np.finfo(float).max, 5e-324], [2**63 - 1, -(2**63)], [0.1, -0.0]])
def test_numbers_of_any_size_come_back_from_files(labels, tmp_path):
    model = many(np.ones((4, 2)), labels * 2)
    model.save(tmp_path / "it.model")
    assert scwlearn.load(tmp_path / "it.model").classes == sorted(labels)


def test_whole_labels_that_floats_would_round_are_integers():
    x, big = np.array([[1.0], [-1.0]] * 10), 2**53 + 1
    labels = [big, 2.0] * 10
    model = SCW1(shuffle=False).fit(x, labels)
    assert model.classes_.tolist() == [2, big]
    assert model.classes_.dtype == np.int64
    assert model.score(x, labels) == 1.0
    model = SCW1().partial_fit(x, np.array([big, 1] * 10))
    model.partial_fit(x, np.array([big, 3] * 10, dtype=np.uint64))
    assert model.classes_.tolist() == [1, 3, big]
    assert 0 <= model.score(x, np.array([big, 1] * 10)) <= 1
