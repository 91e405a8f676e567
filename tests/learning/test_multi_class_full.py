"""Multi-class learners with a full covariance equal the reference for every block size, thread count and processor."""

import copy

import numpy as np
import pytest
from scipy import sparse

from helpers import split
from learner_examples import FORMS, every_form, in_order_of_appearance
from multi_class_examples import memory as state
from multi_class_examples import reference_settings
from multi_class_full_examples import CLASSES, ROWS, assert_close, examples, sigmas, taught
from multi_class_reference import run
from reference import NAMES, defaults_of
from scwlearn import Learner, _native
from scwlearn.model.full import Full
from scwlearn.rules import Rule, Step

pytestmark = pytest.mark.native

BLOCKS = [1, 2, 7, 64, ROWS]
# Fewer than a register holds, a strip of rows of U and a rest, several strips and a rest.
WIDTHS = [3, 21, 67]
DENSITIES = {"dense": 1.0, "sparse": 0.08}
# Rules that move only the mean, scale it, change Sigma, stop changing it, or let it grow; others differ in numbers.
KINDS_OF_STEP = ("pa1", "romma", "scw1", "narow", "iellip")
FORMATS = (np.asarray, sparse.csr_array)

every_rule = pytest.mark.parametrize("name", NAMES)
every_density = pytest.mark.parametrize("density", DENSITIES)


@pytest.fixture
def use_threads(monkeypatch):
    monkeypatch.setattr(Full, "uses_threads", lambda self, size: True)
    return lambda count: monkeypatch.setattr("scwlearn.learning.in_blocks.allowed_threads", lambda: count)


def assert_alike(one, other, within=1e-9):
    (learner, scores), (expected, expected_scores) = one, other
    assert learner.counts == expected.counts
    assert_close(learner.model.weights(), expected.model.weights(), within)
    assert_close(sigmas(learner), sigmas(expected), within)
    known = np.isfinite(expected_scores)
    assert np.array_equal(np.isfinite(scores), known)
    assert_close(scores[known], expected_scores[known], within)


@every_rule
@every_form
@pytest.mark.parametrize(("intercept", "initial_variance"), [(False, 1.0), (True, 0.5)])
def test_learning_equals_the_reference(name, form, intercept, initial_variance, use_class_block):
    x, y = examples(13, 0.6)
    x = x.astype(np.float32)
    if not intercept:
        x[[5, 70, 71]] = 0.0
    how = reference_settings(form)
    given = {"intercept": intercept, "initial_variance": initial_variance, **defaults_of(name)}
    weights, matrices, mistakes, updates = run(name, x.astype(float), y, "full", **given, **how)
    assert updates > 30
    for rows in (x, x.astype(float), sparse.csr_array(x)):
        for block in (1, 7, 64):
            use_class_block(block)
            learner = Learner(name, n_classes=0, covariance="full", **given, **FORMS[form])
            counts = learner.learn(rows, y)
            assert (counts.mistakes, counts.updates) == (mistakes, updates)
            assert_close(learner.model.weights(), weights, 1e-8)
            if matrices.any() and name not in ("perceptron", "pa", "pa1", "pa2", "romma", "aggressive_romma"):
                assert_close(sigmas(learner), matrices, 1e-8)


@pytest.mark.parametrize("rivals", ["uniform", "proportional"])
@pytest.mark.parametrize("form", ["joint", "shared"])
def test_the_perceptron_with_all_rivals_equals_the_reference(rivals, form, use_class_block):
    x, y = examples(21, 1.0)
    weights, _, mistakes, updates = run("perceptron", x, y, "full", rivals=rivals, shared=form == "shared")
    for block in BLOCKS:
        use_class_block(block)
        learner = Learner("perceptron", n_classes=0, rivals=rivals, covariance="full", **FORMS[form])
        counts = learner.learn(x, y)
        assert (counts.mistakes, counts.updates) == (mistakes, updates)
        assert_close(learner.model.weights(), weights)


@every_rule
@every_form
@every_density
def test_blocks_of_any_size_equal_rows(name, form, density, use_class_block):
    if (name, density) in (("romma", "sparse"), ("aggressive_romma", "sparse"), ("perceptron", "sparse")):
        pytest.skip("rows of one feature make scores that tie or grow without end, where rounding decides")
    for width in WIDTHS if name in KINDS_OF_STEP else (21,):
        x, y = examples(width, DENSITIES[density])
        for as_rows in FORMATS:
            use_class_block(1)
            by_row = taught(name, form, as_rows(x), y)
            assert by_row[0].counts.updates > 10
            for block in BLOCKS[1:]:
                use_class_block(block)
                assert_alike(taught(name, form, as_rows(x), y), by_row)


