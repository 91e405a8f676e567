"""Tables as Markdown, HTML and CSV."""

import pytest

from scwlearn.display.document import Table

TABLE = Table(
    "Some <numbers>",
    ("algorithm", "rate", "parameters"),
    [("A|B", "**0.1 ± 0.2**", "C=1"), ("C & D", "0.3", "")],
    ("What `code` says.",),
    frozenset({"parameters"}),
)


def test_markdown_aligns_numbers_right_and_escapes_pipes():
    assert TABLE.to_markdown().splitlines() == [
        "### Some <numbers>",
        "",
        "| algorithm | rate | parameters |",
        "| --- | ---: | --- |",
        "| A\\|B | **0.1 ± 0.2** | C=1 |",
        "| C & D | 0.3 |  |",
        "",
        "What `code` says.",
    ]


def test_html_is_escaped_and_keeps_bold():
    text = TABLE.to_html()
    assert "<h3>Some &lt;numbers&gt;</h3>" in text
    assert "<td><b>0.1 ± 0.2</b></td>" in text
    assert '<td class="words">C &amp; D</td>' in text
    assert "<p>What <code>code</code> says.</p>" in text


def test_csv_has_plain_cells():
    assert TABLE.to_csv() == "algorithm,rate,parameters\nA|B,0.1 ± 0.2,C=1\nC & D,0.3,\n"


def test_a_row_of_another_length_is_rejected():
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        Table("t", ("a", "b"), [("1",)])
