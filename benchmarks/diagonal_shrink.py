"""Compare two ways to shrink a diagonal Sigma, precision and drop, for every second-order rule."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import NamedTuple

import numpy as np
from data_sets import SOURCES, DataSet, argument_parser, load, orders
from numpy.typing import NDArray

from scwlearn import Learner
from scwlearn.rules import POWERS_OF_TWO, Parameter, Rule, all_rules

WAYS = ("diagonal", "diagonal-drop")
SECOND_ORDER = [rule for rule in all_rules() if rule.order == 2]
#: Rules whose tables decide the default.
DECIDING = ("scw1", "scw2", "arow")
#: With fewer features than this, a full Sigma is cheap.
WIDE = 200

Values = dict[str, float]


class Judged(NamedTuple):
    """Results of a rule with one form on one set, over the evaluation orders."""

    rates: NDArray[np.float64]
    updates: float
    at_edge: bool

    def __str__(self) -> str:
        return f"{self.rates.mean():.4f} ± {spread(self.rates):.4f}"


class Duel(NamedTuple):
    """Results of both forms with one rule on one set."""

    data: str
    rows: int
    width: int
    rule: Rule
    precision: Judged
    drop: Judged

    @property
    def log_ratio(self) -> float:
        """Log ratio, above 0 if drop makes more mistakes; zero mistakes count as half a mistake in a million."""
        floor = 5e-7
        return math.log(max(self.drop.rates.mean(), floor) / max(self.precision.rates.mean(), floor))

    @property
    def winner(self) -> str:
        """The form that wins: paired differences over the orders beyond two standard errors of 0."""
        difference = self.drop.rates - self.precision.rates
        rate = self.precision.rates.mean()
        # With a single order, use the standard error of two rates over this many rows.
        single = math.sqrt(2 * rate * (1 - rate) / self.rows)
        error = spread(difference) / math.sqrt(len(difference)) if len(difference) > 1 else single
        if abs(difference.mean()) <= 2 * error:
            return "tie"
        return "precision" if difference.mean() > 0 else "drop"


def spread(values: NDArray[np.float64]) -> float:
    """Return the sample standard deviation; 0 for a single run."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def grid_of(parameter: Parameter, reach: int) -> tuple[float, ...]:
    """Return the declared grid; a grid of powers of two is extended to `reach`."""
    if parameter.grid == POWERS_OF_TWO:
        return tuple(2.0**k for k in range(-reach, reach + 1))
    return parameter.grid


def best_values(rule: Rule, way: str, data: DataSet, order: NDArray[np.intp], reach: int) -> tuple[Values, bool]:
    """Return the values with the fewest mistakes on one order, and whether C, r or b is at the end of its grid."""
    tuned = [p for p in rule.parameters if p.grid]
    if not tuned:
        return {}, False
    x, y = data.x[order], data.y[order]
    grids = [grid_of(p, reach) for p in tuned]

    def mistakes(values: tuple[float, ...]) -> int:
        return Learner(rule, covariance=way).with_parameters(named(tuned, values)).learn(x, y).mistakes

    best = min(reversed(list(product(*grids))), key=mistakes)
    ends = [value in (grid[0], grid[-1]) for p, grid, value in zip(tuned, grids, best, strict=True) if p.name != "eta"]
    return named(tuned, best), any(ends)


def named(parameters: Iterable[Parameter], values: Iterable[float]) -> Values:
    """Return the values by parameter name."""
    return {p.name: value for p, value in zip(parameters, values, strict=True)}


def duels(data: DataSet, count: int, reach: int) -> tuple[list[Duel], list[Duel]]:
    """Run every rule with both forms on one set, tuned and with default parameters."""
    tuning, *judging = orders(data, count)
    chosen = {(r.name, way): best_values(r, way, data, tuning, reach) for r in SECOND_ORDER for way in WAYS}
    runs: dict[tuple[str, str, bool], list[tuple[float, int]]] = {}
    for order in judging:
        x, y = data.x[order], data.y[order]
        for rule, way, tuned in product(SECOND_ORDER, WAYS, (True, False)):
            values = chosen[rule.name, way][0] if tuned else {}
            counts = Learner(rule, covariance=way).with_parameters(values).learn(x, y)
            runs.setdefault((rule.name, way, tuned), []).append((counts.mistakes / counts.seen, counts.updates))

    def judged(rule: Rule, way: str, tuned: bool) -> Judged:
        rates, updates = np.array(runs[rule.name, way, tuned]).T
        return Judged(rates, float(updates.mean()), tuned and chosen[rule.name, way][1])

    def all_duels(tuned: bool) -> list[Duel]:
        rows, width = data.x.shape
        ways = [[judged(rule, way, tuned) for way in WAYS] for rule in SECOND_ORDER]
        return [Duel(data.name, rows, width, r, *both) for r, both in zip(SECOND_ORDER, ways, strict=True)]

    return all_duels(True), all_duels(False)


