"""Labels of every type: estimators learn those that streams learn."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scwlearn import AROW, StreamClassifier

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
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_of_other_libraries_are_those_of_streams(labels):
    stream = StreamClassifier("arow")
    stream.learn_many([{"a": 1.0}] * len(X), labels)
    for model in (AROW().fit(X, labels), AROW().partial_fit(X, labels)):
        assert model.classes_.tolist() == stream.classes
        assert {*map(type, model.classes_.tolist())} == {*map(type, stream.classes)}
        assert {*model.predict(X).tolist()} <= {*stream.classes}


def test_missing_labels_are_refused():
    with pytest.raises(TypeError, match="NAType"):
        AROW().fit(X, pd.array([None, *UP[1:].astype(int)], dtype="Int64"))
