"""A grid of learners equals separate learners bit for bit, for every kind of row, thread count and instruction set."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from scwlearn import Learner, _native
from scwlearn.learning import grid as many
from scwlearn.learning.grid import count_grid, learn_grid, learn_together
from scwlearn.learning.tuning import grid, tune
from scwlearn.model.covariances import COVARIANCE_NAMES
from scwlearn.model.gaussian import GROWTH
from scwlearn.rules import all_rules
from scwlearn.rules.native import check_rule, native_rule

pytestmark = pytest.mark.native

ROWS, FEATURES = 200, 21


def csr(x, values, indices):
    matrix = sparse.csr_matrix(x, dtype=values)
    matrix.indices, matrix.indptr = matrix.indices.astype(indices), matrix.indptr.astype(indices)
    return matrix


ROW_KINDS = {
    "float64": lambda x: x.astype(np.float64),
    "float32": lambda x: x.astype(np.float32),
    "Fortran order": lambda x: np.asfortranarray(x, dtype=np.float64),
    "csr, int32": lambda x: csr(x, np.float64, np.int32),
    "csr, int64": lambda x: csr(x, np.float64, np.int64),
    "csr, float32, int32": lambda x: csr(x, np.float32, np.int32),
    "csr, float32, int64": lambda x: csr(x, np.float32, np.int64),
}


def examples(rows=ROWS, features=FEATURES, seed=3):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * rng.uniform(0.3, 2, features) * (rng.random((rows, features)) < 0.5)
    y = np.where(x @ rng.normal(size=features) + 0.3 * rng.normal(size=rows) >= 0, 1, -1)
    y[rng.random(rows) < 0.1] *= -1
    return x, y


def cells_of(rule, count=7):
    """Cells all over the grid; one that repeats where there are too few."""
    cells = grid(rule)
    return [cells[i * len(cells) // count] for i in range(count)]


def state(learner):
    gaussian = learner.model
    arrays = () if gaussian is None else (gaussian.memory, gaussian.scalars)
    return learner.counts, *(a.tobytes() for a in arrays)


def separately(learners, x, y, **how):
    """Return learners that have learned separately, and their counts."""
    copies = [copy.copy(learner) for learner in learners]
    return [state(c) for c in copies], [c.learn(x, y, **how) for c in copies], [state(c) for c in copies]


def assert_as_separate(learners, x, y, n_jobs=-1, **how):
    before, counts, after = separately(learners, x, y, **how)
    assert [state(learner) for learner in learners] == before
    assert learn_together(learners, x, y, n_jobs=n_jobs, **how) == counts
    assert [state(learner) for learner in learners] == after


every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
every_covariance = pytest.mark.parametrize("covariance", COVARIANCE_NAMES)


@every_rule
@every_covariance
@pytest.mark.parametrize("kind", ROW_KINDS)
def test_a_grid_equals_separate_learners(rule, covariance, kind):
    x, y = examples()
    rows = ROW_KINDS[kind](x)
    intercept = [*ROW_KINDS].index(kind) % 2 == 1
    how = {"covariance": covariance, "intercept": intercept, "initial_variance": 0.3 if intercept else 1.0}
    cells = cells_of(rule)
    alone = [Learner(rule, **how, **cell) for cell in cells]
    for learner in alone:
        learner.learn(rows, y)
    learners = learn_grid(rule, cells, rows, y, **how)
    assert list(map(state, learners)) == list(map(state, alone))
    assert [learner.parameters for learner in learners] == [learner.parameters for learner in alone]
    assert count_grid(rule, cells, rows, y, **how) == [learner.counts for learner in alone]


@pytest.mark.parametrize("covariance", COVARIANCE_NAMES)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_every_instruction_set_and_thread_count_gives_the_same_bits(instruction_set, covariance, make):
    x, y = examples()
    cells = cells_of("scw1", 45)
    for jobs in (1, 2, 3):
        assert_as_separate([Learner("scw1", covariance=covariance, **cell) for cell in cells], make(x), y, n_jobs=jobs)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 81])
def test_any_number_of_learners(instruction_set, count):
    x, y = examples()
    assert_as_separate([Learner("scw2", covariance="diagonal", **cell) for cell in cells_of("scw2", count)], x, y)


def test_no_learners_and_no_rows():
    x, y = examples()
    assert learn_together([], x, y) == []
    assert learn_grid("scw1", [], x, y) == []
    for covariance in COVARIANCE_NAMES:
        assert_as_separate([Learner(covariance=covariance, C=C) for C in (0.5, 1.0, 2.0, 4.0)], x[:0], y[:0])


def test_rows_without_features():
    y = np.array([1, -1, 1])
    for intercept in (False, True):
        learners = [Learner("arow", covariance="diagonal", intercept=intercept, r=r) for r in (0.5, 1.0, 2.0)]
        assert_as_separate(learners, np.empty((3, 0)), y)


def mixed():
    """Learners of every rule and covariance, some with an intercept, some with another prior."""
    return [
        Learner(rule, covariance=covariance, intercept=bool(i % 3 == 0), initial_variance=1.0 + i % 2)
        for i, rule in enumerate(all_rules())
        for covariance in COVARIANCE_NAMES
    ]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_learners_of_all_kinds_may_learn_together_and_continue(make):
    learners = mixed()
    for part in range(3):
        x, y = examples(seed=part)
        assert_as_separate(learners, make(x), y)


def test_models_in_read_only_memory_learn_in_new_memory():
    x, y = examples()
    learners = learn_grid("scw1", cells_of("scw1"), x, y, covariance="diagonal")
    for learner in learners:
        for array in (learner.model.memory, learner.model.scalars, learner.model.known, learner._tally):
            array.setflags(write=False)
    assert_as_separate(learners, x, y)


def test_an_order_is_followed():
    x, y = examples()
    order = np.random.default_rng(0).permutation(ROWS)
    assert_as_separate(mixed(), x, y, order=order)
    assert_as_separate(mixed(), sparse.csr_array(x), y, order=order)


def test_scales_are_applied_as_in_separate_runs():
    # With b near 1 each mistake multiplies the unseen directions by up to 100, so that a scale soon leaves its range.
    x, y = examples(2000)
    cells = [{"b": b, "c": c} for b in (0.5, 0.999, 0.9999) for c in (0.5, 0.99)]
    for covariance in ("diagonal", "diagonal-drop"):
        learners = [Learner("iellip", covariance=covariance, **cell) for cell in cells]
        assert_as_separate(learners, x, y)
        assert max(learner.model.scalars[0, GROWTH] for learner in learners) > 1e50


@pytest.mark.parametrize("scale", [1e-140, 1e-20, 1e20, 1e140])
def test_values_near_the_limits(scale):
    x, y = examples()
    for covariance in ("identity", "diagonal", "diagonal-drop"):
        for rule in ("cw", "arow", "pa", "nherd"):
            assert_as_separate([Learner(rule, covariance=covariance, **c) for c in cells_of(rule)], scale * x, y)


def test_small_groups_and_short_blocks_change_nothing(monkeypatch):
    x, y = examples()
    monkeypatch.setattr(many, "WORK_OF_A_BLOCK", 20000.0)
    for at_once in (8 * 2 * FEATURES, 5 * 8 * 2 * FEATURES):
        monkeypatch.setattr(many, "_BYTES_AT_ONCE", at_once)
        for covariance in ("identity", "diagonal"):
            learners = [Learner(covariance=covariance, **cell) for cell in cells_of("scw1", 14)]
            assert_as_separate(learners, x, y, n_jobs=2)


def test_progress_counts_each_row_once_per_learner(monkeypatch):
    monkeypatch.setattr(many, "WORK_OF_A_BLOCK", 20000.0)
    x, y = examples()
    learners, reports = mixed(), []
    learn_together(learners, x, y, progress=lambda done, total: reports.append((done, total)))
    assert len(reports) > 5
    assert {total for _, total in reports} == {len(learners) * ROWS}
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    assert reports[-1][0] == len(learners) * ROWS


def my_arow(m, v):
    beta = 1 / (v + 2.0)
    return (max(0.0, 1 - m) * beta, beta) if m < 1 else (0.0, 0.0)


def test_functions_may_join_a_grid():
    x, y = examples()
    learners = [Learner(my_arow), Learner("arow"), Learner(my_arow, covariance="diagonal", intercept=True)]
    assert_as_separate(learners, x, y)
    assert_as_separate(learners, x, y)
    assert learn_grid(my_arow, [{}], x, y)[0].counts == Learner(my_arow).learn(x, y)
    assert count_grid(my_arow, [{}], x, y) == [Learner(my_arow).learn(x, y)]


# Errors change nothing


class Stop(Exception):
    pass


def stop(done, total):
    if done > total // 2:
        raise Stop


def failing(m, v):
    raise Stop


@pytest.mark.parametrize("taught", [False, True], ids=["new", "taught"])
def test_an_error_leaves_every_learner_as_it_was(taught, monkeypatch):
    monkeypatch.setattr(many, "WORK_OF_A_BLOCK", 20000.0)
    x, y = examples()
    learners = mixed()
    if taught:
        learn_together(learners, x, y)
    before = [state(learner) for learner in learners]
    bad = x.copy()
    bad[-1, 2] = np.nan
    with pytest.raises(ValueError, match=rf"X\[{ROWS - 1}, 2\] = nan"):
        learn_together(learners, bad, y)
    with pytest.raises(ValueError, match="one per row of X"):
        learn_together(learners, x, y[1:])
    with pytest.raises(ValueError, match=r"-1 or \+1"):
        learn_together(learners, x, 2 * y)
    with pytest.raises(ValueError, match="order must"):
        learn_together(learners, x, y, order=[0])
    with pytest.raises(Stop):
        learn_together(learners, x, y, progress=stop)
    with pytest.raises(Stop):
        learn_together([*learners, Learner(failing)], x, y)
    with pytest.raises(ValueError, match="learned from 2"):
        learn_together([*learners, taught_on_two_features()], x, y)
    assert [state(learner) for learner in learners] == before


def taught_on_two_features():
    learner = Learner()
    learner.learn([[1.0, 2.0]], [1])
    return learner


def test_learners_that_share_their_memory_are_refused():
    x, y = examples()
    learner = Learner("arow")
    with pytest.raises(ValueError, match="each must have its own"):
        learn_together([learner, learner], x, y)
    learner.learn(x, y)
    with pytest.raises(ValueError, match="each must have its own"):
        learn_together([learner, learner._shallow_copy()], x, y)


def test_learners_from_dicts_are_refused():
    learner = Learner()
    learner.learn_one({"a": 1.0}, 1)
    with pytest.raises(ValueError, match="with names"):
        learn_together([learner], *examples())


def test_a_bad_cell_is_named():
    with pytest.raises(TypeError, match="scw1 has no parameter 'r'"):
        learn_grid("scw1", [{"r": 1.0}], *examples())
    with pytest.raises(ValueError, match="C must be"):
        learn_grid("scw1", [{"C": 1.0}, {"C": -1.0}], *examples())


def test_models_too_large_for_memory_are_refused_before_learning(monkeypatch):
    x, y = examples()
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 10_000)
    monkeypatch.setattr("scwlearn._util.memory._UNCHECKED_BYTES", 0)
    with pytest.raises(ValueError, match=r"81 models with 21 features .* GiB .*; let fewer learn at a time"):
        learn_grid("scw1", grid("scw1"), x, y, covariance="diagonal")
    assert len(count_grid("scw1", grid("scw1"), x, y, covariance="diagonal")) == 81


def test_learners_of_a_grid_are_independent():
    x, y = examples()
    learners = learn_grid("pa1", [{"C": C} for C in (0.1, 0.2, 0.4)], x, y)
    first, second = pickle.loads(pickle.dumps(learners[0])), state(learners[1])
    learners[0].learn(x, y)
    learners[0].learn_one(x[0], 1)
    first.learn(x, y)
    first.learn_one(x[0], 1)
    assert state(learners[0]) == state(first)
    assert state(learners[1]) == second


@every_rule
@pytest.mark.parametrize("covariance", ["identity", "diagonal"])
def test_tuning_equals_separate_runs(rule, covariance):
    x, y = examples(400)
    # As `tune` does, with the average of the weights where it is the default.
    how = {"covariance": covariance, "average": None}
    made = [(Learner(rule, **how, **cell).learn(x, y).mistakes, cell) for cell in grid(rule)]
    fewest = min(mistakes for mistakes, _ in made)
    best = tune(rule, x, y, covariance=covariance, intercept=False)
    assert best in [cell for mistakes, cell in made if mistakes == fewest]


def test_tuning_follows_an_order():
    x, y = examples(400)
    order = np.random.default_rng(1).permutation(400)
    assert tune("scw1", x, y, order=order) == tune("scw1", x[order], y[order])


# The native calls check their arguments


def new_together(rules, models, intercept=False, threads=1):
    return _native.ModelBatches(rules, models, intercept, threads)


def natives(count, size=3, covariance="diagonal"):
    learners = [Learner("arow", covariance=covariance) for _ in range(count)]
    rules = [native_rule(learner.rule, learner.parameters) for learner in learners]
    models = [
        learner._prior(learner.covariance_for(size), size, 1).native(np.zeros(3, dtype=np.int64))
        for learner in learners
    ]
    return rules, models


def test_native_calls_refuse_what_does_not_fit():
    rules, models = natives(2)
    labels, x = np.ones(2, dtype=np.int8), np.ones((2, 3))
    other = natives(1, size=4)[1]
    for bad in ((rules[:1], models), ([], []), (rules, models[:1] + other), natives(1, covariance="full")):
        with pytest.raises(ValueError, match=r"rule|kind|full"):
            new_together(*bad)
    with pytest.raises(ValueError, match="thread"):
        new_together(rules, models, threads=0)
    romma = [native_rule(*check_rule("romma", {}))]
    with pytest.raises(ValueError, match="norm"):
        new_together(romma, models[:1])
    own = [native_rule(my_arow, {})]
    with pytest.raises(ValueError, match="compiled"):
        new_together(own, models[:1])
    with pytest.raises(ValueError, match="compiled"):
        _native.learn_each(own, models[:1], x, None, None, 3, False, labels, 1, 1, 1)
    with pytest.raises(ValueError, match="number of features"):
        new_together(rules, models, intercept=True).learn(x, None, None, 3, labels)
    with pytest.raises(ValueError, match="label"):
        new_together(rules, models).learn(x, None, None, 3, labels[:1])
    with pytest.raises(ValueError, match="started with"):
        new_together(rules, models).write(natives(2, size=4)[1])
    with pytest.raises(ValueError, match="thread"):
        _native.learn_each(rules, models, x, None, None, 3, False, labels, 1, 0, 1)
    with pytest.raises(ValueError, match="block"):
        _native.learn_each(rules, models, x, None, None, 3, False, labels, 0, 1, 1)


def test_indices_changed_after_the_check_are_skipped():
    rules, models = natives(5)
    together = new_together(rules, models)
    values, labels = np.ones(7), np.array([1, -1], dtype=np.int8)
    for dtype in (np.int32, np.int64):
        indices = np.array([0, 1, 2, -1, 3, 10**6, 1], dtype=dtype)
        together.learn(values, indices, np.array([0, 99, -5], dtype=dtype), 3, labels)
        # More values in a row than features.
        together.learn(values, np.zeros(7, dtype=dtype), np.array([0, 7, 7], dtype=dtype), 3, labels)
