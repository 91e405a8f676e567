"""Blocks of rows with a full covariance equal single rows, for every block size, thread count and instruction set."""

import functools

import numpy as np
import pytest
from scipy import sparse

from scwlearn import Learner, _native
from scwlearn.model.full import Full
from scwlearn.rules import Rule, Step, all_rules

pytestmark = pytest.mark.native

ROWS = 150
BLOCKS = [1, 2, 7, 64, ROWS]
# Fewer than a register holds, a strip of rows of U and a rest, several strips and a rest.
WIDTHS = [3, 21, 67]
DENSITIES = {"dense": 1.0, "sparse": 0.08}
# Rules that move only the mean, scale it, change Sigma, stop changing it, or let it grow; others differ in numbers.
KINDS_OF_STEP = ("pa1", "romma", "scw1", "narow", "iellip")


@functools.cache
def examples(width, density):
    rng = np.random.default_rng(width)
    x = rng.normal(size=(ROWS, width)) * (rng.random((ROWS, width)) < density)
    x[np.arange(ROWS), rng.integers(0, width, ROWS)] += rng.uniform(0.5, 1.5, ROWS)
    y = np.where(x @ rng.normal(size=width) >= 0, 1, -1)
    y[rng.random(ROWS) < 0.2] *= -1
    return x, y


@pytest.fixture
def use_block(monkeypatch):
    return lambda rows: monkeypatch.setattr(Full, "block", lambda self, size, stored, lanes, joint: rows)


@pytest.fixture
def use_threads(monkeypatch):
    monkeypatch.setattr(Full, "uses_threads", lambda self, size: True)
    return lambda count: monkeypatch.setattr("scwlearn.learning.in_blocks.allowed_threads", lambda: count)


def taught(rule, x, y, **how):
    if rule == "cw":  # with its default it shrinks so fast that rounding soon matters
        how = {"eta": 0.7} | how
    learner, traced = Learner(rule, covariance="full", **how), Learner(rule, covariance="full", **how)
    learner.learn(x, y)
    trace = traced.trace(x, y)
    # A row that certainly changes nothing is computed only for the trace.
    assert learner.counts == traced.counts
    assert learner.model.memory.tobytes() == traced.model.memory.tobytes()
    return learner, trace


def assert_alike(one, other):
    (learner, trace), (expected, expected_trace) = one, other
    assert learner.counts == expected.counts
    for got, wanted in (
        (learner.model.weights(), expected.model.weights()),
        (learner.model.matrix(), expected.model.matrix()),
        (trace.score, expected_trace.score),
        (trace.variance, expected_trace.variance),
    ):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-9 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("rule", [r.name for r in all_rules()])
@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_blocks_of_any_size_equal_rows(rule, density, intercept, use_block):
    if (rule, density, intercept) == ("perceptron", "sparse", True):
        pytest.skip(
            "a row of new features looks at the intercept alone, here a sum of +-1: whether it is 0 is rounding"
        )
    for width in WIDTHS if rule in KINDS_OF_STEP else (21,):
        x, y = examples(width, DENSITIES[density])
        for as_rows in (np.asarray, sparse.csr_array):
            use_block(1)
            by_row = taught(rule, as_rows(x), y, intercept=intercept)
            assert by_row[0].counts.updates > 10
            for block in BLOCKS[1:]:
                use_block(block)
                assert_alike(taught(rule, as_rows(x), y, intercept=intercept), by_row)


@pytest.mark.parametrize("rule", ["scw1", "narow", "iellip", "romma"])
@pytest.mark.parametrize("density", DENSITIES)
def test_every_instruction_set_gives_the_same_result(rule, density, instruction_set, use_block):
    if instruction_set == "portable":
        pytest.skip("the others are compared with this one")
    if (rule, density) == ("romma", "sparse"):
        pytest.skip("rows of one feature are parallel to each other, where the weights grow to 1e17 and are rounding")
    for width in WIDTHS:
        x, y = examples(width, DENSITIES[density])
        for as_rows in (np.asarray, sparse.csr_array):
            for block in BLOCKS:
                use_block(block)
                got = taught(rule, as_rows(x), y)
                _native.use_instruction_set("portable")
                expected = taught(rule, as_rows(x), y)
                _native.use_instruction_set(instruction_set)
                assert_alike(got, expected)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("width", [3, 24, 67, 200])
