"""Self-contained HTML pages, and reports of tables and pictures as HTML and as Markdown."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Self, TypeVar

from scwlearn.display.markup import Markup, element, join, rich_text, table
from scwlearn.display.theme import COLOURS, LINE_COLOURS

Item = TypeVar("Item")


def html_document(title: str, head: Markup, body: Markup, *, images: bool = False) -> str:
    """Return a page that loads nothing; `images` allows images that are embedded as data."""
    style, script = _style_sheet(), _resource("page.js")
    # This style sheet, this script, embedded images if wanted, and nothing else.
    policy = (
        f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'; "
        f"{'img-src data:; ' if images else ''}base-uri 'none'; form-action 'none'"
    )
    button = element("button", "Dark", id="theme", type="button", title="Light or dark", hidden=True)
    brand = element("span", element("b", "scwlearn"), " report", class_="brand")
    page_head = element(
        "head",
        element("meta", charset="utf-8"),
        # First, because it applies to what follows.
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style)),
    )
    page_body = element(
        "body",
        element("header", element("div", brand, button, class_="top"), element("h1", title), head),
        element("main", body),
        element("footer", "Made by scwlearn. This page is self-contained and loads nothing."),
        element("div", id="tip", role="status", hidden=True),
        element("script", Markup(script)),
    )
    return f"<!doctype html>\n{element('html', page_head, page_body, lang='en')}\n"


def _style_sheet() -> str:
    """Return the style sheet: dark if the reader's system asks for it or the button was pressed, light on paper."""
    light, dark = ("".join(f"--{name}:{pair[i]};" for name, pair in COLOURS.items()) for i in (0, 1))
    lines = "".join(f".c{i}{{color:var(--c{i})}}" for i in range(LINE_COLOURS))
    return (
        f":root{{color-scheme:light;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{color-scheme:dark;{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
        f"{lines}\n{_resource('page.css')}"
    )


def _resource(name: str) -> str:
    return files("scwlearn.display").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@dataclass(frozen=True)
class Table:
    """Cells of text with a title and notes; ``**...**`` marks bold text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    #: Columns of text besides the first; the others hold numbers and are aligned right.
    text_columns: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row of {len(row)} cells in a table of {len(self.columns)} columns")

    @classmethod
    def of(
        cls,
        title: str,
        items: Iterable[Item],
        columns: Mapping[str, Callable[[Item], str]],
        notes: Sequence[str] = (),
        text_columns: Iterable[str] = (),
    ) -> Self:
        """Return a table with a row for each item; `columns` has the function that makes the cell of an item."""
        rows = [[cell(item) for cell in columns.values()] for item in items]
        return cls(title, [*columns], rows, notes, frozenset(text_columns))

    def is_text(self, column: str) -> bool:
        """Whether a column holds text."""
        return column in self.text_columns or column == self.columns[0]

    def to_markdown(self) -> str:
        """Return the table in GitHub's Markdown, under a heading of level 3."""
        rule = ["---" if self.is_text(column) else "---:" for column in self.columns]
        rows = (
            [cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (self.columns, rule, *self.rows)
        )
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return "\n\n".join([f"### {self.title}", "\n".join(lines), *self.notes])

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


def yes_no(value: bool) -> str:
    """Return "Yes" or "No", as the paper's tables do."""
    return "Yes" if value else "No"


@dataclass(frozen=True)
class Section:
    """A section of a report: paragraphs, then tables, then SVG files with their captions."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    pictures: Sequence[tuple[Path, str]] = ()


def report_html(title: str, introduction: Sequence[str], sections: Sequence[Section]) -> str:
    """Return a report as one HTML page with the pictures embedded."""
    links = (element("a", section.title, href=f"#{_anchor(section.title)}") for section in sections)
    head = join(*_paragraphs(introduction), element("nav", *links))
    return html_document(title, head, join(*map(_section, sections)), images=True)


def report_markdown(title: str, introduction: Sequence[str], sections: Sequence[Section], directory: Path) -> str:
    """Return a report as Markdown that refers to the pictures by their paths relative to `directory`."""
    parts = [f"# {title}", *introduction]
    for section in sections:
        parts += [f"## {section.title}", *section.text, *(table.to_markdown() for table in section.tables)]
        parts += [f"![{caption}]({path.relative_to(directory).as_posix()})" for path, caption in section.pictures]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Markup:
    return element(
        "section",
        element("h2", section.title),
        *_paragraphs(section.text),
        *(element("div", table.to_html(), class_="panel prose") for table in section.tables),
        *(_figure(path, caption) for path, caption in section.pictures),
        id=_anchor(section.title),
    )


def _paragraphs(texts: Sequence[str]) -> list[Markup]:
    return [element("p", rich_text(text), class_="prose") for text in texts]


def _figure(path: Path, caption: str) -> Markup:
    # An image rather than inline SVG: ids in one picture cannot clash with those of another.
    data = base64.b64encode(path.read_bytes()).decode()
    image = element("img", alt=caption, src=f"data:image/svg+xml;base64,{data}")
    return element("figure", image, element("figcaption", caption), class_="panel picture")


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())
