"""Calibrated probabilities as ONNX operators: the formulas of native/calibrate, step by step."""

from __future__ import annotations

import numpy as np

from scwlearn.export.onnx_graph import Graph, Node
from scwlearn.export.weights import Array
from scwlearn.model.calibration import KNOT_STEP, KNOTS, Calibration
from scwlearn.model.snapshot import JUST_OVER_HALF, MARGIN

# As in native/calibrate.
_MAX_DEVIATIONS = 8.0
_MAX_LOGIT = 30.0
_TAIL = 0.00033535013046647811
_MIN_PROBABILITY = 1e-13
_MIN_GAP = -1e300


def binary_probabilities(graph: Graph, score: Node, variance: Node, curve: Calibration, *, agree: bool) -> Node:
    """Return the probabilities of both classes, of shape (rows, 2); `agree` makes them consistent with the label."""
    (a, b), (c,) = curve.slopes, curve.constants.tolist()
    noisy, sure = _signals(graph, score, variance)
    noisy = graph.op("Clip", noisy, -curve.limits[0], curve.limits[0])
    sure = graph.op("Clip", sure, -curve.limits[1], curve.limits[1])
    logit = _clip_logit(graph, noisy * a + sure * b + c)
    second = graph.op("Sigmoid", _corrected(graph, logit, curve.shifts))
    if agree:
        at_least, at_most = graph.op("Max", second, JUST_OVER_HALF), graph.op("Min", second, 1 - JUST_OVER_HALF)
        second = graph.op("Where", score >= 0.0, at_least, at_most)
    return graph.op("Concat", *(graph.op("Unsqueeze", p, [1]) for p in (1.0 - second, second)), axis=1)


def class_probabilities(
    graph: Graph, scores: Node, top: Node, variance: Node, curve: Calibration, *, agree: bool
) -> Node:
    """Return the probabilities of all classes, of shape (rows, classes); `top` is the class of the largest score."""
    gap = graph.op("Max", scores - graph.op("GatherElements", scores, top, axis=1), _MIN_GAP)
    noisy, sure = _signals(graph, gap, variance)
    noisy, sure = graph.op("Max", noisy, -curve.limits[0]), graph.op("Max", sure, -curve.limits[1])
    a, b = curve.slopes
    p = graph.op("Softmax", noisy * a + sure * b + curve.constants, axis=1)
    odds = p / graph.op("Max", 1.0 - p, 0.0)
    logit = graph.op("Min", graph.op("Log", odds), _MAX_LOGIT)
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
    return graph.op("Clip", logit, -_MAX_LOGIT, _MAX_LOGIT)


def _normalized(graph: Graph, p: Node) -> Node:
    return p / graph.op("ReduceSum", p, [1], keepdims=1)


def _with_top(graph: Graph, p: Node, top: Node, classes: int) -> Node:
    """Make the probability of the top class the only largest one, as `predict_proba` does."""
    as_likely = graph.to_int(p >= graph.op("GatherElements", p, top, axis=1))
    tied = graph.op("Greater", graph.op("ReduceSum", as_likely, [1], keepdims=1), 1)
    largest = graph.op("ReduceMax", p, [1], keepdims=1) * MARGIN
    lifted = graph.op("Where", graph.op("Equal", np.arange(classes), top), largest, p)
    return graph.op("Where", tied, _normalized(graph, lifted), p)
