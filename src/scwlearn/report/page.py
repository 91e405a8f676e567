"""The HTML report of one or several runs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from scwlearn._util.atomic import write_atomically
from scwlearn.display.document import html_document
from scwlearn.display.formatting import shorten
from scwlearn.display.markup import Markup, element, join, visible
from scwlearn.report.comparison_section import anchor, comparison_section
from scwlearn.report.key_figures import distinct_names
from scwlearn.report.run_section import run_heading, run_panels, run_title
from scwlearn.runs.record import Record


def page(records: Sequence[Record], names: Sequence[str] | None = None) -> str:
    """Return a self-contained HTML page about one or several runs.

    Parameters
    ----------
    records : sequence of Record
        At least one. Several are compared first, then each has a section.
    names : sequence of str, optional
        Names of the runs; by default their algorithms and the parameters in which they differ.

    Returns
    -------
    str
        The page, to be written in UTF-8.

    Raises
    ------
    ValueError
        If there is no record, or not one name for each.

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
    if len(records) == 1:
        (record,) = records
        title = run_title(record) if names is None else names[0]
        heading, body = run_heading(record, title), run_panels(record)
    else:
        chosen = distinct_names(records) if names is None else names
        title, heading, body = f"{len(records)} runs", Markup(), _several(records, chosen)
    return html_document(shorten(visible(title), 160), heading, body)


def write_page(records: Sequence[Record], path: str | os.PathLike[str], names: Sequence[str] | None = None) -> None:
    """Write the page of `page` to a file, atomically.

    Parameters
    ----------
    records, names
        As for `page`.
    path : str or path
        The file to write; an existing file is replaced.

    Raises
    ------
    ValueError
        As for `page`.
    OSError
        If the file cannot be written; an existing file is then unchanged.

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
            run_heading(record, name),
            run_panels(record),
            id=anchor(number),
        )
        for number, (record, name) in enumerate(zip(records, names, strict=True))
    )
    return join(comparison_section(records, names), *sections)
