"""In which form to keep a full Sigma: seven forms on five badly scaled or collinear streams, and what each costs."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from scwlearn import Learner
from scwlearn.rules import Rule, find_rule

Array = NDArray[Any]
#: A matrix of Python integers or fractions, computed with exactly.
Exact = NDArray[np.object_]


class Form:
    """Sigma = (Sigma^-1 + k x x')^-1 again and again; `kept` is all that a form remembers between rows."""

    title = ""
    look_flops = ""
    move_flops = ""
    #: Whether `exact` is Sigma^-1.
    inverse = False

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        self.kept: Array = np.eye(size, dtype=dtype)

    def look(self, x: Array) -> float:
        """x'Sigma x."""
        raise NotImplementedError

    def move(self, k: float, v: float) -> Array:
        """Sigma x for the row looked at last; then Sigma moves by k."""
        raise NotImplementedError

    def exact(self) -> Exact:
        """The matrix that `kept` stands for, without rounding."""
        return (fractions(self.kept) + fractions(self.kept).T) / 2


class Textbook(Form):
    """As papers print it."""

    title = "Sigma - (beta g) g'"
    look_flops, move_flops = "2d^2", "2d^2"

    def look(self, x: Array) -> float:
        self.g = self.kept @ x
        return float(x @ self.g)

    def move(self, k: float, v: float) -> Array:
        self.kept -= np.outer(self.kept.dtype.type(k / (1 + k * v)) * self.g, self.g)
        return self.g


class Symmetric(Textbook):
    """Scaled after the outer product, which is exactly symmetric: the same numbers as one triangle kept."""

    title = "Sigma - beta (g g'), symmetric"
    look_flops, move_flops = "2d^2", "d^2 (one triangle)"

    def move(self, k: float, v: float) -> Array:
        self.kept -= self.kept.dtype.type(k / (1 + k * v)) * np.outer(self.g, self.g)
        return self.g


class Joseph(Textbook):
    """(I - K x') Sigma (I - K x')' + K K'/k with the gain K: a sum of two positive terms."""

    title = "Joseph"
    look_flops, move_flops = "2d^2", "8d^2"

    def __init__(self, size: int, dtype: Any = np.float64) -> None:
        super().__init__(size, dtype)
        self.x: Array = np.zeros(size, dtype)

    def look(self, x: Array) -> float:
        self.x = x
        return super().look(x)

    def move(self, k: float, v: float) -> Array:
        cast = self.kept.dtype.type
        gain = cast(k / (1 + k * v)) * self.g
        half = self.kept - np.outer(gain, self.g)
        self.kept = half - np.outer(half @ self.x, gain) + cast(1 / k) * np.outer(gain, gain)
        self.kept = (self.kept + self.kept.T) / 2
        return self.g


class Potter(Form):
    """Sigma = R R', R <- R (I - c p p') with p = R'x: what the library does."""

    title = "Potter, Sigma = R R'"
    look_flops, move_flops = "2d^2", "4d^2"

    def look(self, x: Array) -> float:
        self.p = x @ self.kept
        return float(self.p @ self.p)

    def move(self, k: float, v: float) -> Array:
        g = self.kept @ self.p
        root = math.sqrt(1 + k * v)
        self.kept -= np.outer(self.kept.dtype.type(k / (root * (1 + root))) * g, self.p)
        return g

    def exact(self) -> Exact:
        root = fractions(self.kept)
        return root @ root.T


class Bierman(Form):
    """Sigma = U D U' with U unit upper triangular; `kept` holds U with D on its diagonal."""

    title = "Bierman, Sigma = U D U'"
    look_flops, move_flops = "d^2", "2d^2"

    def look(self, x: Array) -> float:
        self.d = self.kept.diagonal().copy()
        self.u = self.kept.copy()
        np.fill_diagonal(self.u, 1)
        self.f = x @ self.u
        return float(self.d @ (self.f * self.f))

    def move(self, k: float, v: float) -> Array:
        g = self.d * self.f
        f, cast, before = self.f, self.kept.dtype.type, 1.0
        gain = np.zeros_like(g)
        for j in range(len(g)):
            after = before + k * float(f[j]) * float(g[j])
            old = self.u[:j, j].copy()
            self.kept[:j, j] = old - cast(k * float(f[j]) / before) * gain[:j]
            self.kept[j, j] = self.d[j] * cast(before / after)
            gain[:j] += g[j] * old
            gain[j] = g[j]
            before = after
        return gain

    def exact(self) -> Exact:
        unit = self.kept.copy()
        np.fill_diagonal(unit, 1)
        return (fractions(unit) * fractions(self.kept.diagonal())) @ fractions(unit).T


class Precision(Form):
    """Sigma^-1 itself: an update only adds, a look solves."""

    title = "Sigma^-1"
    look_flops, move_flops = "2d^3/3", "d^2 (one triangle)"
    inverse = True

    def look(self, x: Array) -> float:
        self.x = x
        try:
            self.g = np.linalg.solve(self.kept, x)
        except np.linalg.LinAlgError:
            # Singular to rounding: no variance can be had, so the row is refused.
            return math.nan
        return float(x @ self.g)

    def move(self, k: float, v: float) -> Array:
        self.kept += self.kept.dtype.type(k) * np.outer(self.x, self.x)
        return self.g


class PrecisionRoot(Form):
    """Sigma^-1 = L L' with L lower triangular: an update turns sqrt(k) x into L by rotations."""

    title = "Cholesky, Sigma^-1 = L L'"
    look_flops, move_flops = "d^2", "4d^2"
    inverse = True

    def look(self, x: Array) -> float:
        self.x = x
        self.p = solve_triangular(self.kept, x, lower=True, check_finite=False)
        return float(self.p @ self.p)

    def move(self, k: float, v: float) -> Array:
        g: Array = solve_triangular(self.kept, self.p, lower=True, trans=1, check_finite=False)
        w = self.kept.dtype.type(math.sqrt(k)) * self.x
        for j in range(len(w)):
            column = self.kept[j:, j]
            radius = np.hypot(column[0], w[j])
            cosine, sine = column[0] / radius, w[j] / radius
            column[:], w[j:] = cosine * column + sine * w[j:], cosine * w[j:] - sine * column
        return g

    def exact(self) -> Exact:
        root = fractions(self.kept)
        return root @ root.T


FORMS: tuple[type[Form], ...] = (Textbook, Symmetric, Joseph, Potter, Bierman, Precision, PrecisionRoot)


class Stream(NamedTuple):
    """Features scale (z + eps noise) with a common factor z; the label is the sign of z, one in ten wrong."""

    rule: str
    dtype: type
    scale: float
    eps: float

    @property
    def title(self) -> str:
        name = find_rule(self.rule).title
        return f"{name} {np.dtype(self.dtype).name}, scale {self.scale:g}, eps {self.eps:g}"

    def rows(self, count: int, size: int = 10) -> tuple[Array, NDArray[np.int8]]:
        """The first rows of the stream, always the same."""
        normal = np.random.default_rng(8).standard_normal((count, size + 1))
        z = normal[:, :1]
        wrong = np.random.default_rng(9).random(count) < 0.1
        y = np.where((z[:, 0] > 0) ^ wrong, 1, -1).astype(np.int8)
        return (self.scale * (z + self.eps * normal[:, 1:])).astype(self.dtype), y


STREAMS = (
    Stream("scw1", np.float32, 100, 1e-6),
    Stream("scw1", np.float64, 1e4, 1e-8),
    Stream("scw1", np.float64, 1e8, 1e-3),
    Stream("arow", np.float64, 1e8, 1e-3),
    # Nothing collinear here, only large: what the first updates lose, some forms never regain.
    Stream("arow", np.float64, 1e12, 1),
)


class Run(NamedTuple):
    """What became of one form on one stream."""

    title: str
    mistakes: int
    updates: int
    #: How many updates it took until Sigma was first seen indefinite, and until a row had x'Sigma x <= 0.
    indefinite: int | None
    refused: int | None
    refusals: int
    #: The least and the largest x'Sigma x over the exact one, over all x.
    least: float
    largest: float


def run(form: Form, rule: Rule, x: Array, y: NDArray[np.int8]) -> Run:
    """Learn the stream with one form, row by row."""
    constants = rule.constants({})
    mean = np.zeros(x.shape[1], x.dtype)
    mistakes = refusals = 0
    indefinite = refused = None
    taken: list[int] = []
    precisions: list[float] = []
    for t, (row, label) in enumerate(zip(x, y.tolist(), strict=True)):
        score, v = float(mean @ row), form.look(row)
        mistakes += (score >= 0) != (label > 0)
        if not 0 < v < math.inf:
            refusals += 1
            refused = len(taken) if refused is None else refused
            continue
        step = rule.step(label * score, v, 0.0, t + 1, constants)
        if step.precision == 0:
            continue
        mean += x.dtype.type(step.alpha * label) * form.move(step.precision, v)
        taken.append(t)
        precisions.append(step.precision)
        # An exact test takes milliseconds, so not after every update of a long run.
        if indefinite is None and (len(taken) <= 100 or len(taken) % 100 == 0) and not positive(form.exact()):
            indefinite = len(taken)
    if indefinite is None and not positive(form.exact()):
        indefinite = len(taken)
    least, largest = ratios(form, posterior(x[taken], np.array(precisions)))
    return Run(form.title, mistakes, len(taken), indefinite, refused, refusals, least, largest)


def native_run(stream: Stream, x: Array, y: NDArray[np.int8]) -> Run:
    """The same through the library, which keeps float64 whatever the rows are."""
    learner = Learner(stream.rule, covariance="full")
    trace = learner.trace(x, y)
    form = Potter(x.shape[1])
    assert learner.gaussian is not None
    form.kept = learner.gaussian.spread
    moved = np.flatnonzero(trace.precision)
    mistakes, refusals = int(np.sum((trace.score >= 0) != (y > 0))), int(np.sum(trace.variance <= 0))
    least, largest = ratios(form, posterior(x[moved], trace.precision[moved]))
    return Run("scwlearn (Potter, float64)", mistakes, len(moved), None, None, refusals, least, largest)


def fractions(matrix: Array) -> Exact:
    """The same numbers as fractions: every finite float is one."""
    return np.array([Fraction(float(entry)) for entry in matrix.flat], dtype=object).reshape(matrix.shape)


def posterior(x: Array, k: NDArray[np.float64]) -> Exact:
    """I + sum of k x x', exactly: in integers after a shift of the binary point, which are faster than fractions."""
    (whole_x, x_shift), (whole_k, k_shift) = integers(x), integers(k)
    total = whole_x.T @ (whole_k[:, None] * whole_x)
    unit = 2 ** (2 * x_shift + k_shift)
    return np.eye(x.shape[1], dtype=int) + np.vectorize(lambda n: Fraction(n, unit), otypes=[object])(total)


def integers(values: Array) -> tuple[Exact, int]:
    """The values times 2^shift as integers, and the shift."""
    mantissas, exponents = np.frexp(values.astype(np.float64))
    shift = max(53 - int(exponents.min()), 0)
    whole = [int(m * 2**53) << (shift - 53 + int(e)) for m, e in zip(mantissas.flat, exponents.flat, strict=True)]
    return np.array(whole, dtype=object).reshape(values.shape), shift


def positive(matrix: Exact) -> bool:
    """Whether the matrix is positive definite, by exact elimination."""
    return factor(matrix) is not None


def factor(matrix: Exact) -> tuple[Exact, Exact] | None:
    """L and D of matrix = L D L', exactly; None where it is not positive definite."""
    size = len(matrix)
    rest = matrix.copy()
    lower = np.full((size, size), Fraction(0), dtype=object)
    pivots = np.full(size, Fraction(0), dtype=object)
    for j in range(size):
        if rest[j, j] <= 0:
            return None
        pivots[j] = rest[j, j]
        lower[j:, j] = rest[j:, j] / pivots[j]
        rest[j + 1 :, j + 1 :] -= np.outer(lower[j + 1 :, j], rest[j + 1 :, j])
    return lower, pivots


def ratios(form: Form, precision: Exact) -> tuple[float, float]:
    """The range of x'Sigma x/(x'P^-1 x) over all x, P the exact precision: (1, 1) for a form without error."""
    factors = factor(precision)
    assert factors is not None
    lower, diagonal = factors
    kept = form.exact()
    if form.inverse:
        lower, diagonal = inverse(lower).T, 1 / diagonal
    # P = L D L': in these coordinates the exact matrix is I, so nothing is lost by rounding here.
    inner = lower.T @ kept @ lower
    size = len(inner)
    scaled = [[rooted(inner[i, j], diagonal[i], diagonal[j]) for j in range(size)] for i in range(size)]
    eigenvalues = np.linalg.eigvalsh(np.array(scaled))
    if form.inverse:
        eigenvalues = 1 / eigenvalues
    return float(eigenvalues.min()), float(eigenvalues.max())


def rooted(entry: Fraction, a: Fraction, b: Fraction) -> float:
    """entry sqrt(a b)."""
    return math.copysign(math.sqrt(float(entry * entry * a * b)), entry)


def inverse(lower: Exact) -> Exact:
    """The inverse of a unit lower triangular matrix, exactly."""
    size = len(lower)
    result = np.full((size, size), Fraction(0), dtype=object)
    for i in range(size):
        result[i, i] = Fraction(1)
        result[i, :i] = -(lower[i, :i] @ result[:i, :i])
    return result


def print_streams(rows: int) -> None:
    """A line for each stream and form."""
    print("| stream | form | indefinite after | first v <= 0 after | rows with v <= 0 | least x'Sigma x/exact", end=" ")
    print("| largest | updates | mistake rate |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for stream in STREAMS:
        x, y = stream.rows(rows)
        found = [run(form(x.shape[1], x.dtype), find_rule(stream.rule), x, y) for form in FORMS]
        found.append(native_run(stream, x, y))
        for line in found:
            cells = [stream.title, line.title, after(line.indefinite), after(line.refused), str(line.refusals)]
            cells += [figure(line.least), figure(line.largest), str(line.updates), f"{line.mistakes / rows:.4f}"]
            print(f"| {' | '.join(cells)} |", flush=True)


def after(updates: int | None) -> str:
    """The number of updates it took, or never."""
    return "never" if updates is None else str(updates)


def figure(ratio: float) -> str:
    """A ratio that should be 1: its error where that is small."""
    return f"1 {'+' if ratio >= 1 else '-'} {abs(ratio - 1):.0e}" if abs(ratio - 1) < 0.01 else f"{ratio:.3g}"


def print_costs(sizes: tuple[int, ...]) -> None:
    """Time of a look and of an update, a line for each form."""
    print(f"| form | flops of a look | of an update | {' | '.join(f'look, d = {d} | update' for d in sizes)} |")
    print(f"|---|--:|--:|{'--:|--:|' * len(sizes)}")
    for form in FORMS:
        cells = [f"{form.title} (NumPy)", form.look_flops, form.move_flops]
        for size in sizes:
            cells += [micro(seconds) for seconds in form_cost(form(size))]
        print(f"| {' | '.join(cells)} |", flush=True)
    cells = ["scwlearn (Potter, C++)", Potter.look_flops, Potter.move_flops]
    for size in sizes:
        cells += [micro(seconds) for seconds in native_cost(size)]
    print(f"| {' | '.join(cells)} |")


def micro(seconds: float) -> str:
    """In microseconds."""
    return f"{1e6 * seconds:.1f} us"


def form_cost(form: Form) -> tuple[float, float]:
    """Seconds of one look and of one update on dense rows."""
    x = np.random.default_rng(1).standard_normal(len(form.kept))
    v = form.look(x)
    return seconds_of(lambda: form.look(x)), seconds_of(lambda: form.move(1e-3, v))


def seconds_of(action: Callable[[], object], least: float = 0.1) -> float:
    """The shortest mean of five repetitions of about `least` seconds each."""
    start = time.perf_counter()
    action()
    times = max(1, int(least / (time.perf_counter() - start)))

    def mean() -> float:
        start = time.perf_counter()
        for _ in range(times):
            action()
        return (time.perf_counter() - start) / times

    return min(mean() for _ in range(5))


def native_cost(size: int) -> tuple[float, float]:
    """Seconds of one look and of one update in the library: a run that never updates, and one that always does."""
    rows = max(100, 10_000_000 // size**2)
    x = np.random.default_rng(1).standard_normal((rows, size))
    # The margin is below 1 for ever with so large an r.
    always = Learner("arow", covariance="full", r=1e9)
    never = Learner("arow", covariance="full")
    y = np.where(x[:, 0] > 0, 1, -1)
    never.learn(x[:1], y[:1])
    assert never.gaussian is not None
    never.gaussian.mean[:] = 0
    never.gaussian.mean[0] = 1e9
    assert never.learn(x, y).updates == 0
    assert always.learn(x, y).updates == rows
    look = seconds_of(lambda: never.learn(x, y)) / rows
    return look, seconds_of(lambda: always.learn(x, y)) / rows - look


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000, help="rows of each stream")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 300], help="features for the costs")
    given = parser.parse_args()
    print_streams(given.rows)
    print()
    print_costs(tuple(given.sizes))


if __name__ == "__main__":
    main()
