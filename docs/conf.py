"""Sphinx configuration; generates the pages on the algorithms from their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from docutils import nodes
from latex2mathml.converter import convert as latex_to_mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import scwlearn
from scwlearn.rules import Rule, all_rules, estimator_names

mpl.use("agg")

project = "scwlearn"
author = copyright = "the scwlearn developers"
version = release = scwlearn.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "examples"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath"]
myst_heading_anchors = 3
numpydoc_show_class_members = False
autodoc_typehints = "none"
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "scwlearn"
html_sidebars = {"**": []}
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
ESTIMATORS = """
Estimators
==========

Methods common to all estimators:

.. autoclass:: scwlearn.estimators.base.OnlineClassifier
   :members: fit, partial_fit, decision_function, predict, predict_proba, predict_log_proba, save

.. autoclass:: scwlearn.estimators.linear.LinearClassifier
   :members: coef_, intercept_, top_features, explain

.. autoclass:: scwlearn.estimators.linear.SecondOrderClassifier
   :members: margin_variance

.. autoclass:: scwlearn.estimators.kernel.SecondOrderKernelClassifier
   :members: margin_variance
"""

FOR_RIVER = """
Classes for River
=================

Methods common to all classes:

.. autoclass:: scwlearn.river.RiverClassifier
   :members: learn_one, predict_one, predict_proba_one, learn_many, predict_many, predict_proba_many, top_features,
             explain, save
"""


def formula(display: str) -> Callable[[HTML5Translator, nodes.math], None]:
    """Return a visitor that renders a formula as MathML, which browsers display without an external script."""
    tag = "span" if display == "inline" else "p"

    def visit(translator: HTML5Translator, node: nodes.math) -> None:
        mathml = latex_to_mathml(node.astext(), display=display)
        translator.body.append(f'<{tag} class="math">{mathml}</{tag}>')
        raise nodes.SkipNode

    return visit


def setup(app: Sphinx) -> None:
    """Register the MathML renderer; called by Sphinx."""
    app.add_html_math_renderer("mathml", (formula("inline"), None), (formula("block"), None))


def yes(flag: bool) -> str:
    """Return the mark of a property in the table."""
    return "✓" if flag else ""


def table_row(rule: Rule) -> str:
    """Return the row of a rule in the table of algorithms."""
    parameters = ", ".join(f"{p.name} ({p.default:g})" for p in rule.parameters) or "none"
    properties = (rule.large_margin, rule.confidence, rule.non_separable, rule.adaptive_margin)
    cells = (rule.title, f"[`{rule.estimator}`](#scwlearn.estimators.{rule.estimator})", parameters)
    return "| " + " | ".join((*cells, *map(yes, properties))) + " |"


def source(function: Callable[..., Any]) -> str:
    """Return the source of a rule's function without its declaration, preceded by the functions that it calls."""
    text = inspect.getsource(function)
    text = text[text.index("def ") :]
    called = [function.__globals__.get(name) for name in function.__code__.co_names]
    helpers = [source(f) for f in called if inspect.isfunction(f)]
    return "\n\n".join([*helpers, text])


def section(rule: Rule) -> str:
    """Return the section of a rule: its source, citation and tuning grid."""
    grids = [f"- `{p.name}`: {', '.join(f'{v:g}' for v in p.grid)}" for p in rule.parameters if p.grid]
    grid = "\nTuning grid:\n\n" + "\n".join(grids) + "\n" if grids else ""
    return f"""
## {rule.title}

{rule.cite}.

```python
{source(rule.function).strip()}
```
{grid}"""


def write_algorithms() -> None:
    """Write the page of all algorithms and the reference pages of their classes."""
    GENERATED.mkdir(exist_ok=True)
    rows = "\n".join(map(table_row, all_rules()))
    page = f"""# The algorithms

All algorithms with their parameters and properties. [Choosing an algorithm](../choosing.md) compares their accuracy.

The properties are those of Table 1 of the paper:

- *large margin*: also learns from correctly classified examples with a small margin;
- *confidence*: keeps a covariance;
- *non-separable*: designed for data that no hyperplane separates;
- *adaptive margin*: the required margin depends on the variance.

The paper's row "PA" stands for the family, of which PA-I and PA-II are the soft members. The paper omits the Perceptron
and ROMMA.

| algorithm | class | parameters (default) | large margin | confidence | non-separable | adaptive margin |
|---|---|---|---|---|---|---|
{rows}

A rule takes the margin `m` and the variance `v` of an example and returns a `Step`; `HOLD` means no update. The sources
below are the code that runs: the build compiles them to C++.
{"".join(map(section, all_rules()))}"""
    (GENERATED / "algorithms.md").write_text(page)
    classes = "\n".join(f".. autoclass:: scwlearn.estimators.{name}\n" for name in estimator_names())
    (GENERATED / "estimators.rst").write_text(f"{ESTIMATORS}\n{classes}")
    for_river = "\n".join(f".. autoclass:: scwlearn.river.{rule.estimator}\n" for rule in all_rules())
    (GENERATED / "river.rst").write_text(f"{FOR_RIVER}\n{for_river}")


write_algorithms()
