"""ONNX graphs, node by node."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPSET, _IR_VERSION = 18, 8  # of ONNX 1.13; newer runtimes read them too


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise ImportError("format=\"onnx\" needs the package onnx: pip install 'sdgs[export]'.") from None
    return onnx


class OnnxGraph:
    """Collects nodes and constants. Inputs of a node are names of others, or arrays and numbers."""

    def __init__(self, prefix: str = "") -> None:
        self._onnx, self._prefix = _onnx(), prefix
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._n_names = 0
        self.n_bytes = 0

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node with one output, and return its name."""
        return self.add_outputs(operator, *inputs, number=1, **attributes)[0]

    def add_outputs(self, operator: str, *inputs: Any, number: int, **attributes: Any) -> list[str]:
        """Add a node with several outputs, and return their names."""
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        outputs = [self._new_name() for _ in range(number)]
        self._nodes.append(self._onnx.helper.make_node(operator, names, outputs, **attributes))
        return outputs

    def reduce(self, operator: str, X: str, axis: int = 1, keepdims: int = 1) -> str:
        """Reduce one axis."""
        return self.add(operator, X, np.array([axis]), keepdims=keepdims)

    def cast(self, X: str, dtype: str) -> str:
        """Convert to a type of ONNX, by its name."""
        return self.add("Cast", X, to=getattr(self._onnx.TensorProto, dtype))

    def constant(self, value: Any) -> str:
        """Add an array, a number or strings; subgraphs may use it too."""
        array: NDArray[Any] = np.asarray(value)
        if array.dtype.kind in "US":
            array = array.astype(object)
        name = self._new_name()
        self._constants.append(self._onnx.numpy_helper.from_array(array, name))
        self.n_bytes += array.nbytes
        return name

    def subgraph(self) -> "OnnxGraph":
        """A graph for :meth:`scan_rows`, whose input is ``x``."""
        return OnnxGraph(prefix=f"{self._new_name()}_")

    def scan_rows(self, X: str, body: "OnnxGraph", output: str) -> str:
        """Run ``body`` for each row of X, and stack its outputs."""
        helper, double = self._onnx.helper, self._onnx.TensorProto.DOUBLE
        self.n_bytes += body.n_bytes
        graph = helper.make_graph(
            body._nodes,
            f"{body._prefix}rows",
            [helper.make_tensor_value_info("x", double, None)],
            [helper.make_tensor_value_info(output, double, None)],
            body._constants,
        )
        return self.add("Scan", X, body=graph, num_scan_inputs=1)

    def to_bytes(
        self, n_features: int, outputs: dict[str, tuple[str, str, list[Any]]], metadata: dict[str, str]
    ) -> bytes:
        """The model with the input ``X``; ``outputs`` are names, their nodes, types and shapes."""
        helper, types = self._onnx.helper, self._onnx.TensorProto
        for name, (node, _, _) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [node], [name]))
        graph = helper.make_graph(
            self._nodes,
            "sdgs",
            [helper.make_tensor_value_info("X", types.DOUBLE, ["n", n_features])],
            [
                helper.make_tensor_value_info(name, getattr(types, dtype), shape)
                for name, (_, dtype, shape) in outputs.items()
            ],
            self._constants,
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION, producer_name="sdgs"
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model)
        content: bytes = model.SerializeToString()
        return content

    def _new_name(self) -> str:
        self._n_names += 1
        return f"{self._prefix}v{self._n_names}"
