"""Several classes as the papers print them, one example at a time in NumPy: slow, plain, and sharing nothing with the
package.

One covariance for each class: the binary textbook (reference.py) in the space of all weights, with x in the block of
the class and -x in that of its rival. One covariance for all: the coefficients that ALGORITHMS.md derives for it, where
g = S x, w_y += alpha g, w_s -= alpha g, S -= beta g g', and v = x'S x is the variance of one score. One versus rest: a
binary textbook for each class.
"""

import numpy as np

from reference import FIRST_ORDER, GAUSSIAN_FORM, Textbook, gentler, phi_of

# alpha, beta, k = beta/(1 - beta v) and the growth of Sigma for a shared covariance; None if there is no loss.


def shared_from_alpha(alpha, v, phi):
    root = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 8 * v)) / 2
    return alpha, alpha * phi / (root + alpha * phi * v), alpha * phi / root, 1.0


def shared_cw_alpha(m, v, phi):
    psi = 1 + phi**2 / 2
    return max(0.0, (-m * (1 + psi) + np.sqrt(m**2 * (1 - psi) ** 2 + 8 * psi * phi**2 * v)) / (4 * psi * v))


def shared_cw(m, v, t, eta=0.70):
    phi = phi_of(eta)
    return shared_from_alpha(shared_cw_alpha(m, v, phi), v, phi) if m < phi * np.sqrt(2 * v) else None


def shared_scw1(m, v, t, C=1.0, eta=0.75):
    phi = phi_of(eta)
    return shared_from_alpha(min(C, shared_cw_alpha(m, v, phi)), v, phi) if m < phi * np.sqrt(2 * v) else None


def shared_scw2(m, v, t, C=1.0, eta=0.90):
    phi, n = phi_of(eta), 2 * v + 1 / (2 * C)
    root = phi * np.sqrt(phi**2 * m**2 * v**2 + 8 * n * v * (n + v * phi**2))
    alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + root) / (2 * (n**2 + n * v * phi**2)))
    return shared_from_alpha(alpha, v, phi) if m < phi * np.sqrt(2 * v) else None


def shared_arow(m, v, t, r=1.0):
    return ((1 - m) / (2 * v + r), 1 / (v + r), 1 / r, 1.0) if m < 1 else None


# The other rules: alpha for a margin of variance 2 v, and S as the paper updates it for one example of variance v.


def shared_nherd(m, v, t, C=1.0):
    beta = (C**2 * v + 2 * C) / (1 + C * v) ** 2
    return ((1 - m) / (2 * v + 1 / C), beta, 2 * C + C**2 * v, 1.0) if m < 1 else None


def shared_second_order_perceptron(m, v, t):
    return ((1 - m) / (1 + 2 * v), 1 / (1 + v), 1.0, 1.0) if m <= 0 else None


def shared_narow(m, v, t, b=1.0):
    """After the step the variance of the margin is 1/b, where it was more."""
    both = 2 * v
    if both <= 1 / b:
        return (1.0, 0.0, 0.0, 1.0) if m < 1 else None
    k = (b * both - 1) / v
    alpha = 1 / (b * both) - m * (b * both - 1) / (b * both**2)
    return (alpha, k / (1 + k * v), k, 1.0) if m / (b * both) < 1 else None


def shared_iellip(m, v, t, b=0.3, c=0.1):
    c_t = c * b ** (t - 1)
    return ((1 - m) / (2 * v), c_t / v, c_t / v / (1 - c_t), 1 / (1 - c_t)) if m <= 0 else None


SHARED_FORM = {
    "cw": shared_cw,
    "scw1": shared_scw1,
    "scw2": shared_scw2,
    "arow": shared_arow,
    "nherd": shared_nherd,
    "second_order_perceptron": shared_second_order_perceptron,
    "narow": shared_narow,
    "iellip": shared_iellip,
}


