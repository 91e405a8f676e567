"""Fixtures of several test files, above all the data sets that are not part of the project."""

import lzma
import os
import signal

import numpy as np
import pytest
from hypothesis import settings
from sklearn.datasets import load_digits, load_svmlight_file

from places import DATA
from scwlearn import _native
from scwlearn._util.threads import one_blas_thread
from scwlearn.model.full import Full
from scwlearn.rules import declare

# Runs are repeatable, with no deadline, so that a slow machine fails no test. For new cases in every run:
# pytest --hypothesis-profile=default.
settings.register_profile("same-cases", derandomize=True, deadline=None)
settings.load_profile("same-cases")


def pytest_addoption(parser):
    """Add --quick, for the inner loop: the first and the last case of each test, without slow ones."""
    parser.addoption("--quick", action="store_true", help="run two cases of each test that is not slow")


def pytest_collection_modifyitems(config, items):
    """Deselect what --quick leaves out."""
    if not config.getoption("--quick"):
        return
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    kept = {id(item) for some in cases.values() for item in (some[0], some[-1]) if not item.get_closest_marker("slow")}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


@pytest.fixture(autouse=True)
def _same_shuffles():
    """Seed NumPy's global random state, from which estimators without a seed draw their order."""
    np.random.seed(0)


@pytest.fixture
def registry():
    """The registry of rules, restored afterwards."""
    before = dict(declare._declared)
    yield
    declare._declared.clear()
    declare._declared.update(before)


@pytest.fixture
def quiet_blas():
    """One BLAS thread, for references that multiply small matrices, where more threads only wait."""
    with one_blas_thread():
        yield


@pytest.fixture
def ctrl_c():
    """A function that interrupts this process, even if it is a job in the background, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=_native.instruction_sets())
def instruction_set(request):
    """Each instruction set of this processor."""
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(_native.instruction_sets()[0])


@pytest.fixture
def use_class_block(monkeypatch):
    """A function that sets the number of rows that classes with a full covariance process at once."""
    return lambda rows: monkeypatch.setattr(Full, "block", lambda self, size, stored, lanes, joint: rows)


@pytest.fixture(scope="session")
def digits():
    """Scikit-learn's digits, between 0 and 1."""
    x, y = load_digits(return_X_y=True)
    return x / 16, y


@pytest.fixture(scope="session")
def data_file():
    """A function that finds a set by name; skips the test where it is missing."""

    def find(name, part=""):
        path = DATA / name / f"{name}{part}.libsvm.xz"
        if not path.exists():
            pytest.skip(f"{name} is not in the data directory (../shared/data or SCWLEARN_DATA)")
        return path

    return find


@pytest.fixture(scope="session")
def load_data(data_file):
    """A function that loads a set by name, dense, in the order of the file; skips the test where it is missing."""

    def load(name, n_features):
        with lzma.open(data_file(name)) as file:
            x, y = load_svmlight_file(file, n_features=n_features)
        return x.toarray(), y

    return load
