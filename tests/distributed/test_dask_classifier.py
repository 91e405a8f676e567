"""Training on Dask's collections: the plan, carried out in this process, gives the same bits."""

import pickle
from hashlib import sha256

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from scwlearn import AROW, SCW1, AutoClassifier, KernelSCW1, StreamClassifier
from scwlearn.distributed import UnreadablePart
from scwlearn.distributed.plan import ROUNDS, Plan, tree
from scwlearn.distributed.tasks import Place, learn_rows, merge_learned
from scwlearn.files import SavedModel
from scwlearn.files.transport import pack

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import pandas as pd
from distributed import Client, LocalCluster

from scwlearn.distributed.dask import DaskClassifier

pytestmark = pytest.mark.slow

SIZES = (250, 150, 0, 200)
NAMES = [f"x{i}" for i in range(5)]


@pytest.fixture(scope="module", autouse=True)
def client():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local, Client(local) as connected:
        yield connected


def draw():
    random = np.random.default_rng(5)
    x = random.normal(size=(sum(SIZES), len(NAMES)))
    y = np.array(["no", "yes", "perhaps"])[(x[:, :2].sum(axis=1) + 0.4 * random.normal(size=len(x)) > 0).astype(int)]
    # A class that only the last partition has.
    y[-20:] = "perhaps"
    return x, y, random.uniform(0.5, 2, size=len(x))


X, Y, W = draw()
ENDS = np.cumsum(SIZES)
FRAME = pd.DataFrame(X, columns=NAMES).assign(city=np.array(["Oslo", "Rome"])[(X[:, 4] > 0).astype(int)], label=Y, w=W)
LABELS = FRAME["label"].to_numpy()
RECORDS = FRAME.drop(columns="w").to_dict("records")


def cut(values):
    """The parts of some values."""
    return [values[end - size : end] for size, end in zip(SIZES, ENDS, strict=True)]


def frame(columns):
    """A Dask data frame, one partition of which is empty."""
    return dd.from_delayed([dask.delayed(part) for part in cut(FRAME[columns])], meta=FRAME[columns][:0])


def array(values):
    return da.concatenate([da.from_array(part, chunks=-1) for part in cut(values)]).rechunk({0: SIZES})


def bag(values):
    return db.from_delayed([dask.delayed(part) for part in cut(values)])


def by_hand(model, parts, rounds):
    """Carry out the plan in this process, and return the packed model."""
    packed, plan = pack(SavedModel.from_model(model)), Plan(len(parts), rounds)
    for number in range(plan.first_round, plan.rounds + 1):
        learned = []
        for i, part in enumerate(parts if number else parts[:1], 1):
            own = plan.rows(i, number, len(part[1]))
            rows = [None if values is None else values[own.start : own.stop] for values in part]
            learned.append(learn_rows(packed, *rows, place=Place(1, number, i)))
        count = max(1, sum(each.reports[0].seen > 0 for each in learned))
        for level in tree(len(learned)):
            together = [[learned[i] for i in group] for group in level]
            learned = [merge_learned(packed, group, count=count, whole=len(level) == 1) for group in together]
            count = 1
        packed = learned[0].model
    return packed


def digest(packed):
    return sha256(packed).hexdigest()


def assert_same(trained, model, parts, rounds=ROUNDS):
    assert digest(pack(SavedModel.from_model(trained.local()))) == digest(by_hand(model, parts, rounds))


def parts(x, y=Y, w=None):
    return list(zip(cut(x), cut(y), [None] * len(SIZES) if w is None else cut(w), strict=True))


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("model", [SCW1(), AROW(covariance="diagonal"), AutoClassifier()], ids=str)
def test_an_array_is_learned_by_the_plan(model, rounds):
    trained = DaskClassifier(model, rounds=rounds).fit(array(X), array(Y))
    assert_same(trained, model, parts(X), rounds)
    assert trained.classes_.tolist() == ["no", "perhaps", "yes"]
    assert sum(report.seen for report in trained.reports_) == len(X)


def test_weights_and_chunks_of_columns():
    trained = DaskClassifier(SCW1()).fit(array(X).rechunk({1: 2}), array(Y), sample_weight=array(W))
    assert_same(trained, SCW1(), parts(X, w=W))


def test_chunks_of_unknown_sizes():
    x, y = frame(NAMES).to_dask_array(), frame(["label"])["label"].to_dask_array()
    assert np.isnan(x.chunks[0]).all()
    trained = DaskClassifier(SCW1()).fit(x, y)
    assert_same(trained, SCW1(), parts(X, LABELS))
    assert trained.predict(x).compute().tolist() == trained.local().predict(X).tolist()


