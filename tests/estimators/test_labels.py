"""Labels of every type: estimators learn those that streams learn."""

import enum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scwlearn import AROW, StreamClassifier, TunedClassifier

X = np.random.default_rng(0).normal(size=(40, 3))
UP = X[:, 0] > 0
# Those from 2**53 on are not exact as floats.
LARGE = [2**53 + 1, *(2**53 + 5 if up else 2**53 for up in UP[1:])]
LABELS = {
    "Int64": pd.array(LARGE, dtype="Int64"),
    "int64[pyarrow]": pd.Series(LARGE, dtype="int64[pyarrow]"),
    "boolean": pd.array(UP, dtype="boolean"),
    "Float64": pd.array(UP.astype(float), dtype="Float64"),
    "string": pd.Series(["up" if up else "down" for up in UP], dtype="string"),
    "categorical": pd.Categorical(LARGE),
    "polars": pl.Series(LARGE),
    "Arrow": pa.array(LARGE),
    "objects of int": np.array(LARGE, dtype=object),
    "objects of np.int64": pd.Series([np.int64(label) for label in LARGE], dtype=object),
    "objects of bool": UP.astype(object),
    "objects of float": UP.astype(float).astype(object),
    "objects of str": np.array(["up" if up else "down" for up in UP], dtype=object),
    "StringDType": np.array(["up" if up else "down" for up in UP], dtype=np.dtypes.StringDType()),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_other_libraries_are_those_of_streams(labels):
    stream, stream_labels = StreamClassifier("arow"), np.asarray(labels, dtype=object).tolist()
    stream.learn_many([{"a": 1.0}] * len(X), labels)
    for model in (AROW().fit(X, labels), AROW().partial_fit(X, labels)):
        assert model.classes_.tolist() == stream.classes
        assert {*map(type, model.classes_.tolist())} == {*map(type, stream.classes)}
        assert {*model.predict(X).tolist()} <= {*stream.classes}
        assert model.score(X, labels) == model.score(X, np.array(stream_labels)) > 0.8


def test_large_integers_among_floats_are_not_rounded():
    labels = [2**53 + 1, *(2**53 if up else 1.0 for up in UP[1:])]
    assert AROW().fit(X, labels).classes_.tolist() == [1.0, 2**53, 2**53 + 1]
    with pytest.raises(ValueError, match="continuous"):
        AROW().fit(X, [2**53 + 1, *X[1:, 0].tolist()])
    with pytest.raises(ValueError, match="NaN"):
        AROW().fit(X, [2**53 + 1, np.nan, *labels[2:]])


@pytest.mark.parametrize("kind", [object, np.dtypes.StringDType()])
def test_objects_are_learned_as_column_vectors_and_refused_behind_a_mask(kind):
    labels = np.array(["up" if up else "down" for up in UP], dtype=kind)
    with pytest.warns(UserWarning, match="column-vector"):
        model = AROW(random_state=0).fit(X, labels[:, np.newaxis])
    assert np.array_equal(model.predict(X), AROW(random_state=0).fit(X, labels).predict(X))
    assert model.classes_.dtype == object
    masked = np.ma.array(labels.astype(object), mask=[True, *np.zeros(len(X) - 1, dtype=bool)])
    with pytest.raises(ValueError, match="masked"):
        AROW().fit(X, masked)


def test_missing_labels_are_refused():
    with pytest.raises(TypeError, match="NAType"):
        AROW().fit(X, pd.array([None, *UP[1:].astype(int)], dtype="Int64"))


class Label(str, enum.Enum):  # noqa: UP042 (whose str() is another text)
    """Strings of a class of their own."""

    HAM = "ham"
    SPAM = "spam"


@pytest.mark.parametrize("new", [AROW, TunedClassifier])
def test_scores_are_of_the_labels_that_are_learned(new):
    labels = [Label.SPAM if up else Label.HAM for up in UP]
    model = new().fit(X, labels)
    assert model.score(X, labels) == np.mean(
        [one == other for one, other in zip(model.predict(X), labels, strict=True)]
    )
    assert model.score(X, labels) > 0.8
