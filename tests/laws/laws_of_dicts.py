"""Laws of learning from dicts of named features; see laws.py."""

import numpy as np
import pytest
from scipy import sparse

from laws import binary_law
from learner_examples import everything, sigma
from scwlearn.data.batch import NamedRows
from scwlearn.data.rows import Rows


@binary_law
def named_features_equal_sparse_rows(new, x, y):
    named, rows = new(), new()
    known = []
    for row, label in zip(x, y, strict=True):
        present = np.flatnonzero(row)
        example = {f"feature {i}": row[i] for i in present[::-1]}
        expected = np.array([row[i] for i in known])
        if known:
            weights = named.shown_weights()[0]
            score = expected @ weights[: len(known)] + (weights[-1] if named.config.intercept else 0.0)
            assert named.score_one(example) == pytest.approx(score, rel=1e-9, abs=1e-9)
        known += [i for i in present[::-1] if i not in known]
        named.learn_one(example, label)
    assert list(named.names) == [f"feature {i}" for i in known]
    rows.learn(sparse.csr_array(x[:, known]), y)
    weights = named.model.weights()[0]
    kept = [*range(len(known)), *([len(weights) - 1] if named.config.intercept else [])]
    np.testing.assert_allclose(weights[kept], rows.model.weights()[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(sigma(named)[np.ix_(kept, kept)], sigma(rows), rtol=0, atol=1e-8)
    assert named.counts == rows.counts


def as_dicts(x, y):
    """Yield examples without zeros, with a word and a bag of words; new words keep appearing."""
    for i, (row, label) in enumerate(zip(x, y, strict=True)):
        words = [f"word {j}" for j in np.flatnonzero(row > 0)]
        numbers = {f"feature {j}": row[j] for j in np.flatnonzero(row)}
        yield {"place": f"{i // 5}"} | numbers | {"words": words + words[:1]}, label


def by_hand(example):
    """Return the example with words written as numbers."""
    numbers = {}
    for key, value in example.items():
        for word in [value] if isinstance(value, str) else value if isinstance(value, list) else ():
            numbers[f"{key}={word}"] = numbers.get(f"{key}={word}", 0) + 1
        if isinstance(value, float):
            numbers[key] = value
    return numbers


def one_by_one(learner, examples):
    scores = [learner.learn_one(example, label) for example, label in examples]
    return learner, scores


@binary_law
def words_equal_the_numbers_that_they_stand_for(new, x, y):
    said, scores = one_by_one(new(), as_dicts(x, y))
    spelled, others = one_by_one(new(), [(by_hand(example), label) for example, label in as_dicts(x, y)])
    assert scores == others
    assert everything(said) == everything(spelled)


@binary_law
def learn_many_equals_learn_one_in_turn(new, x, y):
    examples = [example for example, _ in as_dicts(x, y)]
    weights = np.resize([1.0, 0.5, 0.0, 2.0], len(y))
    for bound in ({}, {"max_features": 20}, {"max_features": 40, "overflow": "hash"}):
        each, at_once, in_parts = new(**bound), new(**bound), new(**bound)
        scores = [each.learn_one(*example) for example in zip(examples, y, weights, strict=True)]
        assert at_once.learn_many(examples, y, weights).tolist() == scores
        cut = len(y) // 3
        for part in (slice(0, cut), slice(cut, cut), slice(cut, None)):
            in_parts.learn_many(iter(examples[part]), y[part], weights[part])
        assert everything(at_once) == everything(in_parts) == everything(each)
        assert at_once.score_many(examples).tolist() == [each.score_one(example) for example in examples]
        assert everything(at_once) == everything(each)


@binary_law
def named_rows_give_dicts_their_names_however_they_are_cut(new, x, y):
    examples = [by_hand(example) for example, _ in as_dicts(x, y)]
    names = [*dict.fromkeys(name for example in examples for name in example)][::-1]
    columns = np.array([names.index(name) for example in examples for name in example], np.int32)
    values = np.array([value for example in examples for value in example.values()])
    offsets = np.append(0, np.cumsum([*map(len, examples)])).astype(np.int32)
    rows = NamedRows(Rows.from_csr(values, columns, offsets, len(names)), names)
    for bound in ({}, {"max_features": 3, "overflow": "hash"}, {"max_features": 40, "overflow": "hash"}):
        each, whole = new(**bound), new(**bound)
        for example in zip(examples, y, strict=True):
            each.learn_one(*example)
        whole.learn(rows, y)
        assert everything(whole)[1] == everything(each)[1]
        for size in (1, 2, 5, 11):
            in_parts = new(**bound)
            for start in range(0, len(y), size):
                in_parts.learn(rows.slice(start, start + size), y[start : start + size])
            assert everything(in_parts)[1] == everything(each)[1]


@binary_law
def a_bound_that_is_not_reached_changes_nothing(new, x, y):
    free, _ = one_by_one(new(), as_dicts(x, y))
    for bound in (len(free.names), len(free.names) + 100):
        bounded, _ = one_by_one(new(max_features=bound), as_dicts(x, y))
        assert bounded.names == free.names
        for of in (lambda learner: learner.model.weights()[0], sigma):
            kept = [*range(len(free.names)), *([-1] if free.config.intercept else [])]
            if free.model.covariance.name == "full":
                # A full covariance of another size sums in another order.
                np.testing.assert_allclose(of(bounded)[kept].T[kept], of(free)[kept].T[kept], rtol=0, atol=1e-8)
            else:
                assert np.array_equal(of(bounded)[kept].T[kept], of(free)[kept].T[kept])
