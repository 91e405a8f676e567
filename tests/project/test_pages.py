"""The pages for people: every example on them runs and shows what the page says."""

import doctest
import re
import shutil
import sys
import tomllib

import pytest

from places import ROOT

PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if ">>> " in page.read_text()]


def code(page):
    """The page with everything but its Python blocks blanked, so that line numbers stay."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = line.strip().startswith("```")
        lines.append(line if inside and not fence else "")
        inside = line.strip() == "```python" if fence else inside
    return "\n".join(lines) + "\n"


def test_pages_with_examples_are_found():
    found = {page.name for page in PAGES}
    assert {"README.md", "quickstart.md", "own_rule.md", "paper.md", "numerics.md", "streams.md"} <= found


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_each_page_run(page, monkeypatch):
    if page.name == "spark.md":
        pytest.importorskip("pyspark")
        if shutil.which("java") is None:
            pytest.skip("Spark needs Java")
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    test = doctest.DocTestParser().get_doctest(code(page), {"__name__": "page"}, page.name, str(page), 0)
    report = []
    failed, tried = doctest.DocTestRunner().run(test, out=report.append)
    assert tried > 3
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_file_and_folder_that_a_page_names_exists(page):
    package = ROOT / "src" / "scwlearn"
    homes = (ROOT, package, package / "data", package / "cli", ROOT / "native", ROOT / "tests")
    named = set(re.findall(r"`([\w/.]+(?:/|\.(?:py|hpp|cpp|txt)))`", (ROOT / page).read_text(encoding="utf-8")))
    assert len(named) > 10
    assert not [name for name in named if not any((home / name).exists() for home in homes)]


def test_every_source_file_that_the_documentation_quotes_exists():
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("**/*.md")]
    quoted = re.compile(r"\b((?:src|native|tests|benchmarks|fuzz)/[\w/]+\.(?:py|hpp|cpp))\b")
    named = {(page.name, path) for page in pages for path in quoted.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 10
    assert not [(page, path) for page, path in named if not (ROOT / path).exists()]


def test_the_architecture_shows_every_folder_and_the_layers_of_the_linter():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = [path.parent.name for path in (ROOT / "src" / "scwlearn").glob("*/__init__.py")]
    assert not [name for name in folders if f"`{name}/`" not in page]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    assert "\n".join(layers) in page
