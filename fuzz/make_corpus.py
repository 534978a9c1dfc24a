#!/usr/bin/env python3
"""Write small ONNX models to start fuzzing from: one of each kind of structure.

usage: make_corpus.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def tensor(name: str, shape: list, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def weights(name: str, *shape: int) -> onnx.TensorProto:
    values = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return numpy_helper.from_array(values, name)


def ints(name: str, *values: int) -> onnx.TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def model(nodes: list, inputs: list, outputs: list, initializers=(), functions=()) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 18)] + [helper.make_opsetid("f", 1)] * bool(functions)
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=9)


def convolution() -> onnx.ModelProto:
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("GlobalAveragePool", ["r"], ["p"], "pool"),
             helper.make_node("Flatten", ["p"], ["y"], "flatten")]
    return model(nodes, [tensor("x", ["n", 2, 5, 5])], [tensor("y", ["n", 4])], [weights("w", 4, 2, 3, 3), weights("b", 4)])


def attention() -> onnx.ModelProto:
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["x", "t"], ["s"]),
             helper.make_node("Softmax", ["s"], ["p"], axis=-1), helper.make_node("MatMul", ["p", "x"], ["o"]),
             helper.make_node("LayerNormalization", ["o", "g", "b"], ["y"], axis=-1)]
    return model(nodes, [tensor("x", [1, "s", 8])], [tensor("y", [1, "s", 8])], [weights("g", 8), weights("b", 8)])


def shapes() -> onnx.ModelProto:
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Concat", ["n", "minus"], ["shape"], axis=0), helper.make_node("Reshape", ["x", "shape"], ["r"]),
             helper.make_node("Slice", ["r", "zero", "two", "one"], ["y"])]
    return model(nodes, [tensor("x", ["n", 2, 3])], [tensor("y", ["n", None])],
                 [ints("zero", 0), ints("minus", -1), ints("two", 2), ints("one", 1)])


def branch() -> onnx.ModelProto:
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["a"])], "then", [], [tensor("a", [4])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["b"])], "else", [], [tensor("b", [4])])
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other)
    return model([node], [tensor("x", [4]), tensor("c", [], BOOL)], [tensor("y", [4])])


def loop() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Add", ["v", "v"], ["w"]), helper.make_node("Identity", ["c"], ["d"])], "body",
        [tensor("i", [], INT64), tensor("c", [], BOOL), tensor("v", [3])], [tensor("d", [], BOOL), tensor("w", [3])])
    node = helper.make_node("Loop", ["trips", "", "x"], ["y"], body=body)
    return model([node], [tensor("x", [3])], [tensor("y", [3])], [numpy_helper.from_array(np.array(3, np.int64), "trips")])


def function() -> onnx.ModelProto:
    f = helper.make_function("f", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                             [helper.make_opsetid("", 18)])
    return model([helper.make_node("Twice", ["x"], ["y"], domain="f")], [tensor("x", [2])], [tensor("y", [2])], (), [f])


def quantized() -> onnx.ModelProto:
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])]
    scale = numpy_helper.from_array(np.array(0.1, np.float32), "s")
    zero = numpy_helper.from_array(np.array(0, np.int8), "z")
    return model(nodes, [tensor("x", [4])], [tensor("y", [4])], [scale, zero])


def recurrent() -> onnx.ModelProto:
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)
    return model([node], [tensor("x", [3, 1, 2])], [tensor("y", [3, 1, 1, 2])], [weights("w", 1, 8, 2), weights("r", 1, 8, 2)])


MODELS = {make.__name__: make for make in (convolution, attention, shapes, branch, loop, function, quantized, recurrent)}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in MODELS.items():
        onnx.save(make(), folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
