"""Merging models that declare different kinds of columns: what one has learned must not become unreachable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scwlearn import Features, StreamClassifier, merge

KINDS = ("auto", "numeric", "categorical", "text", "date", "ignore")
VALUES = st.one_of(
    st.sampled_from([0.5, 2, "red", "red wine", "7", "2026-01-31", "2026-01-31 10:00:00", None]),
    st.lists(st.sampled_from(["red", "wine"]), max_size=2),
)
COLUMNS = ("a", "a.b", "c")
OBJECTS = st.fixed_dictionaries({"b": VALUES})
RECORDS = st.fixed_dictionaries({}, optional={"a": VALUES | OBJECTS, "c": VALUES, "a.b": VALUES})
DECLARED = st.dictionaries(st.sampled_from(COLUMNS), st.sampled_from(KINDS), max_size=2)
STREAMS = st.lists(st.tuples(DECLARED, st.lists(RECORDS, min_size=1, max_size=3)), min_size=2, max_size=3)
COMMON = {"others": st.sampled_from(["auto", "ignore"]), "interactions": st.sampled_from([[], ["a:c"]])}


def trained(features, records, slots=None):
    """Train on the records that fit the features, which are returned, too."""
    how = {} if slots is None else {"max_features": slots, "overflow": "hash"}
    model, taken = StreamClassifier("arow", features=features, **how), []
    for number, record in enumerate(records):
        try:
            model.learn_one(record, "xy"[number % 2])
        except ValueError:
            continue
        taken.append(record)
    return model, taken


@given(STREAMS, st.fixed_dictionaries(COMMON), st.sampled_from([None, 4, 2**16]))
def test_a_merged_model_reads_records_as_each_model_did(streams, common, slots):
    declared = [Features(kinds=kinds, **common) for kinds, _ in streams]
    pairs = [trained(features, records, slots) for features, (_, records) in zip(declared, streams, strict=True)]
    try:
        merged = merge([model for model, _ in pairs])
    except ValueError as error:
        assert "differ in kind of" in str(error)  # noqa: PT017
        return
    for features, (_, records) in zip(declared, pairs, strict=True):
        for given_record in records:
            # Columns that the model leaves out may mean anything.
            record = {key: value for key, value in given_record.items() if features.read({key: value})}
            assert features.read(record).items() <= merged.features.read(record).items()


def stream(records, kinds=None, **settings):
    model = StreamClassifier("arow", features=Features(kinds=kinds or {}), **settings)
    model.learn_many(records, ["x", "y"] * (len(records) // 2))
    return model


ZIPS = [{"zip": "1000"}, {"zip": "2000"}]


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("settings", [{}, {"max_features": 64, "overflow": "hash"}], ids=["names", "hashed"])
def test_another_kind_of_a_learned_column_is_refused(kind, order, settings):
    models = [stream(ZIPS, **settings), StreamClassifier("arow", features=Features(kinds={"zip": kind}), **settings)]
    with pytest.raises(ValueError, match=rf"differ in kind of 'zip': {kind} and auto; declare the same kind for all"):
        merge(models[::order])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [{}, {"max_features": 64, "overflow": "hash"}], ids=["names", "hashed"])
def test_a_column_that_others_have_not_learned_may_be_of_any_kind(kind, settings):
    own = stream([{"note": "2026-01-31"}, {"note": "2026-02-01"}] if kind == "date" else [{"note": 1}, {}], **settings)
    other = stream(ZIPS, {"note": kind}, **settings)
    merged = merge([stream(ZIPS, **settings), other])
    assert merged.features.kinds == {"note": kind}
    if kind != "auto":
        with pytest.raises(ValueError, match="differ in kind of 'note'"):
            merge([own, other])


def test_hashed_names_that_are_not_known_count_as_learned():
    models = [stream([{str(number): 1.0} for number in range(20)], max_features=4, overflow="hash")]
    models.append(stream([{}, {}], {"note": "text"}, max_features=4, overflow="hash"))
    with pytest.raises(ValueError, match="differ in kind of 'note'"):
        merge(models)


def test_tables_and_records_are_not_merged():
    table = StreamClassifier("arow", features=Features(kinds={"zip": "numeric"}, others="ignore"))
    with pytest.raises(ValueError, match=r"differ in others: ignore and auto; .* train all models on one of them"):
        merge([table, stream(ZIPS)])


@pytest.mark.parametrize("value", [1.0, "red", ["red"], {"deep": 1.0}])
def test_an_object_is_not_ignored_after_a_merge_if_a_model_has_learned_its_keys(value):
    ignoring = stream([{"x": 1.0}, {"x": -1.0}] * 20, {"user": "ignore"})
    knowing = stream([{"user": {"age": value}}, {"x": 1.0}] * 20)
    with pytest.raises(ValueError, match="differ in kind of 'user'"):
        merge([ignoring, knowing])
    merged = merge([ignoring, stream([{"users": {"age": value}}, {"x": 1.0}] * 20)])
    assert merged.features.kinds == {"user": "ignore"}
