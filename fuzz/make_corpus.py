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


def model(nodes: list, inputs: list, outputs: list, initializers=(), functions=(), opset=18) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid("f", 1)] * bool(functions)
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10 if opset > 20 else 9)


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


def quantized_products() -> onnx.ModelProto:
    """8-bit activations and weights, and weights of 4 bits in blocks."""
    scale, zero = numpy_helper.from_array(np.array(0.1, np.float32), "s"), numpy_helper.from_array(np.array(3, np.uint8), "z")
    bytes_of = numpy_helper.from_array((np.arange(4 * 4 * 9) % 251 - 125).astype(np.int8).reshape(4, 4, 3, 3), "w")
    nibbles = helper.make_tensor("v", TensorProto.INT4, [32, 8], (np.arange(256) % 16 - 8).astype(np.int8))
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             helper.make_node("DequantizeLinear", ["w", "s"], ["e"]), helper.make_node("Conv", ["d", "e"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"]), helper.make_node("Reshape", ["r", "rows"], ["m"]),
             helper.make_node("DequantizeLinear", ["v", "t"], ["f"], axis=0, block_size=16), helper.make_node("MatMul", ["m", "f"], ["y"])]
    return model(nodes, [tensor("x", ["n", 4, 2, 4])], [tensor("y", ["n", 8])],
                 [scale, zero, bytes_of, nibbles, weights("t", 2, 8), ints("rows", -1, 32)], opset=21)


def halves() -> onnx.ModelProto:
    """Numbers of 16 bits, a gate, a residual and group normalization."""
    to = helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16)
    w = numpy_helper.from_array(np.linspace(-1, 1, 64).astype(np.float16).reshape(8, 8), "w")
    nodes = [to, helper.make_node("MatMul", ["h", "w"], ["g"]), helper.make_node("Sigmoid", ["g"], ["a"]), helper.make_node("Mul", ["g", "a"], ["b"]),
             helper.make_node("Add", ["b", "h"], ["r"]), helper.make_node("Cast", ["r"], ["y"], to=FLOAT)]
    return model(nodes, [tensor("x", ["n", 8])], [tensor("y", ["n", 8])], [w])


def shape_input() -> onnx.ModelProto:
    """The contents of an input decide extents."""
    nodes = [helper.make_node("Expand", ["x", "shape"], ["e"]), helper.make_node("Relu", ["e"], ["y"])]
    return model(nodes, [tensor("x", [1, 1]), tensor("shape", [2], INT64)], [tensor("y", [None, None])])


def data_dependent() -> onnx.ModelProto:
    """The contents of a tensor decide extents, also in a body."""
    nodes = [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Transpose", ["i"], ["t"], perm=[1, 0]),
             helper.make_node("GatherND", ["x", "t"], ["g"]), helper.make_node("TopK", ["g", "k"], ["v", "j"]),
             helper.make_node("Unique", ["g"], ["u"]), helper.make_node("Concat", ["v", "u"], ["y"], axis=0)]
    return model(nodes, [tensor("x", ["n", 3])], [tensor("y", [None])], [ints("k", 1)])


def broadcast() -> onnx.ModelProto:
    """Extents that symbols leave open."""
    nodes = [helper.make_node("Add", ["a", "b"], ["s"]), helper.make_node("Where", ["c", "s", "a"], ["y"])]
    return model(nodes, [tensor("a", ["n", "k"]), tensor("b", ["m", "k"]), tensor("c", ["n", 1], BOOL)], [tensor("y", [None, "k"])])


def extents() -> onnx.ModelProto:
    """Extents that are expressions."""
    nodes = [helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
             helper.make_node("Resize", ["p", "", "scales"], ["r"], mode="nearest"), helper.make_node("Pad", ["r", "pads"], ["q"]),
             helper.make_node("Shape", ["q"], ["s"]), helper.make_node("Gather", ["s", "last"], ["l"]), helper.make_node("Min", ["l", "four"], ["m"]),
             helper.make_node("Slice", ["q", "zero", "m", "last"], ["y"])]
    return model(nodes, [tensor("x", [1, 2, "h", "w"])], [tensor("y", [1, 2, None, None])],
                 [numpy_helper.from_array(np.array([1, 1, 2, 1.5], np.float32), "scales"), ints("pads", 0, 0, 1, 1, 0, 0, 1, 1),
                  ints("last", 3), ints("four", 4), ints("zero", 0)])


