#!/usr/bin/env python3
"""Train a small convolution network on scikit-learn's digits and write, for the examples: digits.onnx, the same weights as
digits.weights (one float32 array after the other: filters, filter bias, dense, dense bias) and digits.test (count, then for each
digit 64 pixels and its class, all float32).

The network is a convolution of drawn filters with ReLU and pooling, and a last layer that is trained.

usage: digits.py FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

FILTERS = 16


def features(images, filters, bias):
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    maps = np.maximum(np.einsum("nyxij,kij->nkyx", windows, filters[:, 0]) + bias[:, None, None], 0)
    return maps.reshape(len(images), FILTERS, 4, 2, 4, 2).max(axis=(3, 5)).reshape(len(images), -1)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    images, labels = (digits.images / 16).astype(np.float32), digits.target
    rng = np.random.default_rng(3)
    filters = rng.normal(0, 0.4, (FILTERS, 1, 3, 3)).astype(np.float32)
    bias = rng.normal(0, 0.1, FILTERS).astype(np.float32)
    trained = LogisticRegression(max_iter=500).fit(features(images[:1300], filters, bias), labels[:1300])
    dense, dense_bias = trained.coef_.T.astype(np.float32), trained.intercept_.astype(np.float32)

    nodes = [helper.make_node("Conv", ["pixels", "filters", "filter_bias"], ["c"], "conv", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Flatten", ["p"], ["f"], "flatten"),
             helper.make_node("Gemm", ["f", "dense", "dense_bias"], ["scores"], "dense")]
    constants = {"filters": filters, "filter_bias": bias, "dense": dense, "dense_bias": dense_bias}
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", 1, 8, 8])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", 10])],
                              [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), folder / "digits.onnx")
    (folder / "digits.weights").write_bytes(b"".join(value.tobytes() for value in constants.values()))
    test = np.hstack([images[1300:].reshape(-1, 64), labels[1300:, None].astype(np.float32)])
    (folder / "digits.test").write_bytes(np.float32(len(test)).tobytes() + test.astype(np.float32).tobytes())


if __name__ == "__main__":
    main()
