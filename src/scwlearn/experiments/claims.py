"""The claims of section 5.2 of the paper, each tested on our results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import filterfalse, product

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.significance import as_good_as_best, differs
from scwlearn.display.document import Table
from scwlearn.experiments.paper import TABLE2
from scwlearn.experiments.study import Block, Blocks, DataSetRuns

#: The paper's algorithms on one data set, by name.
ByName = dict[str, DataSetRuns]

#: "Usually" and "often": in more than this share of the cases.
USUALLY = 0.5
#: "Close to the best": within this share of it.
CLOSE = 0.05
#: "Considerably more": at least this factor, in the median.
CONSIDERABLY = 1.2
_SCW = {"scw1", "scw2"}
#: Claims that a group of algorithms outperforms the others.
_GROUPS: dict[str, Callable[[DataSetRuns], bool]] = {
    "Second-order algorithms usually outperform first-order ones.": lambda run: run.rule.order == 2,
    "Margin-based algorithms usually outperform those that learn from mistakes only.": lambda run: (
        run.rule.large_margin
    ),
}


@dataclass(frozen=True)
class Verdict:
    """A claim, our numbers, and whether they confirm it."""

    claim: str
    numbers: str
    confirmed: bool


def verdicts(blocks: Blocks) -> list[Verdict]:
    """Test the claims that our results allow to test: the paper's data sets and algorithms, several permutations."""
    sets = [_papers_algorithms(block) for block in blocks]
    groups = (_group_wins(sets, claim, belongs) for claim, belongs in _GROUPS.items())
    cw = [runs for runs in sets if "cw" in runs and _first_order(runs)]
    arow = [runs for runs in sets if {"arow", "cw"} <= set(runs)]
    scw = [runs for runs in sets if _SCW & set(runs) and set(_scw_rivals(runs)) - _SCW]
    others: tuple[tuple[Callable[[list[ByName]], Verdict], list[ByName]], ...] = (
        (_cw_on_synthetic, [runs for runs in cw if runs["cw"].name == "synthetic"]),
        (_cw_on_real, [*filter(_is_real, cw)]),
        (_arow, [*filter(_is_real, arow)]),
        (_arow_cost, arow),
        (_scw, scw),
    )
    return [*filter(None, groups), *(claim(found) for claim, found in others if found)]


def claims_table(blocks: Blocks) -> Table:
    """Return the claims of section 5.2 with their verdicts."""
    rows = [(v.claim, v.numbers, "confirmed" if v.confirmed else "**not confirmed**") for v in verdicts(blocks)]
    note = (
        "An algorithm wins against another if its mean over the permutations is lower and a paired t-test at 95 % "
        f'finds a difference. "Usually", "often" and "many": in more than {100 * USUALLY:.0f} % of the cases. NAROW is '
        "that of LIBOL, as in the paper."
    )
    columns = ("claim", "our numbers", "verdict")
    return Table("The claims of section 5.2", columns, rows, (note,), frozenset(columns))


def _papers_algorithms(block: Block) -> ByName:
    """Return the paper's algorithms; its NAROW is LIBOL's, if that was run."""
    tested = [r for r in block if r.rule.in_package and r.name in TABLE2 and len(r.errors) > 1]
    found = {run.rule.name: run for run in tested if not run.rule.variant_of}
    found.update((run.rule.variant_of, run) for run in tested if run.rule.variant_of == "narow")
    return found


def _group_wins(sets: list[ByName], claim: str, belongs: Callable[[DataSetRuns], bool]) -> Verdict | None:
    """Compare every pair of a member and a non-member on every data set, and the best of both."""
    groups = [([*filter(belongs, runs.values())], [*filterfalse(belongs, runs.values())]) for runs in sets]
    pairs = [pair for ours, theirs in groups for pair in product(ours, theirs)]
    if not pairs:
        return None
    wins = sum(_wins(a, b) for a, b in pairs)
    losses = sum(_wins(b, a) for a, b in pairs)
    best = sum(_lowest_error(ours) < _lowest_error(theirs) for ours, theirs in groups)
    numbers = (
        f"{wins} wins and {losses} losses in {len(pairs)} pairs; the best of them is better on {best} of {len(sets)} "
        "data sets"
    )
    return Verdict(claim, numbers, wins > USUALLY * len(pairs))