def scan() -> onnx.ModelProto:
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("MatMul", ["c", "w"], ["d"]), helper.make_node("Identity", ["d"], ["e"])],
        "body", [tensor("a", [1, 5]), tensor("b", [1, 5])], [tensor("d", [1, 5]), tensor("e", [1, 5])])
    node = helper.make_node("Scan", ["x", "xs"], ["y", "ys"], body=body, num_scan_inputs=1)
    return model([node], [tensor("x", [1, 5]), tensor("xs", ["n", 1, 5])], [tensor("y", [1, 5]), tensor("ys", ["n", 1, 5])], [weights("w", 5, 5)])


def bodies() -> onnx.ModelProto:
    """A branch within a loop within a branch; the loop's results are of a length that the data decide."""
    then = helper.make_graph([helper.make_node("Mul", ["v", "w"], ["a"])], "then", [], [tensor("a", ["n", 20])])
    other = helper.make_graph([helper.make_node("Exp", ["v"], ["b"])], "else", [], [tensor("b", ["n", 20])])
    body = helper.make_graph(
        [helper.make_node("Mod", ["i", "two"], ["m"]), helper.make_node("Cast", ["m"], ["odd"], to=BOOL),
         helper.make_node("If", ["odd"], ["o"], then_branch=then, else_branch=other), helper.make_node("Identity", ["c"], ["d"]),
         helper.make_node("ReduceMax", ["o"], ["sum"], keepdims=0)], "body",
        [tensor("i", [], INT64), tensor("c", [], BOOL), tensor("v", ["n", 20])], [tensor("d", [], BOOL), tensor("o", ["n", 20]), tensor("sum", [])])
    looped = helper.make_graph([helper.make_node("Loop", ["trips", "", "x"], ["l", "sums"], body=body), helper.make_node("Size", ["sums"], ["count"])],
                               "looped", [], [tensor("l", ["n", 20]), tensor("count", [], INT64)])
    plain = helper.make_graph([helper.make_node("Relu", ["x"], ["p"]), helper.make_node("Size", ["x"], ["size"])],
                              "plain", [], [tensor("p", ["n", 20]), tensor("size", [], INT64)])
    node = helper.make_node("If", ["go"], ["y", "z"], then_branch=looped, else_branch=plain)
    return model([node], [tensor("x", ["n", 20]), tensor("go", [], BOOL), tensor("trips", [], INT64)], [tensor("y", ["n", 20]), tensor("z", [], INT64)],
                 [weights("w", 20), numpy_helper.from_array(np.array(2, np.int64), "two")])


def fusions() -> onnx.ModelProto:
    """A stem, a depthwise convolution, a residual and a gate over channels."""
    nodes = [helper.make_node("Conv", ["x", "w0"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["c", "w1"], ["d"], group=8, pads=[1, 1, 1, 1]), helper.make_node("HardSwish", ["d"], ["e"]),
             helper.make_node("GlobalAveragePool", ["e"], ["f"]), helper.make_node("Conv", ["f", "w2"], ["g"]), helper.make_node("Sigmoid", ["g"], ["h"]),
             helper.make_node("Mul", ["e", "h"], ["i"]), helper.make_node("Conv", ["i", "w2"], ["j"]), helper.make_node("Add", ["j", "c"], ["y"])]
    return model(nodes, [tensor("x", ["n", 3, 16, 16])], [tensor("y", ["n", 8, 4, 4])],
                 [weights("w0", 8, 3, 3, 3), weights("w1", 8, 1, 3, 3), weights("w2", 8, 8, 1, 1)])


MODELS = (convolution, attention, shapes, branch, loop, function, quantized, recurrent, quantized_products, halves, shape_input,
          data_dependent, broadcast, extents, scan, bodies, fusions)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in MODELS:
        onnx.save(make(), folder / f"{make.__name__}.onnx")


if __name__ == "__main__":
    main()
