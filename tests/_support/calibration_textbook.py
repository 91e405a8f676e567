"""Reference calibration without shortcuts: all rows are kept, and every sum runs over them."""

import numpy as np

KNOTS = (np.arange(33) - 16) * 0.5


class Clock:
    """The weights of the rows, and when the curve is fitted again."""

    def __init__(self, window):
        self.window = window
        self.weights, self.gains = [], []
        self.fitted = 0

    def enter(self, w):
        grown = 1 + 2 * w / (min(sum(self.weights), self.window) + 100)
        self.gains.append((self.gains[-1] if self.gains else 1.0) * grown)
        self.weights.append(w)

    def is_due(self):
        rows = len(self.weights)
        if rows - self.fitted < min(max(1, rows / 16), max(1, self.window / 16)):
            return False
        self.fitted = rows
        return True

    def shares(self):
        return np.array(self.weights) * np.array(self.gains) / self.gains[-1]


def signals(f, v, limit):
    bent = np.where(f == 0, 0.0, f / np.where(f == 0, 1.0, np.sqrt(v) + abs(f) / 8))
    return np.clip(np.stack([f / np.sqrt(1 + v), bent], axis=-1), -limit, limit)


def usual_sizes(signal, w):
    usual = np.sqrt(w @ signal**2 / w.sum())
    return np.where(usual > 1e-60, usual, np.inf), np.where(usual > 1e-60, 5 * usual, 1e60)


def best_line(matrix, target):
    """Minimize the parabola with non-negative slopes (the first two entries), by trying all sets of zero slopes."""
    best = None
    for free in ([0, 1], [0], [1], []):
        places = [*free, *range(2, len(target))]
        x = np.zeros(len(target))
        x[places] = np.linalg.solve(matrix[np.ix_(places, places)], target[places])
        value = x @ matrix @ x / 2 - target @ x
        if min(x[:2]) >= 0 and (best is None or value < best[0]):
            best = value, x
    return best[1]


def shift_of(u, w, y, p):
    """Return the correction of the log-odds at each knot."""
    near = np.maximum(0, 1 - abs(np.clip(u / 0.5 + 16, 0, 32)[:, None] - np.arange(33)))
    seen, positive, expected = (near.T @ (w * part) for part in (1, y, p))
    heights = KNOTS + np.log((positive + 4) / (expected + 4) * (seen - expected + 4) / (seen - positive + 4))
    mass = expected * (1 - expected / np.where(seen > 0, seen, 1)) + 4
    return isotonic(heights, mass) - KNOTS


def isotonic(heights, mass):
    """Compute the isotonic regression by the min-max formula."""
    n = len(heights)
    sums, masses = np.append(0, np.cumsum(heights * mass)), np.append(0, np.cumsum(mass))

    def mean(first, last):
        return (sums[last + 1] - sums[first]) / (masses[last + 1] - masses[first])

    return np.array([max(min(mean(i, j) for j in range(k, n)) for i in range(k + 1)) for k in range(n)])


def logistic(u):
    return 1 / (1 + np.exp(-np.clip(u, -30, 30)))


class Textbook:
    """The binary case."""

    def __init__(self, window=30_000.0):
        self.clock = Clock(window)
        self.signals, self.logits, self.labels = [], [], []
        self.line, self.limit, self.shift = np.zeros(3), np.full(2, 1e60), np.zeros(33)

    def signals_and_logit(self, f, v):
        z = np.append(signals(np.float64(f), v, self.limit), 1.0)
        return z, np.clip(self.line @ z, -30, 30)

    def learn(self, f, v, y, w=1.0):
        z, u = self.signals_and_logit(f, v)
        self.clock.enter(w)
        self.signals.append(z)
        self.logits.append(u)
        self.labels.append(float(y > 0))
        if self.clock.is_due():
            self.fit()

    def fit(self):
        w = self.clock.shares()
        z, u, y = np.array(self.signals), np.array(self.logits), np.array(self.labels)
        p = logistic(u)
        usual, self.limit = usual_sizes(z[:, :2], w)
        usual = np.append(usual, 1.0)
        prior = 1 + 1e-9 * w.sum()
        matrix = ((z / usual) * (w * p * (1 - p))[:, None]).T @ (z / usual) + prior * np.eye(3)
        target = (z / usual).T @ (w * (p * (1 - p) * u + y - p)) + [prior / 2, 0, 0]
        self.line = best_line(matrix, target) / usual
        self.shift = shift_of(u, w, y, p)

    def probabilities(self, f, v):
        u = self.signals_and_logit(f, v)[1]
        return logistic(u + np.interp(u, KNOTS, self.shift))


class ClassTextbook:
    """Several classes."""

    def __init__(self, n_classes, window=30_000.0):
        self.clock = Clock(window)
        self.signals, self.lines, self.before, self.labels = [], [], [], []
        # Two slopes, then the constants.
        self.line, self.limit, self.shift = np.zeros(2 + n_classes), np.full(2, 1e60), np.zeros(33)

    def signals_and_softmax(self, f, v):
        """Return the signals of each class, with a unit vector for its constant, and the softmax."""
        z = np.hstack([signals(f - max(f), v, self.limit), np.eye(len(f))])
        e = np.exp(z @ self.line - max(z @ self.line))
        return z, e / e.sum()

    def learn(self, f, v, label, w=1.0):
        z, p = self.signals_and_softmax(f, v)
        self.clock.enter(w)
        self.signals.append(z)
        self.before.append(p)
        self.lines.append(self.line)
        self.labels.append(np.eye(len(f))[label])
        if self.clock.is_due():
            self.fit()

    def fit(self):
        w = self.clock.shares()
        # The top class has signal 0; the second largest is the margin to it.
        margins = np.array([np.sort(z[:, :2], axis=0)[-2] for z in self.signals])
        usual, self.limit = usual_sizes(margins, w)
        size = len(self.line)
        usual = np.append(usual, np.ones(size - 2))
        prior = 1 + 1e-9 * w.sum()
        matrix, target = np.diag([prior] * 2 + [3 * prior] * (size - 2)), np.zeros(size)
        target[0] = prior / 2
        for share, z, p, y, line in zip(w, self.signals, self.before, self.labels, self.lines, strict=True):
            # The second derivative around the mean, without the terms between two constants.
            around = z - np.append(p @ z[:, :2], np.zeros(size - 2))
            bend = (around * p[:, None]).T @ around
            matrix += share * bend / np.outer(usual, usual)
            target += share * (bend @ line + z.T @ (y - p)) / usual
        self.line = best_line(matrix, target) / usual
        p, y = np.concatenate(self.before), np.concatenate(self.labels)
        self.shift = shift_of(np.log(p / (1 - p)), np.repeat(w, size - 2), y, p)

    def probabilities(self, f, v):
        p = self.signals_and_softmax(f, v)[1]
        u = np.log(p / (1 - p))
        p = logistic(u + np.interp(u, KNOTS, self.shift))
        return p / p.sum()
