"""The paper's evaluation from its runs to the report: what `scwlearn reproduce` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scwlearn import __version__
from scwlearn.datasets import DataSet
from scwlearn.experiments import agreement, claims, defaults, table1, theorem1
from scwlearn.experiments.figure1 import figure1, figure1_overview
from scwlearn.experiments.online_runs import OnlineRuns
from scwlearn.experiments.ranks import cd_diagram
from scwlearn.experiments.report import Picture, Section, write_csv, write_html, write_markdown
from scwlearn.experiments.study import Settings
from scwlearn.experiments.table2 import table2
from scwlearn.experiments.table3 import long_table, table3, times
from scwlearn.experiments.tables import Table
from scwlearn.experiments.tradeoff import tradeoff
from scwlearn.rules import Rule


@dataclass(frozen=True)
class Reproduction:
    """All runs of a study."""

    sets: Sequence[DataSet]
    rules: Sequence[Rule]
    #: For each set the runs of each rule.
    blocks: Sequence[Sequence[OnlineRuns]]
    settings: Settings
    #: What the reader has to know besides: sets that were missing, and the like.
    remarks: Sequence[str] = ()


def write_report(study: Reproduction, output: Path, note: Callable[[str], None] = lambda text: None) -> Path:
    """Tables, figures and the report that shows them, in `output`; the page for a browser."""
    figures = output / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    note("drawing and writing the report")
    of_sets = table2(study.sets)
    sections = [
        Section("Table 1: properties", *_table1(study.rules)),
        Section("Table 2: data sets", tables=[of_sets]),
        Section("Table 3: mistakes, updates, time", _how(study.settings), [table3(block) for block in study.blocks]),
        *_paper_numbers(study),
        Section("Figure 1: online curves", _FIGURE1, pictures=_figure1(study.blocks, figures)),
        *_comparison(study, figures),
        Section("One setting for all", tables=[defaults.defaults(study.blocks)]),
    ]
    if bounds := _theorem1(study):
        sections.append(Section("Theorem 1 on these data", theorem1.WORDS, theorem1.tables(bounds)))
    write_csv(output / "table2.csv", of_sets)
    write_csv(output / "table3.csv", long_table(study.blocks))
    write_csv(output / "times.csv", times(study.blocks))
    title = "Exact soft confidence-weighted learning: the evaluation"
    introduction = [f"Made with scwlearn {__version__}.", *study.remarks]
    write_markdown(output / "report.md", title, introduction, sections)
    write_html(output / "report.html", title, introduction, sections)
    return output / "report.html"


def _how(settings: Settings) -> list[str]:
    chosen = {
        "libol": "by the fewest online mistakes over one other permutation, as in the authors' toolbox, but over the "
        "whole grid (that goes one parameter at a time)",
        "cv": "by 5-fold cross-validation on one other permutation",
    }
    kept = "a full covariance" if settings.covariance == "full" else "a diagonal covariance"
    text = [
        f"One pass, no intercept, {kept} for the second-order algorithms (from SOP on). Parameters are chosen "
        f"{chosen[settings.tuning]}, from the paper's grids; of equal ones the larger. The paper's grid for eta begins "
        "at 0.5, where phi = 0 and nothing is ever learned: that cell is dead, and left out."
    ]
    limits = []
    if settings.values is not None:
        limits.append(f"{settings.values} values of each parameter")
    if settings.rows is not None:
        limits.append(f"the first {settings.rows} rows of each permutation")
    if limits:
        text.append(f"**Quick: {' and '.join(limits)} only.** The numbers show about where the full run leads.")
    return text


def _table1(rules: Sequence[Rule]) -> tuple[list[str], list[Table]]:
    found = table1.table1(rules)
    words = "Every property is measured on the rule itself, with its default parameters."
    return [words], [table1.marks(found), table1.evidence(found)]


def _paper_numbers(study: Reproduction) -> list[Section]:
    if not agreement.comparisons(study.blocks):
        return []
    tables = [agreement.agreement(study.blocks), agreement.differences(study.blocks), claims.claims(study.blocks)]
    return [Section("Beside the paper's numbers", tables=[table for table in tables if table.rows])]


_FIGURE1 = (
    "Mean over the permutations with a band of one standard deviation; time: median, 16 to 84 %. The same algorithm "
    "has the same colour, dash and marker everywhere.",
)


def _figure1(blocks: Sequence[Sequence[OnlineRuns]], figures: Path) -> list[Picture]:
    pictures = []
    if len(blocks) > 1:
        paths = figure1_overview(blocks, figures / "figure1")
        pictures.append(Picture(_svg(paths), "Mistake rate against examples seen, all sets"))
    for block in blocks:
        paths = figure1(block, figures / f"figure1-{block[0].name}")
        pictures.append(Picture(_svg(paths), f"{block[0].data}: mistake rate, updates and time against examples seen"))
    return pictures


def _comparison(study: Reproduction, figures: Path) -> list[Section]:
    """What several sets together say of the algorithms; variants of published code do not take part."""
    blocks = [[run for run in block if not run.rule.variant_of] for block in study.blocks]
    if len(blocks) < 2 or len(blocks[0]) < 3:
        return []
    rules = [run.rule for run in blocks[0]]
    # All sets have the same rules in the same order.
    values = {
        rule.title: np.array([block[place].final_rates.mean() for block in blocks]) for place, rule in enumerate(rules)
    }
    ranks = cd_diagram(rules, values, figures / "ranks", f"Mistake rates, {study.settings.covariance} covariance")
    costs = tradeoff(blocks, figures / "tradeoff")
    pictures = [
        Picture(_svg(ranks), "Mean ranks; a bar joins what the Nemenyi test at 95 % does not tell apart"),
        Picture(_svg(costs), "Mistakes, updates and time, each over the least on its set, geometric mean over sets"),
    ]
    return [Section("Which algorithm", pictures=pictures)]


def _theorem1(study: Reproduction) -> list[theorem1.BoundRow]:
    most_rows = theorem1.MOST_ROWS if study.settings.rows is None else study.settings.rows // 10
    how: dict[str, int] = {"seed": study.settings.seed, "most_rows": most_rows}
    return [
        theorem1.theorem1(data, C=C, eta=run.parameters["eta"], **how)
        for data, block in zip(study.sets, study.blocks, strict=True)
        for run in block
        if run.rule.name == "scw1" and run.covariance == "full"
        for C in (run.parameters["C"], theorem1.CW_LIMIT)
    ]


def _svg(paths: Sequence[Path]) -> Path:
    return next(path for path in paths if path.suffix == ".svg")
