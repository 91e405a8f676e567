"""The fourteen algorithms as their papers print them, one example at a time in NumPy: slow, plain, and sharing nothing
with the package.

A prior of variance a is a change of variables: the textbook rule (prior I) runs on sqrt(a) x, and its weights and
covariance are scaled back. Where a diagonal covariance breaks mu = S theta (SOP, NAROW), and for IELLIP, the
diagonal forms take the coefficients of the Gaussian form.
"""

from statistics import NormalDist

import numpy as np


def phi_of(eta):
    return NormalDist().inv_cdf(eta)


# First order. Each takes w, x, y and returns the new w, or None if nothing changes.


def perceptron(w, x, y):
    return w + y * x if y * (w @ x) <= 0 else None


def pa(w, x, y, price=lambda loss, length2: loss / length2):
    loss = max(0.0, 1 - y * (w @ x))
    return w + price(loss, x @ x) * y * x if loss > 0 else None


def pa1(w, x, y, C=1.0):
    return pa(w, x, y, lambda loss, length2: min(C, loss / length2))


def pa2(w, x, y, C=1.0):
    return pa(w, x, y, lambda loss, length2: loss / (length2 + 1 / (2 * C)))


def romma(w, x, y):
    return relaxed_maximum_margin(w, x, y) if y * (w @ x) <= 0 else None


def aggressive_romma(w, x, y):
    f, n = w @ x, (x @ x) * (w @ w)
    if y * f >= 1:
        return None
    return y * x / (x @ x) if y * f >= n else relaxed_maximum_margin(w, x, y)


def relaxed_maximum_margin(w, x, y):
    if not w.any():
        return y * x / (x @ x)
    f, n = w @ x, (x @ x) * (w @ w)
    denominator = n - f**2
    return (n - y * f) / denominator * w + (w @ w) * (y - f) / denominator * x if denominator > 0 else None


FIRST_ORDER = {
    "perceptron": perceptron,
    "pa": pa,
    "pa1": pa1,
    "pa2": pa2,
    "romma": romma,
    "aggressive_romma": aggressive_romma,
}

# Second order, Gaussian form: alpha, beta and k = beta/(1 - beta v) in the form that each paper gives, and the growth
# of Sigma after the step; None if there is no loss.


def from_alpha(alpha, v, phi):
    root = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
    return alpha, alpha * phi / (root + v * alpha * phi), alpha * phi / root, 1.0


def cw_alpha(m, v, phi):
    psi, zeta = 1 + phi**2 / 2, 1 + phi**2
    return max(0.0, (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))


def cw(m, v, t, eta=0.70):
    phi = phi_of(eta)
    return from_alpha(cw_alpha(m, v, phi), v, phi) if phi * np.sqrt(v) > m else None


def scw1(m, v, t, C=1.0, eta=0.75):
    phi = phi_of(eta)
    return from_alpha(min(C, cw_alpha(m, v, phi)), v, phi) if phi * np.sqrt(v) > m else None


def scw2(m, v, t, C=1.0, eta=0.90):
    phi = phi_of(eta)
    n = v + 1 / (2 * C)
    gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
    alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
    return from_alpha(alpha, v, phi) if phi * np.sqrt(v) > m else None


def arow(m, v, t, r=1.0):
    beta = 1 / (v + r)
    return ((1 - m) * beta, beta, 1 / r, 1.0) if m < 1 else None


def nherd(m, v, t, C=1.0):
    beta = (C**2 * v + 2 * C) / (1 + C * v) ** 2
    return ((1 - m) / (v + 1 / C), beta, 2 * C + C**2 * v, 1.0) if m < 1 else None


def second_order_perceptron(m, v, t):
    return ((1 - m) / (1 + v), 1 / (1 + v), 1.0, 1.0) if m <= 0 else None


def narow(m, v, t, b=1.0):
    if v <= 1 / b:
        return (1.0, 0.0, 0.0, 1.0) if m < 1 else None
    beta = (b * v - 1) / (b * v**2)
    # 1 - beta (m + v), which would be nothing but rounding if v is large.
    return (1 / (b * v) - beta * m, beta, (b * v - 1) / v, 1.0) if m / (b * v) < 1 else None


def iellip(m, v, t, b=0.3, c=0.1):
    c_t = c * b ** (t - 1)
    return ((1 - m) / v, c_t / v, c_t / v / (1 - c_t), 1 / (1 - c_t)) if m <= 0 else None


GAUSSIAN_FORM = {
    "cw": cw,
    "scw1": scw1,
    "scw2": scw2,
    "arow": arow,
    "nherd": nherd,
    "second_order_perceptron": second_order_perceptron,
    "narow": narow,
    "iellip": iellip,
}


