"""Theorem 1, as corrected, on runs of SCW-I."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy import sparse

from scwlearn.learning.bounds import LossBound, loss_bound
from scwlearn.learning.learner import Learner

# While C limits the steps, the repeated example gets further on the wrong side, in standard deviations,
# until the last step, which is long enough to correct it at once.
REFUTING = np.array([[10.0, 0.0], *[[-2.0, 0.4]] * 10, [-1000.0, 200.0]])
ABOVE = np.array([0.919, 4.612])


def random_run(rng: np.random.Generator, **more: object) -> LossBound:
    n, d = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    x = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1)
    y = rng.choice([-1, 1], n)
    a = float(rng.choice([0.5, 1.0, 3.0]))
    settings = {"C": 2 ** rng.uniform(-6, 5), "eta": rng.uniform(0.52, 0.999), "initial_variance": a}
    return loss_bound(x, y, **settings | more)


def separable(rng: np.random.Generator, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(n, d))
    return x, np.where(x @ rng.normal(size=d) >= 0, 1, -1)


@pytest.mark.parametrize("a", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("eta", [0.55, 0.75, 0.99])
def test_each_loss_is_the_factor_times_alpha_squared_v_cut_or_not(eta: float, a: float) -> None:
    rng = np.random.default_rng(0)
    cut = whole = 0
    for C in 2.0 ** np.arange(-6, 10, 3):
        x, y = rng.normal(size=(100, 4)), rng.choice([-1, 1], 100)
        run = loss_bound(x, y, C=C, eta=eta, initial_variance=a)
        np.testing.assert_allclose(run.losses, run.factor * run.squares, rtol=1e-9, atol=0)
        alpha = Learner("scw1", covariance="full", initial_variance=a, C=C, eta=eta).trace(x, y).alpha
        cut += np.sum(alpha == C)
        whole += np.sum((alpha > 0) & (alpha < C))
    assert cut > 20
    assert whole > 20


def test_a_loss_is_one_at_margin_zero_and_zero_at_full_confidence() -> None:
    run = loss_bound([[2.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [1, 1, -1], C=100.0)
    np.testing.assert_allclose(run.losses, [1.0, 0.0, 1.0], rtol=1e-12, atol=1e-12)


def test_the_squares_stay_within_the_bound_on_random_feasible_runs() -> None:
    rng = np.random.default_rng(1)
    feasible = 0
    for _ in range(1200):
        run = random_run(rng)
        assert run.sigma_feasible
        if run.feasible:
            feasible += 1
            assert run.holds
            assert run.loss <= run.loss_limit * (1 + 1e-9)
    assert feasible > 300


@pytest.mark.parametrize("C", [0.1, 1.0, 1e6])
@pytest.mark.parametrize("a", [0.5, 1.0, 3.0])
def test_the_squares_stay_within_the_bound_on_long_separable_runs(C: float, a: float) -> None:
    rng = np.random.default_rng(2)
    for n, d in [(100, 2), (500, 5), (2000, 10)]:
        x, y = separable(rng, n, d)
        run = loss_bound(x, y, C=C, initial_variance=a)
        assert run.feasible
        assert run.holds
        assert 0 < run.loss < run.loss_limit


def test_without_a_cut_step_there_is_no_excess() -> None:
    rng = np.random.default_rng(3)
    runs = [random_run(rng, C=1e9) for _ in range(300)]
    assert all(run.excess == 0 and run.holds for run in runs if run.feasible)


def test_the_first_inequality_as_printed_is_false_on_every_run_that_moved() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        run = random_run(rng)
        assert run.loss > run.squares.sum() or not run.squares.any()


def test_a_run_with_cut_steps_exceeds_b_but_not_b_and_the_excess() -> None:
    run = loss_bound(REFUTING, np.ones(len(REFUTING)), eta=0.99)
    assert run.feasible
    assert not run.holds
    assert run.squares.sum() > 2 * run.factor * run.bound
    assert run.loss <= run.loss_limit


def test_the_run_that_exceeds_b_does_so_in_fifty_digits() -> None:
    run = loss_bound(REFUTING, np.ones(len(REFUTING)), eta=0.99, mu=ABOVE)
    with localcontext() as context:
        context.prec = 50
        phi, goal = Decimal(run.phi), [Decimal(w) for w in ABOVE]
        mu, (a, b, c) = [Decimal(0), Decimal(0)], (Decimal(1), Decimal(0), Decimal(1))
        squares, left = Decimal(0), []
        for p, q in ([Decimal(value) for value in row] for row in REFUTING):
            g = (a * p + b * q, b * p + c * q)
            v, m = p * g[0] + q * g[1], mu[0] * p + mu[1] * q
            root = (m * m * phi**4 / 4 + v * phi**2 * (1 + phi**2)).sqrt()
            alpha = min(Decimal(1), (root - m * (1 + phi**2 / 2)) / (v * (1 + phi**2)))
            assert alpha > 0
            su = ((alpha * alpha * v * v * phi * phi + 4 * v).sqrt() - alpha * v * phi) / 2
            beta = alpha * phi / (su + v * alpha * phi)
            mu = [mu[0] + alpha * g[0], mu[1] + alpha * g[1]]
            a, b, c = a - beta * g[0] * g[0], b - beta * g[0] * g[1], c - beta * g[1] * g[1]
            squares += alpha * alpha * v
            left.append((p, q, m + alpha * v, su * su))
        for p, q, margin, variance in left:
            assert goal[0] * p + goal[1] * q >= margin
            assert a * p * p + 2 * b * p * q + c * q * q <= variance * (1 + Decimal("1e-40"))
        det = a * c - b * b
        quadratic = (c * goal[0] ** 2 - 2 * b * goal[0] * goal[1] + a * goal[1] ** 2) / det
        bound = a + c - det.ln() - 2 + quadratic
        assert squares > 2 * bound
    assert run.feasible
    assert run.squares.sum() == pytest.approx(float(squares), rel=1e-9)
    assert run.bound == pytest.approx(float(bound), rel=1e-9)


def test_b_and_the_excess_bound_runs_made_to_be_cut() -> None:
    rng = np.random.default_rng(5)
    exceeded = 0
    for _ in range(400):
        first = [10 ** rng.uniform(0, 2), 0.0]
        against = np.array([-1.0, rng.uniform(0.1, 0.4)])
        many, last = [rng.uniform(0.5, 3) * against] * int(rng.integers(1, 15)), 10 ** rng.uniform(2, 5) * against
        rows = np.array([first, *many, last])
        run = loss_bound(rows, np.ones(len(rows)), eta=rng.uniform(0.98, 0.9999))
        assert run.feasible
        assert run.loss <= run.loss_limit * (1 + 1e-9)
        assert run.holds or run.excess > 0
        exceeded += not run.holds
    assert exceeded > 100


def test_the_chosen_mean_makes_the_bound_smallest() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        x, y = separable(rng, 30, 3)
        run = loss_bound(x, y)
        assert run.mu is not None
        others = run.mu + rng.normal(size=(40, 3)) * np.geomspace(1e-4, 1, 40)[:, None]
        for mu in others:
            other = loss_bound(x, y, mu=mu)
            assert not other.feasible or other.bound >= run.bound * (1 - 1e-7)
        assert loss_bound(x, y, mu=run.mu).bound == pytest.approx(run.bound)


def test_a_given_comparison_gives_the_formula_of_the_theorem() -> None:
    rng = np.random.default_rng(7)
    x, y = separable(rng, 40, 3)
    sigma = 1e-3 * np.diag([1.0, 2.0, 3.0])
    mu, a = np.array([5.0, -1.0, 2.0]), 3.0
    run = loss_bound(x, y, mu=mu, sigma=sigma, initial_variance=a, C=1.0, eta=0.75)
    learner = Learner("scw1", covariance="full", initial_variance=a, C=1.0, eta=0.75)
    learner.learn(x, y)
    expected = np.trace(sigma) / a - np.log(np.linalg.det(sigma / a)) - 3
    expected += mu @ np.linalg.inv(learner.model.matrix()) @ mu
    assert run.bound == pytest.approx(expected, rel=1e-9)
    assert run.sigma_feasible


def test_what_a_given_comparison_breaks_is_reported() -> None:
    rng = np.random.default_rng(8)
    x, y = separable(rng, 40, 3)
    own = loss_bound(x, y)
    wrong_mean = loss_bound(x, y, mu=-own.mu)
    assert (wrong_mean.mu_feasible, wrong_mean.sigma_feasible, wrong_mean.feasible) == (False, True, False)
    too_wide = loss_bound(x, y, sigma=np.eye(3))
    assert (too_wide.mu_feasible, too_wide.sigma_feasible, too_wide.feasible) == (True, False, False)


def test_the_last_covariance_is_always_feasible() -> None:
    rng = np.random.default_rng(9)
    for _ in range(300):
        run = random_run(rng)
        assert run.sigma_feasible
        assert np.all(np.linalg.eigvalsh(run.sigma) > 0)


def test_examples_that_contradict_each_other_admit_no_mean() -> None:
    run = loss_bound([[1.0, 2.0], [1.0, 2.0]], [1, -1], C=100.0)
    assert run.mu is None
    assert run.bound == run.excess == np.inf
    assert not run.mu_feasible
    assert not run.feasible
    assert run.sigma_feasible


def test_mistakes_are_at_most_the_loss_where_the_cap_covers_them() -> None:
    rng = np.random.default_rng(10)
    covered = 0
    for _ in range(500):
        run = random_run(rng)
        if run.cap_covers_mistakes and run.mistakes:
            covered += 1
            assert run.mistakes <= run.loss * (1 + 1e-12)
    assert covered > 100


def test_a_small_cap_lets_mistakes_exceed_the_loss() -> None:
    run = loss_bound([[-1.0], [-1.0]], [1, -1], C=0.01)
    assert run.mistakes == 1
    assert not run.cap_covers_mistakes
    assert run.loss < run.mistakes


def test_sparse_rows_give_the_same_as_dense_ones() -> None:
    rng = np.random.default_rng(11)
    x, y = separable(rng, 60, 4)
    x[rng.random(x.shape) < 0.5] = 0
    dense, sparse_ = loss_bound(x, y), loss_bound(sparse.csc_matrix(x), y)
    assert sparse_.bound == pytest.approx(dense.bound, rel=1e-9)
    np.testing.assert_allclose(sparse_.losses, dense.losses, rtol=1e-9)


def test_a_run_in_which_nothing_moves_has_a_bound_of_zero() -> None:
    for x in (np.empty((0, 2)), np.zeros((3, 2))):
        run = loss_bound(x, np.ones(len(x)))
        assert (run.loss, run.bound, run.feasible, run.holds) == (0.0, 0.0, True, True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mu": [1.0]}, r"mu must have shape \(2,\) for 2 features, got \(1,\)"),
        ({"mu": [1.0, np.nan]}, "mu must be finite"),
        ({"sigma": [1.0, 1.0]}, r"sigma must have shape \(2, 2\)"),
        ({"sigma": [[1.0, 0.5], [0.0, 1.0]]}, "sigma must be symmetric"),
        ({"sigma": [[1.0, 2.0], [2.0, 1.0]]}, "sigma must be positive definite"),
        ({"eta": 0.5}, "eta must be a number strictly between 0.5 and 1"),
        ({"C": 0.0}, "C must be a number strictly between 0 and inf"),
    ],
)
def test_bad_input_raises_a_clear_error(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loss_bound([[1.0, 0.0], [0.0, 1.0]], [1, -1], **given)


def test_labels_other_than_minus_and_plus_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"labels must be -1 or \+1"):
        loss_bound([[1.0], [2.0]], [0, 1])
