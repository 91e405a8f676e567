"""The numbers of Tables 1 to 3 of the paper, Wang, Zhao and Hoi 2012, and how many of them are reproduced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.resources import files

from scwlearn._util.significance import spread
from scwlearn.display.document import Table
from scwlearn.display.formatting import parameter_text
from scwlearn.experiments.study import Blocks, DataSetRuns
from scwlearn.rules import HOLD, Rule
from scwlearn.runs.tune import CellResult

#: A mistake rate agrees within this many of the paper's standard deviations, or within this absolute difference.
MAX_STDS = 3.0
MAX_RATE_DIFFERENCE = 0.005
#: Update counts agree within this relative difference.
MAX_UPDATE_DIFFERENCE = 0.15

# A standard deviation printed as 0.000 may be as large as this.
_ROUNDED_STD = 0.0005


@dataclass(frozen=True)
class PublishedCell:
    """A cell of Table 3: mean and standard deviation over 20 permutations."""

    mistake_rate: float
    rate_std: float
    updates: float
    updates_std: float
    seconds: float

    def stds_to(self, mistake_rate: float) -> float:
        """Return the difference of another mistake rate from this one, in standard deviations."""
        return (mistake_rate - self.mistake_rate) / max(self.rate_std, _ROUNDED_STD)


#: Table 1: large margin, confidence, non-separable, adaptive margin. PA is the whole family, SCW both forms.
TABLE1: dict[str, tuple[bool, bool, bool, bool]] = {
    "PA": (True, False, True, False),
    "SOP": (False, True, True, False),
    "IELLIP": (False, True, True, False),
    "CW": (True, True, False, True),
    "AROW": (True, True, True, False),
    "NHERD": (True, True, True, False),
    "NAROW": (True, True, True, False),
    "SCW": (True, True, True, True),
}

#: Table 2: rows and features.
TABLE2: dict[str, tuple[int, int]] = {
    "splice": (1000, 60),
    "svmguide3": (1243, 21),
    "synthetic": (5000, 20),
    "synthetic-noise": (5000, 20),
    "mitface": (6977, 361),
    "usps1vsall": (7291, 256),
    "mushrooms": (8124, 112),
    "mnist1vs2": (14867, 784),
    "w7a": (24692, 300),
    "codrna": (59535, 8),
    "ijcnn1": (141691, 22),
    "covtype": (581012, 54),
}

#: Rows of Table 3 and the names of our rules.
RULES = {
    "CW": "cw",
    "NHERD": "nherd",
    "AROW": "arow",
    "NAROW": "narow",
    "SCW-I": "scw1",
    "SCW-II": "scw2",
}


def _read_table3() -> dict[tuple[str, str], PublishedCell]:
    lines = files("scwlearn.experiments").joinpath("paper_table3.csv").read_text(encoding="utf-8").splitlines()
    cells = (line.split(",") for line in lines[1:])
    return {(data, RULES[row]): PublishedCell(*map(float, numbers)) for data, row, *numbers in cells}


#: Table 3 by the names of the data set and of the rule.
TABLE3 = _read_table3()


def published_cell(run: DataSetRuns) -> PublishedCell | None:
    """Return the paper's numbers for a run over all rows with a full covariance; None if it has none.

    A variant is compared with the numbers of the rule that it replaces.
    """
    if run.name not in TABLE2 or run.seen[-1] != TABLE2[run.name][0] or run.covariance != "full":
        return None
    return TABLE3.get((run.name, run.rule.variant_of or run.rule.name))


@dataclass(frozen=True)
class CellComparison:
    """A cell of the paper's Table 3 and our runs."""

    run: DataSetRuns
    published: PublishedCell
    rate_agrees: bool
    #: Our mean number of updates, counted as in the paper.
    updates: float
    #: Whether it agrees with the paper's at our parameters.
    updates_agree: bool
    #: The cell tied with the best whose number of updates is nearest to the paper's, with that number, if it agrees.
    tied: tuple[CellResult, int] | None

    @property
    def stds_apart(self) -> float:
        """The difference of the mistake rates in the paper's standard deviations."""
        return self.published.stds_to(self.run.mean_error)


def comparisons(blocks: Blocks) -> list[CellComparison]:
    """Return all runs for which the paper prints numbers, including variants of its rules."""
    runs = [(run, published_cell(run)) for block in blocks for run in block]
    return [_compare(run, cell) for run, cell in runs if cell is not None]


