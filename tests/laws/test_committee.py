"""A committee keeps the promises of every classifier, in every interface."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score

import scwlearn
from scwlearn import AutoClassifier, StreamClassifier, merge

pytestmark = pytest.mark.native

CLASSES = pytest.mark.parametrize("classes", [2, 4])


def draw(seed, classes, rows=240, features=8, density=0.7):
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, features)) * 10.0 ** random.integers(-2, 3, features)
    x[random.random(x.shape) > density] = 0
    weights = random.standard_normal((features, classes)) / (np.abs(x).mean(axis=0)[:, np.newaxis] + 1e-9)
    y = (x @ weights + random.standard_normal((rows, classes))).argmax(axis=1)
    return x, y


def dicts(x):
    return [{f"f{i}": float(value) for i, value in enumerate(row) if value} for row in x]


def same(model, other, x):
    np.testing.assert_array_equal(model.predict_proba(x), other.predict_proba(x))
    np.testing.assert_array_equal(model.decision_function(x), other.decision_function(x))


@CLASSES
def test_parts_of_the_rows_equal_all_rows(classes):
    x, y = draw(0, classes)
    whole, parts = (AutoClassifier(covariance="diagonal") for _ in range(2))
    whole.partial_fit(x, y, classes=np.arange(classes))
    for start in range(0, len(y), 7):
        parts.partial_fit(x[start : start + 7], y[start : start + 7], classes=np.arange(classes))
    same(whole, parts, x)
    assert (whole.n_seen_, whole.n_mistakes_) == (parts.n_seen_, parts.n_mistakes_)


@CLASSES
def test_sparse_rows_equal_dense_ones(classes):
    x, y = draw(1, classes)
    one, other = AutoClassifier(shuffle=False).fit(x, y), AutoClassifier(shuffle=False).fit(sparse.csr_array(x), y)
    np.testing.assert_allclose(one.predict_proba(x), other.predict_proba(sparse.csr_array(x)), rtol=1e-9)


@CLASSES
def test_dicts_one_by_one_equal_many(classes):
    x, y = draw(2, classes)
    one, many = StreamClassifier("auto"), StreamClassifier("auto")
    for row, label in zip(dicts(x), y.tolist(), strict=True):
        expected = one.predict_one(row)
        assert expected == one.predict_many([row])[0]
        one.learn_one(row, label)
    many.learn_many(dicts(x), y)
    np.testing.assert_array_equal(one.predict_proba_many(dicts(x)), many.predict_proba_many(dicts(x)))
    assert one.counts == many.counts
    assert [[*one.predict_proba_one(row).values()] for row in dicts(x)] == many.predict_proba_many(dicts(x)).tolist()


@CLASSES
def test_a_saved_committee_continues_exactly(classes, tmp_path):
    x, y = draw(3, classes)
    model = AutoClassifier(shuffle=False).fit(x[:150], y[:150])
    model.save(tmp_path / "m")
    again, pickled = scwlearn.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))
    for each in (model, again, pickled):
        each.partial_fit(x[150:], y[150:])
    same(model, again, x)
    same(model, pickled, x)


def test_a_saved_stream_of_dicts_continues_exactly(tmp_path):
    x, y = draw(4, 3)
    for settings in ({}, {"max_features": 5, "overflow": "hash"}, {"class_weight": "balanced"}):
        model = StreamClassifier("auto", **settings)
        model.learn_many(dicts(x[:150]), y[:150])
        model.save(tmp_path / "m")
        again = scwlearn.load(tmp_path / "m")
        for each in (model, again):
            each.learn_many(dicts(x[150:]), y[150:])
        np.testing.assert_array_equal(model.predict_proba_many(dicts(x)), again.predict_proba_many(dicts(x)))


def test_new_classes_may_come_at_any_time():
    x, y = draw(5, 5)
    y[:60] %= 2
    y[60:120] %= 4
    model = StreamClassifier("auto")
    for row, label in zip(dicts(x), y.tolist(), strict=True):
        model.learn_one(row, label)
    together = StreamClassifier("auto")
    together.learn_many(dicts(x), y)
    assert model.classes == together.classes == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(model.predict_proba_many(dicts(x)), together.predict_proba_many(dicts(x)))


@CLASSES
def test_a_weight_of_0_leaves_a_row_out(classes):
    x, y = draw(6, classes)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    kept = weights > 0
    model = AutoClassifier().partial_fit(x, y, classes=np.arange(classes), sample_weight=weights)
    other = AutoClassifier().partial_fit(x[kept], y[kept], classes=np.arange(classes), sample_weight=weights[kept])
    same(model, other, x)
    assert model.n_seen_ == np.count_nonzero(kept)


def test_class_weights_do_not_change_what_the_mixture_counts():
    x, y = draw(7, 2)
    model = AutoClassifier(class_weight={0: 5.0}, shuffle=False).fit(x, y)
    plain = AutoClassifier(class_weight={0: 1.0}, shuffle=False).fit(x, y)
    streams = [StreamClassifier("auto", class_weight={0: weight}) for weight in (5.0, 1.0)]
    for row, label in zip(dicts(x), y.tolist(), strict=True):
        for stream in streams:
            stream.learn_one(row, label)
    for one, other in ((model, plain), streams):
        learners = one._classifier.learner, other._classifier.learner
        for weighted, own in zip(*(learner.mixture.calibrations for learner in learners), strict=True):
            # Rows, the sum of their weights, and that of their fading weights.
            np.testing.assert_array_equal(weighted.state[[1, 3, 5]], own.state[[1, 3, 5]])
        for weighted, own in zip(*(learner.model.gaussians for learner in learners), strict=True):
            assert not np.array_equal(weighted.weights(), own.weights())
    assert (model.predict(x) == 0).sum() >= (plain.predict(x) == 0).sum()


FULL_MEMBER = ["arow", {"rule": "scw1", "covariance": "full"}]


@pytest.mark.parametrize(
    "settings", [{}, {"max_features": 9, "overflow": "hash"}, {"members": FULL_MEMBER, "covariance": "diagonal"}]
)
@pytest.mark.parametrize("in_turn", [False, True])
def test_tables_equal_dicts(in_turn, settings):
    random = np.random.default_rng(14)
    x = random.standard_normal((80, 40))
    x[random.random(x.shape) < 0.95] = 0
    # Names come late, since most values are 0; classes as well, if the rows are sorted by them.
    y = random.integers(0, 5, len(x))
    y = np.sort(y) if in_turn else y
    table = pd.DataFrame(x, columns=[f"f{i}" for i in range(x.shape[1])])
    one = StreamClassifier("auto", **settings)
    one.learn_many(dicts(x), y)
    for given in (table, pa.Table.from_pandas(table)):
        other = StreamClassifier("auto", **settings)
        other.learn_many(given, y)
        assert other.counts == one.counts
        np.testing.assert_array_equal(other.predict_proba_many(dicts(x)), one.predict_proba_many(dicts(x)))
        np.testing.assert_array_equal(other.predict_proba_many(given), one.predict_proba_many(dicts(x)))


@CLASSES
def test_merging_is_close_to_one_stream(classes):
    x, y = draw(8, classes, rows=900)
    parts = [AutoClassifier().partial_fit(x[i : i + 300], y[i : i + 300]) for i in (0, 300)]
    merged, whole = merge(parts), AutoClassifier().partial_fit(x[:600], y[:600])
    assert merged.n_seen_ == 600
    np.testing.assert_array_equal(merged.predict_proba(x), merge(parts).predict_proba(x))
    assert merged.score(x[600:], y[600:]) > whole.score(x[600:], y[600:]) - 0.06
    merged.partial_fit(x[600:], y[600:])


def test_merging_with_a_prior_counts_it_once():
    x, y = draw(9, 3, rows=600)
    base = AutoClassifier().partial_fit(x[:200], y[:200])
    parts = [copy(base).partial_fit(x[i : i + 200], y[i : i + 200]) for i in (200, 400)]
    assert merge(parts, prior=base).n_seen_ == 600
    same(merge([base, base], prior=base), base, x)


def test_merging_matches_classes_by_label():
    x, y = draw(10, 4, rows=600)
    first, second = y < 2, y >= 1
    parts = [AutoClassifier().partial_fit(x[rows], y[rows]) for rows in (first, second)]
    assert merge(parts).classes_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([[np.nan] * 8], [0], "finite"),
        ([[1e200] * 8], [1], "at most 1e"),
        ([[1.0] * 7], [1], "7 features"),
        ([[1.0] * 8], [0, 1], "inconsistent numbers of samples"),
    ],
)
def test_bad_rows_leave_it_as_it_was(x, y, message):
    given, labels = draw(11, 2)
    model = AutoClassifier(shuffle=False).fit(given, labels)
    before = copy(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(x, y)
    same(model, before, given)
    assert model.n_seen_ == before.n_seen_


def test_bad_dicts_leave_it_as_it_was():
    x, y = draw(12, 3)
    model = StreamClassifier("auto")
    model.learn_many(dicts(x), y)
    before = model.predict_proba_many(dicts(x))
    for examples, labels in (([{"f0": 1.0}, {"f1": float("nan")}], [0, 1]), ([{1: 2.0}], [0])):
        with pytest.raises((TypeError, ValueError)):
            model.learn_many(examples, labels)
        np.testing.assert_array_equal(model.predict_proba_many(dicts(x)), before)


def test_iris_as_it_comes():
    assert cross_val_score(AutoClassifier(random_state=0), *load_iris(return_X_y=True)).mean() > 0.93


@CLASSES
def test_explanations_add_up_to_the_score(classes):
    x, y = draw(13, classes)
    model = AutoClassifier(shuffle=False).fit(x, y)
    stream = StreamClassifier("auto")
    stream.learn_many(dicts(x), y)
    for i in (3, 50):
        scores = np.atleast_1d(model.decision_function(x[i : i + 1])[0])
        for parts, score in zip(model.explain(x[i]).values(), scores, strict=True):
            assert sum(part.adds for part in parts) == pytest.approx(score, abs=1e-9)
            assert parts[-1].name == "(intercept)"
            assert all(part.value == x[i, part.name] for part in parts[:-1])
        explained = stream.explain(dicts(x)[i])
        by_label = dict(zip(stream.classes, stream.predict_proba_many(dicts(x)[i : i + 1])[0], strict=True))
        totals = {label: sum(part.adds for part in parts) for label, parts in explained.items()}
        if classes == 2:
            assert 1 / (1 + np.exp(-totals[1])) == pytest.approx(by_label[1])
        else:
            assert max(totals, key=totals.get) == max(by_label, key=by_label.get)


@CLASSES
def test_explanations_do_not_depend_on_the_names_of_features(classes):
    x, y = draw(14, classes, features=4)
    names = ["(intercept)", "a", "label", " "]
    frame, records = pd.DataFrame(x, columns=names), [dict(zip(names, row, strict=True)) for row in x.tolist()]
    model, named = AutoClassifier(shuffle=False).fit(x, y), AutoClassifier(shuffle=False).fit(frame, y)
    plain, stream = StreamClassifier("auto"), StreamClassifier("auto")
    plain.learn_many([dict(enumerate(row)) for row in x.tolist()], y)
    stream.learn_many(records, y)
    for i in (3, 50):
        found = [named.explain(frame.iloc[i : i + 1]), stream.explain(records[i])]
        for parts, numbered in zip(
            found, [model.explain(x[i]), plain.explain(dict(enumerate(x[i].tolist())))], strict=True
        ):
            for label, (*expected, intercept) in numbered.items():
                expected = [part._replace(name=names[part.name]) for part in expected]
                np.testing.assert_equal(parts[label], [*expected, intercept])


@CLASSES
def test_a_member_that_overflowed_explains_nothing(classes):
    random = np.random.default_rng(1)
    x = random.standard_normal((30, 8))
    x[random.random(x.shape) < 0.05] = 1e150
    model = StreamClassifier("auto")
    model.learn_many(dicts(x), np.arange(len(x)) % classes)
    learner = model._classifier.learner
    looks = [member.scores_and_variances_many(dicts(x)) for member in learner.members()]
    assert not all(np.isfinite(numbers).all() for look in looks for numbers in look)
    for row, score in zip(dicts(x), learner.score_many(dicts(x)), strict=True):
        totals = [sum(part.adds for part in parts) for parts in model.explain(row).values()]
        np.testing.assert_allclose(totals, np.atleast_1d(score), atol=1e-9)


@CLASSES
def test_explanations_before_a_curve_has_a_slope(classes):
    model = StreamClassifier("auto", members=["arow"], intercept=False)
    for label in range(classes):
        model.learn_one({f"f{label}": 1.0}, label)
    assert not any(model._classifier.learner.mixture.calibrations[0].slopes)
    explained = [*model.explain({"f0": 1.0, "f1": -1.0}).values()]
    assert all(abs(parts[0].adds) > 0.1 for parts in explained[:2])
    # The features make all the difference between classes.
    rest = [parts[-1].adds for parts in explained]
    np.testing.assert_allclose(rest, 0 if classes == 2 else rest[0], atol=1e-9)


def test_the_largest_weights_are_those_of_the_features_that_matter():
    random = np.random.default_rng(0)
    x = random.standard_normal((500, 6)) * 10.0 ** np.arange(-3, 3)
    y = (x[:, 1] / 1e-2 - 2 * x[:, 4] / 10 > 0).astype(int)
    top = AutoClassifier(shuffle=False).fit(x, y).top_features(2)[1]
    assert [(weight.name, weight.weight > 0) for weight in top] == [(4, False), (1, True)]


def test_member_weights_name_the_members():
    model = AutoClassifier(members=["arow", {"rule": "scw1", "C": 2.0}]).fit(*load_breast_cancer(return_X_y=True))
    assert [*model.member_weights_] == ["AROW", "SCW-I, C=2.0"]
    assert 0.5 < sum(model.member_weights_.values()) < 2.0


def test_member_weights_keep_members_with_equal_titles():
    members = ["arow", "arow", {"rule": "arow", "covariance": "diagonal"}, {"rule": "pa1"}, "arow"]
    model = AutoClassifier(members=members).fit(*load_iris(return_X_y=True))
    titles = ["AROW", "AROW (2)", "AROW, covariance=diagonal", "PA-I", "AROW (3)"]
    assert [*model.member_weights_] == titles
    np.testing.assert_array_equal([*model.member_weights_.values()], model._classifier.learner.mixture.weights)


def test_members_cannot_change_in_place():
    x, y = draw(15, 2)
    members = [{"rule": "scw1", "C": 1.0}, "arow"]
    model = AutoClassifier(members=members).fit(x, y)
    model.partial_fit(x, y)
    members[0]["C"] = 2.0
    with pytest.raises(ValueError, match=r"members cannot change from .*'C': 1.0.* to .*'C': 2.0.* once the model has"):
        model.partial_fit(x, y)


@pytest.mark.parametrize(
    ("members", "error", "message"),
    [
        ("arow", TypeError, "members must be a list of names of algorithms"),
        ([3], TypeError, "got the member 3"),
        ([], ValueError, "members must be from 1 to 16, got 0"),
        (["nothing"], ValueError, "unknown algorithm 'nothing'"),
        (["auto"], ValueError, "a committee cannot be a member of another"),
        ([{"rule": "arow", "multi_class": "ovr"}], ValueError, "multi_class is a setting of the whole committee"),
        ([{"rule": "arow", "C": 1.0}], TypeError, "members\\[0\\]: arow has no parameter 'C'"),
        ([{"rule": "scw1", "C": -1.0}], ValueError, "members\\[0\\]: C must be a number"),
    ],
)
def test_bad_members_are_refused(members, error, message):
    with pytest.raises(error, match=message):
        AutoClassifier(members=members).fit([[1.0], [2.0]], [0, 1])


def test_a_committee_cannot_drop_features():
    with pytest.raises(ValueError, match="a committee cannot drop features"):
        StreamClassifier("auto", max_features=10)


def test_a_learner_cannot_be_a_committee():
    with pytest.raises(ValueError, match="auto is a committee, not a rule"):
        scwlearn.Learner("auto")