class Textbook:
    """A model in its textbook state; `learn_one` tells whether the prediction was wrong and whether it moved.

    With a floor it takes the Gaussian form: theta belongs to steps of which nothing is held back.
    """

    def __init__(self, name, size, covariance="full", dtype=np.float64, floor=0.0, **parameters):
        self.name, self.covariance, self.parameters, self.t, self.floor = name, covariance, parameters, 0, floor
        self.mu = np.zeros(size, dtype)
        self.theta = np.zeros(size, dtype)
        self.S = np.eye(size, dtype=dtype) if covariance == "full" else np.ones(size, dtype)

    def learn_one(self, x, y):
        self.t += 1
        wrong = (1 if self.mu @ x >= 0 else -1) != y
        if not x.any():
            return wrong, False
        if self.name in FIRST_ORDER:
            w = FIRST_ORDER[self.name](self.mu, x, y, **self.parameters)
            moved = w is not None
            self.mu = w if moved else self.mu
        elif self.covariance == "full" and self.name in OWN_FORM and not self.floor:
            moved = OWN_FORM[self.name](self, x, y, **self.parameters)
        else:
            moved = self.take_gaussian_step(x, y)
        return wrong, moved

    def take_gaussian_step(self, x, y):
        g = self.S @ x if self.covariance == "full" else self.S * x
        v = g @ x
        step = GAUSSIAN_FORM[self.name](y * (self.mu @ x), v, self.t, **self.parameters)
        if step is None:
            return False
        alpha, beta, k, grow = step
        self.mu = self.mu + alpha * y * g
        if self.covariance == "full":
            beta = gentler(beta, x, v, self.floor)
            # The usual form. With the scale applied before the product it would not even be exactly symmetric.
            self.S = (self.S - np.outer(beta * g, g)) * grow
        elif self.covariance == "diagonal":
            self.S = np.maximum(1 / (1 / self.S + k * x**2), self.floor) * grow
        elif self.covariance == "diagonal-drop":
            self.S = np.maximum(self.S - beta * self.S**2 * x**2, self.floor) * grow
        return True


def gentler(beta, x, v, floor):
    """As much of beta as leaves v (1 - beta v) = x'S'x no smaller than the floor along x, or none."""
    return min(beta, max(0.0, (v - floor * (x @ x)) / v**2))


# Rules whose papers keep another state than (mu, S).


def second_order_perceptron_of_theta(model, x, y):
    v = x @ model.S @ x
    if y * (model.theta @ model.S @ x) / (1 + v) > 0:
        return False
    model.theta = model.theta + y * x
    model.S = model.S - np.outer(model.S @ x, model.S @ x) / (1 + v)
    model.mu = model.S @ model.theta
    return True


def narow_of_theta(model, x, y, b=1.0):
    chi = x @ model.S @ x
    r_t = chi / (b * chi - 1) if chi > 1 / b else np.inf
    # The margin under the new S.
    if y * (model.theta @ (model.S - np.outer(model.S @ x, model.S @ x) / (chi + r_t)) @ x) >= 1:
        return False
    model.theta = model.theta + y * x
    model.S = model.S - np.outer(model.S @ x, model.S @ x) / (chi + r_t)
    model.mu = model.S @ model.theta
    return True


def ellipsoid(model, x, y, b=0.3, c=0.1):
    v, m, c_t = x @ model.S @ x, y * (model.mu @ x), c * b ** (model.t - 1)
    if m > 0:
        return False
    gg = y * x / np.sqrt(v)
    model.mu = model.mu + (1 - m) / np.sqrt(v) * (model.S @ gg)
    model.S = (model.S - c_t * model.S @ np.outer(gg, gg) @ model.S) / (1 - c_t)
    return True


OWN_FORM = {
    "second_order_perceptron": second_order_perceptron_of_theta,
    "narow": narow_of_theta,
    "iellip": ellipsoid,
}

#: All algorithms of this file.
NAMES = [*FIRST_ORDER, *GAUSSIAN_FORM]


def run(name, X, y, covariance, initial_variance=1.0, intercept=False, **parameters):
    """The model after all rows and what happened on the way: weights, Sigma (or its diagonal), mistakes, updates."""
    if intercept:
        X = np.hstack([X, np.ones((len(X), 1))])
    scale = np.sqrt(initial_variance)
    model = Textbook(name, X.shape[1], covariance, **parameters)
    happened = [model.learn_one(scale * x, label) for x, label in zip(X, y, strict=True)]
    mistakes, updates = np.sum(happened, axis=0)
    return scale * model.mu, initial_variance * model.S, int(mistakes), int(updates)


def defaults_of(rule):
    """Return default parameters of this reference; with them rounding does not matter for a long time."""
    names = ("C", "eta", "r", "b", "c")
    function = GAUSSIAN_FORM.get(rule) or FIRST_ORDER[rule]
    given = function.__defaults__ or ()
    taken = function.__code__.co_varnames[function.__code__.co_argcount - len(given) : function.__code__.co_argcount]
    return {name: value for name, value in zip(taken, given, strict=True) if name in names}
