"""Hostile input to learners: broken arrays, Ctrl-C, reentrant calls, wrong shapes; afterwards they are as before."""

import gc
import weakref

import numpy as np
import pytest
from scipy import sparse

from learner_examples import CLASS_AXES
from multi_class_examples import memory as state
from scwlearn import KernelLearner, Learner, _native
from scwlearn.learning import class_axis as module
from scwlearn.model.gaussian import ROUNDS
from scwlearn.rules import find_rule
from scwlearn.rules.native import native_rule

pytestmark = pytest.mark.native

FEATURES, CLASSES = 3000, 5

every_axis = pytest.mark.parametrize("axis", CLASS_AXES)


def hashed(axis, rows, seed):
    rng = np.random.default_rng(seed)
    x = sparse.random_array((rows, FEATURES), density=0.01, format="csr", rng=rng)
    x.sort_indices()
    return x, np.where(x @ rng.normal(size=FEATURES) >= 0, 1, -1) if axis == "binary" else np.arange(rows) % CLASSES


def begun(axis="joint", covariance="diagonal"):
    learner = Learner("arow", covariance=covariance, **CLASS_AXES[axis])
    learner.learn(*hashed(axis, CLASSES, 1))
    return learner


@pytest.mark.parametrize("as_rows", [sparse.csr_array, lambda x: x.toarray()], ids=["sparse", "dense"])
@pytest.mark.parametrize("covariance", ["diagonal", "identity"])
@every_axis
def test_a_bad_row_late_in_a_batch_changes_nothing(axis, covariance, as_rows, monkeypatch):
    # Rows are checked in several blocks.
    monkeypatch.setattr("scwlearn.data.rows._CACHED_BYTES", 2000)
    learner = begun(axis, covariance)
    x, y = hashed(axis, 60, 2)
    x.data[-1] = np.nan
    if axis != "binary":
        # A new class in an early block is forgotten, too.
        y[10] = CLASSES
    before = state(learner)
    with pytest.raises(ValueError, match="NaN"):
        learner.learn(as_rows(x), y)
    assert state(learner) == before


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.nextafter(1e150, np.inf), -1e200])
@pytest.mark.parametrize("width", [1, 7, 16, 100])
def test_a_value_out_of_range_is_found_wherever_it_is_in_a_dense_row(width, value):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(20, width)), np.resize([1, -1], 20)
    for column in range(width):
        learner = Learner("scw1", covariance="diagonal")
        learner.learn(x, y)
        before, broken = state(learner), x.copy()
        broken[17, column] = value
        with pytest.raises(ValueError, match=rf"X\[17, {column}\]"):
            learner.learn(broken, y)
        assert state(learner) == before


def test_rows_of_the_largest_values_are_learned_from():
    # The sum of their squares no longer shows that they are in range.
    x = np.full((4, 100), 1e150)
    assert Learner("scw1", covariance="diagonal").learn(x, [1, -1, 1, -1]).seen == 4


@every_axis
def test_unsorted_rows_late_in_a_batch_are_learned_once(axis, monkeypatch):
    monkeypatch.setattr("scwlearn.data.rows._CACHED_BYTES", 2000)
    x, y = hashed(axis, 60, 2)
    unsorted = x.copy()
    last = slice(unsorted.indptr[-2], unsorted.indptr[-1])
    unsorted.indices[last], unsorted.data[last] = unsorted.indices[last][::-1].copy(), unsorted.data[last][::-1].copy()
    learners = [begun(axis), begun(axis)]
    for learner, rows in zip(learners, (x, unsorted), strict=True):
        learner.learn(rows, y)
    assert state(learners[0]) == state(learners[1])
    tolerance = 1e-12 if axis == "binary" else 0
    np.testing.assert_allclose(learners[0].scores(unsorted.copy()), learners[0].scores(x), rtol=0, atol=tolerance)


