"""A builder of ONNX graphs whose nodes take part in arithmetic expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from scwlearn import __version__

# ONNX 1.13 of 2022, which all runtimes since then support.
_IR_VERSION, _OPSET = 8, 18
#: Limit of a protobuf message, and so of a model.
MAX_BYTES = 2**31 - 1


def _operator(kind: str) -> Callable[[Node, Any], Node]:
    """Return the method of a Python operator that adds an ONNX operator to the graph."""
    return lambda node, other: node.graph.op(kind, node, other)


@dataclass(frozen=True, eq=False)
class Node:
    """A tensor in a graph. Arithmetic with nodes, arrays and numbers adds operators to the graph."""

    graph: Graph
    name: str

    # NumPy arrays leave arithmetic with nodes to the nodes.
    __array_ufunc__ = None

    __add__ = __radd__ = _operator("Add")
    __sub__ = _operator("Sub")
    __mul__ = __rmul__ = _operator("Mul")
    __truediv__ = _operator("Div")
    __ge__ = _operator("GreaterOrEqual")
    __lt__ = _operator("Less")

    def __matmul__(self, table: NDArray[Any]) -> Node:
        # With a table of one row it is a product of elements. ONNX Runtime would fuse a MatMul with a division by a
        # single number before it, which it then rounds to single precision.
        return self.graph.op("Mul" if table.shape[-2] == 1 else "MatMul", self, table)

    def __rsub__(self, other: Any) -> Node:
        return self.graph.op("Sub", other, self)

    def __neg__(self) -> Node:
        return self.graph.op("Neg", self)


class Graph:
    """An ONNX graph under construction."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str]) -> Node:
        """Add an input of doubles."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape))
        return Node(self, name)

    def op(self, kind: str, *inputs: Any, output: str | None = None, **attributes: Any) -> Node:
        """Add an operator on nodes, arrays or numbers, and return its output."""
        names = [one.name if isinstance(one, Node) else self._constant(one) for one in inputs]
        name = f"node_{len(self._nodes)}" if output is None else output
        self._nodes.append(helper.make_node(kind, names, [name], name=name, **attributes))
        return Node(self, name)

    def to_int(self, node: Node) -> Node:
        """Add a conversion to int64."""
        return self.op("Cast", node, to=TensorProto.INT64)

    def output(self, node: Node, name: str, dtype: np.dtype[Any], shape: Sequence[int | str]) -> None:
        """Declare a node as an output of the given name and type."""
        self.op("Identity", node, output=name)
        code = TensorProto.STRING if dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(dtype)
        self._outputs.append(helper.make_tensor_value_info(name, code, shape))

    def serialize(self, metadata: Mapping[str, str]) -> bytes:
        """Return the bytes of a checked model."""
        graph = helper.make_graph(self._nodes, "scwlearn", self._inputs, self._outputs, self._constants)
        model = helper.make_model(
            graph,
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid("", _OPSET)],
            producer_name="scwlearn",
            producer_version=__version__,
        )
        helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString()
        return content

    def _constant(self, values: Any) -> str:
        array: NDArray[Any] = np.asarray(values)
        if array.dtype.kind == "i":
            array = array.astype(np.int64)
        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(array, name))
        return name