def _compare(run: DataSetRuns, cell: PublishedCell) -> CellComparison:
    def agrees(updates: float) -> bool:
        return abs(updates / cell.updates - 1) <= MAX_UPDATE_DIFFERENCE

    # The paper counts rounds with a loss: a hinge loss is 1 on a row without features, which changes nothing.
    more = run.empty_rows if _has_hinge_loss(run.rule) else 0
    updates = float(run.final_updates.mean()) + more
    rate_limit = max(MAX_STDS * cell.rate_std, MAX_RATE_DIFFERENCE)
    # Tied: on the tuning permutation a cell makes at most one standard deviation of mistakes (over the permutations, at
    # the best cell) more than the best.
    limit = min(each.error for each in run.cells) + spread(run.final_errors)
    tied = [(each, each.counts.updates + more) for each in run.cells if each.error <= limit]
    nearest = min(tied, key=lambda each: abs(each[1] - cell.updates))
    return CellComparison(
        run,
        cell,
        rate_agrees=abs(run.mean_error - cell.mistake_rate) <= rate_limit,
        updates=updates,
        updates_agree=agrees(updates),
        tied=nearest if agrees(nearest[1]) else None,
    )


def _has_hinge_loss(rule: Rule) -> bool:
    """Whether a rule requires a margin even if the variance vanishes."""
    return rule.step(0.5, 1e-12, 1.0, 1.0, rule.constants({})) != HOLD


def agreement_table(blocks: Blocks) -> Table:
    """Count the agreements by algorithm and in total, with our rules and with LIBOL's variants."""
    found = comparisons(blocks)
    groups: dict[str, list[CellComparison]] = {}
    for c in found:
        groups.setdefault(c.run.rule.title, []).append(c)
    for title, replaced in (
        ("**all, our rules**", ()),
        ("**all, NAROW as in LIBOL**", ("narow",)),
        ("**all, NAROW and SCW-II as in LIBOL**", ("narow", "scw2")),
    ):
        chosen = [c for c in found if _takes_part(c.run.rule, replaced)]
        if all(any(c.run.rule.variant_of == name for c in chosen) for name in replaced):
            groups[title] = chosen
    note = (
        f"Mistake rates agree within {MAX_STDS:g} of the paper's standard deviations or {MAX_RATE_DIFFERENCE:g}, "
        f"numbers of updates within {100 * MAX_UPDATE_DIFFERENCE:g} %. A cell of the grid is tied if, on the "
        "permutation used for tuning, it makes at most one standard deviation of mistakes more than the best: the "
        "minimum in (C, eta) is flat. Updates are counted as in the paper: with a hinge loss, rows without "
        "features count."
    )
    columns: dict[str, Callable[[str], str]] = {
        "algorithm": lambda title: title,
        "mistake rates": lambda title: _count(c.rate_agrees for c in groups[title]),
        "updates, at our parameters": lambda title: _count(c.updates_agree for c in groups[title]),
        "updates, there or at a tied cell": lambda title: _count(
            c.updates_agree or c.tied is not None for c in groups[title]
        ),
    }
    return Table.of("Agreement with the paper's numbers", groups, columns, (note,))


def _count(agreements: Iterable[bool]) -> str:
    marks = [*agreements]
    return f"{sum(marks)} of {len(marks)}"


def _takes_part(rule: Rule, replaced: tuple[str, ...]) -> bool:
    return (rule.variant_of in replaced) if rule.variant_of else (rule.name not in replaced)


def differences_table(blocks: Blocks) -> Table:
    """List the cells that do not agree at our parameters, or are more than 3 of the paper's stds apart."""

    def tied_text(c: CellComparison) -> str:
        if c.updates_agree:
            return ""
        return f"{parameter_text(c.tied[0].parameters)}: {c.tied[1]}" if c.tied else "none"

    differing = [
        c for c in comparisons(blocks) if not (c.rate_agrees and c.updates_agree and abs(c.stds_apart) <= MAX_STDS)
    ]
    columns: dict[str, Callable[[CellComparison], str]] = {
        "data set": lambda c: c.run.title,
        "algorithm": lambda c: c.run.rule.title,
        "mistake rate": lambda c: f"{c.run.mean_error:.4f}",
        "paper": lambda c: f"{c.published.mistake_rate:.3f} ± {c.published.rate_std:.3f}",
        "difference (std)": lambda c: f"{c.stds_apart:+.1f}" + ("" if c.rate_agrees else " **differs**"),
        "updates": lambda c: f"{c.updates:.0f}",
        "paper's updates": lambda c: f"{c.published.updates:.0f}",
        "ratio": lambda c: f"{c.updates / c.published.updates:.2f}" + ("" if c.updates_agree else " **differs**"),
        "parameters": lambda c: parameter_text(c.run.parameters),
        "tied cell: updates": tied_text,
    }
    text = ("algorithm", "parameters", "tied cell: updates")
    return Table.of("Differences from the paper's numbers", differing, columns, text_columns=text)
