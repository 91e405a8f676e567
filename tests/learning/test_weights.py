"""Sample weights: each rule defines how they act, and rows of weight 0 are ignored."""

import math

import numpy as np
import pytest
from scipy import sparse
from stress.model_state import everything

from learner_examples import draw_examples, state
from scwlearn import KernelLearner, Learner
from scwlearn.learning.committee import learner_type
from scwlearn.learning.committee.config import configure
from scwlearn.rules import HOLD, Step, all_rules, part_of

MARGINS = [(-1.3, 0.7), (0.2, 2.5), (-0.1, 1.0), (-8.0, 0.01)]
every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)


def close(step, other):
    return all(math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-300) for a, b in zip(step, other, strict=True))


def natural(step, m, v):
    """Return 1/u and m/u after a step: the natural parameters of the Gaussian of the margin."""
    u = v / (1 + step.precision * v)
    return [1 / u, (m + step.alpha * v) / u]


@every_rule
@pytest.mark.parametrize("w", [0.25, 3.0])
@pytest.mark.parametrize(("m", "v"), MARGINS)
def test_a_weight_means_what_the_rule_declares(rule, w, m, v):
    own = {p.name: p.default for p in rule.parameters}
    weighed = rule.step(m, v, 2.0, 5.0, rule.constants(own), w=w)
    plain = rule.step(m, v, 2.0, 5.0, rule.constants(own))
    if rule.weight == "C":
        assert close(weighed, rule.step(m, v, 2.0, 5.0, rule.constants(own | {"C": w * own["C"]})))
    elif rule.weight == "1/r":
        assert close(weighed, rule.step(m, v, 2.0, 5.0, rule.constants(own | {"r": own["r"] / w})))
    elif rule.weight == "part":
        assert weighed == part_of(plain, w)
    elif rule.weight == "C and margin":
        power = {"pa1": 1, "pa2": 2}[rule.name]
        costs = [
            alpha**2 * v / 2 + w * own["C"] * max(0.0, w - m - alpha * v) ** power
            for alpha in weighed.alpha * np.array([1.0, 0.999, 1.001])
        ]
        assert costs[0] == min(costs)
    elif rule.weight == "part or margin":
        assert w > 1 or weighed == part_of(plain, w)
        assert w < 1 or math.isclose(m + weighed.alpha * v, w)
    elif rule.weight == "natural part":
        assert natural(weighed, m, v) == pytest.approx(
            [
                before + min(w, 1) * (after - before)
                for before, after in zip((1 / v, m / v), natural(plain, m, v), strict=True)
            ]
        )
    elif rule.order == 1:
        assert weighed == Step(w * plain.alpha)
    else:
        assert weighed == plain or weighed.precision == w * plain.precision


def test_an_integer_weight_equals_that_many_examples_for_the_second_order_perceptron():
    """theta and Sigma^-1 add up, so that a weight of 3 is a step for each of three, were there no margin to ask."""
    rng = np.random.default_rng(0)
    x, theta = rng.normal(size=3), rng.normal(size=3)
    inverse = np.eye(3) + np.outer(theta, theta)
    mu = np.linalg.solve(inverse, theta)
    y = -np.sign(mu @ x)
    v = x @ np.linalg.solve(inverse, x)
    (rule,) = (r for r in all_rules() if r.name == "second_order_perceptron")
    step = rule.step(y * mu @ x, v, 0.0, 1.0, {}, w=3.0)
    moved = mu + step.alpha * y * np.linalg.solve(inverse, x)
    assert step.precision == 3.0
    np.testing.assert_allclose(moved, np.linalg.solve(inverse + 3 * np.outer(x, x), theta + 3 * y * x))


