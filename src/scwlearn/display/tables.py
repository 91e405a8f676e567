"""A table as data, and as Markdown, HTML and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from scwlearn.display.markup import Markup, element, join, rich_text
from scwlearn.display.panels import table


@dataclass(frozen=True)
class Table:
    """Cells of text with a title and notes; ``**...**`` marks bold text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())
    #: Columns of text besides the first; the others hold numbers and are aligned right.
    text_columns: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row of {len(row)} cells in a table of {len(self.columns)} columns")

    def is_text(self, column: str) -> bool:
        """Whether a column holds text."""
        return column in self.text_columns or column == self.columns[0]

    def to_markdown(self) -> str:
        """Return the table in GitHub's Markdown, under a heading of level 3."""
        rule = ["---" if self.is_text(column) else "---:" for column in self.columns]
        rows = ["| " + " | ".join(map(_escaped, row)) + " |" for row in (self.columns, rule, *self.rows)]
        return "\n\n".join([f"### {self.title}", "\n".join(rows), *self.notes])

    def to_html(self) -> Markup:
        """Return the table as HTML, between its title and its notes."""
        rows = ([rich_text(cell) for cell in row] for row in self.rows)
        made = table(self.columns, rows, {n for n, column in enumerate(self.columns) if self.is_text(column)})
        return join(element("h3", self.title), made, *(element("p", rich_text(note)) for note in self.notes))

    def to_csv(self) -> str:
        """Return the cells as CSV, without bold marks."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([cell.replace("**", "") for cell in row] for row in self.rows)
        return text.getvalue()


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def yes_no(value: bool) -> str:
    """Return "Yes" or "No", as the paper's tables do."""
    return "Yes" if value else "No"
