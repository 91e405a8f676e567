"""A linear classifier or a committee as an ONNX model of doubles, with labels, scores and calibrated probabilities."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn._native import LARGEST_LOGIT, SUREST_LOGIT
from scwlearn._util.checks import check_text
from scwlearn.data.costs import ExtraCosts
from scwlearn.export.onnx_graph import MAX_BYTES, Graph, Node
from scwlearn.export.weights import Array, Columns
from scwlearn.model.calibration import KNOT_STEP, KNOTS, Calibration
from scwlearn.model.scale import MOST_DEVIATIONS
from scwlearn.model.snapshot import JUST_OVER_HALF, MARGIN
from scwlearn.runs.trained_model import TrainedModel

# As in native/calibrate, whose formulas the functions on probabilities repeat step by step.
_MAX_DEVIATIONS = 8.0
_TAIL = 0.00033535013046647811
_MIN_PROBABILITY = 1e-13
_MIN_GAP = -1e300


def to_onnx(model: TrainedModel) -> bytes:
    """Return a linear classifier or a committee as the content of an ONNX file.

    The input ``X`` is a table of doubles with a column for each feature. The outputs are ``label``, ``scores`` (of the
    second of two classes, else of each class) and ``probabilities`` (of each class), with classes sorted by label. The
    metadata holds the ``classes`` and the names of the columns, ``features``, as JSON.
    """
    learner, order = model.classifier, model.classifier.classes.order
    labels_in_order, classes = learner.classes.values_in_order, len(learner.classes)
    members = model.members()
    columns = Columns.of(members[0])
    extra = [] if learner.costs is None else learner.costs.extra(learner.classes)
    sizes = [2 if member.classifier.learner.model.covariance.correlated else 1 for member in members]
    cells = len(learner.class_labels()) * sum(columns.width**size for size in sizes) + len(extra) * classes
    if 8 * cells > MAX_BYTES:
        raise ValueError(f"a model of {columns.width} features and {classes} classes exceeds the 2 GB limit of ONNX")
    graph = Graph()
    x = graph.input("X", ["N", columns.width])
    if model.rule.is_committee:
        scores, top, variance = _mixed(graph, x, model, members), None, None
    else:
        scores, top, variance = _look(graph, x, model)
    # Inside the graph, classes are in the learner's order, which decides ties.
    agree = learner.argmax_consistent
    if learner.is_binary:
        index = graph.to_int(scores >= 0.0)
        if variance is None:
            probabilities = _both(graph, graph.op("Sigmoid", _clip_logit(graph, scores)))
        else:
            probabilities = _binary_probabilities(graph, scores, variance, learner.calibration, agree=agree)
        scores = scores if order[0] == 0 else -scores
    else:
        top = graph.op("ArgMax", scores, axis=1, keepdims=1) if top is None else top
        index = graph.op("Squeeze", top, [1])
        if variance is None:
            gap = scores - graph.op("GatherElements", scores, top, axis=1)
            probabilities = _normalized(graph, graph.op("Exp", graph.op("Max", gap, -LARGEST_LOGIT)))
        else:
            probabilities = _class_probabilities(graph, scores, top, variance, learner.calibration, agree=agree)
        scores = graph.op("Gather", scores, order, axis=1)
    probabilities = graph.op("Gather", probabilities, order, axis=1)
    if learner.costs is not None:
        index = graph.op("Gather", order, _least_costly(graph, probabilities, extra, classes))
    labels, double = _labels(model), np.dtype(np.float64)
    graph.output(graph.op("Gather", labels, index), "label", labels.dtype, ["N"])
    graph.output(scores, "scores", double, ["N"] if learner.is_binary else ["N", classes])
    graph.output(probabilities, "probabilities", double, ["N", classes])
    metadata = {"classes": json.dumps(list(labels_in_order)), "algorithm": model.rule.name}
    if columns.names is not None:
        metadata["features"] = json.dumps(columns.names)
    return graph.serialize(metadata)


def _least_costly(graph: Graph, probabilities: Node, extra: list[ExtraCosts], classes: int) -> Node:
    """Return the class of least expected cost of each row, as `Costs.decide` does."""
    expected = -probabilities
    if extra:
        table = np.zeros((len(extra), classes))
        for row, (_, predicted, more) in zip(table, extra, strict=True):
            row[predicted] = more
        expected = graph.op("Gather", probabilities, np.array([each.true for each in extra]), axis=1) @ table + expected
    return graph.op("ArgMin", expected, axis=1, keepdims=0)


def _look(graph: Graph, x: Node, model: TrainedModel) -> tuple[Node, Node | None, Node]:
    """Return the scores of a linear classifier, with several classes the top class, and the variance of the largest."""
    learner, columns = model.classifier, Columns.of(model)
    means = learner.weights()
    seen = _scaled(graph, x, learner.config.scale, columns)
    intercept = means[:, -1] if learner.config.intercept else np.zeros(len(means))
    coef, intercept = _in_learner_order(columns.scatter(means), intercept, learner.classes.order)
    scores, variances = seen @ coef.T + intercept, _variances(graph, seen, model, columns)
    if learner.is_binary:
        return graph.op("Squeeze", scores, [1]), None, graph.op("Squeeze", variances, [1])
    top = graph.op("ArgMax", scores, axis=1, keepdims=1)
    return scores, top, graph.op("GatherElements", variances, top, axis=1)


def _mixed(graph: Graph, x: Node, model: TrainedModel, members: list[TrainedModel]) -> Node:
    """Return the mixed log-odds of a committee, as native/calibrate/mixing.hpp computes them."""
    mixed: Node | None = None
    for member, weight in zip(members, model.classifier.learner.mixture.weights.tolist(), strict=True):
        scores, top, variance = _look(graph, x, member)
        curve = member.classifier.calibration
        if curve.slopes == (0.0, 0.0):
            # The curve has not seen a score other than 0 yet.
            gap = scores if top is None else scores - graph.op("GatherElements", scores, top, axis=1)
            logs = graph.op("Clip", gap / graph.op("Sqrt", variance + 1.0), -1.0, 1.0)
        elif top is None:
            logs = graph.op("Clip", _binary_logit(graph, scores, variance, curve), -SUREST_LOGIT, SUREST_LOGIT)
        else:
            p = _class_probabilities(graph, scores, top, variance, curve, agree=False)
            logs = graph.op("Max", graph.op("Log", p), -SUREST_LOGIT)
        mixed = logs * weight if mixed is None else mixed + logs * weight
    assert mixed is not None
    return mixed


def _scaled(graph: Graph, x: Node, scale: str, columns: Columns) -> Node:
    """Return the features as the model sees them."""
    if scale == "none":
        return x
    # A column that is no feature of the model counts as 0, in the length of a row, too.
    centres, scales = np.zeros(columns.width), np.full(columns.width, np.inf)
    centres[columns.columns], scales[columns.columns] = columns.centres, columns.scales
    if scale == "standard":
        return graph.op("Clip", (x - centres) / scales, -MOST_DEVIATIONS, MOST_DEVIATIONS)
    x = x / scales
    if scale == "rms":
        return x
    length = graph.op("Sqrt", graph.op("ReduceSum", x * x, [1], keepdims=1))
    return x / graph.op("Where", graph.op("Equal", length, 0.0), 1.0, length)


def _in_learner_order(coef: Array, intercept: Array, order: NDArray[np.intp]) -> tuple[Any, Any]:
    """Return weights and intercepts by the class indices of the learner."""
    if len(coef) == 1:
        sign = 1.0 if order[0] == 0 else -1.0
        return sign * coef, sign * intercept
    place = np.argsort(order)
    return coef[place], intercept[place]


def _variances(graph: Graph, x: Node, model: TrainedModel, columns: Columns) -> Node:
    """Return x' Sigma x of each row and class, of shape (rows, classes), or (rows, 1) for two classes."""
    learner = model.classifier
    place = np.zeros(1, dtype=np.intp) if learner.is_binary else np.argsort(learner.classes.order)
    has_intercept = learner.config.intercept
    if not learner.learner.model.covariance.correlated:
        variances = learner.variances()[place]
        table = columns.scatter(variances)
        return (x * x) @ table.T + (variances[:, -1] if has_intercept else np.zeros(len(table)))
    size = learner.learner.model.size
    matrices = learner.matrix().reshape(-1, size, size)[place]
    every = range(len(place))
    table = np.zeros((len(place), columns.width, columns.width))
    table[np.ix_(every, columns.columns, columns.columns)] = matrices[np.ix_(every, columns.weights, columns.weights)]
    # (classes, rows, features) times x, summed over the features.
    products = (graph.op("Unsqueeze", x, [0]) @ table) * x
    variance = graph.op("Transpose", graph.op("ReduceSum", products, [2], keepdims=0), perm=[1, 0])
    if has_intercept:
        variance = variance + x @ (2 * columns.scatter(matrices[:, -1])).T + matrices[:, -1, -1]
    # Rounding may make it negative, and its square root NaN.
    return graph.op("Max", variance, 0.0)


