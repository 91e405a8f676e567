"""Every computation on the page docs/paper.md gives what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"


def sections() -> dict[str, str]:
    """The code of each section after that of the introduction, every line where it stands on the page."""
    title, in_code, found = "", False, {"": []}
    for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines()):
        fence = line.startswith("```")
        if line.startswith("## ") and not in_code:
            title = line.removeprefix("## ")
            found[title] = list(found[""])
        found[title] += [""] * (number - len(found[title])) + [line if in_code and not fence else ""]
        in_code = line == "```python" if fence else in_code
    return {title: "\n".join(lines) + "\n" for title, lines in found.items() if title}


SECTIONS = sections()


def test_the_page_has_a_computation_in_every_section() -> None:
    # The four imports of the introduction come first in each.
    assert len(SECTIONS) >= 6
    assert all(code.count(">>> ") > 5 for code in SECTIONS.values())


@pytest.mark.parametrize("title", SECTIONS)
def test_the_computations_of_a_section_give_what_it_says(title: str) -> None:
    test = doctest.DocTestParser().get_doctest(SECTIONS[title], {}, title, str(PAGE), 0)
    report: list[str] = []
    failed, tried = doctest.DocTestRunner().run(test, out=report.append)
    assert tried > 4
    assert not failed, "".join(report)
