"""The same examples through every interface: the model, its predictions and its probabilities have the same bits.

Two exceptions are documented: files, tables and matrices are learned in blocks by a full Sigma, and binary scores of
dense rows are summed in another order than those of sparse rows. These models are equal up to rounding.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
import warnings
from collections.abc import Collection
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from scwlearn import Features, StreamClassifier, estimators, river
from scwlearn._util.json_fields import to_json
from scwlearn.files.codec import Arrays
from scwlearn.files.learner import encode_classifier, encode_learner
from scwlearn.learning.classifier import Classifier
from scwlearn.learning.data_warnings import DataWarning
from scwlearn.learning.setting import Face
from scwlearn.learning.settings import settings_for
from scwlearn.rules import Rule
from stress.face_examples import Records, cuts, draw_features, draw_records, draw_rows, draw_rule, draw_settings
from stress.face_files import options_of, train, write
from stress.trial import Trial

Settings = dict[str, Any]


def state(model: Any) -> dict[str, Any]:
    """Return everything that a model file contains about what was learned, arrays as bytes."""
    arrays: Arrays = {}
    classifier: Classifier = getattr(model, "_model", model)._classifier
    learner, rest = to_json(encode_learner(classifier.learner, arrays)), to_json(encode_classifier(classifier, arrays))
    vocabulary = (learner["state"] or {}).pop("vocabulary", None) or {}
    if not vocabulary.get("names"):
        vocabulary = {}
    contents = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    return {"learner": learner, "vocabulary": vocabulary, "classifier": rest, **contents}


def assert_same(found: Any, expected: Any, told: str, but: Collection[str] = ()) -> None:
    """Raise an error unless two models have learned the same, to the last bit."""
    one, other = state(found), state(expected)
    different = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name) and name not in but]
    shown = {name: (one.get(name), other.get(name)) for name in different[:2]}
    assert not different, f"{told}: {different} differ: {shown}"


def assert_equal(found: Any, expected: Any, told: str) -> None:
    """Raise an error unless predictions are equal, to the last bit."""
    same = np.array_equal(found, expected) if isinstance(expected, np.ndarray) else found == expected
    assert same, f"{told}: {found} differs from {expected}"


def _case(random: Random) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        random.choice([_records_case, _records_case, _file_case, _rows_case, _rows_case])(random)
    return 1


# Records


def _label_of(random: Random) -> Any:
    return random.choice([lambda c: f"class_{c}", lambda c: c, lambda c: 7 - c, lambda c: c / 2])


def _records_case(random: Random) -> None:
    rule, classes, label_of = draw_rule(random), random.randint(1, 5), _label_of(random)
    records, kinds = draw_records(random, classes, label_of)
    features = draw_features(random, kinds)
    settings = draw_settings(random, rule, [label_of(c) for c in range(max(2, classes))], Face.STREAM)
    told = f"{rule.name} {settings} {features} of {kinds}, {len(records.values)} records"

    new = partial(_new, rule, features, settings)
    model = new()
    if not _learn_in_turn(model, records):
        _refused(new, records, told)
        return
    random.choice([_disturbed, _many, _many, _table, _table, _river])(random, new, records, model, told)
    _predictions(random, model, records, told)


def _learn_in_turn(model: StreamClassifier, records: Records) -> bool:
    """Learn from records one by one; return whether all had room."""
    for i in range(len(records.values)):
        try:
            model.learn_one(*_example(records, i))
        except ValueError as error:
            if "an example may have max_features" not in str(error):
                raise
            return False
    return True


def _new(rule: Rule, features: Features, settings: Settings) -> StreamClassifier:
    return StreamClassifier(rule, features=features, **settings)


def _named_as(face: Face, rule: Rule, settings: Settings) -> Settings:
    """Return settings by the names that an interface gives them."""
    names = {s.name: s.name_in(face) for s in settings_for(face, rule)}
    return {names.get(name, name): value for name, value in settings.items()}


def _refused(new: Any, records: Records, told: str) -> None:
    """Records of which one has too many features are refused as a whole."""
    model = new()
    before = state(model)
    for given in (records.values, *_tables(records.values).values()):
        try:
            model.learn_many(given, *_part(records, slice(None))[1:])
        except ValueError:
            assert state(model) == before, f"refused, but learned: {told}"
        else:
            raise AssertionError(f"only one by one, refused: {told}")


def _example(records: Records, i: int) -> tuple[Any, ...]:
    weight = () if records.weights is None else (records.weights[i],)
    return records.values[i], records.labels[i], *weight


def _part(records: Records, part: slice) -> tuple[Any, ...]:
    return records.values[part], records.labels[part], None if records.weights is None else records.weights[part]


def _disturbed(random: Random, new: Any, records: Records, expected: Any, told: str) -> None:
    """Learn one by one, with predictions, copies and pickles between, and without missing values."""
    model = new()
    for i in range(len(records.values)):
        record, *rest = _example(records, i)
        if random.random() < 0.5:
            record = {name: value for name, value in record.items() if value is not None}
        for ask in (model.predict_one, model.predict_proba_one, model.explain):
            if model._classifier.is_fitted and random.random() < 0.3:
                ask(random.choice(records.values))
        if random.random() < 0.05:
            model = random.choice([copy.copy, copy.deepcopy, _pickled])(model)
        model.learn_one(record, *rest)
    assert_same(model, expected, f"one by one, disturbed: {told}")


def _pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


def _many(random: Random, new: Any, records: Records, expected: Any, told: str) -> None:
    model = new()
    for part in cuts(random, len(records.values)):
        values, labels, weights = _part(records, part)
        if random.random() < 0.2:
            for i in range(*part.indices(len(records.values))):
                model.learn_one(*_example(records, i))
        else:
            model.learn_many(iter(values) if random.random() < 0.3 else values, labels, weights)
    assert_same(model, expected, f"many: {told}")


def _tables(values: list[dict[str, Any]]) -> dict[str, Any]:
    # Not in the environment of the benchmarks, where VW is.
    import polars as pl

    table = pa.Table.from_pylist(values)
    return {
        "Arrow": table,
        "pandas": table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": pl.from_arrow(table),
    }


def _table(random: Random, new: Any, records: Records, expected: Any, told: str) -> None:
    # A column without a value has no type, but its name.
    model = new()
    for part in cuts(random, len(records.values)):
        values, labels, weights = _part(records, part)
        if not values:
            continue
        kind, table = random.choice([*_tables(values).items()])
        told += f" {kind}"
        model.learn_many(table, labels, weights)
    assert_same(model, expected, f"tables: {told}", but=_NAMES if expected._classifier.config.slots else ())


def _river(random: Random, new: Any, records: Records, expected: Any, told: str) -> None:
    rule, features, settings = new.args
    model = getattr(river, rule.estimator)(features=features, **_named_as(Face.RIVER, rule, settings))
    for i in range(len(records.values)):
        model.learn_one(*_example(records, i))
        if random.random() < 0.2:
            assert_equal(model.predict_one(records.values[0]), model._model.predict_one(records.values[0]), told)
    assert_same(model, expected, f"River: {told}")


def _predictions(random: Random, model: StreamClassifier, records: Records, told: str) -> None:
    before, values = state(model), random.sample(records.values, min(12, len(records.values)))
    labels, probabilities = model.predict_many(values), model.predict_proba_many(values)
    assert_equal([model.predict_one(record) for record in values], labels, f"labels one by one: {told}")
    one_by_one = [model.predict_proba_one(record) for record in values]
    assert_equal([[*found.values()] for found in one_by_one], probabilities.tolist(), f"probabilities: {told}")
    assert all([*found] == model.classes for found in one_by_one), f"order of probabilities: {told}"
    for kind, table in _tables(values).items():
        assert_equal(model.predict_many(table), labels, f"labels of {kind}: {told}")
        assert_equal(model.predict_proba_many(table), probabilities, f"probabilities of {kind}: {told}")
    assert state(model) == before, f"predicting changes the model: {told}"


# Files


def _file_case(random: Random) -> None:
    """`scwlearn train` in this process equals learning the records with the features that it detected."""
    rule, classes = draw_rule(random), random.randint(2, 5)
    records, kinds = draw_records(random, classes, lambda c: f"class_{c}")
    settings = draw_settings(random, rule, [f"class_{c}" for c in range(classes)], Face.STREAM)
    settings.pop("rivals", None)
    if settings.get("overflow") == "hash":
        settings["max_features"] = 1 << settings["max_features"].bit_length()
    format = random.choice(["jsonl", "json", "parquet", "arrow", *(["csv", "tsv"] if records.is_flat else [])])
    if {*kinds.values()} <= {"number", "integer", "bool"}:
        format = "vw"
    told = f"{format}: {rule.name} {settings}, {records}"
    with tempfile.TemporaryDirectory() as directory:
        data, path = Path(directory) / f"data.{format}", Path(directory) / "model"
        write(data, format, records)
        columns = [] if format == "vw" else ["--label", "label"]
        columns += [] if format == "vw" or records.weights is None else ["--weight", "weight"]
        model = train(random, data, path, [*columns, *options_of(rule, settings)], told)
    if model is None:
        return
    again = StreamClassifier(rule, features=model.features, **settings)
    again.learn_many(*_part(records, slice(None)))
    values = records.values[:20]
    found, expected = model.predict_proba_many(values), again.predict_proba_many(values)
    if again._classifier.config.always_full:
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=told)
    else:
        assert_equal(found, expected, told)
        assert_same(model, again, told, but=_NAMES if again._classifier.config.slots else ())


# Rows


def _rows_case(random: Random) -> None:
    rule, classes = draw_rule(random), random.randint(2, 5)
    x, y, weights = draw_rows(random, classes)
    settings = draw_settings(random, rule, [*range(classes)], Face.ESTIMATOR)
    settings = {name: value for name, value in settings.items() if name not in _OF_NAMES}
    inner, settings = settings, _named_as(Face.ESTIMATOR, rule, settings)
    told = f"{rule.name} {settings}, {x.shape} rows, {classes} classes, weights {weights is not None}"
    kind = random.choice(["dense", "sparse"])

    def new(**more: Any) -> Any:
        return getattr(estimators, rule.estimator)(shuffle=False, **settings, **more)

    declared = [*range(classes)] if random.random() < 0.5 else None
    model = new().partial_fit(_format(random, kind, x), y, classes=declared, sample_weight=weights)
    others = {"in parts": _in_parts(random, new(), kind, x, y, weights, declared)}
    if declared is not None and len({*y[np.ones(len(y)) > 0 if weights is None else weights > 0]}) == classes:
        others["fit"] = new(n_jobs=2).fit(_format(random, kind, x), y, sample_weight=weights)
    for name, other in others.items():
        if _is_full(model):
            _assert_close(other, model, x, f"{name}, {kind}: {told}")
        else:
            assert_same(other, model, f"{name}, {kind}: {told}")
            _same_scores(random, other, model, kind, x, f"{name}, {kind}: {told}")
    if weights is None and "rivals" not in settings and x[:, -1].any():
        rows = new().partial_fit(sparse.csr_array(x), y)
        _libsvm_case(random, rows, x, y, rule, inner, told)
    if declared is None or classes < 3 or rule.name == "auto" or _is_full(model):
        return
    unlike = new().partial_fit(_format(random, "dense" if kind == "sparse" else "sparse", x), y, declared, weights)
    assert_same(unlike, model, f"dense and sparse: {told}")


def _libsvm_case(random: Random, model: Any, x: Any, y: Any, rule: Rule, settings: Settings, told: str) -> None:
    """`scwlearn train` with the same rows as LIBSVM text."""
    lines = [
        " ".join([f"{label}", *(f"{j + 1}:{value!r}" for j, value in enumerate(row) if value)]) + "\n"
        for row, label in zip(x.tolist(), y.tolist(), strict=True)
    ]
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory) / "data.libsvm"
        data.write_text("".join(lines))
        found = train(random, data, Path(directory) / "model", options_of(rule, settings), f"LIBSVM: {told}")
    if found is None:
        return
    if _is_full(model):
        _assert_close(found, model, x, f"LIBSVM: {told}")
    else:
        assert_same(found, model, f"LIBSVM: {told}")


#: Names that share a slot, and how often each was seen: tables and files count by column, without the products.
_NAMES = ("names", "votes", "slots", "shared", "vocabulary")

#: Settings of models with names.
_OF_NAMES = ("max_features", "overflow")


def _strided(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.repeat(x, 2, axis=1)[:, ::2]


def _format(random: Random, kind: str, x: NDArray[np.float64]) -> Any:
    """Return the same rows in another format of the kind."""
    if kind == "dense":
        forms = [np.asarray, np.asfortranarray, _strided, pd.DataFrame, np.ndarray.tolist]
        return random.choice(forms)(x)
    rows = random.choice([sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array])(x)
    if rows.format == "csr" and random.random() < 0.3:
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    return rows


def _in_parts(random: Random, model: Any, kind: str, x: Any, y: Any, weights: Any, declared: Any) -> Any:
    pieces = [part for part in cuts(random, len(y)) if part.start < part.stop]
    if random.random() < 0.3:
        pieces = [slice(i, i + 1) for i in range(len(y))]
    for part in pieces:
        given = None if weights is None else weights[part]
        model.partial_fit(_format(random, kind, x[part]), y[part], classes=declared, sample_weight=given)
        if random.random() < 0.1:
            model = random.choice([copy.copy, _pickled])(model)
    return model


def _is_full(model: Any) -> bool:
    classifier = model._classifier
    gaussians = getattr(classifier.learner.model, "gaussians", [classifier.learner.model])
    return any(gaussian.covariance.correlated for gaussian in gaussians)


def _same_scores(random: Random, one: Any, other: Any, kind: str, x: Any, told: str) -> None:
    for ask in ("decision_function", "predict_proba", "predict"):
        whole = getattr(other, ask)(_format(random, kind, x))
        parts = [getattr(one, ask)(_format(random, kind, x[i : i + 1])) for i in range(min(9, len(x)))]
        assert_equal(np.concatenate(parts), whole[: len(parts)], f"{ask} row by row: {told}")


def _assert_close(one: Any, other: Any, x: Any, told: str) -> None:
    counts = [(model.n_seen_, model.n_mistakes_, model.n_updates_) for model in (one, other)]
    assert counts[0][0] == counts[1][0], f"{told}: {counts}"
    if one._rule.name == "cw":
        # It reduces variances so fast that rounding soon decides.
        return
    assert counts[0] == counts[1], f"{told}: {counts}"
    found, expected = one.decision_function(x), other.decision_function(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max(), err_msg=told)


TRIAL = Trial(
    claim="The same examples give the same model, scores and probabilities to the last bit: one by one, many at once, "
    "as tables, matrices or files of any format, in River, scikit-learn and on the command line; up to rounding with "
    "two classes from dense rather than sparse rows, and with a full covariance from single rows rather than batches",
    unit="configurations",
    case=_case,
    quick=150,
    long=100_000,
)