def _labels(model: TrainedModel) -> NDArray[Any]:
    """Return the labels by class index as int64, float64, bools or strings."""
    labels = model.classifier.classes.labels
    if labels.dtype.kind in "iu":
        return labels.astype(np.int64)
    if labels.dtype.kind == "f":
        return labels.astype(np.float64)
    if labels.dtype.kind == "b":
        return labels
    return np.array([check_text("a label of an ONNX model", str(label)) for label in labels.tolist()], dtype=object)


def _binary_probabilities(graph: Graph, score: Node, variance: Node, curve: Calibration, *, agree: bool) -> Node:
    """Return the probabilities of both classes, of shape (rows, 2); `agree` makes them consistent with the label."""
    second = graph.op("Sigmoid", _binary_logit(graph, score, variance, curve))
    if agree:
        at_least, at_most = graph.op("Max", second, JUST_OVER_HALF), graph.op("Min", second, 1 - JUST_OVER_HALF)
        second = graph.op("Where", score >= 0.0, at_least, at_most)
    return _both(graph, second)


def _binary_logit(graph: Graph, score: Node, variance: Node, curve: Calibration) -> Node:
    """Return the calibrated log-odds of the second class."""
    (a, b), (c,) = curve.slopes, curve.constants.tolist()
    noisy, sure = _signals(graph, score, variance)
    noisy = graph.op("Clip", noisy, -curve.limits[0], curve.limits[0])
    sure = graph.op("Clip", sure, -curve.limits[1], curve.limits[1])
    return _corrected(graph, _clip_logit(graph, noisy * a + sure * b + c), curve.shifts)