def test_sparse_chunks():
    x = array(X).map_blocks(csr_array)
    assert_same(DaskClassifier(SCW1()).fit(x, array(Y)), SCW1(), parts(csr_array(X)))


@pytest.mark.parametrize("label", ["series", "array", "name"])
def test_a_data_frame_of_numbers(label):
    x = frame([*NAMES, "label"] if label == "name" else NAMES)
    y = {"series": frame(["label"])["label"], "array": array(Y), "name": "label"}[label]
    trained = DaskClassifier(SCW1()).fit(x, y)
    assert_same(trained, SCW1(), parts(FRAME[NAMES], Y if label == "array" else LABELS))
    local = trained.local()
    assert local.feature_names_in_.tolist() == NAMES
    labels, probabilities = trained.predict(x), trained.predict_proba(x)
    assert labels.compute().tolist() == local.predict(FRAME[NAMES]).tolist()
    assert probabilities.columns.tolist() == ["no", "perhaps", "yes"]
    np.testing.assert_array_equal(probabilities.compute().to_numpy(), local.predict_proba(FRAME[NAMES]))
    assert labels.compute().index.tolist() == FRAME.index.tolist()


def test_a_data_frame_of_any_columns():
    model = StreamClassifier("scw1")
    trained = DaskClassifier(model, rounds=2).fit(frame([*NAMES, "city", "label", "w"]), "label", sample_weight="w")
    assert_same(trained, model, parts(FRAME[[*NAMES, "city"]], LABELS, W), 2)
    assert model.counts.seen == 0
    assert trained.local().n_features == len(NAMES) + 2
    x = frame([*NAMES, "city", "label", "w"])
    assert trained.predict(x).compute().tolist() == trained.local().predict_many(FRAME[[*NAMES, "city"]])


@pytest.mark.parametrize("label", ["bag", "name"])
def test_a_bag_of_records(label):
    plain = [{key: value for key, value in record.items() if key != "label"} for record in RECORDS]
    x, y = (bag(RECORDS), "label") if label == "name" else (bag(plain), bag(Y.tolist()))
    trained = DaskClassifier(StreamClassifier("arow")).fit(x, y)
    assert_same(trained, StreamClassifier("arow"), parts(plain))
    local = trained.local()
    assert trained.predict(x).compute() == local.predict_many(plain)
    probabilities = trained.predict_proba(x).compute()
    assert list(probabilities[0]) == local.classes
    assert [list(each.values()) for each in probabilities] == local.predict_proba_many(plain).tolist()


@pytest.mark.parametrize("weighted", [False, True])
def test_delayed_parts(weighted):
    tuples = [part if weighted else part[:2] for part in parts(X, w=W)]
    trained = DaskClassifier(SCW1()).fit([dask.delayed(part, traverse=False) for part in tuples])
    assert_same(trained, SCW1(), parts(X, w=W if weighted else None))
    found = dask.compute(*trained.predict([dask.delayed(part) for part in cut(X)]))
    assert np.concatenate(found).tolist() == trained.local().predict(X).tolist()


def test_futures_are_delayed_parts(client):
    futures = [client.submit(tuple, part[:2], pure=False) for part in parts(X)]
    assert_same(DaskClassifier(SCW1(), rounds=2).fit(futures), SCW1(), parts(X), 2)


def test_one_partition_is_one_stream():
    trained = DaskClassifier(SCW1()).fit(da.from_array(X, chunks=-1), da.from_array(Y, chunks=-1))
    local, one = trained.local()._classifier, SCW1().partial_fit(X, Y)._classifier
    assert local.weights().tobytes() == one.weights().tobytes()
    assert local.variances().tobytes() == one.variances().tobytes()


def test_predictions_of_an_array_are_lazy_and_know_their_shape():
    trained = DaskClassifier(SCW1()).fit(array(X), array(Y))
    labels, probabilities = trained.predict(array(X)), trained.predict_proba(array(X))
    assert (labels.chunks, labels.dtype) == ((SIZES,), trained.classes_.dtype)
    assert (probabilities.chunks, probabilities.dtype) == ((SIZES, (3,)), np.float64)
    assert labels.compute().tolist() == trained.local().predict(X).tolist()
    np.testing.assert_array_equal(probabilities.compute(), trained.local().predict_proba(X))
    # No cluster is needed.
    with dask.config.set(scheduler="sync"):
        assert labels.compute().dtype == labels.dtype


