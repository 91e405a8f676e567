"""A graph of ONNX's operators, written down step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scwlearn.export import protobuf

Array = NDArray[np.float64]


class Node(str):
    """The name of what an operator gives. Numbers that meet it become constants."""

    __slots__ = ()


class Graph:
    """Operators and constants so far."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._constants: list[bytes] = []
        self._outputs: list[bytes] = []
        self._inputs: list[bytes] = []

    def input(self, name: str, shape: Sequence[int | str]) -> Node:
        """A table of doubles that comes from outside."""
        self._inputs.append(protobuf.value(name, np.empty(0), shape))
        return Node(name)

    def constant(self, values: Any) -> Node:
        """An array, or a number."""
        array = np.asarray(values)
        if array.dtype.kind == "i":
            array = array.astype(np.int64)
        name = f"constant_{len(self._constants)}"
        self._constants.append(protobuf.tensor(name, array))
        return Node(name)

    def do(self, kind: str, *inputs: Any, output: str | None = None, **attributes: int | list[int]) -> Node:
        """What an operator makes of these: nodes, arrays or numbers."""
        names = [one if isinstance(one, Node) else self.constant(one) for one in inputs]
        name = f"node_{len(self._nodes)}" if output is None else output
        self._nodes.append(protobuf.node(kind, names, name, attributes))
        return Node(name)

    def add(self, *terms: Any) -> Node:
        """Their sum."""
        first, *rest = terms
        for term in rest:
            first = self.do("Add", first, term)
        return Node(first)

    def output(self, node: Node, name: str, like: NDArray[Any], shape: Sequence[int | str]) -> None:
        """Something that is asked for, by that name and of the type of an array."""
        self.do("Identity", node, output=name)
        self._outputs.append(protobuf.value(name, like, shape))

    def model(self, metadata: dict[str, str]) -> bytes:
        """The bytes of a file."""
        return protobuf.model(protobuf.graph(self._nodes, self._constants, self._inputs, self._outputs), metadata)