def test_threads_do_not_change_the_result(width, density, instruction_set, use_block, use_threads):
    x, y = examples(width, DENSITIES[density])
    for as_rows in (np.asarray, sparse.csr_array):
        for block in (1, 7, 64):
            use_block(block)
            states = set()
            for threads in (1, 2, 5):
                use_threads(threads)
                learner = Learner("scw1", covariance="full")
                learner.learn(as_rows(x), y)
                states.add((learner.model.memory.tobytes(), learner.counts))
            assert len(states) == 1, instruction_set


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [ROWS, 128, 129, 65, 64, 17, 2])
def test_pending_updates_are_applied_however_blocks_end(rows, threads, use_block, use_threads):
    # The updates of a block are applied during the next one, which may have none, have one row, or be missing.
    use_threads(threads)
    x, y = examples(67, 1.0)
    x, y = x[:rows].copy(), y[:rows]
    x[40:70] = x[127:129] = x[140:] = 0.0

    def moves_unless_empty(m, v):
        return (0.5, 0.5 / v) if v > 0 and m < 1 else (0.0, 0.0)

    use_block(1)
    by_row = taught(moves_unless_empty, x, y)
    for block in (2, 7, 16, 64):
        use_block(block)
        assert_alike(taught(moves_unless_empty, x, y), by_row)


@pytest.mark.parametrize("threads", [1, 2])
def test_scales_that_leave_their_range_within_a_block_change_nothing(threads, use_block, use_threads):
    use_threads(threads)
    x, y = examples(67, 1.0)

    def shrinks_and_grows(m, v, t):
        # The mean vanishes and returns; each time its scale is folded into it, as that of Sigma is from time to time.
        shrink = {3: 1e-60, 7: 1e60}.get(int(t) % 10, 0.99)
        # At first the mean is 0, however much it is scaled.
        return Step(0.1 / v, 0.3 / v, shrink, grow=5.0) if t > 3 else Step(0.0, 0.0, 1e150)

    rule = Rule(shrinks_and_grows, "shrinks", "", "Shrinks", 2, (), True, True, False, "")
    use_block(1)
    by_row = taught(rule, x, y)
    for block in BLOCKS[1:]:
        use_block(block)
        assert_alike(taught(rule, x, y), by_row)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_that_raises_within_a_block_changes_nothing(block, threads, use_block, use_threads):
    use_block(block)
    use_threads(threads)
    x, y = examples(21, 1.0)
    asked = []

    def rule(m, v):
        asked.append(m)
        if len(asked) > 90:
            raise ZeroDivisionError("in my own rule")
        return (1.0, 0.1 / v) if m < 1 else (0.0, 0.0)

    learner = Learner(rule, covariance="full")
    learner.learn(x[:50], y[:50])
    before = learner.model.memory.tobytes(), learner.model.scalars.tobytes(), learner.counts
    with pytest.raises(ZeroDivisionError):
        learner.learn(x[50:], y[50:])
    assert (learner.model.memory.tobytes(), learner.model.scalars.tobytes(), learner.counts) == before


def with_values(per_row, width):
    rng = np.random.default_rng(per_row)
    x = np.zeros((ROWS, width))
    for row in x:
        row[rng.choice(width, per_row, replace=False)] = rng.normal(size=per_row)
    return x, np.where(x @ rng.normal(size=width) >= 0, 1, -1)


@pytest.mark.parametrize("per_row", range(1, 12))
def test_sparse_rows_on_either_side_of_the_choice_between_gathering_and_multiplying(per_row, use_block):
    # With 21 features, single rows of up to 5 values are gathered, and rows of 6 are multiplied.
    x, y = with_values(per_row, 21)
    for block in BLOCKS:
        use_block(block)
        assert_alike(taught("scw1", sparse.csr_array(x), y), taught("scw1", x, y))


