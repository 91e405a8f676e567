"""Tables as text: the same cells in Markdown, HTML and CSV, bold where something is best."""

import numpy as np
import pytest

from scwlearn._util.significance import as_good_as_best, differs
from scwlearn.experiments.tables import Table, as_csv, html, markdown

TABLE = Table(
    "Some <numbers>",
    ("algorithm", "rate", "parameters"),
    [("A|B", "**0.1 ± 0.2**", "C=1"), ("C & D", "0.3", "")],
    ("What `code` says.",),
    frozenset({"parameters"}),
)


def test_markdown_has_numbers_to_the_right_and_keeps_pipes_in_their_cell():
    assert markdown(TABLE).splitlines() == [
        "### Some <numbers>",
        "",
        "| algorithm | rate | parameters |",
        "| --- | ---: | --- |",
        "| A\\|B | **0.1 ± 0.2** | C=1 |",
        "| C & D | 0.3 |  |",
        "",
        "What `code` says.",
    ]


def test_html_is_escaped_and_bold_where_markdown_is():
    text = html(TABLE)
    assert "<h3>Some &lt;numbers&gt;</h3>" in text
    assert "<td><b>0.1 ± 0.2</b></td>" in text
    assert '<td class="words">C &amp; D</td>' in text
    assert "<p>What <code>code</code> says.</p>" in text


def test_csv_holds_the_cells_alone():
    assert as_csv(TABLE) == "algorithm,rate,parameters\nA|B,0.1 ± 0.2,C=1\nC & D,0.3,\n"


def test_a_row_that_does_not_fit_its_table_is_refused():
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table("t", ("a", "b"), [("1",)])


def test_only_what_a_paired_test_cannot_tell_from_the_best_is_marked():
    noise = np.random.default_rng(0).normal(size=20)
    assert as_good_as_best([noise, noise + 1e-12, noise + 0.01 * noise[::-1], noise + 5]) == [True, True, True, False]


def test_one_permutation_is_judged_by_its_value():
    assert as_good_as_best([np.array([0.1]), np.array([0.1]), np.array([0.2])]) == [True, True, False]
    assert not differs(np.array([0.1]), np.array([0.1]))
