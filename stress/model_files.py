"""Small model files of every kind, for trials that forge them."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from fuzz.model_seeds import EXAMPLES, SEEDS, SEVERAL, TWO, X

import scwlearn
from scwlearn import river
from scwlearn.cli.app import run
from scwlearn.files import SavedModel, write
from scwlearn.rules import all_rules
from scwlearn.runs.results import Job, Outcome, Results

NOTES = {"some": [1, "two", None], "data": {"format": []}}
_TABLE = "size,sky,words,at,kind\n1.5,grey,a wolf,2026-01-05,yes\n0.2,blue,small cat,2026-01-06,no\n"
_TABLE += "-2,blue,a wolf,2026-01-07,yes\n3,grey,cat,2026-01-08,no\n"
_LIBSVM = "1 1:1.5 3:-2\n-1 2:1 3:0.5\n1 1:2\n-1 2:-1\n" * 5
_CLASSES = "1 1:1.5 3:-2\n2 2:1 3:0.5\n3 1:-2\n1 1:1 2:-1\n" * 5


def _fitted(name: str, y: Sequence[Any], **settings: Any) -> Any:
    return getattr(scwlearn, name)(**settings).fit(X, y)


def _stream(make: Callable[..., Any], *rule: str, **settings: Any) -> Any:
    model = make(*rule, **settings)
    examples: list[dict[Any, Any]] = EXAMPLES  # type: ignore[assignment]
    for example, label in zip(examples, SEVERAL, strict=True):
        model.learn_one(example, label)
    return model


def _rule_seeds() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield a model of each rule for each kind of classifier, with settings that differ."""
    scales: list[Any] = ["none", "rms", "standard", "unit"]
    costs = {True: {False: 3.0}, False: {True: 1.0}}
    for number, rule in enumerate(all_rules()):
        form = {"covariance": ["diagonal", "full"][number % 2]} if rule.order == 2 else {"average": bool(number % 2)}
        shared: dict[str, Any] = {"multi_class": ["joint", "ovr"][number % 2]}
        if rule.order == 2 and not number % 2:
            shared["shared_covariance"] = True
        kept: dict[str, Any] = {"scale": scales[number % 4], "random_state": number, **form}
        yield f"{rule.name}-two", partial(_fitted, rule.estimator, TWO, costs=costs, **kept)
        yield f"{rule.name}-several", partial(_fitted, rule.estimator, SEVERAL, **kept, **shared)
        kernel: dict[str, Any] = {
            "kernel": ["rbf", "poly", "linear", "cosine"][number % 4],
            "budget": [None, 3][number % 2],
        }
        yield f"{rule.name}-kernel", partial(_fitted, rule.kernel_estimator, SEVERAL if number % 2 else TWO, **kernel)
        yield f"{rule.name}-stream", partial(_stream, scwlearn.StreamClassifier, rule.name, **form)
        yield f"{rule.name}-river", partial(_stream, getattr(river, rule.estimator), scale=scales[number % 4])


def _commands() -> dict[str, tuple[str, str, tuple[str, ...]]]:
    """Return the name, the data and the options of models that the command line trains."""
    return {
        "train-table": ("table.csv", _TABLE, ("--label", "kind", "--text", "words", "--covariance", "diagonal")),
        "train-auto": ("table.csv", _TABLE, ("--label", "kind", "-a", "auto", "--char-ngrams", "2-3")),
        "train-hashed": ("table.csv", _TABLE, ("--label", "kind", "--hash-bits", "3", "--interactions", "sky:words")),
        "train-libsvm": ("data.svm", _LIBSVM, ("--holdout", "0.2", "-a", "arow")),
        "train-classes": ("data.svm", _CLASSES, ("-a", "pa1", "--epochs", "2", "--probabilities")),
    }


def quietly(arguments: list[str]) -> tuple[int, str, str]:
    """Run a command of scwlearn in this process; return its exit code, its output and its messages."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


def _trained(name: str, directory: Path) -> bytes:
    data, text, options = _commands()[name]
    (directory / data).write_text(text)
    path = directory / "trained.model"
    code, _, messages = quietly(["train", str(directory / data), "-q", "-m", str(path), *options])
    assert code == 0, f"{name}: {messages}"
    return path.read_bytes()


@cache
def _makers() -> dict[str, Callable[[], Any]]:
    estimators = {"kernel-budget": partial(_fitted, "KernelPA1", SEVERAL, budget=2)}
    return SEEDS | dict(_rule_seeds()) | estimators


def model_names() -> list[str]:
    """Return the names of all files."""
    return [*_makers(), *_commands()]


@cache
def model_file(name: str) -> bytes:
    """Return a model file by its name."""
    with tempfile.TemporaryDirectory() as directory:
        if name in _commands():
            return _trained(name, Path(directory))
        path = Path(directory) / "seed.model"
        write(SavedModel.from_model(_makers()[name](), NOTES), path)
        return path.read_bytes()


def data_file(name: str, directory: Path) -> Path:
    """Write data that a model can be used on; return its path."""
    if name in _commands():
        file, text, _ = _commands()[name]
    else:
        named = b'"vocabulary":{' in model_file(name).replace(b"\\", b"")
        file, text = (
            ("table.jsonl", "".join(f"{json.dumps(one)}\n" for one in EXAMPLES)) if named else ("a.svm", _LIBSVM)
        )
    (directory / file).write_text(text)
    return directory / file


@cache
def record_text() -> str:
    """Return the record of a run as JSON."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "data.svm"
        path.write_text(_CLASSES)
        code, out, messages = quietly(["train", str(path), "--json", "--holdout", "0.3", "--probabilities"])
    assert code == 0, messages
    return json.dumps(json.loads(out))


@cache
def results_text() -> str:
    """Return a file of results of runs."""
    job = Job("set", "1f", "arow", "2e", "diagonal", (("r", 1.0),), seed=0, order=1, rows=20)
    with tempfile.TemporaryDirectory() as directory, Results(Path(directory) / "results.jsonl") as results:
        results[job] = Outcome((10, 20), (3, 5), (4, 7), (0.5, 1.0))
        results[replace(job, order=2, fold=1)] = Outcome((20,), (5,), (7,), (1.0,))
        return results.path.read_text()