@pytest.mark.parametrize(
    ("width", "per_row", "block"),
    [(81, 5, 1), (80, 5, 16), (400, 24, 1), (401, 24, 16), (400, 25, 16), (1499, 5, 16), (1500, 5, 32)],
)
def test_sparse_rows_on_either_side_of_the_choice_between_rows_and_blocks(width, per_row, block):
    x, y = with_values(per_row, width)
    assert Full().block(width, per_row, 1, True) == block
    assert_alike(taught("scw1", sparse.csr_array(x), y), taught("scw1", x, y))


@pytest.mark.parametrize("empty", [0, 1, 7, 8, 9, 66, 67])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_late_or_absent_features_do_not_affect_the_others(empty, as_rows, use_block):
    # They are at the front of U, which is skipped until the first of them has a value.
    x, y = examples(67, 1.0)
    late = x.copy()
    late[:100, :empty] = 0.0
    for block in BLOCKS:
        use_block(block)
        # No value is zero here, so that nothing can be skipped.
        expected = taught("scw1", np.where(late == 0, 1e-300, late), y)
        assert_alike(taught("scw1", as_rows(late), y), expected)
        learner, _ = taught("scw1", as_rows(late[:100]), y[:100])
        assert not learner.model.weights()[0, :empty].any()
        assert not learner.model.matrix()[:empty, empty:].any()


def test_a_repeated_row_causes_no_further_update(use_block):
    # Its margin is where the last step put it, up to rounding, which must not count as an update.
    x, y = examples(21, 1.0)
    for rule in ("pa", "cw", "scw1"):
        for block in BLOCKS:
            use_block(block)
            once, thrice = Learner(rule, covariance="full"), Learner(rule, covariance="full")
            once.learn(x[:60], y[:60])
            thrice.learn(np.repeat(x[:60], 3, axis=0), np.repeat(y[:60], 3))
            if rule != "scw1":
                assert thrice.counts.updates == once.counts.updates
            else:
                # A step limited by C is followed by another.
                assert once.counts.updates <= thrice.counts.updates <= 3 * once.counts.updates


def test_corrupt_places_do_no_harm():
    x, y = examples(67, 0.08)
    for place in (np.nan, np.inf, -1.0, 1e300, 67.0):
        learner = Learner("scw1", covariance="full")
        learner.learn(x, y)
        learner.model.memory[0, 1, 3] = place
        row = np.zeros((1, 67))
        row[0, 3] = 1.0
        learner.learn(sparse.csr_array(row), [1])
        learner.learn(x, y)


def test_instruction_sets_are_those_of_this_processor():
    names = _native.instruction_sets()
    assert names[-1] == "portable"
    with pytest.raises(ValueError, match="does not support the instruction set abacus"):
        _native.use_instruction_set("abacus")


SCHEMES = [{}, {"n_classes": 2}, {"n_classes": 2, "shared_covariance": True}, {"n_classes": 2, "multi_class": "ovr"}]


@pytest.mark.parametrize("settings", SCHEMES, ids=str)
def test_a_block_in_which_variances_fall_by_many_orders_is_as_accurate_as_single_rows(settings, use_block):
    # After correlated rows, one feature becomes 1e10 times as large, and each row reduces its variance to a tenth.
    def tenth(m, v):
        return Step(1e-3 / v**0.5, 9 / v)

    rule = Rule(tenth, "tenth", "", "Tenth", 2, (), True, True, False, "2026")
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 3)) + rng.normal(size=(80, 1))
    x[8:, 0] *= 1e10
    y = np.resize([0, 1] if settings else [-1, 1], len(x))
    matrices = []
    for rows in (1, 72):
        use_block(rows)
        learner = Learner(rule, covariance="full", **settings)
        for part in (slice(8), slice(8, None)):
            learner.learn(x[part], y[part])
        matrices.append(learner.model.matrix())
    sizes = np.sqrt(matrices[0].diagonal())
    np.testing.assert_allclose(*[matrix / np.outer(sizes, sizes) for matrix in matrices], rtol=0, atol=1e-13)
