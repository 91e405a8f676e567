"""Public calls for which memory may run out: models of all kinds, what is done with them, and readers of data."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tempfile
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
from scipy import sparse

import scwlearn
from scwlearn import Features, StreamClassifier, TunedClassifier, load, merge, save
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.data.rows import Rows

_LABELS = ("pear", "apple", "quince", "fig")
_RULES = ("scw1", "scw1", "scw2", "arow", "pa1", "perceptron", "cw", "nherd")
_KERNELS = ("KernelSCW1", "KernelPA1", "KernelAROW", "KernelPerceptron")
_STREAMS: tuple[dict[str, Any], ...] = (
    {},
    {"scale": "rms"},
    {"scale": "standard"},
    {"covariance": "full"},
    {"covariance": "full", "scale": "rms"},
    {"multi_class": "ovr"},
    {"shared_covariance": True},
    {"max_features": 60},
    {"max_features": 500, "overflow": "hash"},
    {"class_weight": "balanced"},
    {"average": True},
    {"covariance": "identity"},
)
_TEXT = Features(kinds={"text": "text"}, ngram=3, skips=1, char_ngrams=(2, 4), interactions=(("colour", "text"),))


def warm() -> None:
    """Import and start everything that calls need, so that forks are quick."""
    random = Random(0)
    for kind in (_stream, _matrix):
        model, call = kind(random)
        for _ in range(20):
            call(random)[1](copy(model.value))
    for _ in range(20):
        draw_reading(random)[0]()


@dataclass
class Model:
    """A model, and how to compare two of them."""

    value: Any

    def state(self) -> bytes:
        """Return its file."""
        return self.state_of(self.value)

    @staticmethod
    def state_of(value: Any) -> bytes:
        """Return the file of a model; nothing of one that has not learned yet."""
        if not _is_fitted(value):
            return b""
        return _file_of(value)


#: What to do with a model, what it returns, and its description.
Action = tuple[Model, Callable[[Any], Any], str]


def draw_call(random: Random) -> tuple[Model, Callable[[Random], Action]]:
    """Return a model, and a function that draws what to do with it."""
    return random.choice([_stream, _stream, _matrix])(random)


def _is_fitted(value: Any) -> bool:
    if isinstance(value, StreamClassifier):
        return value.counts.seen > 0
    return bool(value.__sklearn_is_fitted__())


def _file_of(value: Any) -> bytes:
    best = value.best_estimator_ if isinstance(value, TunedClassifier) else value
    path = Path(tempfile.gettempdir()) / f"out-of-memory-{os.getpid()}.model"
    try:
        save(best, path)
        return path.read_bytes()
    finally:
        path.unlink(missing_ok=True)


def _round_trip(value: Any) -> bytes:
    path = Path(tempfile.gettempdir()) / f"out-of-memory-{os.getpid()}.loaded"
    try:
        save(value, path)
        return Model.state_of(load(path))
    finally:
        path.unlink(missing_ok=True)
        for left in path.parent.glob(f"*{path.name}*"):
            left.unlink()


def _plain(value: Any) -> Any:
    return value.tobytes() if isinstance(value, np.ndarray) else value


# -- Streams of dicts and records


def _stream(random: Random) -> tuple[Model, Callable[[Random], Action]]:
    committee = random.random() < 0.15
    settings = {} if committee else random.choice(_STREAMS)
    features = _TEXT if not settings.keys() & {"max_features", "covariance"} and random.random() < 0.2 else None
    rule = "auto" if committee else random.choice(_RULES)
    if rule in ("pa1", "perceptron") and settings.keys() & {"covariance", "shared_covariance"}:
        settings = {}
    model = Model(StreamClassifier(rule, features=features, **settings))
    if random.random() < 0.8:
        model.value.learn_many(*_draw_examples(random, 40, text=features is not None))
    told = f"StreamClassifier({rule!r}, {settings})"

    def call(random: Random) -> Action:
        name, action = _stream_action(random, model.value, features is not None)
        return model, action, f"{told}.{name}"

    return model, call


def _stream_action(random: Random, model: Any, text: bool) -> tuple[str, Callable[[Any], Any]]:
    many = _draw_examples(random, random.choice([1, 10, 100, 1000]), text=text)
    one, label = many[0][0], many[1][0]
    if random.random() < 0.1 and model._classifier.config.max_features is None:
        one = {f"many {i}": 1.0 for i in range(random.choice([100, 1000]))}
        many = ([one], [label])
    learning: dict[str, Callable[[Any], Any]] = {
        "learn_one": lambda model: model.learn_one(one, label),
        "learn_many": lambda model: model.learn_many(*many),
        "weighted": lambda model: model.learn_many(*many, [0.5] * len(many[0])),
        "zero weight": lambda model: model.learn_one(one, label, 0.0),
    }
    reading: dict[str, Callable[[Any], Any]] = {
        "predict_one": lambda model: model.predict_one(one),
        "predict_proba_one": lambda model: model.predict_proba_one(one),
        "predict_many": lambda model: model.predict_many(many[0]),
        "predict_proba_many": lambda model: _plain(model.predict_proba_many(many[0])),
        "top_features": lambda model: repr(model.top_features(5)),
        "explain": lambda model: repr(model.explain(one)),
        "copy": lambda model: Model.state_of(copy(model)),
        "save and load": _round_trip,
        "merge": lambda model: Model.state_of(merge([model, model])),
    }
    name = random.choice([*learning] if model.counts.seen == 0 else [*learning, *learning, *learning, *reading])
    return f"{name} of {len(many[0])} with {len(one)} features", (learning | reading)[name]


def _draw_examples(random: Random, count: int, *, text: bool) -> tuple[list[dict[str, Any]], list[str]]:
    first, classes = random.randrange(1000), random.randint(2, len(_LABELS))
    examples = []
    for i in range(count):
        example: dict[str, Any] = {f"feature {random.randrange(50)}": random.gauss(0, 1) for _ in range(5)}
        example |= {"colour": random.choice("rgb"), f"new {first + i}": 1.0}
        if text:
            example["text"] = " ".join(f"word{random.randrange(100)}" for _ in range(10))
        examples.append(example)
    labels = [_LABELS[random.randrange(classes)] for _ in range(count)]
    labels[: min(count, 2)] = _LABELS[: min(count, 2)]
    return examples, labels


# -- Matrices


def _matrix(random: Random) -> tuple[Model, Callable[[Random], Action]]:
    features = random.choice([3, 20, 200])
    kind = random.choice(["linear", "linear", "linear", "kernel", "committee", "tuned"])
    if kind == "kernel":
        estimator = getattr(scwlearn, random.choice(_KERNELS))(kernel=random.choice(["rbf", "poly", "linear"]))
    elif kind == "committee":
        estimator = scwlearn.AutoClassifier(n_jobs=random.choice([None, 2]))
    elif kind == "tuned":
        estimator = TunedClassifier(scwlearn.AROW(random_state=0), random_state=0, n_jobs=random.choice([1, 2]))
    else:
        name = random.choice(["SCW1", "SCW2", "AROW", "CW", "PA1", "NHERD", "Perceptron"])
        estimator = getattr(scwlearn, name)(random_state=0)
        if name not in ("PA1", "Perceptron"):
            estimator.set_params(covariance=random.choice(["full", "full", "diagonal", "auto"]))
        estimator.set_params(average=random.random() < 0.2, scale=random.choice(["none", "standard"]))
    estimator.set_params(**({"random_state": 0} if "random_state" in estimator.get_params() else {}))
    model = Model(estimator)
    classes = random.choice([2, 2, 4])
    if kind == "tuned" or random.random() < 0.8:
        estimator.fit(*draw_rows(random, 60, features, classes))
    told = repr(estimator)

    def call(random: Random) -> Action:
        name, action = _matrix_action(random, model.value, kind, features, classes)
        return model, action, f"{told}.{name}"

    return model, call


def _matrix_action(
    random: Random, model: Any, kind: str, features: int, classes: int
) -> tuple[str, Callable[[Any], Any]]:
    rows = random.choice([10, 100, 100, 1000 if kind == "linear" else 200])
    x, y = draw_rows(random, rows, features, classes)
    more = y + random.choice([0, 0, 0, 1])
    x = random.choice([x, x, sparse.csr_matrix(x), x.astype(np.float32)])
    learning: dict[str, Callable[[Any], Any]] = {"fit": lambda model: model.fit(x, y) and None}
    reading: dict[str, Callable[[Any], Any]] = {
        "predict": lambda model: _plain(model.predict(x)),
        "decision_function": lambda model: _plain(model.decision_function(x)),
        "predict_proba": lambda model: _plain(model.predict_proba(x)),
    }
    if kind != "tuned":
        weights = np.full(rows, 0.5)
        learning |= {
            "partial_fit": lambda model: model.partial_fit(x, more) and None,
            "partial_fit with weights": lambda model: model.partial_fit(x, y, sample_weight=weights) and None,
        }
        reading |= {"copy": lambda model: Model.state_of(copy(model)), "save and load": _round_trip}
    if kind == "linear":
        reading["merge"] = lambda model: Model.state_of(merge([model, model]))
    name = random.choice([*learning, *reading] if _is_fitted(model) else [*learning])
    return f"{name} of {rows} rows with {features} features", (learning | reading)[name]


def draw_rows(random: Random, rows: int, features: int, classes: int) -> tuple[Any, Any]:
    """Return random rows and their class numbers."""
    numbers = np.random.default_rng(random.getrandbits(64))
    y = numbers.integers(0, classes, rows)
    y[:classes] = np.arange(classes)
    x = numbers.normal(size=(rows, features)) + (np.arange(features) % classes == y[:, np.newaxis])
    x[numbers.random(x.shape) < 0.3] = 0.0
    return x, y


# -- Readers


def draw_reading(random: Random) -> tuple[Callable[[], list[Any]], str]:
    """Return a function that reads data and returns what it has read, and its description."""
    rows = random.choice([20, 300, 5000])
    kind = random.choice(["libsvm", "vw", "csv", "jsonl", "json", "arrow", "parquet"])
    features = _TEXT if kind not in ("libsvm",) and rows < 5000 and random.random() < 0.5 else Features()
    data = _draw_data(random, kind, rows)
    packing = random.choice(["", "", "gz", "bz2", "xz"]) if kind not in ("arrow", "parquet") else ""
    packers: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    packed = packers[packing](data) if packing else data
    slots = random.choice([0, 0, 1000])
    if kind == "vw":
        features = Features(ngram=random.choice([1, 3]))
    if kind == "libsvm":
        slots = 0
    options = ReaderOptions(chunk_bytes=random.choice([None, 2000, 100_000]), slots=slots)

    def read() -> list[Any]:
        given: dict[str, Any] = {} if kind == "libsvm" else {"features": features}
        _, batches = read_batches([io.BytesIO(packed)], options=options, format=kind, **given)
        found = []
        for batch in batches:
            values, columns, offsets = cast(Rows, getattr(batch.x, "rows", batch.x)).compressed()
            names = getattr(batch.x, "names", None)
            part = values.sum(), columns.sum(), offsets.sum(), names and len(names), batch.lines.tolist()
            found.append((*part, [] if batch.labels is None else batch.labels.tolist()))
        return found

    return read, f"{kind}{packing} of {rows} rows, {features}, {options}"


def _draw_data(random: Random, kind: str, rows: int) -> bytes:
    values = [[round(random.gauss(0, 1), 3) for _ in range(6)] for _ in range(rows)]
    labels, text = [i % 2 for i in range(rows)], [f"word{i % 97} and word{i % 31}" for i in range(rows)]
    if kind == "libsvm":
        lines = [
            f"{y} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for y, row in zip(labels, values, strict=True)
        ]
    elif kind == "vw":
        each = zip(labels, values, text, strict=True)
        lines = [f"{y} |a " + " ".join(f"f{j}:{v}" for j, v in enumerate(row)) + f" |text {t}" for y, row, t in each]
    elif kind == "csv":
        lines = ["label,text,colour," + ",".join(f"c{j}" for j in range(6))]
        each = zip(labels, values, text, strict=True)
        lines += [f"{y},{t},{'rgb'[i % 3]}," + ",".join(map(str, row)) for i, (y, row, t) in enumerate(each)]
    elif kind in ("jsonl", "json"):
        each = zip(labels, values, text, strict=True)
        records = [
            {"label": y, "text": t, "colour": "rgb"[i % 3], "in": {f"c{j}": v for j, v in enumerate(row)}}
            for i, (y, row, t) in enumerate(each)
        ]
        if kind == "json":
            return json.dumps(records).encode()
        lines = [json.dumps(record) for record in records]
    else:
        return _draw_table(kind, labels, values, text)
    return "\n".join([*lines, ""]).encode()


def _draw_table(kind: str, labels: list[int], values: list[list[float]], text: list[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    columns = {f"c{j}": [row[j] for row in values] for j in range(6)}
    table = pa.table({"label": labels, "text": text, "colour": ["rgb"[i % 3] for i in range(len(labels))], **columns})
    file = io.BytesIO()
    (pyarrow.feather.write_feather if kind == "arrow" else pyarrow.parquet.write_table)(table, file)
    return file.getvalue()
