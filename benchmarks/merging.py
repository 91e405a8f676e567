"""Compare ways to merge models trained on shards by held-out error, against one model of the whole stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from itertools import product
from typing import NamedTuple

import numpy as np
from data_sets import SEED, DataSet, argument_parser, load
from numpy.typing import NDArray

from scwlearn import Learner, merge
from scwlearn.learning.tuning import tune
from scwlearn.model.gaussian import NORM2, NORM2_PEAK
from scwlearn.rules import Rule, all_rules, find_rule

SETS = ["a9a", "w7a", "covtype-scaled", "20news-unit"]
#: Beyond this many features a full Sigma takes too much memory.
WIDEST_FULL = 2000
SHARDS = (2, 4, 8, 16)
WAYS = ("average", "kl", "bcm", "ev")
#: Number of merges per pass; after each, all shards continue from the merged model.
MERGES = (1, 10)

Rows = NDArray[np.intp]


class Case(NamedTuple):
    """A set, a rule and a covariance, with the best parameters for the single stream."""

    data: DataSet
    rule: Rule
    covariance: str
    parameters: dict[str, float]

    def learner(self) -> Learner:
        """Return a new learner."""
        return Learner(self.rule, covariance=self.covariance).with_parameters(self.parameters)

    def taught(self, learner: Learner, rows: Rows) -> Learner:
        """Return the learner after learning these rows."""
        learner.learn(self.data.x[rows], self.data.y[rows])
        return learner

    def error(self, learner: Learner, rows: Rows) -> float:
        """Return the error on these rows in percent."""
        return 100 * float(np.mean((learner.scores(self.data.x[rows]) >= 0) != (self.data.y[rows] > 0)))


class Found(NamedTuple):
    """Error of the single stream, and the excess error by merges, method and shards; one row per seed."""

    single: NDArray[np.float64]
    excess: dict[tuple[int, str, int], NDArray[np.float64]]


def merged(way: str, models: list[Learner], prior: Learner | None) -> Learner:
    """Merge the models; "average" takes the mean of the weights, and Sigma from kl."""
    if way != "average":
        return merge(models, way, prior=prior)
    together = merge(models, "kl")
    gaussians = [model.model for model in (together, *models)]
    first, *others = (gaussian for gaussian in gaussians if gaussian is not None)
    first.mean[:] = np.mean([gaussian.weights()[0] for gaussian in others], axis=0)
    first.scalars[:, [NORM2, NORM2_PEAK]] = first.mean @ first.mean
    return together


def mixed(case: Case, shards: list[list[Rows]], start: list[Learner], way: str) -> Learner:
    """Return the final merged model; `start` are the models of the shards after their first part."""
    together = merged(way, start, None)
    for parts in zip(*(shard[1:] for shard in shards), strict=True):
        models = [case.taught(copy(together), part) for part in parts]
        together = merged(way, models, together)
    return together


def judge(case: Case, counts: Sequence[int], ways: Sequence[str], seeds: int) -> Found:
    """Learn four fifths of the rows in random order and evaluate on the rest, once per seed."""
    single: list[float] = []
    excess: dict[tuple[int, str, int], list[float]] = {}
    for seed in range(seeds):
        order = np.random.default_rng([SEED, seed]).permutation(len(case.data.y))
        held_out, rows = np.split(order, [len(order) // 5])
        single.append(case.error(case.taught(case.learner(), rows), held_out))
        for merges, count in product(MERGES, counts):
            shards = [np.array_split(shard, merges) for shard in np.array_split(rows, count)]
            # All methods start alike.
            start = [case.taught(case.learner(), shard[0]) for shard in shards]
            for way in ways:
                try:
                    error = case.error(mixed(case, shards, start, way), held_out)
                except ValueError:
                    # On noisy sets CW's weights exceed the range of floats.
                    error = np.nan
                excess.setdefault((merges, way, count), []).append(error - single[-1])
    return Found(np.array(single), {key: np.array(values) for key, values in excess.items()})


def cases(sets: list[DataSet], rules: Sequence[str], tuned: bool) -> Iterator[Case]:
    """Return the cases: rules with a diagonal and a full Sigma on the sets, tuned on another order."""
    for data, name in product(sets, rules):
        rule = find_rule(name)
        wide = data.x.shape[1] > WIDEST_FULL
        for covariance in ("identity",) if rule.order == 1 else (rule.diagonal,) if wide else (rule.diagonal, "full"):
            order = np.random.default_rng(SEED).permutation(len(data.y))
            parameters = tune(rule, data.x, data.y, order=order, covariance=covariance) if tuned else {}
            yield Case(data, rule, covariance, parameters)


def print_sets(found: dict[str, Found], shards: Sequence[int]) -> None:
    """Print the excess error over the single stream, set by set; the smallest is bold."""
    for merges in MERGES:
        print(f"\nMerges: {merges}. In each cell: {', '.join(WAYS)}.\n")
        print(f"| set, rule, covariance | single | {' | '.join(f'{count} shards' for count in shards)} |")
        print(f"|---|--:|{'---|' * len(shards)}")
        for title, result in found.items():
            cells = [cell([result.excess[merges, way, count].mean() for way in WAYS]) for count in shards]
            print(f"| {title} | {result.single.mean():.2f} | {' | '.join(cells)} |")
    errors = [np.std(values, ddof=1) / len(values) ** 0.5 for f in found.values() for values in f.excess.values()]
    print(f"\nStandard errors of the means: {np.median(errors):.2f} at the median, {max(errors):.2f} at most.")


def cell(excess: list[float]) -> str:
    """Format signed differences, with the smallest in bold."""
    best = f"{min(excess):+.2f}"
    return ", ".join(f"**{text}**" if text == best else text for text in (f"{value:+.2f}" for value in excess))


def print_summary(found: dict[str, Found], shards: Sequence[int]) -> None:
    """Print mean and worst over the cases of a covariance, a row per method."""
    print(f"| covariance | merges | method | {' | '.join(f'{count} shards' for count in shards)} |")
    print(f"|---|--:|---|{'---|' * len(shards)}")
    for full, merges, way in product((False, True), MERGES, WAYS):
        group = [result for title, result in found.items() if title.endswith("full") == full]
        if not group:
            continue
        means = np.array([[result.excess[merges, way, count].mean() for count in shards] for result in group])
        cells = [
            f"{mean:+.2f} / {worst:+.2f}" for mean, worst in zip(means.mean(axis=0), means.max(axis=0), strict=True)
        ]
        print(f"| {'full' if full else 'diagonal'} | {merges} | {way} | {' | '.join(cells)} |")


def print_rules(sets: list[DataSet], seeds: int) -> None:
    """Print the mean over the sets of all rules with default parameters and 8 shards."""
    ways = WAYS[1:]
    print(f"\nEvery rule, 8 shards, default parameters. In each cell: {', '.join(ways)}; the mean over the sets.\n")
    print("| rule | covariance | single | 1 merge | 10 merges | refused |\n|---|---|--:|---|---|--:|")
    for rule in all_rules():
        by_kind: dict[str, list[Found]] = {}
        for case in cases(sets, [rule.name], tuned=False):
            by_kind.setdefault(case.covariance, []).append(judge(case, [8], ways, seeds))
        for covariance, group in by_kind.items():
            excess = {(m, way): np.array([f.excess[m, way, 8] for f in group]) for m in MERGES for way in ways}
            cells = [cell([float(np.nanmean(excess[m, way])) for way in ways]) for m in MERGES]
            refused = sum(int(np.isnan(values).sum()) for values in excess.values())
            single = np.mean([f.single for f in group])
            print(f"| {rule.title} | {covariance} | {single:.2f} | {' | '.join(cells)} | {refused} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argument_parser(__doc__, SETS)
    parser.add_argument("--seeds", type=int, default=5, help="number of random splits")
    parser.add_argument("--shards", type=int, nargs="+", default=SHARDS)
    given = parser.parse_args()
    sets = [load(name, given.data_dir) for name in given.sets]
    found = {}
    for case in cases(sets, ["scw1", "arow"], tuned=True):
        title = f"{case.data.name}, {case.rule.title}, {case.covariance}"
        found[title] = judge(case, given.shards, WAYS, given.seeds)
    print_summary(found, given.shards)
    print_sets(found, given.shards)
    print_rules(sets, given.seeds)


if __name__ == "__main__":
    main()