@every_form
@pytest.mark.parametrize("classes", [1, 2, 3, 17, 40])
def test_any_number_of_classes(form, classes, use_class_block):
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(ROWS, 21))
    y = in_order_of_appearance((x @ rng.normal(size=(21, classes))).argmax(axis=1))
    how = reference_settings(form)
    weights, matrices, mistakes, updates = run("scw1", x, y, "full", **how)
    for block in BLOCKS:
        use_class_block(block)
        learner, _ = taught("scw1", form, x, y, C=1.0)
        assert (learner.counts.mistakes, learner.counts.updates) == (mistakes, updates)
        assert_close(learner.model.weights(), weights)
        assert_close(sigmas(learner), matrices)


def late_rivals(block):
    """Rows, and in how many of them the best rival is another one than before the block began."""
    rng = np.random.default_rng(0)
    # Few directions and large steps: one example changes the scores of all classes for the next.
    centres = rng.normal(size=(4, 21))
    x = centres[rng.integers(0, 4, ROWS)] + 0.3 * rng.normal(size=(ROWS, 21))
    y = in_order_of_appearance(rng.integers(0, 8, ROWS))
    learner, scores = taught("arow", "joint", x, y, r=0.01)
    changed = 0
    for first in range(0, ROWS, block):
        part = slice(first, first + block)
        before = taught("arow", "joint", x[:first], y[:first], r=0.01)[0] if first > 20 else learner
        known = min(before.n_classes, scores.shape[1])
        at_first = np.where(np.arange(known) == y[part, None], -np.inf, before.scores(x[part])[:, :known])
        then = np.where(np.arange(scores.shape[1]) == y[part, None], -np.inf, scores[part])
        changed += np.sum(at_first.argmax(axis=1) != then.argmax(axis=1))
    return x, y, changed


def test_rivals_may_change_within_a_block(use_class_block):
    use_class_block(1)
    x, y, changed = late_rivals(60)
    assert changed > ROWS / 2
    for rule in ("arow", "scw1", "iellip"):
        how = {"r": 0.01} if rule == "arow" else {}
        use_class_block(1)
        by_row = taught(rule, "joint", x, y, **how)
        for block in (16, 60, ROWS):
            use_class_block(block)
            assert_alike(taught(rule, "joint", x, y, **how), by_row)


@every_form
def test_classes_may_appear_within_a_block(form, use_class_block):
    # All in one block, and then again, with known classes.
    x, y = examples(21, 1.0, classes=30)
    use_class_block(1)
    by_row = taught("scw1", form, np.vstack([x, x]), np.append(y, y))
    assert by_row[0].n_classes > 20
    for block in (16, ROWS, 2 * ROWS):
        use_class_block(block)
        assert_alike(taught("scw1", form, np.vstack([x, x]), np.append(y, y)), by_row)


@every_form
@every_density
@pytest.mark.parametrize("rule", ["scw1", "narow", "iellip"])
def test_every_instruction_set_gives_the_same_result(rule, form, density, instruction_set, use_class_block):
    if instruction_set == "portable":
        pytest.skip("the others are compared with this one")
    for width in WIDTHS:
        x, y = examples(width, DENSITIES[density])
        for as_rows in FORMATS:
            for block in (1, 7, 64):
                use_class_block(block)
                got = taught(rule, form, as_rows(x), y)
                _native.use_instruction_set("portable")
                expected = taught(rule, form, as_rows(x), y)
                _native.use_instruction_set(instruction_set)
                assert_alike(got, expected)


@every_form
@every_density
@pytest.mark.parametrize("width", [3, 67])
def test_threads_do_not_change_the_result(form, width, density, instruction_set, use_class_block, use_threads):
    x, y = examples(width, DENSITIES[density])
    for block in (1, 7, 64):
        use_class_block(block)
        states = set()
        for threads in (1, 2, 3):
            use_threads(threads)
            states.add(state(taught("scw1", form, x, y)[0]))
        assert len(states) == 1, instruction_set


@every_form
@pytest.mark.parametrize("threads", [1, 2])
def test_scales_that_leave_their_range_within_a_block_change_nothing(form, threads, use_class_block, use_threads):
    use_threads(threads)
    x, y = examples(67, 1.0)

    def shrinks_and_grows(m, v, t):
        # The mean vanishes and returns; each time its scale is folded into it, as that of Sigma is from time to time.
        shrink = {3: 1e-60, 7: 1e60}.get(int(t) % 10, 0.99)
        # At first the mean is 0, however much it is scaled.
        return Step(0.1 / v, 0.3 / v, shrink, grow=5.0) if t > 3 else Step(0.0, 0.0, 1e150)

    rule = Rule(shrinks_and_grows, "shrinks", "", "Shrinks", 2, (), True, True, False, "")
    use_class_block(1)
    by_row = taught(rule, form, x, y)
    assert by_row[0].model.scalars[0, 1] != 1.0
    for block in BLOCKS[1:]:
        use_class_block(block)
        # Sigma has grown to some 1e100.
        assert_alike(taught(rule, form, x, y), by_row, 1e-8)


