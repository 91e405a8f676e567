"""What section 5.2 of the paper says of its results, each sentence put to the figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scwlearn._util.significance import as_good_as_best, differs
from scwlearn.experiments import paper
from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.experiments.tables import Table

Block = dict[str, OnlineRuns]
Array = NDArray[np.float64]

#: "Usually" and "often": in more than this share of the cases.
USUALLY = 0.5
#: "Close to the best": within this share of it.
CLOSE = 0.05
#: "Considerably more": so many times as many, in the median.
CONSIDERABLY = 1.2
_SCW = {"scw1", "scw2"}


@dataclass(frozen=True)
class Verdict:
    """A claim, what was counted, and whether that bears it out."""

    claim: str
    figures: str
    confirmed: bool


def verdicts(blocks: Sequence[Sequence[OnlineRuns]]) -> list[Verdict]:
    """The claims that can be judged: on the paper's sets with its algorithms, over several permutations."""
    sets = [_as_in_paper(block) for block in blocks]
    judged = [claim(sets) for claim in (_orders, _margins, _cw_on_synthetic, _cw_on_real, _arow, _arow_costs, _scw)]
    return [verdict for verdict in judged if verdict is not None]


def _as_in_paper(block: Sequence[OnlineRuns]) -> Block:
    """The algorithms of the paper by name: its NAROW is LIBOL's, where that was run."""
    judged = [r for r in block if r.rule.in_package and r.name in paper.TABLE2 and len(r.mistake_rate) > 1]
    faithful = {run.rule.name: run for run in judged if not run.rule.variant_of}
    libol = [run for run in judged if run.rule.variant_of == "narow"]
    return {**faithful, "narow": libol[0]} if libol else faithful


def claims(blocks: Sequence[Sequence[OnlineRuns]]) -> Table:
    """The claims of section 5.2 with their verdicts."""
    rows = [(v.claim, v.figures, "confirmed" if v.confirmed else "**not confirmed**") for v in verdicts(blocks)]
    note = (
        'A pair "wins" where its mean over the permutations is lower and a paired t-test at 95 % tells the two apart. '
        f'"Usually", "often" and "many": in more than {100 * USUALLY:.0f} % of the cases. NAROW is that of LIBOL, as '
        "in the paper."
    )
    return Table(
        "The claims of section 5.2", ("claim", "figures", "verdict"), rows, (note,), frozenset({"figures", "verdict"})
    )


def _orders(sets: list[Block]) -> Verdict | None:
    return _groups(
        sets,
        "Second-order algorithms usually outperform first-order ones.",
        lambda run: run.rule.order == 2,
        lambda run: run.rule.order == 1,
    )


def _margins(sets: list[Block]) -> Verdict | None:
    return _groups(
        sets,
        "Margin-based algorithms usually outperform those that learn from mistakes alone.",
        lambda run: run.rule.large_margin,
        lambda run: not run.rule.large_margin,
    )


def _groups(
    sets: list[Block], claim: str, one: Callable[[OnlineRuns], bool], other: Callable[[OnlineRuns], bool]
) -> Verdict | None:
    """Every pair of the two groups on every set, and the best of each group."""
    pairs = [(a, b) for block in sets for a, b in product(filter(one, block.values()), filter(other, block.values()))]
    if not pairs:
        return None
    wins = sum(_wins(a, b) for a, b in pairs)
    losses = sum(_wins(b, a) for a, b in pairs)
    best = sum(_best(filter(one, b.values())) < _best(filter(other, b.values())) for b in sets)
    figures = (
        f"of {len(pairs)} pairs {wins} win, {losses} lose; the best of them is better on {best} of {len(sets)} sets"
    )
    return Verdict(claim, figures, wins > USUALLY * len(pairs))


def _cw_on_synthetic(sets: list[Block]) -> Verdict | None:
    blocks = [b for b in sets if "cw" in b and b["cw"].name == "synthetic" and _first_order(b)]
    if not blocks:
        return None
    (block,) = blocks
    rivals = _first_order(block)
    wins = sum(_wins(block["cw"], rival) for rival in rivals)
    best = min(rivals, key=lambda r: float(r.final_rates.mean()))
    of_best = f"{_rate(best)} of the best ({best.rule.title})"
    figures = f"{_rate(block['cw'])} against {of_best}; wins against {wins} of {len(rivals)}"
    claim = "CW significantly outperforms the first-order algorithms on the synthetic data without noise,"
    return Verdict(claim, figures, wins == len(rivals))


