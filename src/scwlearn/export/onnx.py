"""A classifier as an ONNX model, in doubles: its labels, scores and probabilities."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from scwlearn.export.onnx_curves import chances_of_more, chances_of_two
from scwlearn.export.onnx_graph import Array, Graph, Node
from scwlearn.export.weights import Columns, Weights
from scwlearn.runs.trained_model import Model

# A message of protobuf has at most 2 GB.
_MOST_NUMBERS = 2**27


def to_onnx(model: Model) -> bytes:
    """The bytes of an ONNX file.

    Its input X is a table of doubles with a column for each feature, numbered ones in their order. Its outputs are
    label, scores (of the second of two classes, else of each class) and probabilities (of each class); classes are in
    the order of their labels. The metadata hold the names of the columns (features) and the classes, as JSON.
    """
    learner = model.learner
    columns, weights = Columns.of(model), Weights.of(model)
    graph, classes = Graph(), len(weights.classes)
    each: list[int | str] = ["N", classes]
    x = graph.input("X", ["N", columns.width])
    order = learner.classes.order
    # The learner numbers its classes as they came, and of equal scores the first one wins, of two the second.
    by_number = _by_number(weights, order)
    scores = graph.do("Add", graph.do("MatMul", x, by_number.coef.T), by_number.intercept)
    variances = _variances(graph, x, model, columns)
    if learner.is_binary:
        score = graph.do("Squeeze", scores, [1])
        number = graph.do("Cast", graph.do("GreaterOrEqual", score, 0.0), to=_INT64)
        variance = graph.do("Squeeze", variances, [1])
        chances = chances_of_two(graph, score, variance, learner.calibration, agree=learner.agrees)
        shown, shape = (score if order[0] == 0 else graph.do("Neg", score)), each[:1]
    else:
        top = graph.do("ArgMax", scores, axis=1, keepdims=1)
        number = graph.do("Squeeze", top, [1])
        variance = graph.do("GatherElements", variances, top, axis=1)
        chances = chances_of_more(graph, scores, top, variance, learner.calibration, agree=learner.agrees)
        shown, shape = graph.do("Gather", scores, order, axis=1), each
    labels = _labels(model)
    graph.output(graph.do("Gather", labels, number), "label", labels, each[:1])
    graph.output(shown, "scores", np.empty(0), shape)
    ordered = graph.do("Gather", chances, order, axis=1)
    graph.output(ordered, "probabilities", np.empty(0), each)
    metadata = {"classes": json.dumps(weights.classes), "algorithm": model.rule.name}
    if columns.names is not None:
        metadata["features"] = json.dumps(columns.names)
    return graph.model(metadata)


# The code of that type in onnx.proto.
_INT64 = 7


class _Lines(NamedTuple):
    coef: Array
    intercept: Array


def _by_number(weights: Weights, order: Any) -> _Lines:
    """The weights by the numbers of the classes: of two, those of the class that came second."""
    intercept = np.zeros(len(weights.coef)) if weights.intercept is None else weights.intercept
    if len(weights.coef) > 1:
        place = np.argsort(order)
        return _Lines(weights.coef[place], intercept[place])
    sign = 1.0 if order[0] == 0 else -1.0
    return _Lines(sign * weights.coef, sign * intercept)


def _variances(graph: Graph, x: Node, model: Model, columns: Columns) -> Node:
    """x'Sigma x of each row and class, by number: (rows, classes), or (rows, 1) for two."""
    learner = model.learner
    place = np.argsort(learner.classes.order) if not learner.is_binary else np.zeros(1, dtype=np.intp)
    constant = learner.learner.intercept
    if learner.covariance_kind != "full":
        variances = learner.variances()[place]
        table = columns.spread(variances, np.square(columns.scales))
        of_constant = variances[:, -1] if constant else np.zeros(len(table))
        return graph.do("Add", graph.do("MatMul", graph.do("Mul", x, x), table.T), of_constant)
    if len(place) * columns.width**2 > _MOST_NUMBERS:
        raise ValueError(f"Sigma in full of {columns.width} features and {len(place)} classes is too large for ONNX")
    matrices = learner.matrix().reshape(-1, learner.learner.model.size, learner.learner.model.size)[place]
    inner = np.ix_(range(len(place)), columns.at, columns.at)
    table = np.zeros((len(place), columns.width, columns.width))
    among = np.ix_(range(len(place)), columns.places, columns.places)
    table[among] = matrices[inner] / np.outer(columns.scales, columns.scales)
    # (classes, rows, features), times x again, summed up.
    squares = graph.do(
        "ReduceSum", graph.do("Mul", graph.do("MatMul", graph.do("Unsqueeze", x, [0]), table), x), [2], keepdims=0
    )
    within = graph.do("Transpose", squares, perm=[1, 0])
    if not constant:
        return within
    cross = 2 * columns.spread(matrices[:, -1], columns.scales)
    return graph.add(within, graph.do("MatMul", x, cross.T), matrices[:, -1, -1])


def _labels(model: Model) -> Any:
    """By number, as ONNX has them: strings, whole numbers, doubles or bools."""
    labels = model.learner.classes.labels
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f":
        return labels.astype(np.float64)
    return np.array([str(label) for label in labels.tolist()]) if labels.dtype.kind == "O" else labels