def _both(graph: Graph, second: Node) -> Node:
    """Return the probabilities of two classes, of shape (rows, 2)."""
    return graph.op("Concat", *(graph.op("Unsqueeze", p, [1]) for p in (1.0 - second, second)), axis=1)


def _class_probabilities(
    graph: Graph, scores: Node, top: Node, variance: Node, curve: Calibration, *, agree: bool
) -> Node:
    """Return the probabilities of all classes, of shape (rows, classes); `top` is the class of the largest score."""
    gap = graph.op("Max", scores - graph.op("GatherElements", scores, top, axis=1), _MIN_GAP)
    noisy, sure = _signals(graph, gap, variance)
    noisy, sure = graph.op("Max", noisy, -curve.limits[0]), graph.op("Max", sure, -curve.limits[1])
    a, b = curve.slopes
    p = graph.op("Softmax", noisy * a + sure * b + curve.constants, axis=1)
    odds = p / graph.op("Max", 1.0 - p, 0.0)
    logit = graph.op("Min", graph.op("Log", odds), LARGEST_LOGIT)
    corrected = graph.op("Exp", _corrected(graph, logit, curve.shifts))
    odds = graph.op("Where", p < _TAIL, odds * float(np.exp(curve.shifts[0])), corrected)
    p = _normalized(graph, graph.op("Max", odds / (odds + 1.0), _MIN_PROBABILITY))
    return _with_top(graph, p, top, len(curve.constants)) if agree else p


def _signals(graph: Graph, score: Node, variance: Node) -> tuple[Node, Node]:
    """Return f / sqrt(1 + v), and f / (sqrt(v) + |f| / 8), which is 0 where f is."""
    noisy = score / graph.op("Sqrt", variance + 1.0)
    sure = score / (graph.op("Sqrt", variance) + graph.op("Abs", score) / _MAX_DEVIATIONS)
    return noisy, graph.op("Where", graph.op("Equal", score, 0.0), 0.0, sure)


def _corrected(graph: Graph, logit: Node, shifts: Array) -> Node:
    """Return the logit plus its correction, which is piecewise linear between the knots."""
    at = graph.op("Clip", logit / KNOT_STEP + float(KNOTS // 2), 0.0, float(KNOTS - 1))
    knot = graph.op("Min", graph.op("Floor", at), float(KNOTS - 2))
    index, part = graph.to_int(knot), at - knot
    left, right = graph.op("Gather", shifts[:-1], index), graph.op("Gather", shifts[1:], index)
    return _clip_logit(graph, logit + ((1.0 - part) * left + part * right))


def _clip_logit(graph: Graph, logit: Node) -> Node:
    return graph.op("Clip", logit, -LARGEST_LOGIT, LARGEST_LOGIT)


def _normalized(graph: Graph, p: Node) -> Node:
    return p / graph.op("ReduceSum", p, [1], keepdims=1)


def _with_top(graph: Graph, p: Node, top: Node, classes: int) -> Node:
    """Make the probability of the top class the only largest one, as `predict_proba` does."""
    as_likely = graph.to_int(p >= graph.op("GatherElements", p, top, axis=1))
    tied = graph.op("Greater", graph.op("ReduceSum", as_likely, [1], keepdims=1), 1)
    largest = graph.op("ReduceMax", p, [1], keepdims=1)
    # ONNX Runtime leaves out a multiplication by a number that is nearly 1.
    largest = largest + largest * (MARGIN - 1.0)
    lifted = graph.op("Where", graph.op("Equal", np.arange(classes), top), largest, p)
    return graph.op("Where", tied, _normalized(graph, lifted), p)
