"""Tables give the bits of their dicts, where a table knows names, sizes or products that dicts bring one by one."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scwlearn import Features, StreamClassifier
from stream_examples import full_state, one_by_one


def assert_same_bits(new, records, labels):
    each = one_by_one(new(), records, labels)
    table = new()
    table.learn_many(pa.Table.from_pylist(records), labels)
    assert table.counts == each.counts
    assert table._classifier.weights().tolist() == each._classifier.weights().tolist()
    assert table.predict_proba_many(records).tolist() == each.predict_proba_many(records).tolist()
    return table, each


@pytest.mark.parametrize("call", ["learn_many", "predict_many", "predict_proba_many"])
def test_an_error_says_that_columns_are_strings_where_names_are_whole_numbers(call):
    frame, labels = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    model = StreamClassifier("arow")
    model.learn_many(frame.to_dict("records"), labels)
    before = full_state(model)
    message = (
        r"^keys of mixed types: got the name '0', but all names before are whole numbers, and the columns of a frame, "
        r"table or file are strings; pass dicts with whole numbers as keys, such as frame\.to_dict\('records'\)$"
    )
    given = (frame, labels) if call == "learn_many" else (frame,)
    with pytest.raises(TypeError, match=message):
        getattr(model, call)(*given)
    assert full_state(model) == before
    # As it says.
    assert model.predict_many(frame.to_dict("records")) == labels
    model = StreamClassifier("arow")
    model.learn_many(frame, labels)
    with pytest.raises(TypeError, match=r"keys of mixed types: .* has the key 0, where all before are of type str"):
        getattr(model, call)(frame.to_dict("records"), *given[1:])


@pytest.mark.parametrize("classes", [2, 4])
def test_a_full_sigma_learns_hashed_products_of_a_table(classes):
    rng = np.random.default_rng(0)
    records = [{"a": f"{rng.integers(5)}", "b": float(x), "c": f"{rng.integers(9)}"} for x in rng.normal(size=80)]
    labels = rng.integers(classes, size=80).tolist()
    how = {"covariance": "full", "max_features": 32, "overflow": "hash"}
    features = Features(interactions=["a:c", "a:b"])
    assert_same_bits(lambda: StreamClassifier("scw1", features=features, **how), records, labels)


@pytest.mark.parametrize("covariance", ["diagonal", "diagonal-drop", "full"])
@pytest.mark.parametrize("classes", [2, 4])
def test_names_that_come_after_sigma_has_grown_have_the_same_variance(classes, covariance):
    # 0.1 times a number divided by the same number is not always 0.1.
    rng = np.random.default_rng(1)
    records = [{"x": float(x), "word": [f"{i}-{k}" for k in range(3)]} for i, x in enumerate(rng.normal(size=60))]
    labels = rng.integers(classes, size=60).tolist()
    for variance in (0.1, 0.3, 7.0):
        how = {"covariance": covariance, "initial_variance": variance, "b": 0.9}
        table, each = assert_same_bits(lambda: StreamClassifier("iellip", **how), records, labels)  # noqa: B023
        assert full_state(table) == full_state(each)


@pytest.mark.parametrize("interactions", [["site:ad"], ["site:site"], ["*:*"], ["ad:site:site"]])
def test_names_with_the_same_hash_have_products_of_their_own(interactions):
    # Both have the hash 1347829735 behind "site=", so that they share a slot of any number of slots.
    sites = ["s94277", "s218225", "q", "r"]
    rng = np.random.default_rng(2)
    records = [
        {"site": [str(s) for s in rng.choice(sites, 1 + i % 2, replace=False)], "ad": str(rng.choice(["x", "y"]))}
        for i in range(60)
    ]
    labels = rng.integers(2, size=60).tolist()
    how = {"max_features": 2**18, "overflow": "hash", "features": Features(interactions=interactions)}
    table, _ = assert_same_bits(lambda: StreamClassifier("arow", **how), records, labels)
    at_once = table.predict_proba_many(pa.Table.from_pylist(records))
    assert at_once.tolist() == table.predict_proba_many(records).tolist()
    alone = [table.predict_proba_many(pa.Table.from_pylist([record]))[0].tolist() for record in records]
    assert at_once.tolist() == alone