def test_a_part_of_a_step_of_cw_never_leaves_the_example_less_likely():
    (rule,) = (r for r in all_rules() if r.name == "cw")
    rng = np.random.default_rng(0)
    for _ in range(2000):
        n, phi, w = float(rng.integers(1, 3)), rng.uniform(0.1, 4), 10 ** rng.uniform(-6, 0)
        z, v = min(-(10 ** rng.uniform(-3, 5)), phi - 1e-3), 10 ** rng.uniform(-6, 6)
        step = rule.step(z * math.sqrt(v), v, 0.0, 1.0, {"phi": phi}, n=n, w=w)
        after = math.sqrt(v / (1 + step.precision * v / n))
        new = (z * math.sqrt(v) + step.alpha * v) / after
        rounding = 1e-9 * (1 + abs(z) * math.sqrt(v) / after * 1e-3)
        assert max(z, -n * (1 - w) / (phi * math.sqrt(w))) * (1 + 1e-9) - rounding <= new <= phi + rounding


@pytest.mark.parametrize("w", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("covariance", ["full", "diagonal", "diagonal-drop"])
def test_cw_stays_stable_with_weights_below_one(covariance, w):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3000, 8))
    y = np.where(x[:, 0] + 0.5 * rng.normal(size=3000) > 0, 1, -1)
    plain, weighed = (Learner("cw", covariance=covariance) for _ in range(2))
    plain.learn(x[:2000], y[:2000])
    weighed.learn(x[:2000], y[:2000], weights=np.full(2000, w))
    errors = [(learner.scores(x[2000:]) * y[2000:] < 0).mean() for learner in (plain, weighed)]
    assert errors[1] < errors[0] + 0.03


@pytest.mark.parametrize("name", ["perceptron", "pa1"])
def test_equal_weights_change_nothing_but_the_length_of_the_weights(name):
    x, y = draw_examples(0, 200, 6, 0.5)
    plain, weighed = Learner(name), Learner(name)
    plain.learn(x, y)
    weighed.learn(x, y, weights=np.full(len(y), 4.0))
    np.testing.assert_array_equal(weighed.model.weights(), 4 * plain.model.weights())
    assert weighed.counts == plain.counts


def test_a_part_of_a_step_is_at_most_the_whole():
    step = Step(2.0, 4.0, shrink=0.5, grow=1.5)
    assert part_of(step, 1.0) is part_of(step, 7.0) is step
    assert part_of(step, 0.5) == Step(1.0, 2.0, 0.75, 1.25)
    assert part_of(HOLD, 0.5) == HOLD


def learners(rule):
    yield lambda: Learner(rule, covariance="auto")
    if rule.order == 2:
        yield lambda: Learner(rule, covariance="diagonal", intercept=True)
    yield lambda: KernelLearner(rule, kernel_parameters={"gamma": 0.5})


def model_of(learner):
    memory = learner.model.memories[0] if isinstance(learner, KernelLearner) else learner.model.memory
    return memory.tobytes(), learner.model.scalars.tobytes(), learner.counts


@every_rule
def test_a_weight_of_one_changes_nothing(rule):
    x, y = draw_examples(1, 60, 6, 0.7)
    for new in learners(rule):
        plain, weighed = new(), new()
        plain.learn(x, y)
        weighed.learn(x, y, weights=np.ones(60))
        assert model_of(plain) == model_of(weighed)


@every_rule
def test_rows_of_weight_zero_are_ignored(rule):
    x, y = draw_examples(2, 80, 6, 0.7)
    weights = np.where(np.arange(80) % 3 == 0, 0.0, 0.5)
    kept = weights > 0
    order = np.random.default_rng(0).permutation(80)
    for new in learners(rule):
        for as_rows in (np.asarray, sparse.csr_array):
            without, with_zeros, in_order = new(), new(), new()
            without.learn(as_rows(x[kept]), y[kept], weights=weights[kept])
            with_zeros.learn(as_rows(x), y, weights=weights)
            assert model_of(without) == model_of(with_zeros)
            assert without.learn(x[order][kept[order]], y[order][kept[order]]).seen == kept.sum()
            in_order.learn(as_rows(x), y, weights=weights, order=order)
            assert in_order.counts.seen == kept.sum()


@every_rule
def test_a_weighted_learn_one_equals_a_batch_of_one(rule):
    x, y = draw_examples(3, 40, 5, 0.7)
    weights = np.random.default_rng(3).choice([0.0, 0.3, 1.0, 4.0], 40)
    batches, vectors = Learner(rule, covariance="auto"), Learner(rule, covariance="auto")
    for row, label, weight in zip(x, y, weights, strict=True):
        batches.learn(row[np.newaxis], [label], weights=[weight])
        vectors.learn_one(row, label, weight)
        assert state(vectors) == state(batches)


