"""Weights and predictions of models with hard names and labels, written as text and read again."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import fields
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from scwlearn import StreamClassifier
from scwlearn.data.batch import NamedRows
from scwlearn.data.options import ReaderOptions
from scwlearn.data.reading import read_batches
from scwlearn.export import encode_model, import_weights
from scwlearn.export.weights import Weights
from scwlearn.runs.predict import PredictionLines
from scwlearn.runs.trained_model import TrainedModel
from stress.hard_text import draw_alphabet, draw_float, draw_text
from stress.trial import Trial

# An escape of a backslash or a control character, as in Python.
_ESCAPE = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|.)")


def _case(random: Random) -> int:
    model, names = _draw_model(random)
    learned = Weights.from_model(model)
    with TemporaryDirectory() as directory:
        for format in ("json", "safetensors", "csv"):
            path = Path(directory) / f"weights.{format}"
            try:
                path.write_bytes(b"".join(encode_model(model, format)))
            except ValueError as error:
                _check_refusal(format, str(error), learned)
                continue
            named = True if format == "csv" else None
            _check_same(format, learned, model, import_weights(path, named=named), names)
    _check_predictions(random, model, names)
    return 4


def _draw_model(random: Random) -> tuple[TrainedModel, list[str]]:
    alphabet = draw_alphabet(random)
    names = [*dict.fromkeys(draw_text(random, alphabet, words=0.2) for _ in range(random.randint(1, 8)))]
    kind = random.choice(["str", "str", "str", "int", "float", "bool"])
    classes: list[Any] = [False, True]
    while kind != "bool":
        drawn = [_draw_label(random, alphabet, kind) for _ in range(random.choice([2, 2, 3, 5]))]
        classes = [*dict.fromkeys(drawn)]
        if len(classes) > 1:
            break
    stream = StreamClassifier(random.choice(["scw1", "arow", "pa1"]), intercept=random.random() < 0.5)
    examples = [_draw_example(random, names) for _ in range(20)]
    stream.learn_many(examples, [classes[i % len(classes)] for i in range(20)])
    return TrainedModel(stream._classifier), names


def _draw_label(random: Random, alphabet: str, kind: str) -> Any:
    if kind == "str":
        return draw_text(random, alphabet, words=random.choice([0.1, 1.0])).rstrip("\0")
    return random.randint(-5, 2**60) if kind == "int" else draw_float(random)


def _draw_example(random: Random, names: list[str]) -> dict[str, float]:
    return {name: random.gauss(0.0, 1.0) for name in names if random.random() < 0.7}


def _check_refusal(format: str, message: str, weights: Weights) -> None:
    assert message.isprintable(), f"not one line of text: {message!r}"
    names, labels = weights.features or [], weights.classes
    texts = [*names, *(label for label in labels if isinstance(label, str))]
    if format == "safetensors":
        assert any("\ud800" <= letter <= "\udfff" for text in texts for letter in text), message
    else:
        assert format == "csv", f"{format} was refused: {message}"
        looks_otherwise = isinstance(labels[0], bool) or all(_is_number(label) for label in labels)
        assert "(intercept)" in names or "" in labels or looks_otherwise, message


def _is_number(label: Any) -> bool:
    try:
        return math.isfinite(float(label))
    except ValueError:
        return False


def _check_same(format: str, before: Weights, model: TrainedModel, again: TrainedModel, names: list[str]) -> None:
    after = Weights.from_model(again)
    classes = before.classes
    assert [*map(type, classes)] == [*map(type, after.classes)]
    assert classes == after.classes, f"{format}: {classes!r} became {after.classes!r}"
    assert before.features is not None
    assert after.features is not None
    columns = [after.features.index(name) for name in before.features]
    assert len(after.features) == len(before.features)
    assert (before.coef == after.coef[:, columns]).all(), f"{format}: weights differ"
    for f in fields(Weights) if format != "csv" else ():
        if f.name not in ("coef", "variance", "features", "data"):
            assert np.array_equal(getattr(before, f.name), getattr(after, f.name)), f"{format}: {f.name} differs"
    example = dict.fromkeys(names, 1.5)
    kept = model.classifier.predict_one(example), again.classifier.predict_one(example)
    assert kept[0] == kept[1], f"{format}: {kept[0]!r} became {kept[1]!r}"


def _check_predictions(random: Random, model: TrainedModel, names: list[str]) -> None:
    """Predictions as lines and as JSON name the labels of the model."""
    rows = [_draw_example(random, names) for _ in range(3)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    try:
        text.encode()
        _, batches = read_batches([io.BytesIO(text.encode())], options=ReaderOptions(labels="ignored"), format="jsonl")
        (batch,) = batches
    except ValueError:  # a name that is no valid Unicode
        return
    assert isinstance(batch.x, NamedRows)
    expected = model.classifier.predict(batch.x).tolist()
    lines = "".join(line + "\n" for line in PredictionLines(model, ["scores"]).lines(batch)).split("\n")
    labels = [_unescaped(line.split("\t")[0]) for line in lines[:-1]]
    assert labels == [str(label) for label in expected], f"{expected!r} became {labels!r}"
    objects = "".join(line + "\n" for line in PredictionLines(model, [], as_json=True).lines(batch)).split("\n")
    assert [json.loads(line)["label"] for line in objects[:-1]] == expected


def _unescaped(text: str) -> str:
    """Return a text without the escapes of backslashes and control characters."""
    return _ESCAPE.sub(lambda found: found[0].encode("ascii").decode("unicode_escape"), text)


TRIAL = Trial(
    claim="Exported weights and written predictions name the labels and features of the model, or are refused",
    unit="files",
    case=_case,
    quick=40,
    long=50_000,
)
