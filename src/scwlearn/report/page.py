"""The page as a whole."""

from __future__ import annotations

import os
from collections.abc import Sequence

from scwlearn._util.atomic import write_atomically
from scwlearn.report.comparison import anchor, comparison_of
from scwlearn.report.figures import names_of
from scwlearn.report.look import policy, script, style
from scwlearn.report.markup import Markup, element, join, visible
from scwlearn.report.one_run import head_of, run_of, subject_of
from scwlearn.report.text import shorten
from scwlearn.runs.record import Record


def page(records: Sequence[Record], names: Sequence[str] | None = None) -> str:
    """One HTML page about one or several runs, which needs nothing beside itself and asks nobody for anything.

    Parameters
    ----------
    records : sequence of Record
        At least one. Several are held against each other first, then each has a section.
    names : sequence of str, optional
        What the runs are called; by default their algorithms and whatever else tells them apart.

    Returns
    -------
    str
        The page, to be written in UTF-8.

    Examples
    --------
    >>> from scwlearn.report import page
    >>> from scwlearn.runs.record import Point, Record
    >>> record = Record("scwlearn train a.libsvm", "2026-01-01T12:00:00+00:00", "1.0", ["a.libsvm"], "arow", {"r": 1.0},
    ...                 {}, [-1, 1], 2, [Point(1, 1, 1, 2, 0.1), Point(2, 1, 2, 2, 0.2)])
    >>> "<h1>AROW on a.libsvm</h1>" in page([record])
    True
    """
    if not records:
        raise ValueError("a report needs at least one record")
    if names is not None and len(names) != len(records):
        raise ValueError(f"names must hold {len(records)} names, one for each record, got {len(names)}")
    called = names_of(records) if names is None else list(names)
    if len(records) == 1:
        title = subject_of(records[0]) if names is None else called[0]
        head, body = head_of(records[0], title), run_of(records[0])
    else:
        title, head, body = f"{len(records)} runs", Markup(), _several(records, called)
    return _document(shorten(visible(title), 160), head, body)


def write_page(records: Sequence[Record], path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
    """Write `page` to a file, as a whole or not at all.

    Examples
    --------
    >>> from scwlearn.report import write_page
    >>> write_page([], "report.html")
    Traceback (most recent call last):
    ValueError: a report needs at least one record
    """
    write_atomically(path, page(records, names).encode())


def _several(records: Sequence[Record], names: Sequence[str]) -> Markup:
    sections = (
        element(
            "section",
            element("h2", shorten(visible(name), 160)),
            head_of(record, name),
            run_of(record),
            id=anchor(number),
        )
        for number, (record, name) in enumerate(zip(records, names, strict=True))
    )
    return join(comparison_of(records, names), *sections)


def _document(title: str, head: Markup, body: Markup) -> str:
    button = element("button", "Dark", id="theme", type="button", title="Light or dark", hidden=True)
    brand = element("span", element("b", "scwlearn"), " report", class_="brand")
    bar = element("div", brand, button, class_="top")
    top = element(
        "head",
        element("meta", charset="utf-8"),
        # Before anything that it is about.
        element("meta", http_equiv="Content-Security-Policy", content=policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup(style())),
    )
    rest = element(
        "body",
        element("header", bar, element("h1", title), head),
        element("main", body),
        element("footer", "Made by scwlearn. The page is whole: it loads nothing."),
        element("div", id="tip", role="status", hidden=True),
        element("script", Markup(script())),
    )
    return f"<!doctype html>\n{element('html', top, rest, lang='en')}\n"