@pytest.mark.parametrize("rows", [3, 60])
@every_axis
def test_ctrl_c_at_the_end_of_a_batch_comes_after_it(axis, rows, monkeypatch, ctrl_c):
    learner = begun(axis)

    def interrupted(*arguments, **out):
        is_learned = _native.learn_rows(*arguments, **out)
        ctrl_c()
        return is_learned

    monkeypatch.setattr(module, "learn_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(*hashed(axis, rows, 2))
    assert learner.counts.seen == learner.model.scalars[0, ROUNDS] == CLASSES + rows


@every_axis
@pytest.mark.parametrize("width", [2**40, 2**63 - 1])
def test_widths_too_large_for_memory_change_nothing(axis, width):
    learner = Learner("arow", covariance="full", **CLASS_AXES[axis])
    learner.learn([[1.0, 2.0]], [1 if axis == "binary" else 0])
    with pytest.raises(ValueError, match=rf'^covariance="full" with {width} weights .*needs .* GiB of memory'):
        learner.widen(width)
    assert learner.n_features == 2


@every_axis
def test_a_long_batch_is_learned_from_in_blocks(axis, monkeypatch):
    x, y = hashed(axis, 60, 2)
    plain, blocks = begun(axis), begun(axis)
    plain.learn(x, y)
    calls = []

    def counted(*arguments, **out):
        calls.append(1)
        return _native.learn_rows(*arguments, **out)

    monkeypatch.setattr("scwlearn.learning.in_blocks.WORK_OF_A_BLOCK", 500.0)
    monkeypatch.setattr(module, "learn_rows", counted)
    blocks.learn(x, y)
    assert len(calls) > 3
    assert state(blocks) == state(plain)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_a_rule_may_score_but_not_learn_while_it_runs(multi_class):
    x = np.random.default_rng(0).normal(size=(30, 4))
    y = np.arange(30) % 3
    learner = None
    refused = 0

    def reentrant(m, v):
        nonlocal refused
        if learner is not None:
            learner.score_one(x[0])
            try:
                learner.learn_one(x[1], 0)
            except RuntimeError:
                refused += 1
        return max(0.0, 1 - m) / (v + 1), 1 / (v + 1)

    plain = Learner(reentrant, n_classes=0, covariance="diagonal", multi_class=multi_class)
    for row, label in zip(x, y, strict=True):
        plain.learn_one(row, label)
    assert refused == 0
    begun = Learner(reentrant, n_classes=0, covariance="diagonal", multi_class=multi_class)
    begun.learn(x[:1], y[:1])
    learner = begun
    for row, label in zip(x[1:], y[1:], strict=True):
        learner.learn_one(row, label)
    assert refused > 10
    assert state(learner) == state(plain)


def test_a_cycle_through_the_rule_is_collected():
    learner = Learner(lambda m, v: (kept["it"] and 0.1, 0.0), n_classes=0, covariance="diagonal")
    kept = {"it": learner}
    learner.learn(np.eye(3), [0, 1, 2])
    learner.learn_one(np.ones(3), 0)
    gone = weakref.ref(learner)
    kept["it"] = learner = None
    gc.collect()
    assert gone() is None


def call(**changed):
    """Call learn_rows with arguments that fit each other but for what is changed."""
    learner = begun()
    gaussians = learner.model
    lanes = gaussians.lanes
    given = {
        "covariance": "diagonal",
        "joint": True,
        "shared": False,
        "size": 3,
        "lanes": lanes,
        "entries": np.ones((3, 2 * lanes)),
        "scalars": gaussians.scalars.copy(),
        "known": np.array([3]),
        "tally": np.zeros(3, dtype=np.int64),
        "values": np.eye(3),
        "labels": np.array([0, 1, 2], dtype=np.int32),
        "weights": None,
        "rivals": "max",
        "trace": None,
        "scores": None,
        "variances": None,
        "block": 1,
        "threads": 1,
    } | changed
    names = ("covariance", "joint", "shared", "size", "lanes", "entries", "scalars", "known", "tally")
    classes = _native.Model(*(given[name] for name in names), 1.0, rivals=given["rivals"])
    rest = ("labels", "weights", "block", "threads", "trace", "scores", "variances")
    rule = native_rule(find_rule("arow"), {"r": 1.0})
    _native.learn_rows(rule, classes, given["values"], None, None, 3, False, *(given[name] for name in rest))
    return given


def test_the_native_module_learns_where_all_fits():
    assert call()["tally"][0] == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"entries": np.ones((3, 15))},
        {"entries": np.ones((2, 16))},
        {"entries": np.ones((3, 16), dtype=np.float32)},
        {"scalars": np.ones(5)},
        {"known": np.array([9])},
        {"known": np.array([-1])},
        {"known": np.array([1, 2])},
        {"tally": np.zeros(2, dtype=np.int64)},
        {"variances": np.zeros(2)},
        {"lanes": 7},
        {"lanes": 0},
        {"size": -1},
        {"size": 2**60},
        {"joint": False},
        {"joint": False, "shared": True},
        {"covariance": "round"},
        {"labels": np.array([0, 1], dtype=np.int32)},
        {"labels": np.array([[0, 1, 2]], dtype=np.int32)},
        {"weights": np.ones(2)},
        {"rivals": "min"},
        {"scores": np.empty((2, 3))},
        {"scores": np.empty(9)},
        {"trace": np.empty((3, 4))},
        {"labels": np.array([1, -1, 1], dtype=np.int8)},
        {"lanes": 1, "entries": np.ones((3, 2)), "known": np.ones(1, dtype=np.int64)},
        {"block": 0},
        {"threads": 0},
    ],
)
def test_the_native_module_refuses_what_does_not_fit(changed):
    with pytest.raises((ValueError, TypeError)):
        call(**changed)


