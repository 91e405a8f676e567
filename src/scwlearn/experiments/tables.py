"""A table as data, and as Markdown, HTML and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape


@dataclass(frozen=True)
class Table:
    """Cells of text, in which ``**...**`` is bold; below it what a reader has to know."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())
    #: Columns of words; the others are numbers, and stand to the right.
    words: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row of {len(row)} cells in a table of {len(self.columns)} columns")

    def is_words(self, column: str) -> bool:
        """Whether its cells are words."""
        return column in self.words or column == self.columns[0]


def yes_no(mark: bool) -> str:
    """A mark as the paper prints it."""
    return "Yes" if mark else "No"


def markdown(table: Table, level: int = 3) -> str:
    """The table in GitHub's form, under a heading."""
    rule = ["---" if table.is_words(column) else "---:" for column in table.columns]
    lines = [f"{'#' * level} {table.title}", ""]
    lines += ["| " + " | ".join(_piped(cell) for cell in row) + " |" for row in (table.columns, rule, *table.rows)]
    return "\n".join([*lines, "", *_paragraphs(table.notes)])


def html(table: Table) -> str:
    """The table as a figure of a page."""

    def row(cells: Iterable[str], tag: str) -> str:
        kinds = (' class="words"' if table.is_words(c) else "" for c in table.columns)
        return "<tr>" + "".join(f"<{tag}{k}>{inline(c)}</{tag}>" for c, k in zip(cells, kinds, strict=True)) + "</tr>"

    body = "\n".join(row(cells, "td") for cells in table.rows)
    notes = "\n".join(f"<p>{inline(note)}</p>" for note in table.notes)
    head = f"<thead>{row(table.columns, 'th')}</thead>"
    return (
        f"<h3>{escape(table.title)}</h3>\n"
        f'<div class="wide"><table>{head}\n<tbody>\n{body}\n</tbody></table></div>\n{notes}'
    )


def as_csv(table: Table) -> str:
    """The cells alone, without what makes them bold."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([cell.replace("**", "") for cell in row] for row in table.rows)
    return text.getvalue()


def inline(text: str) -> str:
    """Text in HTML; ``**bold**`` and ```code``` are known."""
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text, quote=False))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", safe)


def _piped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def _paragraphs(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in (note, "")]
