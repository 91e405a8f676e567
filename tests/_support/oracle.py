"""Numerical minimisers of the problems that the rules claim to solve; they know no closed form and no derivative.

The Kullback-Leibler problems move mu and Sigma along one direction only, so that each comes down to two numbers:
`move` = (m' - m)/sqrt(v), how far the margin goes in standard deviations, and `log_shrink` = log sqrt(u/v), what
becomes of the deviation. KL and every loss here are jointly convex in `move` and sqrt(u), so nested line searches
find the minimum. `least_in_full` minimises over all of mu and Sigma instead: it holds that reduction to account.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, nnls

GOLDEN = (np.sqrt(5) - 1) / 2


def confident(deviation, c):
    return c["phi"] * deviation


def one(deviation, c):
    return np.ones_like(deviation)


@dataclass(frozen=True)
class Problem:
    """Loss that a rule adds to the distance: the margin it needs, and the price of a shortfall (None: not allowed)."""

    need: object
    price: object = None
    #: A cost that depends only on the new standard deviation.
    extra: object = None

    def cost(self, margin, deviation, c):
        total = np.zeros_like(margin) if self.extra is None else self.extra(deviation, c)
        if self.price is None:
            return total
        return total + self.price(np.maximum(0, self.need(deviation, c) - margin), c)


GAUSSIAN = {
    "cw": Problem(confident),
    "scw1": Problem(confident, lambda missing, c: c["C"] * missing),
    "scw2": Problem(confident, lambda missing, c: c["C"] * missing**2),
    "arow": Problem(one, lambda missing, c: missing**2 / (2 * c["r"]), extra=lambda s, c: s**2 / (2 * c["r"])),
}

EUCLIDEAN = {
    "pa": Problem(one),
    "pa1": Problem(one, lambda missing, c: c["C"] * missing),
    "pa2": Problem(one, lambda missing, c: c["C"] * missing**2),
}


def golden_section(objective, low, high, rounds=75):
    """The least value of many unimodal functions at once, each on its own interval, ends included."""
    best = np.minimum(objective(low), objective(high))
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = objective(left), objective(right)
    for _ in range(rounds):
        best = np.minimum(best, np.minimum(at_left, at_right))
        go_left = at_left < at_right
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
        point = np.where(go_left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = objective(point)
        left, right = np.where(go_left, point, right), np.where(go_left, left, point)
        at_left, at_right = np.where(go_left, value, at_right), np.where(go_left, at_left, value)
    return np.minimum(best, np.minimum(at_left, at_right))


def moves_to_search(problem, m, v, new_deviation, c):
    """An interval, in deviations, that holds the best move: never short of a margin that is due."""
    enough = (problem.need(new_deviation, c) - m) / np.sqrt(v)
    low = enough if problem.price is None else np.full_like(m, -1.0)
    return low, np.maximum(enough, 0.0) + 1.0


def gaussian_objective(problem, m, v, c, move, log_shrink):
    """KL + cost, where KL = (log(v/u) + u/v - 1 + (m' - m)^2/v)/2."""
    divergence = (np.expm1(2 * log_shrink) - 2 * log_shrink + move**2) / 2
    return divergence + problem.cost(m + move * np.sqrt(v), np.sqrt(v) * np.exp(log_shrink), c)


def least_gaussian(problem, m, v, c):
    """The least KL + cost of each case; only points that meet the constraint are ever looked at."""

    def over_moves(log_shrink):
        low, high = moves_to_search(problem, m, v, np.sqrt(v) * np.exp(log_shrink), c)
        return golden_section(lambda move: gaussian_objective(problem, m, v, c, move, log_shrink), low, high)

    return golden_section(over_moves, np.full_like(m, -60.0), np.full_like(m, 3.0))


def euclidean_objective(problem, m, v, c, along, across):
    """|w - mu|^2/2 + cost, with w - mu given along x and across it in the plane that mu and x span."""
    return (along**2 + across**2) / 2 + problem.cost(m + along * np.sqrt(v), np.sqrt(v), c)


def least_euclidean(problem, m, v, c):
    """The least |w - mu|^2/2 + cost of each case."""
    low, high = moves_to_search(problem, m, v, np.sqrt(v), c)

    def over_along(across):
        return golden_section(lambda along: euclidean_objective(problem, m, v, c, along, across), low, high)

    return golden_section(over_along, np.full_like(m, -1.0), np.full_like(m, 2.0))


def shortest(rows, at_least):
    """The shortest w with rows @ w >= at_least, by non-negative least squares (Lawson and Hanson); None if none is.

    Rows and right-hand sides are brought to size 1 first, so that the residual's size tells whether there is one.
    """
    lengths = np.linalg.norm(rows, axis=1)
    rows, at_least = rows[lengths > 0] / lengths[lengths > 0, None], at_least[lengths > 0] / lengths[lengths > 0]
    unit = np.abs(at_least).max()
    system = np.vstack([rows.T, at_least / unit])
    goal = np.zeros(len(system))
    goal[-1] = 1.0
    residual = system @ nnls(system, goal)[0] - goal
    if np.linalg.norm(residual) < 1e-7:
        return None
    return -residual[:-1] / residual[-1] * unit


def full_objective(problem, mu, sigma, x, y, c, new_mu, new_sigma):
    """KL(N(new_mu, new_sigma) || N(mu, sigma)) + cost, in as many dimensions as there are."""
    inverse, gap = np.linalg.inv(sigma), new_mu - mu
    log_dets = np.linalg.slogdet(sigma)[1] - np.linalg.slogdet(new_sigma)[1]
    divergence = (log_dets + np.trace(inverse @ new_sigma) + gap @ inverse @ gap - len(mu)) / 2
    return divergence + problem.cost(y * new_mu @ x, np.sqrt(x @ new_sigma @ x), c)


def least_in_full(problem, mu, sigma, x, y, c):
    """The least KL + cost over every mu and every Sigma = L L', by a general-purpose method (SLSQP)."""
    return _least_divergence(problem, mu[np.newaxis], sigma, y * x[np.newaxis], x, c, times=1)


def _least_divergence(problem, rows, sigma, directions, x, c, times):
    """Minimise KL + cost over rows of weights with a common Sigma = L L'.

    The margin is the sum of rows * directions, its variance that of x, once per row; `times` says how often the
    divergence of Sigma counts.
    """
    count, d = rows.shape
    lower, inverse, log_det = np.tril_indices(d, -1), np.linalg.inv(sigma), np.linalg.slogdet(sigma)[1]
    # The shortfall is a separate variable, so that a kink in the price becomes a bound on it.
    relaxed = Problem(problem.need, None, problem.extra)

    def unpack(point):
        logs = point[count * d : (count + 1) * d]
        factor = np.diag(np.exp(logs))
        factor[lower] = point[(count + 1) * d : -1]
        projected = x @ factor
        return point[: count * d].reshape(count, d), factor, 2 * logs.sum(), np.sqrt(count * (projected @ projected))

    def room(point):
        new_rows, _, _, deviation = unpack(point)
        allowed = 0.0 if problem.price is None else point[-1]
        return np.vdot(new_rows, directions) + allowed - problem.need(deviation, c)

    def objective(point):
        new_rows, factor, new_log_det, deviation = unpack(point)
        gaps = new_rows - rows
        of_sigma = log_det - new_log_det + np.vdot(inverse @ factor, factor) - d
        divergence = (times * of_sigma + np.vdot(gaps @ inverse, gaps)) / 2
        price = 0.0 if problem.price is None else problem.price(point[-1], c)
        return divergence + relaxed.cost(np.vdot(new_rows, directions), deviation, c) + price

    start = np.linalg.cholesky(sigma)
    missing = max(0.0, float(problem.need(np.sqrt(count * (x @ sigma @ x)), c) - np.vdot(rows, directions)))
    point = np.concatenate([rows.ravel(), np.log(np.diag(start)), start[lower], [missing]])
    return least_by_slsqp(objective, point, room)


def least_by_slsqp(objective, point, room):
    """The least of a smooth function where `room` is not negative; the last of its variables is not, either."""
    # Restart where the first search ended, with a fresh estimate of the curvature.
    for _ in range(2):
        found = minimize(
            objective,
            point,
            method="SLSQP",
            jac="3-point",
            bounds=[(None, None)] * (len(point) - 1) + [(0.0, None)],
            constraints={"type": "ineq", "fun": room},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        point = found.x
    return found.fun


def shared_objective(problem, rows, sigma, x, c, new_rows, new_sigma, times=2):
    """KL of two rows of weights that share one Sigma + cost, where the margin is that of the first over the second.

    Each row has its own mean, and each counts the divergence of Sigma, unless `times` says otherwise.
    """
    inverse, gaps = np.linalg.inv(sigma), new_rows - rows
    of_sigma = np.linalg.slogdet(sigma)[1] - np.linalg.slogdet(new_sigma)[1] + np.trace(inverse @ new_sigma) - len(x)
    divergence = (times * of_sigma + np.einsum("ri,ij,rj->", gaps, inverse, gaps)) / 2
    margin = (new_rows[0] - new_rows[1]) @ x
    return divergence + problem.cost(margin, np.sqrt(2 * x @ new_sigma @ x), c)


def least_shared(problem, rows, sigma, x, c, times=2):
    """The least of it over all weights of both rows and every Sigma = L L'."""
    return _least_divergence(problem, rows, sigma, np.array([x, -x]), x, c, times)
