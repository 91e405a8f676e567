"""A report on disk: one self-contained HTML page, the same in Markdown, the tables as CSV."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from scwlearn.experiments.tables import Table, as_csv, html, inline, markdown


@dataclass(frozen=True)
class Picture:
    """An SVG file, and what it shows in words."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of the report: paragraphs, then tables, then pictures."""

    title: str
    text: Sequence[str] = field(default=())
    tables: Sequence[Table] = field(default=())
    pictures: Sequence[Picture] = field(default=())


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d0d7de; --soft: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d; --soft: #161b22; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 76rem;
  margin: 0 auto; padding: 1rem 2rem 4rem; }
nav { columns: 16rem; } nav a { display: block; } a { color: inherit; }
h2 { margin-top: 3rem; border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { background: var(--soft); white-space: normal; vertical-align: bottom; }
.words { text-align: left; white-space: normal; }
figure { margin: 1.5rem 0; } figure img { width: 100%; background: #fff; border: 1px solid var(--line); }
figcaption { font-size: 0.9rem; }
"""


def write_html(path: Path, title: str, introduction: Sequence[str], sections: Sequence[Section]) -> None:
    """The page needs nothing beside itself: pictures are part of it."""
    links = "\n".join(f'<a href="#{_anchor(s.title)}">{escape(s.title)}</a>' for s in sections)
    body = "\n".join(_section(s) for s in sections)
    paragraphs = "\n".join(f"<p>{inline(text)}</p>" for text in introduction)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>\n'
        f"<body><h1>{escape(title)}</h1>\n{paragraphs}\n<nav>{links}</nav>\n{body}\n</body></html>\n",
        encoding="utf-8",
    )


def write_markdown(path: Path, title: str, introduction: Sequence[str], sections: Sequence[Section]) -> None:
    """The same for a reader of text; pictures are files beside it."""
    parts = [f"# {title}", *introduction]
    for section in sections:
        parts += [f"## {section.title}", *section.text, *(markdown(t).rstrip() for t in section.tables)]
        parts += [f"![{p.caption}]({p.path.relative_to(path.parent).as_posix()})" for p in section.pictures]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def write_csv(path: Path, table: Table) -> None:
    """The cells of a table for another program."""
    path.write_text(as_csv(table), encoding="utf-8")


def _section(section: Section) -> str:
    paragraphs = "\n".join(f"<p>{inline(text)}</p>" for text in section.text)
    tables = "\n".join(map(html, section.tables))
    pictures = "\n".join(map(_figure, section.pictures))
    return f'<h2 id="{_anchor(section.title)}">{escape(section.title)}</h2>\n{paragraphs}\n{tables}\n{pictures}'


def _figure(picture: Picture) -> str:
    # As an image, not as a part of the page: names within one picture do not meet those of another.
    data = base64.b64encode(picture.path.read_bytes()).decode()
    caption = escape(picture.caption)
    image = f'<img alt="{caption}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())
