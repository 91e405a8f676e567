"""A self-contained HTML document, and a report of sections as HTML and as Markdown."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scwlearn.display.markup import Markup, element, join, rich_text
from scwlearn.display.tables import Table
from scwlearn.display.theme import content_security_policy, script, style_sheet


def html_document(title: str, head: Markup, body: Markup, *, images: bool = False) -> str:
    """Return a page that loads nothing; `images` allows images that are embedded as data."""
    button = element("button", "Dark", id="theme", type="button", title="Light or dark", hidden=True)
    brand = element("span", element("b", "scwlearn"), " report", class_="brand")
    policy = content_security_policy(images=images)
    page_head = element(
        "head",
        element("meta", charset="utf-8"),
        # First, because it applies to what follows.
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style_sheet())),
    )
    page_body = element(
        "body",
        element("header", element("div", brand, button, class_="top"), element("h1", title), head),
        element("main", body),
        element("footer", "Made by scwlearn. This page is self-contained and loads nothing."),
        element("div", id="tip", role="status", hidden=True),
        element("script", Markup(script())),
    )
    return f"<!doctype html>\n{element('html', page_head, page_body, lang='en')}\n"


@dataclass(frozen=True)
class Picture:
    """An SVG file and its caption."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Section:
    """A section of a report: paragraphs, then tables, then pictures."""

    title: str
    text: Sequence[str] = field(default=())
    tables: Sequence[Table] = field(default=())
    pictures: Sequence[Picture] = field(default=())


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
        parts += [f"![{p.caption}]({p.path.relative_to(directory).as_posix()})" for p in section.pictures]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Markup:
    return element(
        "section",
        element("h2", section.title),
        *_paragraphs(section.text),
        *(element("div", table.to_html(), class_="panel prose") for table in section.tables),
        *map(_figure, section.pictures),
        id=_anchor(section.title),
    )


def _paragraphs(texts: Sequence[str]) -> list[Markup]:
    return [element("p", rich_text(text), class_="prose") for text in texts]


def _figure(picture: Picture) -> Markup:
    # An image rather than inline SVG: ids in one picture cannot clash with those of another.
    data = base64.b64encode(picture.path.read_bytes()).decode()
    image = element("img", alt=picture.caption, src=f"data:image/svg+xml;base64,{data}")
    return element("figure", image, element("figcaption", picture.caption), class_="panel picture")


def _anchor(title: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in title.lower())