def test_partial_fit_goes_on():
    model = DaskClassifier(SCW1(), rounds=2).partial_fit(array(X), array(Y))
    before = model.local()
    model.partial_fit(array(X), array(Y))
    assert_same(model, before, parts(X), 2)
    assert before.n_seen_ == len(X)
    assert model.local().n_seen_ == 2 * len(X)
    learned = DaskClassifier(before, rounds=2).partial_fit(array(X), array(Y))
    assert_same(learned, before, parts(X), 2)
    assert model.fit(array(X), array(Y)).local().n_seen_ == len(X)


def test_the_local_model_is_a_copy():
    trained = DaskClassifier(SCW1()).fit(array(X), array(Y))
    trained.local().partial_fit(X, Y)
    assert trained.local().n_seen_ == len(X)


def test_it_is_an_estimator_of_scikit_learn(client):
    model = DaskClassifier(SCW1(C=0.25), rounds=2, client=client)
    assert model.get_params()["model__C"] == 0.25
    other = clone(model).set_params(model__C=2.0, rounds=3)
    assert (other.model.C, other.rounds, other.client, model.model.C) == (2.0, 3, client, 0.25)
    assert "SCW1(C=0.25)" in repr(model)
    stream = clone(DaskClassifier(StreamClassifier("arow")))
    assert stream.model.rule.name == "arow"
    trained = DaskClassifier(SCW1(), client=client).fit(array(X), array(Y))
    restored = pickle.loads(pickle.dumps(trained))
    assert restored.client is None
    assert restored.predict(array(X)).compute().tolist() == trained.predict(array(X)).compute().tolist()
    assert not hasattr(clone(trained), "classes_")


def learned_stream():
    model = StreamClassifier("arow")
    model.learn_one({"a": 1}, "b")
    return model


@pytest.mark.parametrize(
    ("model", "x", "y", "error", "message"),
    [
        (SCW1(), array(X), array(Y).rechunk({0: -1}), ValueError, "X has 4 partitions, but y has 1; rechunk"),
        (SCW1(), array(X), array(Y).rechunk({0: (150, 250, 0, 200)}), ValueError, "partitions of X and y differ: "),
        (SCW1(), array(X), Y, TypeError, "y must be a Dask collection with the partitions of X, got ndarray"),
        (SCW1(), frame(NAMES), FRAME["label"], TypeError, "y must be a Dask collection .* got Series"),
        (SCW1(), array(X), None, TypeError, "y is missing"),
        (SCW1(), X, array(Y), TypeError, "X must be a Dask DataFrame, array or bag, .* got ndarray"),
        (SCW1(), array(X), array(X), ValueError, "y must have one dimension, got 2"),
        (SCW1(), frame([*NAMES, "city"]), array(Y), TypeError, "columns of X are not numeric: 'city'; drop or encode"),
        (SCW1(), frame(NAMES), "target", ValueError, "y is 'target', but X has no such column; it has 'x0'"),
        (SCW1(), bag(RECORDS), "label", TypeError, "X is a Dask bag, but an estimator takes numbers"),
        (StreamClassifier(), array(X), array(Y), TypeError, "a StreamClassifier takes records"),
        (StreamClassifier(), bag(RECORDS), "target", UnreadablePart, "partition 1: a record has no 'target'"),
        (
            SCW1(),
            frame(NAMES).to_dask_array(),
            array(Y).rechunk({0: (249, 151, 0, 200)}),
            UnreadablePart,
            "250 rows but",
        ),
        (SCW1(), array(X[:, :0]), array(Y), UnreadablePart, r"warm-up \(rows \[0:.*\] of the partition\)"),
        (SCW1(), array(X), array(np.full(len(Y), "no")), ValueError, r"y holds 1 class\(es\)"),
        (SCW1(), array(X)[:0].rechunk({0: 1}), array(Y)[:0], ValueError, "X has no examples"),
        (SCW1(n_epochs=2), array(X), array(Y), ValueError, "n_epochs is 2, but fit makes one pass"),
        (KernelSCW1(), array(X), array(Y), TypeError, "without a kernel"),
        ("scw1", array(X), array(Y), TypeError, "model must be an estimator"),
        (learned_stream(), bag(RECORDS), "label", ValueError, "has learned from 1 examples; continue with partial_fit"),
        (SCW1(), [dask.delayed(1), dask.delayed(2)], None, UnreadablePart, r"partition \d must be a tuple"),
        (SCW1(), [dask.delayed((X, Y), traverse=False)], array(Y), TypeError, "y must not be given as well"),
    ],
)
def test_what_cannot_be_learned_is_a_clear_error(model, x, y, error, message):
    trained = DaskClassifier(model, rounds=2)
    with pytest.raises(error, match=message):
        trained.fit(x, y)
    assert not hasattr(trained, "model_")
    with pytest.raises(NotFittedError, match="call fit or partial_fit first"):
        trained.predict(array(X))