class JointTextbook:
    """All classes as one model; `learn_one` tells whether the prediction was wrong and whether it moved."""

    def __init__(self, name, size, covariance, shared=False, rivals="max", floor=0.0, dtype=np.float64, **parameters):
        self.name, self.covariance, self.parameters, self.floor = name, covariance, parameters, floor
        self.shared, self.rivals, self.t, self.growth = shared, rivals, 0, dtype(1)
        self.W = np.zeros((0, size), dtype)
        self.S = np.ones(size, dtype) if shared else np.ones((0, size), dtype)

    def add_class(self):
        size = self.W.shape[1]
        self.W = np.vstack([self.W, np.zeros((1, size), self.W.dtype)])
        if not self.shared:
            self.S = np.vstack([self.S, np.full((1, size), self.growth)])

    def learn_one(self, x, y):
        self.t += 1
        wrong = y == len(self.W) or int(np.argmax(self.W @ x)) != y
        if y == len(self.W):
            self.add_class()
        if len(self.W) == 1 or not x.any():
            return wrong, False
        scores = self.W @ x
        others = np.where(np.arange(len(self.W)) == y, -np.inf, scores)
        rival = int(np.argmax(others))
        if self.rivals != "max":
            return wrong, self.move_all_rivals(x, y, scores)
        if self.name in FIRST_ORDER:
            return wrong, self.move_first_order(x, y, rival)
        return wrong, self.move_second_order(x, y, rival, scores[y] - scores[rival])

    def move_all_rivals(self, x, y, scores):
        above = [r for r in range(len(scores)) if r != y and scores[r] >= scores[y]]
        if not above:
            return False
        gaps = scores[above] - scores[y]
        if self.rivals == "uniform" or not gaps.any():
            gaps = np.ones(len(above))
        self.W[y] += x
        self.W[above] -= np.outer(gaps / gaps.sum(), x)
        return True

    def move_first_order(self, x, y, rival):
        stacked = np.zeros_like(self.W)
        stacked[y], stacked[rival] = x, -x
        moved = FIRST_ORDER[self.name](self.W.ravel(), stacked.ravel(), 1, **self.parameters)
        if moved is not None:
            self.W = moved.reshape(self.W.shape)
        return moved is not None

    def move_second_order(self, x, y, rival, margin):
        if self.shared:
            g = self.S * x
            step = SHARED_FORM[self.name](margin, g @ x, self.t, **self.parameters)
        else:
            g = self.S[[y, rival]] * x
            step = GAUSSIAN_FORM[self.name](margin, (g @ x).sum(), self.t, **self.parameters)
        if step is None:
            return False
        alpha, beta, k, grow = step
        self.W[y] += alpha * (g if self.shared else g[0])
        self.W[rival] -= alpha * (g if self.shared else g[1])
        if self.covariance != "identity":
            for row in [slice(None)] if self.shared else [y, rival]:
                if self.covariance == "diagonal":
                    less = 1 / (1 / self.S[row] + k * x**2)
                else:
                    less = self.S[row] - beta * self.S[row] ** 2 * x**2
                self.S[row] = np.maximum(less, self.floor)
            self.S = self.S * grow
            self.growth *= grow
        return True

    @property
    def variances(self):
        return np.tile(self.S, (len(self.W), 1)) if self.shared else self.S


class FullJointTextbook(JointTextbook):
    """All classes as one model, with a whole Sigma for each or one for all: Sigma^-1 grows by k x x'."""

    def __init__(self, name, size, covariance, **how):
        super().__init__(name, size, covariance, **how)
        dtype = self.W.dtype
        self.S = np.eye(size, dtype=dtype) if self.shared else np.zeros((0, size, size), dtype)

    def add_class(self):
        size, dtype = self.W.shape[1], self.W.dtype
        self.W = np.vstack([self.W, np.zeros((1, size), dtype)])
        if not self.shared:
            self.S = np.concatenate([self.S, self.growth * np.eye(size, dtype=dtype)[np.newaxis]])

    def move_second_order(self, x, y, rival, margin):
        own, other = (self.S, self.S) if self.shared else self.S[[y, rival]]
        form, v = (SHARED_FORM, x @ own @ x) if self.shared else (GAUSSIAN_FORM, x @ own @ x + x @ other @ x)
        step = form[self.name](margin, v, self.t, **self.parameters)
        if step is None:
            return False
        alpha, _, k, grow = step
        self.W[y] += alpha * own @ x
        self.W[rival] -= alpha * other @ x
        if self.shared:
            self.S = self.surer(self.S, x, k)
        else:
            self.S[y], self.S[rival] = self.surer(own, x, k), self.surer(other, x, k)
        self.S = self.S * grow
        self.growth *= grow
        return True

    def surer(self, S, x, k):
        # Each Sigma has its own floor along x.
        g = S @ x
        beta = gentler(k / (1 + k * (g @ x)), x, g @ x, self.floor)
        return S - np.outer(beta * g, g)

    @property
    def variances(self):
        return np.tile(self.S, (len(self.W), 1, 1)) if self.shared else self.S


class OneVersusRestTextbook:
    """A binary textbook for each class, begun when the class comes."""

    def __init__(self, name, size, covariance, **parameters):
        self.new = lambda: Textbook(name, size, covariance, **parameters)
        self.models = []

    def add_class(self):
        self.models.append(self.new())

    def learn_one(self, x, y):
        wrong = y == len(self.models) or int(np.argmax(self.W @ x)) != y
        if y == len(self.models):
            self.add_class()
        moved = [model.learn_one(x, 1 if r == y else -1)[1] for r, model in enumerate(self.models)]
        return wrong, any(moved)

    @property
    def W(self):
        return np.array([model.mu for model in self.models])

    @property
    def variances(self):
        return np.array([model.S for model in self.models])


def run(
    name,
    X,
    y,
    covariance,
    *,
    multi_class="joint",
    n_classes=0,
    initial_variance=1.0,
    intercept=False,
    **how,
):
    """The models after all rows: weights and variances (or the whole Sigma) of each class, mistakes, updates."""
    if intercept:
        X = np.hstack([X, np.ones((len(X), 1))])
    scale = np.sqrt(initial_variance)
    Joint = FullJointTextbook if covariance == "full" else JointTextbook
    Model = Joint if multi_class == "joint" else OneVersusRestTextbook
    model = Model(name, X.shape[1], covariance, **how)
    for _ in range(n_classes):
        model.add_class()
    happened = [model.learn_one(scale * x, label) for x, label in zip(X, y, strict=True)]
    mistakes, updates = np.sum(happened, axis=0)
    return scale * model.W, initial_variance * model.variances, int(mistakes), int(updates)
