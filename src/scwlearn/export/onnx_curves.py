"""From scores to probabilities in ONNX's operators, as native/calibrate/calibration.hpp does it."""

from __future__ import annotations

import numpy as np

from scwlearn.export.onnx_graph import Array, Graph, Node
from scwlearn.model.calibration import KNOT_STEP, KNOTS, Calibration
from scwlearn.model.snapshot import BARELY, MORE

# As in native/calibrate.
_MOST_DEVIATIONS = 8.0
_LARGEST_LOGIT = 30.0
_TAIL = 0.00033535013046647811
_LEAST_CHANCE = 1e-13
_FAR_BELOW = -1e300


def chances_of_two(graph: Graph, score: Node, variance: Node, curve: Calibration, *, agree: bool) -> Node:
    """P of both classes, by number: (rows, 2)."""
    (a, b), (c,) = curve.slopes, curve.constants.tolist()
    noisy, sure = _signals(graph, score, variance)
    limits = curve.limits
    noisy = graph.do("Clip", noisy, -limits[0], limits[0])
    sure = graph.do("Clip", sure, -limits[1], limits[1])
    line = graph.add(graph.do("Mul", noisy, a), graph.do("Mul", sure, b), c)
    second = graph.do("Sigmoid", _shifted(graph, _bounded(graph, line), curve.shifts))
    if agree:
        at_least, at_most = graph.do("Max", second, BARELY), graph.do("Min", second, 1 - BARELY)
        second = graph.do("Where", graph.do("GreaterOrEqual", score, 0.0), at_least, at_most)
    both = [graph.do("Unsqueeze", one, [1]) for one in (graph.do("Sub", 1.0, second), second)]
    return graph.do("Concat", *both, axis=1)


def chances_of_more(graph: Graph, scores: Node, top: Node, variance: Node, curve: Calibration, *, agree: bool) -> Node:
    """P of each class, by number: (rows, classes). `top` is the number of the largest score, (rows, 1)."""
    below = graph.do("Sub", scores, graph.do("GatherElements", scores, top, axis=1))
    noisy, sure = _signals(graph, graph.do("Max", below, _FAR_BELOW), variance)
    limits, (a, b) = curve.limits, curve.slopes
    noisy, sure = graph.do("Max", noisy, -limits[0]), graph.do("Max", sure, -limits[1])
    line = graph.add(graph.do("Mul", noisy, a), graph.do("Mul", sure, b), curve.constants)
    p = graph.do("Softmax", line, axis=1)
    odds = graph.do("Div", p, graph.do("Max", graph.do("Sub", 1.0, p), 0.0))
    logit = graph.do("Min", graph.do("Log", odds), _LARGEST_LOGIT)
    shifted = graph.do("Exp", _shifted(graph, logit, curve.shifts))
    in_tail = graph.do("Mul", odds, float(np.exp(curve.shifts[0])))
    odds = graph.do("Where", graph.do("Less", p, _TAIL), in_tail, shifted)
    p = graph.do("Max", graph.do("Div", odds, graph.do("Add", odds, 1.0)), _LEAST_CHANCE)
    p = _summing_to_one(graph, p)
    return _with_likeliest(graph, p, top, len(curve.constants)) if agree else p


def _signals(graph: Graph, score: Node, variance: Node) -> tuple[Node, Node]:
    """f/sqrt(1 + v), and f/(sqrt(v) + |f|/8), which is 0 where f is."""
    noisy = graph.do("Div", score, graph.do("Sqrt", graph.do("Add", variance, 1.0)))
    size = graph.do("Div", graph.do("Abs", score), _MOST_DEVIATIONS)
    sure = graph.do("Div", score, graph.do("Add", graph.do("Sqrt", variance), size))
    return noisy, graph.do("Where", graph.do("Equal", score, 0.0), 0.0, sure)


def _shifted(graph: Graph, logit: Node, shifts: Array) -> Node:
    """The logit and its correction, which is piecewise linear between the knots."""
    at = graph.do("Add", graph.do("Div", logit, KNOT_STEP), float(KNOTS // 2))
    inside = graph.do("Clip", at, 0.0, float(KNOTS - 1))
    knot = graph.do("Min", graph.do("Floor", inside), float(KNOTS - 2))
    next_by = graph.do("Sub", inside, knot)
    place = graph.do("Cast", knot, to=7)
    left = graph.do("Gather", shifts[:-1], place)
    right = graph.do("Gather", shifts[1:], place)
    by = graph.add(graph.do("Mul", graph.do("Sub", 1.0, next_by), left), graph.do("Mul", next_by, right))
    return _bounded(graph, graph.do("Add", logit, by))


def _bounded(graph: Graph, logit: Node) -> Node:
    return graph.do("Clip", logit, -_LARGEST_LOGIT, _LARGEST_LOGIT)


def _summing_to_one(graph: Graph, p: Node) -> Node:
    return graph.do("Div", p, graph.do("ReduceSum", p, [1], keepdims=1))


def _with_likeliest(graph: Graph, p: Node, top: Node, classes: int) -> Node:
    """The probabilities with that of the class at the top larger than any other, as known.py has it."""
    own = graph.do("GatherElements", p, top, axis=1)
    as_likely = graph.do("Cast", graph.do("GreaterOrEqual", p, own), to=7)
    others = graph.do("Greater", graph.do("ReduceSum", as_likely, [1], keepdims=1), 1)
    likeliest = graph.do("Mul", graph.do("ReduceMax", p, [1], keepdims=1), MORE)
    lifted = graph.do("Where", graph.do("Equal", np.arange(classes), top), likeliest, p)
    return graph.do("Where", others, _summing_to_one(graph, lifted), p)