@every_form
@pytest.mark.parametrize("block", [1, 7, ROWS])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_that_raises_within_a_block_changes_nothing(form, block, threads, use_class_block, use_threads):
    use_class_block(block)
    use_threads(threads)
    x, y = examples(21, 1.0)
    asked, limit = 0, 10**9

    def turns_bad(m, v):
        nonlocal asked
        asked += 1
        if asked > limit:
            raise ZeroDivisionError("in my own rule")
        return (0.3, 0.1 / v) if m < 1 else (0.0, 0.0)

    learner, plain = (Learner(turns_bad, n_classes=0, covariance="full", **FORMS[form]) for _ in range(2))
    learner.learn(x[:90], y[:90])
    before, limit = state(learner), asked + 30
    with pytest.raises(ZeroDivisionError):
        learner.learn(x[90:], y[90:])
    assert state(learner) == before
    # With one versus rest, by a class after others that have learned from the row.
    for label in (0, learner.n_classes):
        known, matrices, limit = copy.copy(learner), sigmas(learner), asked + (3 if form == "ovr" else 0)
        with pytest.raises(ZeroDivisionError):
            learner.learn_one(x[90], label)
        assert (learner.n_classes, learner.counts) == (known.n_classes, known.counts)
        assert np.array_equal(sigmas(learner), matrices)
        assert np.array_equal(learner.model.weights(), known.model.weights())
    limit = 10**9
    learner.learn(x[90:], y[90:])
    plain.learn(x[:90], y[:90])
    plain.learn(x[90:], y[90:])
    assert_close(learner.model.weights(), plain.model.weights())


@every_form
def test_learn_one_equals_a_batch_of_one(form):
    x, y = examples(21, 0.6)
    batches, vectors = (
        Learner("scw1", n_classes=0, covariance="full", intercept=True, **FORMS[form]) for _ in range(2)
    )
    for i in range(ROWS):
        scores = np.empty((1, max(batches.n_classes, y[i] + 1)))
        batches.learn(x[i : i + 1], y[i : i + 1], scores_out=scores)
        if i:
            assert_close(vectors.score_one(x[i]), scores[0, : vectors.n_classes])
        np.testing.assert_array_equal(vectors.learn_one(x[i], y[i]), scores[0])
        assert state(vectors)[1:] == state(batches)[1:]
        assert vectors.model.weights().tobytes() == batches.model.weights().tobytes()


@every_form
@pytest.mark.parametrize("empty", [0, 1, 8, 9, 67])
def test_late_or_absent_features_do_not_affect_the_others(form, empty, use_class_block):
    # They are at the front of U, which is skipped until the first of them has a value.
    x, y = examples(67, 1.0)
    late = x.copy()
    late[:100, :empty] = 0.0
    for block in (1, 16, 64):
        use_class_block(block)
        # No value is zero here, so that nothing can be skipped.
        expected = taught("scw1", form, np.where(late == 0, 1e-300, late), y)
        for as_rows in FORMATS:
            assert_alike(taught("scw1", form, as_rows(late), y), expected)


@every_form
def test_scores_and_variances_equal_the_gaussian(form):
    x, y = examples(21, 0.6)
    learner, _ = taught("arow", form, x, y, intercept=True, initial_variance=0.5)
    wide = np.hstack([x, np.ones((ROWS, 1))])
    gaussians = learner.model
    for as_rows in FORMATS:
        assert_close(learner.scores(as_rows(x)), wide @ gaussians.weights().T)
        expected = np.einsum("ij,cjk,ik->ic", wide, sigmas(learner), wide)
        assert_close(learner.margin_variances(as_rows(x)), expected)
    assert_close(gaussians.variances(), np.einsum("cjj->cj", sigmas(learner)))
    for c in range(CLASSES):
        assert_close(gaussians.root(c) @ gaussians.root(c).T, gaussians.matrix(c))
        assert np.array_equal(gaussians.matrix(c), gaussians.matrix(c).T)


@every_form
def test_features_and_classes_may_be_added_at_any_time(form):
    x, y = examples(21, 0.6)
    early, half = x.copy(), ROWS // 2
    early[:half, -3:] = 0.0
    known = Learner("iellip", n_classes=0, covariance="full", intercept=True, **FORMS[form])
    known.learn(early[:half], y[:half])
    grown = Learner("iellip", n_classes=0, covariance="full", intercept=True, **FORMS[form])
    grown.learn(early[:half, :-3], y[:half])
    grown.widen(21)
    assert_close(sigmas(grown), sigmas(known))
    grown.model = grown.model.with_room(30)
    assert grown.model.lanes >= 30
    assert_close(sigmas(grown), sigmas(known))
    for learner in (grown, known):
        learner.learn(x[half:], y[half:])
    assert grown.counts == known.counts
    assert_close(grown.model.weights(), known.model.weights())
    assert_close(sigmas(grown), sigmas(known))


