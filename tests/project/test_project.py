"""The project keeps its promises: light imports, correct stubs, correct documents."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nanobind.stubgen import StubGen

import scwlearn
from places import ROOT
from scwlearn import _native
from scwlearn.rules import all_rules, estimator_names

MODULES = [m.name for m in pkgutil.walk_packages(scwlearn.__path__, "scwlearn.") if "_native" not in m.name]


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_the_package_loads_no_large_library():
    loaded = run("import sys, scwlearn; print(*sys.modules)").split()
    assert not {"sklearn", "pandas", "polars", "matplotlib", "rich", "scipy", "numpy"} & set(loaded)


def test_a_learner_works_without_scikit_learn():
    learn = "import sys, scwlearn; scwlearn.Learner().learn([[1.0], [2.0]], [1, -1]); print(*sys.modules)"
    assert not {"sklearn", "pandas", "matplotlib"} & set(run(learn).split())


def test_every_public_name_resolves():
    for name in dir(scwlearn):
        assert getattr(scwlearn, name) is not None
    assert {rule.estimator for rule in all_rules()} <= set(scwlearn.__all__)
    with pytest.raises(AttributeError, match="no attribute 'SCW3'"):
        _ = scwlearn.SCW3


def test_the_native_stub_is_up_to_date():
    stub = StubGen(_native)
    stub.put(_native)
    written = (ROOT / "src" / "scwlearn" / "_native.pyi").read_text()
    assert written == stub.get(), "write it anew: python -m nanobind.stubgen -m scwlearn._native -O src/scwlearn"


def test_the_stub_of_the_estimators_is_up_to_date():
    from scwlearn.learning.signatures import stub

    installed = (Path(scwlearn.__file__).parent / "estimators" / "__init__.pyi").read_text()
    assert installed == stub()
    compile(installed, "estimators/__init__.pyi", "exec")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    # Run as a user's code, not as the module's.
    failed, _ = doctest.testmod(importlib.import_module(name), extraglobs={"__name__": "example"})
    assert failed == 0


@pytest.mark.parametrize("home", ["scwlearn", "scwlearn.river"])
@pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.name)
def test_the_example_of_each_estimator_runs(rule, home):
    made = getattr(importlib.import_module(home), rule.estimator)
    example = doctest.DocTestParser().get_doctest(made.__doc__, {}, made.__name__, None, 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


def documented_names():
    """All that the reference describes, and the estimators, which have a page of their own."""
    listed = re.findall(
        r"^\.\. auto(?:class|function):: (\S+)$", (ROOT / "docs/reference.md").read_text(), re.MULTILINE
    )
    made = [f"scwlearn.river.{rule.estimator}" for rule in all_rules()]
    return [*listed, *made, *(f"scwlearn.{name}" for name in estimator_names())]


@pytest.mark.parametrize("path", documented_names())
def test_every_public_name_has_an_example(path):
    module, _, name = path.rpartition(".")
    documentation = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
    assert doctest.DocTestParser().get_examples(documentation), f"{path} has no example in its docstring"


def test_the_reference_lists_every_public_name():
    assert {f"scwlearn.{name}" for name in scwlearn.__all__} - {"scwlearn.__version__"} <= set(documented_names())


def test_the_version_is_the_same_everywhere():
    version = scwlearn.__version__
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## \[{re.escape(version)}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