def test_labels_changed_after_the_check_are_skipped():
    given = call(labels=np.array([0, 70, -5], dtype=np.int32))
    assert given["known"][0] == 3
    assert np.isfinite(given["entries"]).all()


@pytest.mark.parametrize(
    "changed",
    [
        {"lanes": 4},
        {"classes": 9},
        {"classes": -1},
        {"scores": np.empty((3, 4))},
        {"scalars": np.ones((2, 6))},
    ],
)
def test_scoring_refuses_what_does_not_fit(changed):
    given = {
        "lanes": 8,
        "classes": 5,
        "entries": np.ones((3, 16)),
        "scalars": np.ones((1, 6)),
        "scores": np.empty((3, 5)),
    }

    def score(lanes, classes, entries, scalars, scores):
        rows = (np.eye(3), None, None, 3, False)
        _native.score_rows("diagonal", False, lanes, classes, entries, scalars, None, *rows, scores)

    score(**given)
    with pytest.raises((ValueError, TypeError)):
        score(**given | changed)


def test_broken_sparse_arrays_are_refused_or_harmless():
    learner = begun()
    before = state(learner)
    for spoil in (
        lambda x: x.indices.__setitem__(3, FEATURES),
        lambda x: x.indices.__setitem__(3, -1),
        lambda x: x.indptr.__setitem__(3, 10**6),
    ):
        x, y = hashed("joint", 20, 3)
        spoil(x)
        with pytest.raises(ValueError, match="not a valid CSR matrix"):
            learner.learn(x, y)
        assert state(learner) == before
    # The loops check again, because another thread may write to the arrays in the meantime.
    x, y = hashed("joint", 20, 3)
    models = learner.model.native(learner._tally)
    rule = native_rule(find_rule("arow"), {"r": 1.0})
    indices, offsets = x.indices.copy(), x.indptr.copy()
    indices[::7], indices[1::7], offsets[5], offsets[9] = 10**9, -(10**9), -4, 10**9
    rows = (x.data, indices, offsets, FEATURES, False)
    _native.learn_rows(rule, models, *rows, y.astype(np.int32), None, 1, 1)
    assert np.isfinite(learner.model.memory).all()


@pytest.mark.parametrize("make", [Learner, KernelLearner])
def test_methods_of_the_other_kind_of_labels_are_refused(make):
    x = [[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]]
    binary, several = make("arow"), make("arow", n_classes=3)
    binary.learn(x, [1, -1, 1])
    several.learn(x, [0, 1, 2])
    for learner in (binary, make("arow")):
        with pytest.raises(TypeError, match=r"^add_classes is for learners with several classes; split"):
            learner.add_classes(1)
    for learner in (several, make("arow", n_classes=0), binary.split()):
        with pytest.raises(TypeError, match=r"^split is for learners with labels -1 and"):
            learner.split()
    assert binary.scores(x).shape == (3,)
    several.add_classes(1)
    assert several.scores(x).shape == (3, 4)


@pytest.mark.parametrize("bad", ["3", 3.5, 1, True, None], ids=str)
def test_a_learner_widens_to_an_integer_that_is_no_smaller(bad):
    learner = Learner("arow")
    learner.learn([[1.0, 2.0]], [1])
    with pytest.raises((TypeError, ValueError), match=r"^n_features must be an integer >= 2, got "):
        learner.widen(bad)
    assert learner.n_features == 2


@pytest.mark.parametrize("overflow", ["drop", "hash"])
def test_a_learner_of_names_grows_by_names_alone(overflow):
    learner = Learner("arow", max_features=4, overflow=overflow)
    learner.learn_one({"a": 1.0}, 1)
    with pytest.raises(ValueError, match="features with names"):
        learner.widen(40)


@pytest.mark.parametrize("learn", ["learn", "learn_many"])
def test_variances_are_written_to_a_line_of_doubles(learn):
    rows = [{"a": 1.0}, {"b": 2.0}] if learn == "learn_many" else [[1.0, 0.0], [0.0, 2.0]]

    def variances(out):
        getattr(Learner("arow"), learn)(rows, [1, -1], variances_out=out)
        return out

    read_only = np.frombuffer(bytes(16))
    for bad in (np.empty(2, np.float32), [0.0, 0.0], read_only, np.empty((2, 1)), np.empty(3)):
        with pytest.raises((TypeError, ValueError), match=r"^variances_out must "):
            variances(bad)
    assert variances(np.empty(4)[::2]).tolist() == variances(np.empty(2)).tolist() == [1.0, 4.0]