def test_a_late_class_starts_with_the_grown_variance(use_class_block):
    def grows(m, v):
        return Step(0.1 / v, 0.5 / v, grow=1e18)

    rule = Rule(grows, "grows", "", "Grows", 2, (), True, True, False, "")
    for block in (1, 5, 11):
        use_class_block(block)
        learner = Learner(rule, n_classes=0, covariance="full", initial_variance=2.0)
        # The last row is that of a new class, and empty.
        learner.learn(np.vstack([np.tile(np.eye(3)[:2], (3, 1)), np.zeros(3)]), [0, 1, 0, 1, 0, 1, 2])
        np.testing.assert_allclose(np.diag(learner.model.matrix(2)), 2e90, rtol=1e-12)
        np.testing.assert_allclose(learner.model.variances()[:2, 2], 2e90, rtol=1e-12)
        learner.add_classes(1)
        np.testing.assert_allclose(np.diag(learner.model.matrix(3)), 2e90, rtol=1e-12)


@pytest.mark.parametrize("multi_class", ["joint", "ovr"])
def test_splitting_a_binary_learner_keeps_its_scores(multi_class):
    x, y = examples(21, 0.3, classes=2)
    binary = Learner("arow", covariance="full", intercept=True)
    binary.learn(x, 2 * y - 1)
    two = split(binary, multi_class=multi_class)
    scores = two.scores(x)
    assert_close(scores[:, 1] - scores[:, 0], (1 if multi_class == "joint" else 2) * binary.scores(x))
    assert_close(sigmas(two), np.tile(binary.model.matrix(), (2, 1, 1)))
    two.learn(x, np.arange(ROWS) % 3)
    assert two.n_classes == 3
    assert (np.linalg.eigvalsh(sigmas(two)) > 0).all()


@every_form
def test_two_classes_one_versus_rest_equal_the_binary_learner(form, use_class_block):
    x, y = examples(21, 1.0, classes=2)
    binary = Learner("scw1", covariance="full")
    counts = binary.learn(x, 2 * y - 1)
    for block in BLOCKS:
        use_class_block(block)
        ovr = Learner("scw1", n_classes=2, multi_class="ovr", covariance="full")
        assert ovr.learn(x, y).updates == counts.updates
        assert_close(ovr.model.weights(), np.outer([-1, 1], binary.model.weights()))
        assert_close(sigmas(ovr), np.tile(binary.model.matrix(), (2, 1, 1)))


def test_corrupt_places_do_no_harm():
    x, y = examples(67, 0.08)
    for form in FORMS:
        for place in (np.nan, np.inf, -1.0, 1e300, 67.0):
            learner, _ = taught("scw1", form, x, y)
            places = (learner.model.lanes,) if form == "shared" else (slice(None), 1)
            learner.model.memory[(*places, 3)] = place
            learner.learn(x, y)
            learner.learn(sparse.csr_array(x), y)
            learner.learn_one(x[0], y[0])


@every_form
def test_a_model_too_large_for_memory_is_refused(form, monkeypatch):
    monkeypatch.setattr("scwlearn._util.memory.available_memory", lambda: 10**6)
    monkeypatch.setattr("scwlearn._util.memory._UNCHECKED_BYTES", 0)
    learner = Learner("arow", n_classes=0, covariance="full", **FORMS[form])
    x = np.random.default_rng(0).normal(size=(40, 400))
    with pytest.raises(ValueError, match=r'covariance="full" with 400 weights for each of 40 classes needs .* GiB'):
        learner.learn(x, np.arange(40))
    assert learner.model is None


@every_form
@pytest.mark.parametrize("block", [1, 64])
@pytest.mark.parametrize("rule", ["pa1", "scw1", "arow"])
def test_recorded_variances_are_those_of_the_class_with_the_largest_score(rule, form, block, use_class_block):
    use_class_block(block)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 5))
    y = in_order_of_appearance((x @ rng.normal(size=(5, 3))).argmax(axis=1))
    learner, again = (Learner(rule, covariance="full", n_classes=3, **FORMS[form]) for _ in range(2))
    recorded = np.empty(80)
    learner.learn(x, y, variances_out=recorded)
    # A row of zeros, so that there is a model before the first row.
    again.learn(np.zeros((1, 5)), [0])
    for row, label, variance in zip(x[:, None], y, recorded, strict=True):
        expected = again.margin_variances(row)[0, again.scores(row)[0].argmax()]
        assert variance == pytest.approx(expected, rel=1e-8)
        again.learn(row, [label])
