"""Writes ONNX graphs as exporters do: each call of an operator's name appends a node and returns its outputs' names."""
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

FLOAT = onnx.TensorProto.FLOAT
INT64 = onnx.TensorProto.INT64
BOOL = onnx.TensorProto.BOOL


class Builder:
    def __init__(self, opset: int, salt: str = ""):
        self.opset, self.salt = opset, salt
        self.nodes, self.inputs, self.outputs, self.initializers = [], [], [], []
        self.count = 0

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}_{self.count}"

    def input(self, name: str, *shape, type=FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, type, list(shape)))
        return name

    def output(self, value: str, type=FLOAT, rank: int | None = None) -> None:
        shape = None if rank is None else [f"{value}_{i}" for i in range(rank)]
        self.outputs.append(helper.make_tensor_value_info(value, type, shape))

    def weight(self, *shape, scale: float = 0.5) -> str:
        name = self.fresh("weight")
        random = np.random.default_rng(zlib.crc32(f"{self.salt}/{name}".encode()))
        return self.initializer(random.uniform(-scale, scale, shape).astype(np.float32), name)

    def initializer(self, array: np.ndarray, name: str | None = None) -> str:
        name = name or self.fresh("initializer")
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def const(self, value, dtype=np.float32) -> str:
        return self.Constant(value=numpy_helper.from_array(np.asarray(value, dtype)))

    def ints(self, *values) -> str:
        return self.const(list(values), np.int64)

    def int(self, value) -> str:
        return self.const(value, np.int64)

    def __getattr__(self, op: str):
        if not op[0].isupper():
            raise AttributeError(op)

        def append(*inputs: str, outputs: int = 1, **attributes):
            names = [self.fresh(op.lower()) for _ in range(outputs)]
            attributes = {k: v for k, v in attributes.items() if v is not None}
            self.nodes.append(helper.make_node(op, list(inputs), names, name=f"/{names[0]}", **attributes))
            return names[0] if outputs == 1 else names

        return append

    def model(self, name: str) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=min(10, onnx.IR_VERSION))

    # Exporters' forms of a few framework calls.

    def extent(self, x: str, axis: int) -> str:
        """x.shape[axis], a scalar."""
        return self.Gather(self.Shape(x), self.int(axis), axis=0)

    def joined(self, *parts) -> str:
        """A shape of numbers and scalars."""
        return self.Concat(*[self.ints(p) if isinstance(p, int) else self.Unsqueeze(p, self.ints(0)) for p in parts], axis=0)

    def view(self, x: str, *parts) -> str:
        return self.Reshape(x, self.joined(*parts))

    def transpose(self, x: str, *perm) -> str:
        return self.Transpose(x, perm=list(perm))

    def linear(self, x: str, inputs: int, outputs: int, bias: bool = True) -> str:
        y = self.MatMul(x, self.weight(inputs, outputs))
        return self.Add(self.weight(outputs), y) if bias else y

    def between(self, x: str, begin: int, end: int, axis: int) -> str:
        return self.Slice(x, self.ints(begin), self.ints(end), self.ints(axis))