def _cw_on_synthetic(found: list[ByName]) -> Verdict:
    cw, rivals = found[0]["cw"], _first_order(found[0])
    wins = sum(_wins(cw, rival) for rival in rivals)
    best = min(rivals, key=lambda run: run.mean_error)
    numbers = (
        f"{cw.mean_error:.3f}, the best of them ({best.rule.title}) {best.mean_error:.3f}; CW wins against "
        f"{wins} of {len(rivals)}"
    )
    claim = "CW significantly outperforms the first-order algorithms on the synthetic data without noise,"
    return Verdict(claim, numbers, wins == len(rivals))


def _cw_on_real(found: list[ByName]) -> Verdict:
    lost = [runs for runs in found if not all(_wins(runs["cw"], rival) for rival in _first_order(runs))]
    rates = [(runs["cw"], _lowest_error(_first_order(runs))) for runs in lost]
    listed = "; ".join(f"{cw.title}: {cw.mean_error:.3f}, the best of them {other:.3f}" for cw, other in rates)
    numbers = f"does not win against all of them on {len(lost)} of {len(found)} data sets ({listed or 'none'})"
    return Verdict("but not on some real-world data.", numbers, bool(lost))


def _arow(found: list[ByName]) -> Verdict:
    wins = [runs["cw"] for runs in found if _wins(runs["arow"], runs["cw"])]
    losses = ", ".join(runs["cw"].title for runs in found if _wins(runs["cw"], runs["arow"])) or "none"
    numbers = f"wins on {len(wins)} of {len(found)} data sets, loses on: {losses}"
    claim = "AROW significantly outperforms CW on many real-world data sets (except mnist)."
    on_mnist = any(run.name == "mnist1vs2" for run in wins)
    return Verdict(claim, numbers, len(wins) > USUALLY * len(found) and not on_mnist)


def _arow_cost(found: list[ByName]) -> Verdict:
    updates = [runs["arow"].final_updates.mean() / runs["cw"].final_updates.mean() for runs in found]
    times = [runs["arow"].median_seconds / runs["cw"].median_seconds for runs in found]
    numbers = (
        f"more updates on {sum(u > 1 for u in updates)} of {len(found)} data sets (median {np.median(updates):.1f} "
        f"times as many), more time on {sum(t > 1 for t in times)} (median {np.median(times):.2f} times as much)"
    )
    claim = "AROW usually makes considerably more updates than CW and takes more time."
    usually = all(sum(v > 1 for v in values) > USUALLY * len(found) for values in (updates, times))
    return Verdict(claim, numbers, usually and bool(np.median(updates) > CONSIDERABLY))


def _scw(found: list[ByName]) -> Verdict:
    rivals = [*map(_scw_rivals, found)]
    close = {
        "accuracy": [_scw_is_close(runs, lambda run: run.final_errors) for runs in found],
        "updates": [_scw_is_close(runs, lambda run: run.final_updates) for runs in rivals],
        "time": [_scw_is_close(runs, lambda run: np.array([run.median_seconds])) for runs in rivals],
    }
    numbers = "one of them is the best, or within 5 % of it, on " + ", ".join(
        f"{sum(marks)} of {len(marks)} data sets in {what}" for what, marks in close.items()
    )
    claim = (
        "SCW often is the best or close to the best in accuracy, number of updates and time (updates and time among "
        "the margin-based second-order algorithms)."
    )
    return Verdict(claim, numbers, all(sum(marks) > USUALLY * len(marks) for marks in close.values()))


def _scw_rivals(runs: ByName) -> ByName:
    # The paper's table has margin-based second-order algorithms; others update less because they learn less.
    return {name: run for name, run in runs.items() if run.rule.order == 2 and run.rule.large_margin}


def _scw_is_close(runs: ByName, measure: Callable[[DataSetRuns], NDArray[np.float64]]) -> bool:
    values = {name: measure(run) for name, run in runs.items()}
    limit = min(float(v.mean()) for v in values.values()) * (1 + CLOSE)
    tied = dict(zip(values, as_good_as_best(list(values.values())), strict=True))
    return any(tied[name] or float(values[name].mean()) <= limit for name in _SCW & set(values))


def _is_real(runs: ByName) -> bool:
    return not runs["cw"].name.startswith("synthetic")


def _first_order(runs: ByName) -> Sequence[DataSetRuns]:
    return [run for run in runs.values() if run.rule.order == 1]


def _wins(one: DataSetRuns, other: DataSetRuns) -> bool:
    return one.mean_error < other.mean_error and differs(one.final_errors, other.final_errors)


def _lowest_error(runs: Iterable[DataSetRuns]) -> float:
    return min((run.mean_error for run in runs), default=np.inf)