def test_a_weight_of_zero_starts_no_model():
    learner = Learner("scw1")
    assert learner.learn([[1.0, 2.0]], [1], weights=[0.0]).seen == 0
    assert learner.learn_one([1.0, 2.0], 1, 0.0) == 0.0
    assert learner.model is None


FORMS = {
    "vector": lambda learner, y, w: learner.learn_one([1.0], y, w),
    "rows": lambda learner, y, w: learner.learn([[1.0]], [y], weights=[w]),
    "dict": lambda learner, y, w: learner.learn_one({"a": 1.0}, y, w),
    "dicts": lambda learner, y, w: learner.learn_many([{"a": 1.0}], [y], [w]),
}


@pytest.mark.parametrize("rule", ["arow", "auto"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("known", [0, 1, 2, 5])
def test_an_example_of_weight_zero_may_have_any_class_number(rule, form, known):
    config = configure(rule, {})
    learner = learner_type(config).from_config(config, 0)
    for label in range(known):
        form(learner, label, 1.0)
    before = everything(learner)
    for label in (0, 1, 2, 3, 100, 2**31 - 2):
        form(learner, label, 0.0)
        assert everything(learner) == before
    for wrong in (-1, 0.5, 2**31 - 1, 1e300, np.nan, np.inf):
        with pytest.raises(ValueError, match="label"):
            form(learner, wrong, 0.0)
        assert everything(learner) == before
    with pytest.raises(ValueError, match="label"):
        form(learner, known + 1, 1.0)
    form(learner, known, 1.0)
    assert learner.n_classes == known + 1


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0, -1.0], ValueError, r"a weight must be 0 or a number from 1e-100 to 1e\+100, got weights\[1\] = -1.0"),
        ([1.0, np.nan], ValueError, r"weights\[1\] = nan"),
        ([np.inf, 1.0], ValueError, r"weights\[0\] = inf"),
        ([1e-101, 1.0], ValueError, r"weights\[0\] = 1e-101"),
        ([1.0], ValueError, r"a vector of 2 weights, one per row of X, got shape \(1,\)"),
        (1.0, ValueError, "a vector of 2 weights"),
        (["a", "b"], TypeError, "weights must be numbers"),
        (np.ma.masked_equal([1.0, 2.0], 2.0), ValueError, "masked"),
    ],
)
@pytest.mark.parametrize("new", [lambda: Learner("arow"), lambda: KernelLearner("arow")])
def test_bad_weights_are_refused_before_anything_changes(new, weights, error, message):
    x, y = draw_examples(4, 2, 3, 1.0)
    learner = new()
    learner.learn(x, y)
    before = model_of(learner)
    with pytest.raises(error, match=message):
        learner.learn(x, y, weights=weights)
    assert model_of(learner) == before


@pytest.mark.parametrize("w", [-1.0, np.nan, np.inf, 1e101])
@pytest.mark.parametrize("x", [[1.0, 2.0], {"a": 1.0}])
def test_a_bad_weight_of_one_example_is_refused(x, w):
    learner = Learner("arow")
    learner.learn_one(x, 1)
    before = state(learner)
    with pytest.raises(ValueError, match=r"w must be 0 or a number from 1e-100 to 1e\+100, got"):
        learner.learn_one(x, 1, w)
    assert state(learner) == before


def test_weights_scale_the_step_of_a_function():
    x, y = draw_examples(5, 30, 4, 1.0)
    own = Learner(lambda m, v: (max(0.0, 1 - m) / (v + 1), 0.0), covariance="diagonal")
    half = Learner(lambda m, v: (0.5 * max(0.0, 1 - m) / (v + 1), 0.0), covariance="diagonal")
    own.learn(x, y, weights=np.full(30, 0.5))
    half.learn(x, y)
    np.testing.assert_array_equal(own.model.weights(), half.model.weights())
