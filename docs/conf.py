"""How Sphinx builds the documentation; the pages on the algorithms are written from their declarations."""

from __future__ import annotations

import inspect
from pathlib import Path

import matplotlib as mpl

import scwlearn
from scwlearn.rules import Rule, all_rules

mpl.use("agg")

project = "scwlearn"
author = copyright = "the scwlearn developers"
version = release = scwlearn.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "examples", "generated/algorithm_*.md"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
html_theme = "pydata_sphinx_theme"
html_title = "scwlearn"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
}
suppress_warnings = ["config.cache"]

GENERATED = Path(__file__).parent / "generated"


def yes(flag: bool) -> str:
    """A property as the table shows it."""
    return "yes" if flag else "no"


def table_row(rule: Rule) -> str:
    """A rule's line in the table of algorithms."""
    parameters = ", ".join(f"{p.name} ({p.default:g})" for p in rule.parameters) or "none"
    properties = (rule.large_margin, rule.confidence, rule.non_separable, rule.adaptive_margin)
    cells = (f"[{rule.title}](#scwlearn.estimators.{rule.estimator})", f"`{rule.estimator}`", parameters)
    return "| " + " | ".join((*cells, *map(yes, properties))) + " |"


def section(rule: Rule) -> str:
    """A rule's own part of the page: the code that is the rule, where it comes from, its grid."""
    grids = [f"- `{p.name}`: {', '.join(f'{v:g}' for v in p.grid)}" for p in rule.parameters if p.grid]
    grid = "\nThe paper tries\n\n" + "\n".join(grids) + "\n" if grids else ""
    return f"""
## {rule.title}

{rule.cite}.

```python
{inspect.getsource(rule.function).strip()}
```
{grid}"""


def write_algorithms() -> None:
    """The page of all algorithms, and the reference of their estimators."""
    GENERATED.mkdir(exist_ok=True)
    rows = "\n".join(map(table_row, all_rules()))
    page = f"""# The algorithms

The properties are those of the paper's Table 1: *large margin*, it also learns from examples that it classifies
rightly but by a small margin; *confidence*, it keeps a covariance; *non-separable*, one mislabelled example cannot
force a step of any size; *adaptive margin*, the margin that it asks for depends on how sure it is. The paper's row
"PA" stands for the family, of which PA-I and PA-II are the soft members.

| algorithm | class | parameters (default) | large margin | confidence | non-separable | adaptive margin |
|---|---|---|---|---|---|---|
{rows}

A rule sees the margin `m` and the variance `v` of an example and answers with a `Step`; `HOLD` means no loss. What
follows is the code that runs: the build spells it in C++.
{"".join(map(section, all_rules()))}"""
    (GENERATED / "algorithms.md").write_text(page)
    classes = "".join(
        f"\n.. autoclass:: scwlearn.estimators.{rule.estimator}\n   :members: margin_variance\n   :inherited-members:\n"
        "   :exclude-members: get_params, set_params, get_metadata_routing, set_score_request,"
        " set_partial_fit_request, set_fit_request\n"
        for rule in all_rules()
    )
    (GENERATED / "estimators.rst").write_text(f"Estimators\n==========\n{classes}")


write_algorithms()
