"""Batches of rows with named features equal the same dicts."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from helpers import several
from scwlearn import Learner, StreamClassifier
from scwlearn._native import Vocabulary
from scwlearn.data.batch import NamedRows
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows
from scwlearn.learning.lesson import ProgressiveScores

WORDS = [f"w{i}" for i in range(40)]


def examples(count: int, seed: int = 0) -> list[dict[str, float]]:
    random = np.random.default_rng(seed)
    return [
        {WORDS[j]: float(random.normal()) for j in random.choice(len(WORDS), random.integers(1, 8), replace=False)}
        for _ in range(count)
    ]


def named(dicts: list[dict[Any, float]]) -> NamedRows:
    """With the names of this batch, the last first."""
    names = sorted({name for x in dicts for name in x}, reverse=True)
    matrix = np.array([[x.get(name, 0.0) for name in names] for x in dicts]).reshape(len(dicts), len(names))
    return NamedRows(Rows(matrix), names)


def scores(learner: Any, dicts: list[dict[str, float]]) -> np.ndarray:
    return np.array([learner.score_one(x) for x in dicts])


@pytest.mark.native
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"scale": "rms"},
        {"scale": "standard"},
        {"scale": "unit"},
        {"max_features": 16, "overflow": "hash"},
        {"covariance": "full"},
    ],
)
@pytest.mark.parametrize("rule", ["scw1", "arow", "pa1"])
def test_named_rows_equal_the_same_dicts(rule: str, how: dict[str, Any]) -> None:
    if rule == "pa1" and "covariance" in how:
        pytest.skip("a first-order rule has no covariance")
    dicts, labels = examples(120), np.where(np.random.default_rng(1).random(120) < 0.5, -1, 1)
    by_dicts, by_rows = Learner(rule, intercept=True, **how), Learner(rule, intercept=True, **how)
    by_dicts.learn_many(dicts, labels)
    for start in range(0, 120, 30):
        by_rows.learn(named(dicts[start : start + 30]), labels[start : start + 30])
    assert by_rows.counts == by_dicts.counts
    if "overflow" not in how:  # which name has a slot depends on when it appeared
        assert set(by_rows.names or ()) == set(by_dicts.names or ())
    new = examples(50, seed=2)
    np.testing.assert_allclose(scores(by_rows, new), scores(by_dicts, new), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(by_rows.scores(named(new)), scores(by_rows, new), rtol=1e-12, atol=1e-15)


@pytest.mark.native
def test_named_rows_equal_dicts_with_several_classes() -> None:
    dicts, labels = examples(90), np.arange(90) % 3
    by_dicts, by_rows = Learner("arow", n_classes=3), Learner("arow", n_classes=3)
    by_dicts.learn_many(dicts, labels)
    by_rows.learn(named(dicts[:50]), labels[:50])
    by_rows.learn(named(dicts[50:]), labels[50:])
    assert by_rows.counts == by_dicts.counts
    new = examples(20, seed=3)
    np.testing.assert_allclose(by_rows.scores(named(new)), by_dicts.score_many(new), rtol=1e-9, atol=1e-12)


@pytest.mark.native
@pytest.mark.parametrize("how", [{}, {"max_features": 12, "overflow": "drop"}, {"class_weight": "balanced"}])
def test_an_observer_receives_the_scores_before_learning(how: dict[str, Any]) -> None:
    dicts, labels = examples(90), np.array(["a", "b", "a", "c", "b"] * 18)
    by_dicts, by_rows = StreamClassifier("scw1", **how), StreamClassifier("scw1", **how)
    observed: list[ProgressiveScores] = []
    by_dicts.learn_many(dicts, labels)
    for start in (0, 30, 60):
        part = slice(start, start + 30)
        by_rows._classifier.learn(named(dicts[part]), labels[part], observer=observed.append)
    assert by_rows.counts == by_dicts.counts
    np.testing.assert_allclose(by_rows.predict_proba_many(dicts), by_dicts.predict_proba_many(dicts), rtol=1e-8)
    assert sum(len(scored.numbers) for scored in observed) == 90
    # The first three have two classes, and so one score each.
    assert [scored.scores.ndim for scored in observed] == [1, 2, 2, 2]
    assert observed[0].snapshot.classes.values == ["a", "b"]
    wrong = sum(int((scored.snapshot.predict(scored.scores) != scored.numbers).sum()) for scored in observed)
    assert wrong == by_rows.counts.mistakes


@pytest.mark.native
def test_unknown_names_count_nothing() -> None:
    learner = Learner("arow")
    learner.learn(named([{"a": 1.0}, {"b": 1.0}]), [1, -1])
    one, other = learner.scores(named([{"a": 1.0}, {"a": 1.0, "never": 5.0}]))
    assert one == other
    assert learner.names is not None
    assert "never" not in learner.names


@pytest.mark.native
def test_invalid_rows_add_no_names() -> None:
    learner = Learner("arow")
    with pytest.raises(ValueError, match="labels must be -1 or"):
        learner.learn(named([{"a": 1.0}]), [7])
    assert learner.model is None
    assert learner.vocabulary is None
    learner.learn(named([{"a": 1.0}]), [1])
    before = learner.model
    with pytest.raises(ValueError, match="labels must be -1 or"):
        learner.learn(named([dict.fromkeys(WORDS, 1.0)]), [7])
    assert learner.model is before
    assert learner.names == {"a": 0}


@pytest.mark.native
def test_named_and_unnamed_rows_do_not_mix() -> None:
    learner = Learner("arow")
    learner.learn([[1.0, 2.0]], [1])
    for use in (lambda x: learner.learn(x, [1]), learner.scores):
        with pytest.raises(ValueError, match="has learned from features without names"):
            use(named([{"a": 1.0}]))
    by_name = Learner("arow")
    by_name.learn(named([{"a": 1.0}]), [1])
    with pytest.raises(ValueError, match="has learned from features with names"):
        by_name.learn([[1.0]], [1])
    with pytest.raises(TypeError, match="keys of mixed types: got the name 3, where all before are of type str"):
        by_name.learn(named([{3: 1.0}]), [1])


@pytest.mark.native
def test_dropped_features_are_learned_from_dicts() -> None:
    with pytest.raises(ValueError, match="needs dicts; use learn_many"):
        Learner("arow", max_features=3).learn(named([{"a": 1.0}]), [1])


def test_rows_with_names_as_dicts() -> None:
    dicts = examples(10)
    assert [*named(dicts).dicts()] == [dict(sorted(x.items(), reverse=True)) for x in dicts]
    assert [*named(dicts).slice(2, 5).dicts()] == [*named(dicts).dicts()][2:5]


@pytest.mark.native
def test_duplicate_names_are_one_feature() -> None:
    learner = Learner("arow")
    learner.learn(NamedRows(Rows(np.eye(3)), ["a", "a", "b"]), [1, 1, -1])
    expected = Learner("arow")
    expected.learn_many([{"a": 1.0}, {"a": 1.0}, {"b": 1.0}], [1, 1, -1])
    assert learner.names == expected.names == {"a": 0, "b": 1}
    assert scores(learner, [{"a": 1.0}, {"b": 1.0}]).tolist() == scores(expected, [{"a": 1.0}, {"b": 1.0}]).tolist()


def test_each_column_has_a_name() -> None:
    for names in (["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match=f"^names must have 2 names, one per column, got {len(names)}$"):
            NamedRows(Rows(np.eye(2)), names)


@pytest.mark.native
@pytest.mark.parametrize("how", [{}, {"max_features": 64, "overflow": "hash"}])
def test_zero_values_and_zero_weights_add_no_name(how: dict[str, Any]) -> None:
    dicts, weights = [{"a": 1.0}, {"b": 2.0, "zero": 0.0}, {"left out": 3.0, "a": 1.0}], [1.0, 2.0, 0.0]
    by_dicts, by_rows = Learner("arow", **how), Learner("arow", **how)
    by_dicts.learn_many(dicts, [1, -1, 1], weights)
    by_rows.learn(named(dicts), [1, -1, 1], weights=weights)
    assert set(by_rows.names or ()) == set(by_dicts.names or ()) == {"a", "b"}
    # Zeros may also be stored.
    stored = Rows.from_csr(np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2]), 2)
    by_rows.learn(NamedRows(stored, ["a", "zero"]), [1])
    assert set(by_rows.names or ()) == {"a", "b"}


@pytest.mark.native
def test_part_of_a_batch_adds_only_its_own_names() -> None:
    batch, learner = named([{"a": 1.0}, {"b": 1.0}, {"c": 1.0}]), Learner("arow")
    known = []
    for i in range(3):
        learner.learn(batch.slice(i, i + 1), [1])
        known.append([*(learner.names or ())])
    assert known == [["a"], ["a", "b"], ["a", "b", "c"]]


@pytest.mark.native
def test_a_third_class_does_not_count_names_twice() -> None:
    dicts, labels = examples(30), np.array(["a", "b", "a", "c", "b"] * 6)
    by_dicts, by_rows = (StreamClassifier("scw1", max_features=4096, overflow="hash") for _ in range(2))
    by_dicts.learn_many(dicts, labels)
    by_rows._classifier.learn(named(dicts), labels)
    votes = [model._classifier.learner.vocabulary.__getstate__()[4] for model in (by_rows, by_dicts)]
    assert votes[0] == votes[1]


@pytest.mark.native
def test_bounded_names_follow_the_order() -> None:
    dicts, labels, weights = examples(40), np.array(["a", "b", "c", "a"] * 10), np.arange(40) % 3 / 2
    order = np.random.default_rng(5).permutation(40)
    one, other = (StreamClassifier("arow", max_features=12) for _ in range(2))
    one._classifier.learn(named(dicts), labels, order=order, weights=weights)
    other.learn_many([dicts[i] for i in order], labels[order], weights[order])
    assert one.counts == other.counts
    np.testing.assert_allclose(one.predict_proba_many(dicts), other.predict_proba_many(dicts), rtol=1e-9)


@pytest.mark.native
@pytest.mark.parametrize(
    "how",
    [{}, {"intercept": True}, {"scale": "rms", "intercept": True}, {"scale": "standard", "intercept": True}],
    ids=str,
)
@pytest.mark.parametrize("make", [Learner, several])
def test_rows_are_scored_by_one_model_while_another_thread_learns_names(make: Any, how: dict[str, Any]) -> None:
    learner = make("arow", **how)
    learner.learn(named([{"a": 1.0}, {"b": 2.0}]), [1, -1] if make is Learner else [0, 1])

    class Meanwhile(NamedRows):
        def in_columns(self, *args: Any) -> Rows:
            rows = super().in_columns(*args)
            learner.learn(named([{f"n{learner.n_features}, {i}": 1.0 for i in range(50)}]), [1])
            return rows

    asked = named([{"a": 1.0, "b": 1.0}, {"b": 3.0}])
    for ask in (learner.scores, learner.margin_variances, lambda x: learner.scores_and_variances(x)[0]):
        before = ask(asked)
        assert ask(Meanwhile(asked.rows, asked.names)).tolist() == before.tolist()


@pytest.mark.native
def test_a_batch_meets_the_names_that_were_learned_meanwhile() -> None:
    batch = named([{"a": 1.0, "b": 1.0}, {"b": 2.0, "c": -1.0}])
    learner, other = Learner("arow"), Learner("arow")
    learner.learn(batch.slice(0, 1), [1])
    learner.scores(batch)
    learner.learn(named([{"c": 3.0}, {"b": 1.0}]), [1, -1])
    assert learner.scores(batch).tolist() == scores(learner, [*batch.dicts()]).tolist()
    learner.learn(batch, [1, -1])
    assert learner.names == {"b": 0, "a": 1, "c": 2}
    # Another vocabulary knows other features.
    other.learn(named([{"c": 1.0}]), [1])
    assert other.scores(batch).tolist() == scores(other, [*batch.dicts()]).tolist()


@pytest.mark.native
@pytest.mark.parametrize("size", [1, 5, 64, 65, 300])
def test_rows_are_sorted_by_feature_and_equal_features_added_in_order(size: int) -> None:
    random = np.random.default_rng(size)
    columns = np.concatenate([random.permutation(size) for _ in range(20)]).astype(np.int32)
    values, offsets = random.normal(size=20 * size), np.arange(0, 20 * size + 1, size, dtype=np.int32)
    rows = NamedRows(Rows.from_csr(values, columns, offsets, size), [f"n{i}" for i in range(size)])
    features, signs = random.integers(-1, size, size), random.choice([-1.0, 1.0], size)
    placed, indices, ends = rows.in_columns(features, signs, size // 2 + 1).compressed()
    for row in range(20):
        expected: dict[int, float] = {}
        for column, value in zip(columns[row * size : (row + 1) * size], values[row * size :], strict=False):
            if 0 <= features[column] <= size // 2:
                at = int(features[column])
                expected[at] = expected.get(at, 0.0) + signs[column] * value
        part = slice(ends[row], ends[row + 1])
        assert [*zip(indices[part].tolist(), placed[part].tolist(), strict=True)] == sorted(expected.items())


def vote(
    vocabulary: Vocabulary,
    names: list[Any],
    hashes: Any,
    columns: Any,
    offsets: Any,
    values: Any = None,
    order: Any = None,
) -> None:
    """Vote for the columns of rows, whose values are 1 if none are given."""
    numbers = np.ones(len(columns)) if values is None else np.array(values)
    ordered = None if order is None else np.array(order, np.int64)
    rows = numbers, np.array(columns, np.int32), np.array(offsets, np.int32)
    vocabulary.vote(names, np.array(hashes, np.uint32), *rows, ordered)


@pytest.mark.native
def test_names_vote_row_by_row_in_the_given_order() -> None:
    names = [*WORDS, None]
    hashes = [murmurhash3_32(name or "", positive=True) for name in names]
    random = np.random.default_rng(0)
    columns, offsets = random.integers(0, len(names), 200), [*range(0, 201, 10)]
    values, order = random.integers(0, 2, 200).astype(float), random.permutation(20)[:15]
    by_rows, by_dicts = Vocabulary(8, True), Learner("pa", max_features=8, overflow="hash")
    vote(by_rows, names, hashes, columns, offsets, values, order)
    for row in order.tolist():
        part = slice(10 * row, 10 * row + 10)
        for column, value in zip(columns[part].tolist(), values[part].tolist(), strict=True):
            if value and names[column] is not None:
                by_dicts.learn_one({names[column]: 1.0}, 1)
    assert by_dicts.vocabulary is not None
    assert by_rows.__getstate__() == by_dicts.vocabulary.__getstate__()
    hashed = by_rows.hashes(WORDS)
    assert hashed.tolist() == hashes[:-1]


@pytest.mark.native
def test_votes_that_do_not_fit_the_names_change_nothing() -> None:
    def refused(error: type[Exception], message: str, *votes: Any, hashed: bool = True, **more: Any) -> None:
        vocabulary = Vocabulary(8, hashed)
        with pytest.raises(error, match=re.escape(message)):
            vote(vocabulary, *votes, **more)
        assert not vocabulary.names
        assert vocabulary.key_type is None

    not_hashed, ab = "the names of this vocabulary are not hashed", (["a", "b"], [1, 2])
    refused(ValueError, not_hashed, ["a"], [1], [0], [0, 1], hashed=False)
    refused(ValueError, "hashes must have one number per name", ["a"], [], [0], [0, 1])
    refused(ValueError, "columns must be below the number of names", *ab, [0, 2], [0, 2])
    refused(ValueError, "columns must be below the number of names", *ab, [0, -1], [0, 2])
    refused(ValueError, "values and columns must have the same length", *ab, [0, 1], [0, 2], values=[1.0])
    refused(ValueError, "offsets must not exceed the number of values", *ab, [0, 1], [0, 3])
    refused(ValueError, "order must hold row numbers", *ab, [0, 1], [0, 2], order=[1])
    refused(TypeError, "keys of mixed types: got the name 2", ["a", 2], [1, 2], [0, 1], [0, 2])
    with pytest.raises(ValueError, match=not_hashed):
        Vocabulary(8).hashes(["a"])
    with pytest.raises(ValueError, match="the names of this vocabulary are hashed"):
        Vocabulary(8, True).add(["a"])


@pytest.mark.parametrize(("start", "stop"), [(0, 4), (1, 3), (3, 4)])
def test_readers_place_hashed_rows_as_a_model_does(start: int, stop: int) -> None:
    slots = 3  # few, so that names share one
    text = b"".join(b'{"label": %d, "a": %d, "b": "x%d", "c": 0.5}\n' % (i % 2, i, i) for i in range(4))
    _, batches = read_batches([io.BytesIO(text)], options=ReaderOptions(slots=slots), label="label")
    (batch,) = batches
    x = batch.slice(start, stop).x
    assert isinstance(x, NamedRows)
    assert isinstance(batch.x, NamedRows)
    assert x.in_slots is not None
    assert x.hashes is not None
    assert len(x.in_slots) == stop - start
    features, signs = Vocabulary(slots, True).slots(x.hashes)
    placed = NamedRows(x.rows, x.names, x.hashes).in_columns(features, signs, slots)
    assert x.in_columns(features, signs, slots) is x.in_slots
    assert np.array_equal(x.in_slots.dense(), placed.dense())
    assert batch.x.take(np.array([2])).in_slots is None