def _cw_on_real(sets: list[Block]) -> Verdict | None:
    blocks = [b for b in _real(sets) if "cw" in b and _first_order(b)]
    if not blocks:
        return None
    lost = [b for b in blocks if not all(_wins(b["cw"], rival) for rival in _first_order(b))]
    named = "; ".join(f"{b['cw'].data}: {_rate(b['cw'])} against {_best(_first_order(b)):.3f}" for b in lost) or "none"
    figures = f"does not win against all of them on {len(lost)} of {len(blocks)} sets ({named})"
    return Verdict("but fails to on some real-world data.", figures, bool(lost))


def _arow(sets: list[Block]) -> Verdict | None:
    blocks = [b for b in _real(sets) if "arow" in b and "cw" in b]
    if not blocks:
        return None
    wins = [b for b in blocks if _wins(b["arow"], b["cw"])]
    losses = ", ".join(b["cw"].data for b in blocks if _wins(b["cw"], b["arow"])) or "none"
    figures = f"wins on {len(wins)} of {len(blocks)} sets, loses on: {losses}"
    claim = "AROW significantly outperforms CW on many real-world sets (except mnist)."
    on_mnist = any(b["cw"].name == "mnist1vs2" for b in wins)
    return Verdict(claim, figures, len(wins) > USUALLY * len(blocks) and not on_mnist)


def _arow_costs(sets: list[Block]) -> Verdict | None:
    blocks = [b for b in sets if "arow" in b and "cw" in b]
    if not blocks:
        return None
    updates = [b["arow"].final_updates.mean() / b["cw"].final_updates.mean() for b in blocks]
    times = [b["arow"].typical_seconds / b["cw"].typical_seconds for b in blocks]
    figures = (
        f"more updates on {sum(u > 1 for u in updates)} of {len(blocks)} sets (median {np.median(updates):.1f} times "
        f"as many), more time on {sum(t > 1 for t in times)} (median {np.median(times):.2f} times as much)"
    )
    claim = "AROW usually makes considerably more updates than CW and takes more time."
    usually = all(sum(v > 1 for v in values) > USUALLY * len(blocks) for values in (updates, times))
    return Verdict(claim, figures, usually and bool(np.median(updates) > CONSIDERABLY))


def _scw(sets: list[Block]) -> Verdict | None:
    # The paper's table holds the margin-based second-order algorithms; others update less because they learn less.
    of_table = [{n: r for n, r in b.items() if r.rule.order == 2 and r.rule.large_margin} for b in sets]
    pairs = [(b, rivals) for b, rivals in zip(sets, of_table, strict=True) if _SCW & set(b) and set(rivals) - _SCW]
    if not pairs:
        return None
    blocks, rivals = zip(*pairs, strict=True)
    counted = {
        "accuracy": [_scw_is_close(b, lambda run: run.final_rates) for b in blocks],
        "updates": [_scw_is_close(b, lambda run: run.final_updates) for b in rivals],
        "time": [_scw_is_close(b, lambda run: np.array([run.typical_seconds])) for b in rivals],
    }
    figures = "one of them is the best, or within 5 % of it, on " + ", ".join(
        f"{sum(close)} of {len(close)} sets in {what}" for what, close in counted.items()
    )
    claim = (
        "SCW often is the best or close to the best in accuracy, number of updates and time (updates and time among "
        "the margin-based second-order algorithms)."
    )
    return Verdict(claim, figures, all(sum(close) > USUALLY * len(close) for close in counted.values()))


def _scw_is_close(block: Block, measure: Callable[[OnlineRuns], Array]) -> bool:
    values = {name: measure(run) for name, run in block.items()}
    best = min(float(v.mean()) for v in values.values())
    tied = dict(zip(values, as_good_as_best(list(values.values())), strict=True))
    ours = [name for name in values if name in _SCW]
    return any(tied[name] or float(values[name].mean()) <= best * (1 + CLOSE) for name in ours)


def _real(sets: list[Block]) -> list[Block]:
    return [b for b in sets if b and not next(iter(b.values())).name.startswith("synthetic")]


def _first_order(block: Block) -> list[OnlineRuns]:
    return [run for run in block.values() if run.rule.order == 1]


def _wins(one: OnlineRuns, other: OnlineRuns) -> bool:
    return bool(one.final_rates.mean() < other.final_rates.mean()) and differs(one.final_rates, other.final_rates)


def _best(runs: object) -> float:
    return min((float(run.final_rates.mean()) for run in runs), default=np.inf)  # type: ignore[attr-defined]


def _rate(run: OnlineRuns) -> str:
    return f"{run.final_rates.mean():.3f}"
