#!/usr/bin/env python3
"""Write the data that NVIDIA's samples ask for, drawn and solved here: ten digits as 0.pgm to 9.pgm of 28x28 pixels, a network that
tells them apart under MNIST's names (mnist.onnx), a concatenation with a named dimension (concat_layer.onnx).

The network is one layer of drawn filters, pooling, and a last layer that least squares solves on the digits with noise.

usage: digits.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Each digit is seven rows of five pixels, the leftmost in the highest bit.
FONT = {0: (14, 17, 19, 21, 25, 17, 14), 1: (4, 12, 4, 4, 4, 4, 14), 2: (14, 17, 1, 2, 4, 8, 31), 3: (31, 2, 4, 2, 1, 17, 14),
        4: (2, 6, 10, 18, 31, 2, 2), 5: (31, 16, 30, 1, 1, 17, 14), 6: (6, 8, 16, 30, 17, 17, 14), 7: (31, 1, 2, 4, 8, 8, 8),
        8: (14, 17, 17, 14, 17, 17, 14), 9: (14, 17, 17, 15, 1, 2, 12)}
FILTERS = 8
CERTAIN = 12.0  # the logit of the right digit: softmax above 0.9999


def picture(digit: int) -> np.ndarray:
    small = np.array([[row >> (4 - column) & 1 for column in range(5)] for row in FONT[digit]], np.float32)
    large = np.zeros((28, 28), np.float32)
    large[3:24, 6:21] = np.kron(small, np.ones((3, 3), np.float32))
    return large


def features(pictures: np.ndarray, filters: np.ndarray) -> np.ndarray:
    padded = np.pad(pictures, ((0, 0), (2, 2), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5), axis=(1, 2))
    maps = np.maximum(np.einsum("nyxij,kij->nkyx", windows, filters[:, 0]), 0)
    return maps.reshape(len(pictures), FILTERS, 7, 4, 7, 4).max(axis=(3, 5)).reshape(len(pictures), -1)


def mnist(folder: Path) -> None:
    rng = np.random.default_rng(1)
    filters = rng.standard_normal((FILTERS, 1, 5, 5)).astype(np.float32)
    digits = np.arange(10).repeat(20)
    noisy = np.stack([picture(d) for d in digits]) + rng.normal(0, 0.05, (len(digits), 28, 28)).astype(np.float32)
    inputs = np.hstack([features(noisy, filters), np.ones((len(digits), 1), np.float32)])
    solved = np.linalg.lstsq(inputs, CERTAIN * np.eye(10, dtype=np.float32)[digits], rcond=1e-4)[0].astype(np.float32)
    nodes = [helper.make_node("Conv", ["Input3", "filters"], ["c"], pads=[2, 2, 2, 2]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[4, 4], strides=[4, 4]),
             helper.make_node("Reshape", ["p", "rows"], ["f"]), helper.make_node("MatMul", ["f", "weights"], ["m"]),
             helper.make_node("Add", ["m", "bias"], ["Plus214_Output_0"])]
    constants = {"filters": filters, "rows": np.array([1, -1]), "weights": solved[:-1], "bias": solved[-1:]}
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("Input3", TensorProto.FLOAT, [1, 1, 28, 28])],
                              [helper.make_tensor_value_info("Plus214_Output_0", TensorProto.FLOAT, [1, 10])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "mnist.onnx")


def concat_layer(folder: Path) -> None:
    def rows(name: str, count: str):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [count, 8])

    node = helper.make_node("Concat", ["input0", "input1"], ["output"], axis=0)
    graph = helper.make_graph([node], "concat", [rows("input0", "n_rows"), rows("input1", "n_rows")], [rows("output", "n_out")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "concat_layer.onnx")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for digit in range(10):  # dark on white, as scanned digits are
        pixels = (255 * (1 - picture(digit))).astype(np.uint8)
        (folder / f"{digit}.pgm").write_bytes(b"P5\n28 28\n255\n" + pixels.tobytes())
    mnist(folder)
    concat_layer(folder)


if __name__ == "__main__":
    main()
