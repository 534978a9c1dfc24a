"""Quantized networks (QuantizeLinear, DequantizeLinear) agree with ONNX Runtime without optimizations, which computes
the nodes in f32, and run in 8-bit integers where there are kernels for it."""
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from models_test import distance, worker  # noqa: F401


class Network:
    """Builds a model; every tensor's scale is given."""

    def __init__(self, activations, weights=np.int8, per_channel: bool = True, zero: int = 0):
        self.nodes, self.constants = [], []
        self.activations, self.weights, self.per_channel, self.zero = activations, weights, per_channel, zero
        self.random = np.random.default_rng(7)

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def rounded(self, value: str, scale: float) -> str:
        numbers = (self.constant(np.float32(scale)), self.constant(np.array(self.zero, self.activations)))
        return self.add("DequantizeLinear", self.add("QuantizeLinear", value, *numbers), *numbers)

    def weight(self, *shape: int, axis: int = 0) -> str:
        size = np.prod(shape) / shape[axis]
        scale = 2.0 / (127 * np.sqrt(size)) * (self.random.uniform(0.5, 1, shape[axis]) if self.per_channel else np.ones(()))
        low, high = (-127, 128) if self.weights == np.int8 else (0, 256)
        array = self.random.integers(low, high, shape).astype(self.weights)
        zero = np.full(scale.shape, 0 if self.weights == np.int8 else 128, self.weights)
        return self.add("DequantizeLinear", self.constant(array), self.constant(scale.astype(np.float32)), self.constant(zero),
                        **({"axis": axis} if self.per_channel else {}))

    def bias(self, count: int) -> str:
        return self.constant(self.random.uniform(-0.5, 0.5, count).astype(np.float32))

    def save(self, path: Path, shape: list[int], output: str) -> Path:
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "quantized", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return path


def residual_network(path: Path, network: Network) -> Path:
    n = network
    x = n.rounded("x", 0.012)
    x = n.rounded(n.add("Relu", n.add("Conv", x, n.weight(20, 3, 7, 7), n.bias(20), strides=[2, 2], pads=[3, 3, 3, 3])), 0.02)
    x = n.rounded(n.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 0.02)
    y = n.rounded(n.add("Clip", n.add("Conv", x, n.weight(36, 20, 3, 3), n.bias(36), pads=[1, 1, 1, 1]),
                        n.constant(np.float32(0)), n.constant(np.float32(3))), 0.013)
    y = n.rounded(n.add("Conv", y, n.weight(20, 36, 1, 1), n.bias(20)), 0.02)
    x = n.rounded(n.add("Relu", n.add("Add", y, x)), 0.02)
    d = n.rounded(n.add("Conv", x, n.weight(20, 1, 3, 3), n.bias(20), group=20, pads=[1, 1, 1, 1]), 0.02)
    x = n.rounded(n.add("Concat", x, d, axis=1), 0.02)
    x = n.add("Reshape", x, n.constant(np.array([0, -1], np.int64)))
    x = n.add("Add", n.add("MatMul", x, n.weight(40 * 64, 33, axis=1)), n.bias(33))
    return n.save(path, [2, 3, 32, 32], n.rounded(x, 0.03))


def run(worker, model: Path, folder: Path, *options: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The results of ONNX Runtime and of Tenon, and Tenon's kernels."""
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(3).uniform(-1.5, 1.5, session.get_inputs()[0].shape).astype(np.float32)
    expected = session.run(None, {"x": x})[0]
    x.tofile(folder / "x.bin")
    worker.ask("build", name="m", options=[f"--onnx={model}", "--profilingVerbosity=detailed", "--noSelfCheck", *options])
    layers = [layer["TacticName"] for layer in json.loads(worker.ask("layers", name="m")["layers"])["Layers"]]
    worker.ask("bind", name="m", shapes="", inputs=f"x:{folder / 'x.bin'}")
    worker.ask("run", name="m", count=1)
    dims = worker.ask("save", name="m", tensor=session.get_outputs()[0].name, file=str(folder / "y.bin"))["dims"]
    return expected, np.fromfile(folder / "y.bin", np.float32).reshape(dims), layers


KINDS = {
    "u8_per_channel": dict(activations=np.uint8, zero=110),
    "i8_per_tensor": dict(activations=np.int8, per_channel=False),
    "i8_shifted_u8_weights": dict(activations=np.int8, weights=np.uint8, per_channel=False, zero=-9),
}


@pytest.mark.parametrize("kind", KINDS)
def test_integers_agree(worker, tmp_path, kind):  # noqa: F811
    model = residual_network(tmp_path / "m.onnx", Network(**KINDS[kind]))
    expected, actual, kernels = run(worker, model, tmp_path, "--int8")
    print(f"{kind}: relative L2 {distance(actual, expected):.1e}, kernels {kernels}")
    assert sum(kernel.startswith(("cpu.quantized.conv", "cpu.quantized.winograd")) for kernel in kernels) == 3
    assert sum(kernel.startswith("cpu.quantized.matmul") for kernel in kernels) == 1
    assert not any("reference" in kernel for kernel in kernels)
    # A sum near the middle of two bytes may go either way, and its followers too.
    assert np.mean(actual == expected) > 0.9
    assert np.abs(actual - expected).max() <= 2 * 0.03 + 1e-6


def test_switched_off_it_is_what_the_nodes_say(worker, tmp_path):  # noqa: F811
    model = residual_network(tmp_path / "m.onnx", Network(np.uint8, zero=110))
    expected, actual, kernels = run(worker, model, tmp_path, "--disablePass=fuse_quantized")
    assert not any(kernel.startswith("cpu.quantized") for kernel in kernels)
    assert np.abs(actual - expected).max() <= 2 * 0.03 + 1e-6


@pytest.mark.parametrize("kind", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2])
def test_floats_of_8_bits_are_rounded(worker, tmp_path, kind):  # noqa: F811
    n = Network(np.uint8)
    zero = "zero"
    n.constants.append(helper.make_tensor(zero, kind, [], [0.0]))

    def rounded(value: str, scale: float) -> str:
        numbers = (n.constant(np.float32(scale)), zero)
        return n.add("DequantizeLinear", n.add("QuantizeLinear", value, *numbers), *numbers)

    w = n.random.uniform(-1, 1, (40, 24)).astype(np.float32)
    x = n.add("MatMul", rounded("x", 0.01), rounded(n.constant(w), 0.004))
    x = n.add("Relu", n.add("Add", x, n.bias(24)))
    model = n.save(tmp_path / "m.onnx", [5, 40], rounded(x, 0.05))
    expected, actual, _ = run(worker, model, tmp_path, "--fp8")
    # Neighbouring numbers are up to a quarter apart; few sums lie between two.
    assert np.mean(np.isclose(actual, expected, rtol=1e-5)) > 0.98
    assert np.allclose(actual, expected, rtol=0.26, atol=1e-6)
