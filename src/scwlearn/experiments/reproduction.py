"""The report of `scwlearn reproduce`: all tables and figures of a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scwlearn import __version__
from scwlearn._util.atomic import write_atomically
from scwlearn.datasets import DataSet
from scwlearn.display.document import Section, Table, report_html, report_markdown
from scwlearn.experiments import theorem1
from scwlearn.experiments.claims import claims_table
from scwlearn.experiments.comparison import rank_diagram, tradeoff_picture
from scwlearn.experiments.figure1 import figure1, figure1_overview
from scwlearn.experiments.paper import agreement_table, comparisons, differences_table
from scwlearn.experiments.study import Blocks, StudySettings, mean_errors
from scwlearn.experiments.table1 import measure_properties, measurement_table, property_table
from scwlearn.experiments.tables import all_results, all_times, data_set_table, defaults_table, results_table
from scwlearn.rules import Rule

_CURVES = (
    "Mean over the permutations with a band of one standard deviation; for time, the median with the 16th to 84th "
    "percentiles. Each algorithm has the same colour, dash and marker in all pictures."
)


def write_report(
    output: Path,
    sets: Sequence[DataSet],
    rules: Sequence[Rule],
    blocks: Blocks,
    settings: StudySettings,
    remarks: Sequence[str] = (),
) -> Path:
    """Write tables, figures and the report of a study to a directory; return the path of the HTML page.

    `blocks` has, for each data set, the runs of each rule; `remarks` are for the reader, such as missing data sets.
    """
    figures = output / "figures"
    properties, data_sets = measure_properties(rules), data_set_table(sets)
    sections = [
        Section(
            "Table 1: properties",
            ("Every property is measured on the rule itself, at its default parameters.",),
            (property_table(properties), measurement_table(properties)),
        ),
        Section("Table 2: data sets", tables=(data_sets,)),
        Section("Table 3: mistakes, updates, time", _protocol(settings), [results_table(b) for b in blocks]),
        Section("Comparison with the paper", tables=_paper_tables(blocks)),
        Section("Figure 1: online curves", (_CURVES,), pictures=_curves(blocks, figures)),
        Section("Comparison of the algorithms", pictures=_comparisons(blocks, settings.covariance, figures)),
        Section("Default parameters", tables=(defaults_table(blocks),)),
        Section("Theorem 1", theorem1.EXPLANATION, _theorem1_tables(sets, blocks, settings)),
    ]
    sections = [section for section in sections if section.tables or section.pictures]
    title = "Exact soft confidence-weighted learning: the evaluation"
    introduction = [f"Made with scwlearn {__version__}.", *remarks]
    for name, text in (
        ("table2.csv", data_sets.to_csv()),
        ("table3.csv", all_results(blocks).to_csv()),
        ("times.csv", all_times(blocks).to_csv()),
        ("report.md", report_markdown(title, introduction, sections, output)),
        ("report.html", report_html(title, introduction, sections)),
    ):
        write_atomically(output / name, text.encode())
    return output / "report.html"


def _protocol(settings: StudySettings) -> list[str]:
    tuning = {
        "libol": "by the fewest online mistakes on one other permutation, as in the authors' toolbox, but over the "
        "whole grid (the toolbox tunes one parameter at a time)",
        "cv": "by 5-fold cross-validation on one other permutation",
    }
    text = [
        f"One pass, no intercept, a {settings.covariance} covariance for the second-order algorithms (from SOP on). "
        f"Parameters are chosen {tuning[settings.tuning]}, from the paper's grids; ties go to the larger value. The "
        "paper's grid for eta starts at 0.5, where phi = 0 and nothing is ever learned: that value is omitted."
    ]
    limits = []
    if settings.values is not None:
        limits.append(f"{settings.values} values of each parameter")
    if settings.rows is not None:
        limits.append(f"the first {settings.rows} rows of each permutation")
    if limits:
        text.append(f"**Quick run: only {' and '.join(limits)}.** The numbers approximate those of the full run.")
    return text


def _paper_tables(blocks: Blocks) -> list[Table]:
    if not comparisons(blocks):
        return []
    tables = (agreement_table(blocks), differences_table(blocks), claims_table(blocks))
    return [table for table in tables if table.rows]


def _curves(blocks: Blocks, figures: Path) -> list[tuple[Path, str]]:
    pictures = []
    if len(blocks) > 1:
        caption = "Mistake rate against the number of examples, all data sets"
        pictures.append((figure1_overview(blocks, figures / "figure1"), caption))
    for block in blocks:
        caption = f"{block[0].title}: mistake rate, updates and time against the number of examples"
        pictures.append((figure1(block, figures / f"figure1-{block[0].name}"), caption))
    return pictures


def _comparisons(blocks: Blocks, covariance: str, figures: Path) -> list[tuple[Path, str]]:
    """Compare the algorithms over all data sets, without variants of published code."""
    blocks = [[run for run in block if not run.rule.variant_of] for block in blocks]
    if len(blocks) < 2 or len(blocks[0]) < 3:
        return []
    rules = [run.rule for run in blocks[0]]
    title = f"Mistake rates, {covariance} covariance"
    ranks = rank_diagram(rules, mean_errors(blocks), figures / "ranks", title)
    costs = tradeoff_picture(blocks, figures / "tradeoff")
    return [
        (ranks, "Mean ranks; a bar joins algorithms that Nemenyi's test at 95 % does not distinguish"),
        (costs, "Mistakes, updates and time relative to the lowest on each data set, geometric means"),
    ]


def _theorem1_tables(sets: Sequence[DataSet], blocks: Blocks, settings: StudySettings) -> list[Table]:
    max_rows = theorem1.MAX_ROWS if settings.rows is None else settings.rows // 10
    rows = [
        theorem1.theorem1(data, C=C, eta=run.parameters["eta"], seed=settings.seed, max_rows=max_rows)
        for data, block in zip(sets, blocks, strict=True)
        for run in block
        if run.rule.name == "scw1" and run.covariance == "full"
        for C in (run.parameters["C"], theorem1.UNLIMITED_C)
    ]
    return theorem1.theorem1_tables(rows) if rows else []
