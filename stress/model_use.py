"""Everything that can be done with a model from a file; only documented errors may be raised."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz.model_seeds import EXAMPLES, SEVERAL, SIGNS, X
from scipy import sparse
from sklearn import utils

import scwlearn
from stress.model_files import quietly

# Wider rows are sparse.
_WIDEST = 64

_LIBRARY = Path(scwlearn.__file__).parent
# Its estimators let scikit-learn check whether they are fitted, and which labels are classes.
_CHECKS = Path(utils.__file__).parent
# Words of NumPy, SciPy and Python that no message of the library has.
_FOREIGN = re.compile(
    "broadcast|operands|mismatch|not aligned|array element|reshape|inhomogeneous|truth value|zero-size|dimension"
    "|input array|out of bounds|math domain|not enough values|too many values|invalid literal|longer than|shorter than"
    "|byte length|empty sequence|NaN to integer|not in list|not converge|infs or NaNs|Buffer|negative"
)

# What the command line does with a model.
_COMMANDS = [
    "inspect {model}",
    "inspect {model} --json --top 3",
    "predict {model} {data} --scores --probabilities",
    "predict {model} {data} --json",
    "evaluate {model} {data}",
    "train {data} --resume {model} -m {out}.model -q",
    "report {model} -o {out}.html",
    "merge {model} {honest} -m {out}.model",
    "merge {model} {model} -m {out}.model",
    "convert {model} -o {out}.json",
    "convert {model} -o {out}.csv",
    "convert {model} -o {out}.safetensors",
    "convert {model} -o {out}.onnx",
]


@contextmanager
def documented_errors() -> Iterator[None]:
    """Suppress the ValueErrors that the library raises, but not those of Python and of other libraries inside it."""
    try:
        yield
    except TypeError as error:
        # A file may say that its names, all of them strings, come from integer keys.
        if "keys of mixed types" not in str(error):
            raise
    except ValueError as error:
        if not _is_own(error):
            raise


def _is_own(error: ValueError) -> bool:
    """Return whether scwlearn raised an error: by a statement, or in native code, which has no traceback of its own."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None
    file = trace.tb_frame.f_code.co_filename
    if not Path(file).is_relative_to(_LIBRARY):
        return Path(file).is_relative_to(_CHECKS)
    return linecache.getline(file, trace.tb_lineno).strip().startswith("raise ") or not _FOREIGN.search(str(error))


def use(model: Any, path: Path, honest: Path, random: Random) -> None:
    """Use a model in some random ways, and save it; `honest` is the file that its own was forged from."""
    scwlearn.save(model, path)
    scwlearn.load(path)
    for action in random.choices(_ACTIONS, k=3):
        with documented_errors():
            action(model, path, honest)
    # What was done must not have left a model that cannot be used any more.
    with documented_errors():
        scwlearn.save(model, path)
        _predict(scwlearn.load(path), path, honest)


def run_command(path: Path, honest: Path, data: Path, random: Random) -> None:
    """Run a random command on a file; check that it succeeds, or fails with one sentence."""
    names = {"model": path, "honest": honest, "data": data, "out": path.with_name("out")}
    check_command(random.choice(_COMMANDS).format(**names).split())


def check_command(arguments: list[str]) -> None:
    """Run a command; check that it succeeds, or fails with one sentence."""
    code, _, messages = quietly(arguments)
    outcome = f"scwlearn {' '.join(arguments)}: exit code {code}: {messages}"
    # A file that no longer begins like a model is taken for data, which is not written as ONNX.
    assert code in (0, 1, 2), outcome
    assert code == 0 or "scwlearn: error: " in messages, outcome
    assert "Traceback" not in messages, outcome
    assert "not enough memory" not in messages, outcome


def _stream(model: Any) -> Any:
    """Return the stream classifier of a model from dicts, or None."""
    return getattr(model, "_model", model) if hasattr(model, "predict_one") else None


def _is_learner(model: Any) -> bool:
    return hasattr(model, "scores_and_variances")


def _rows_for(model: Any) -> Any:
    """Return rows of the width that a model takes."""
    width: int = getattr(model, "n_features_in_", None) or getattr(model, "n_features", None) or X.shape[1]
    if width <= _WIDEST:
        return np.resize(X, (len(X), width))
    columns = np.arange(len(X)) % width
    return sparse.csr_array((X[:, 0], (np.arange(len(X)), columns)), shape=(len(X), width))


def _predict(model: Any, path: Path, honest: Path) -> None:
    if (stream := _stream(model)) is not None:
        stream.predict_many(EXAMPLES)
        stream.predict_proba_many(EXAMPLES)
        for example in EXAMPLES:
            model.predict_one(example)
            model.predict_proba_one(example)
    elif _is_learner(model):
        model.scores(_rows_for(model))
        model.scores_and_variances(_rows_for(model))
    elif model.__sklearn_is_fitted__():
        rows = _rows_for(model)
        model.predict(rows)
        model.predict_proba(rows)


def _learn(model: Any, path: Path, honest: Path) -> None:
    if (stream := _stream(model)) is not None:
        labels = (stream.classes * 4 or SEVERAL)[:4]
        stream.learn_many(EXAMPLES, labels)
        for example, label in zip(EXAMPLES, labels, strict=True):
            model.learn_one(example, label)
    elif _is_learner(model):
        model.learn(_rows_for(model), SIGNS if model.is_binary else [0, 1, 0, 1])
    elif model.__sklearn_is_fitted__():
        model.partial_fit(_rows_for(model), np.resize(model.classes_, len(X)))
    else:
        model.fit(X, SEVERAL)


def _learn_new_class(model: Any, path: Path, honest: Path) -> None:
    if (stream := _stream(model)) is not None:
        stream.learn_many([{"new": 1.0}, *EXAMPLES], [_new_label(stream.classes), *(stream.classes * 4 or SEVERAL)[:4]])
    elif _is_learner(model) and not model.is_binary:
        model.add_classes(1)
        model.learn(_rows_for(model), [0, 1, 2, 3])
    elif not _is_learner(model) and model.__sklearn_is_fitted__():
        classes = model.classes_.tolist()
        model.partial_fit(_rows_for(model), (classes[:3] + [_new_label(classes)] * 4)[:4])


def _new_label(known: list[Any]) -> Any:
    """Return a label of the same type."""
    if not known or isinstance(known[-1], str):
        return "new"
    return not known[-1] if isinstance(known[-1], bool) else known[-1] + 1


def _copy(model: Any, path: Path, honest: Path) -> None:
    _learn(copy(model), path, honest)
    repr(model)


def _merge(model: Any, path: Path, honest: Path) -> None:
    with suppress(TypeError):  # models of this kind cannot be merged
        scwlearn.save(model, path)
        _predict(scwlearn.merge([model, scwlearn.load(path)]), path, honest)


def _merge_honest(model: Any, path: Path, honest: Path) -> None:
    with suppress(TypeError):  # nor can models of two kinds
        merged = scwlearn.merge([scwlearn.load(honest), model])
        _learn(merged, path, honest)
        scwlearn.save(merged, path)


def _explain(model: Any, path: Path, honest: Path) -> None:
    if _stream(model) is not None:
        model.top_features(3)
        model.explain(EXAMPLES[0])
    elif hasattr(model, "explain") and model.__sklearn_is_fitted__():
        model.top_features(3)
        model.explain(_rows_for(model)[:1])


_ACTIONS = [_predict, _predict, _learn, _learn, _learn_new_class, _copy, _merge, _merge_honest, _explain]