def print_sets(tuned: list[Duel], default: list[Duel]) -> None:
    """Print mistake rates and updates, a line per set and rule."""
    print("| set | rule | tuned: precision | drop | updates | drop | defaults: precision | drop | updates | drop |")
    print("|---|---|---|---|--:|--:|---|---|--:|--:|")
    for a, b in zip(tuned, default, strict=True):
        cells = [a.data, a.rule.title]
        for duel in (a, b):
            cells += [bold(duel, "precision"), bold(duel, "drop")]
            cells += [f"{duel.precision.updates:.0f}", f"{duel.drop.updates:.0f}"]
        print(f"| {' | '.join(cells)} |")


def bold(duel: Duel, way: str) -> str:
    """Format a rate, bold if this form wins."""
    text = str(getattr(duel, way))
    return f"**{text}**" if duel.winner == way else text


def print_summary(duels_of: dict[str, list[Duel]]) -> None:
    """Print the wins over the sets and the mean relative difference, a line per rule."""
    print("| parameters | rule | precision wins | drop wins | ties | drop's mistakes | best for drop", end=" ")
    print("| best for precision | updates | C, r, b at the grid's end |")
    print("|---|---|--:|--:|--:|--:|---|---|--:|--:|")
    for parameters, found in duels_of.items():
        for rule in SECOND_ORDER:
            print_line(parameters, rule.title, [d for d in found if d.rule is rule])
        deciding = [d for d in found if d.rule.name in DECIDING]
        wide, narrow = ([d for d in deciding if (d.width >= WIDE) == is_wide] for is_wide in (True, False))
        for which, group in (("all", deciding), (f"d >= {WIDE}", wide), (f"d < {WIDE}", narrow)):
            if group:
                print_line(parameters, f"SCW-I, SCW-II, AROW: {which}", group)


def print_line(parameters: str, title: str, found: list[Duel]) -> None:
    """Print a line of the summary; relative differences are averaged as logarithms."""
    wins = [d.winner for d in found]
    ratios = [d.log_ratio for d in found]
    updates = float(np.mean([math.log(max(d.drop.updates, 1) / max(d.precision.updates, 1)) for d in found]))
    edges = sum(d.precision.at_edge for d in found), sum(d.drop.at_edge for d in found)
    extremes = (found[int(np.argmin(ratios))], min(ratios)), (found[int(np.argmax(ratios))], max(ratios))
    cells = [parameters, title, *(str(wins.count(w)) for w in ("precision", "drop", "tie"))]
    cells.append(percent(float(np.mean(ratios))))
    cells += [f"{d.data} {percent(ratio)}" for d, ratio in extremes]
    cells += [percent(updates), f"{edges[0]}, {edges[1]}"]
    print(f"| {' | '.join(cells)} |")


def percent(log_ratio: float) -> str:
    """Format a ratio drop/precision as a difference in percent."""
    return f"{100 * math.expm1(log_ratio):+.1f} %"


def main() -> None:
    """Run every set and print both tables."""
    parser = argument_parser(__doc__, list(SOURCES))
    parser.add_argument("--orders", type=int, default=20, help="evaluation orders, besides the one for tuning")
    parser.add_argument("--reach", type=int, default=4, help="tune C, r and b over 2^-REACH .. 2^REACH")
    given = parser.parse_args()
    tuned: list[Duel] = []
    default: list[Duel] = []
    for name in given.sets:
        a, b = duels(load(name, given.data_dir), given.orders, given.reach)
        tuned += a
        default += b
    print_summary({"tuned": tuned, "defaults": default})
    print()
    print_sets(tuned, default)


if __name__ == "__main__":
    main()
