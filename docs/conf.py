"""How Sphinx builds the documentation; the pages on the algorithms are written from their declarations."""

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
myst_enable_extensions = ["dollarmath", "amsmath"]
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

What all have in common:

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

What all have in common:

.. autoclass:: scwlearn.river.RiverClassifier
   :members: learn_one, predict_one, predict_proba_one, learn_many, predict_many, predict_proba_many, top_features,
             explain, save
"""


def formula(display: str) -> Callable[[HTML5Translator, nodes.math], None]:
    """Writes a formula as MathML, which browsers show by themselves: the pages need no script from elsewhere."""
    tag = "span" if display == "inline" else "p"

    def visit(translator: HTML5Translator, node: nodes.math) -> None:
        mathml = latex_to_mathml(node.astext(), display=display)
        translator.body.append(f'<{tag} class="math">{mathml}</{tag}>')
        raise nodes.SkipNode

    return visit


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (formula("inline"), None), (formula("block"), None))


def yes(flag: bool) -> str:
    """A property as the table shows it."""
    return "✓" if flag else ""


def table_row(rule: Rule) -> str:
    """A rule's line in the table of algorithms."""
    parameters = ", ".join(f"{p.name} ({p.default:g})" for p in rule.parameters) or "none"
    properties = (rule.large_margin, rule.confidence, rule.non_separable, rule.adaptive_margin)
    cells = (rule.title, f"[`{rule.estimator}`](#scwlearn.estimators.{rule.estimator})", parameters)
    return "| " + " | ".join((*cells, *map(yes, properties))) + " |"


def source(function: Callable[..., Any]) -> str:
    """The code of a rule's function without its declaration, and of the functions that it calls before it."""
    text = inspect.getsource(function)
    text = text[text.index("def ") :]
    called = [function.__globals__.get(name) for name in function.__code__.co_names]
    helpers = [source(f) for f in called if inspect.isfunction(f)]
    return "\n\n".join([*helpers, text])


def section(rule: Rule) -> str:
    """A rule's own part of the page: the code that is the rule, where it comes from, its grid."""
    grids = [f"- `{p.name}`: {', '.join(f'{v:g}' for v in p.grid)}" for p in rule.parameters if p.grid]
    grid = "\nThe grid for tuning:\n\n" + "\n".join(grids) + "\n" if grids else ""
    return f"""
## {rule.title}

{rule.cite}.

```python
{source(rule.function).strip()}
```
{grid}"""


def write_algorithms() -> None:
    """The page of all algorithms, and the reference of their estimators."""
    GENERATED.mkdir(exist_ok=True)
    rows = "\n".join(map(table_row, all_rules()))
    page = f"""# The algorithms

The properties are those of the paper's Table 1: *large margin*, it also learns from examples that it classifies
rightly but by a small margin; *confidence*, it keeps a covariance; *non-separable*, it is made for data that no
hyperplane separates; *adaptive margin*, the margin that it asks for depends on how sure it is. The paper's row "PA"
stands for the family, of which PA-I and PA-II are the soft members; it leaves out the Perceptron and ROMMA.

| algorithm | class | parameters (default) | large margin | confidence | non-separable | adaptive margin |
|---|---|---|---|---|---|---|
{rows}

A rule sees the margin `m` and the variance `v` of an example and answers with a `Step`; `HOLD` means no loss. What
follows is the code that runs: the build spells it in C++.
{"".join(map(section, all_rules()))}"""
    (GENERATED / "algorithms.md").write_text(page)
    classes = "\n".join(f".. autoclass:: scwlearn.estimators.{name}\n" for name in estimator_names())
    (GENERATED / "estimators.rst").write_text(f"{ESTIMATORS}\n{classes}")
    for_river = "\n".join(f".. autoclass:: scwlearn.river.{rule.estimator}\n" for rule in all_rules())
    (GENERATED / "river.rst").write_text(f"{FOR_RIVER}\n{for_river}")


write_algorithms()
