"""A linear classifier as an ONNX model of doubles, with labels, scores and calibrated probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.export.onnx_calibration import binary_probabilities, class_probabilities
from scwlearn.export.onnx_graph import MAX_BYTES, Graph, Node
from scwlearn.export.weights import Columns, Weights
from scwlearn.runs.trained_model import TrainedModel


def to_onnx(model: TrainedModel) -> bytes:
    """Return a linear classifier as the content of an ONNX file.

    The input ``X`` is a table of doubles with a column for each feature. The outputs are ``label``, ``scores`` (of the
    second of two classes, else of each class) and ``probabilities`` (of each class), with classes sorted by label. The
    metadata holds the ``classes`` and the names of the columns, ``features``, as JSON.

    Parameters
    ----------
    model : TrainedModel
        The model.

    Returns
    -------
    bytes
        A serialized and checked ModelProto.

    Raises
    ------
    ValueError
        If the model has no weights of features, or is too large for ONNX.
    """
    learner, order = model.classifier, model.classifier.classes.order
    columns, weights = Columns.of(model), Weights.from_model(model)
    classes, rows = len(weights.classes), len(weights.coef)
    if 8 * rows * columns.width ** (2 if learner.learner.model.covariance.correlated else 1) > MAX_BYTES:
        raise ValueError(f"a model of {columns.width} features and {classes} classes exceeds the 2 GB limit of ONNX")
    graph = Graph()
    x = graph.input("X", ["N", columns.width])
    # Inside the graph, classes are in the learner's order, which decides ties.
    coef, intercept = _in_learner_order(weights, order)
    scores, variances = x @ coef.T + intercept, _variances(graph, x, model, columns)
    agree = learner.argmax_consistent
    if learner.is_binary:
        score, variance = graph.op("Squeeze", scores, [1]), graph.op("Squeeze", variances, [1])
        index = graph.to_int(score >= 0.0)
        probabilities = binary_probabilities(graph, score, variance, learner.calibration, agree=agree)
        scores = score if order[0] == 0 else -score
    else:
        top = graph.op("ArgMax", scores, axis=1, keepdims=1)
        index, variance = graph.op("Squeeze", top, [1]), graph.op("GatherElements", variances, top, axis=1)
        probabilities = class_probabilities(graph, scores, top, variance, learner.calibration, agree=agree)
        scores = graph.op("Gather", scores, order, axis=1)
    labels, double = _labels(model), np.dtype(np.float64)
    graph.output(graph.op("Gather", labels, index), "label", labels.dtype, ["N"])
    graph.output(scores, "scores", double, ["N"] if learner.is_binary else ["N", classes])
    graph.output(graph.op("Gather", probabilities, order, axis=1), "probabilities", double, ["N", classes])
    metadata = {"classes": json.dumps(weights.classes), "algorithm": model.rule.name}
    if columns.names is not None:
        metadata["features"] = json.dumps(columns.names)
    return graph.serialize(metadata)


def _in_learner_order(weights: Weights, order: NDArray[np.intp]) -> tuple[Any, Any]:
    """Return weights and intercepts by the class indices of the learner."""
    intercept = np.zeros(len(weights.coef)) if weights.intercept is None else weights.intercept
    if len(weights.coef) == 1:
        sign = 1.0 if order[0] == 0 else -1.0
        return sign * weights.coef, sign * intercept
    place = np.argsort(order)
    return weights.coef[place], intercept[place]


def _variances(graph: Graph, x: Node, model: TrainedModel, columns: Columns) -> Node:
    """Return x' Sigma x of each row and class, of shape (rows, classes), or (rows, 1) for two classes."""
    learner = model.classifier
    place = np.zeros(1, dtype=np.intp) if learner.is_binary else np.argsort(learner.classes.order)
    has_intercept = learner.config.intercept
    if not learner.learner.model.covariance.correlated:
        variances = learner.variances()[place]
        table = columns.scatter(variances, np.square(columns.scales))
        return (x * x) @ table.T + (variances[:, -1] if has_intercept else np.zeros(len(table)))
    size = learner.learner.model.size
    matrices = learner.matrix().reshape(-1, size, size)[place]
    every = range(len(place))
    table = np.zeros((len(place), columns.width, columns.width))
    scaled = matrices[np.ix_(every, columns.weights, columns.weights)] / np.outer(columns.scales, columns.scales)
    table[np.ix_(every, columns.columns, columns.columns)] = scaled
    # (classes, rows, features) times x, summed over the features.
    products = (graph.op("Unsqueeze", x, [0]) @ table) * x
    variance = graph.op("Transpose", graph.op("ReduceSum", products, [2], keepdims=0), perm=[1, 0])
    if not has_intercept:
        return variance
    return variance + x @ (2 * columns.scatter(matrices[:, -1], columns.scales)).T + matrices[:, -1, -1]


def _labels(model: TrainedModel) -> NDArray[Any]:
    """Return the labels by class index as int64, float64, bools or strings."""
    labels = model.classifier.classes.labels
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f":
        return labels.astype(np.float64)
    return labels if labels.dtype.kind == "b" else np.array([str(label) for label in labels.tolist()], dtype=object)
