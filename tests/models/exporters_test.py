"""Networks as the tools of onnxruntime.quantization write them, in each of their formats and types, agree with ONNX Runtime and
are computed in integers."""
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from models_test import distance, worker  # noqa: F401
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

KINDS = {
    "qdq_u8s8_by_channel": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True),
    "qdq_s8s8": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8),
    "qdq_u8u8_reduced": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8, reduce_range=True),
    "qdq_weights_in_place": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, per_channel=True,
                                 extra_options=dict(ActivationSymmetric=True, DedicatedQDQPair=True, AddQDQPairToWeight=True)),
    "qdq_float_bias": dict(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                           extra_options=dict(ForceQuantizeNoInputCheck=True, QuantizeBias=False)),
    "operators_u8s8": dict(quant_format=QuantFormat.QOperator, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True),
    "operators_s8s8": dict(quant_format=QuantFormat.QOperator, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8),
    "dynamic_s8": dict(weight_type=QuantType.QInt8),
    "dynamic_u8": dict(weight_type=QuantType.QUInt8),
}


class Network:
    def __init__(self, shape: list[int]):
        self.shape, self.random, self.nodes, self.constants = shape, np.random.default_rng(11), [], []

    def constant(self, array) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weights(self, *shape: int) -> str:
        fan = np.prod(shape[1:]) if len(shape) > 1 else 4
        return self.constant(self.random.normal(0, fan**-0.5, shape).astype(np.float32))

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes):
        names = [f"{kind}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, names[0], **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path: Path, output: str) -> Path:
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "g", [value("x", TensorProto.FLOAT, self.shape)], [value(output, TensorProto.FLOAT, None)],
                                  self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return path


def image(path: Path) -> tuple[Network, int]:
    n, pads = Network([2, 3, 32, 32]), dict(pads=[1] * 4)
    x = n.add("LeakyRelu", n.add("Conv", "x", n.weights(12, 3, 3, 3), n.weights(12), strides=[2, 2], **pads), alpha=0.1)
    y = n.add("Conv", x, n.weights(12, 1, 3, 3), n.weights(12), group=12, **pads)
    y = n.add("Clip", y, n.constant(np.float32(0)), n.constant(np.float32(6)))
    x = n.add("Add", n.add("Conv", y, n.weights(12, 12, 1, 1), n.weights(12)), x)
    gate = n.add("Conv", n.add("GlobalAveragePool", x), n.weights(12, 12, 1, 1), n.weights(12))
    x = n.add("Mul", x, n.add("Sigmoid", gate))
    x = n.add("Resize", x, "", n.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    a, b = n.add("Split", x, n.constant(np.array([6, 6])), outputs=2, axis=1)
    x = n.add("Concat", a, n.add("Conv", b, n.weights(8, 6, 3, 3), **pads), axis=1)
    x = n.add("AveragePool", n.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), kernel_shape=[2, 2], strides=[2, 2])
    y = n.add("Gemm", n.add("Flatten", x), n.weights(10, 14 * 64), n.weights(10), transB=1)
    n.save(path, y)
    return n, 6


def attention(path: Path) -> tuple[Network, int]:
    n = Network([2, 10, 24])
    scale, heads = n.constant(np.ones(24, np.float32)), n.constant(np.array([2, 10, 2, 12]))
    rows = n.add("LayerNormalization", "x", scale, n.weights(24))
    q, k, v = (n.add("Transpose", n.add("Reshape", n.add("Add", n.add("MatMul", rows, n.weights(24, 24)), n.weights(24)), heads), perm=perm)
               for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    shares = n.add("Softmax", n.add("Div", n.add("MatMul", q, k), n.constant(np.float32(12**0.5))), axis=-1)
    mixed = n.add("Transpose", n.add("MatMul", shares, v), perm=[0, 2, 1, 3])
    mixed = n.add("MatMul", n.add("Reshape", mixed, n.constant(np.array([2, 10, 24]))), n.weights(24, 24))
    x = n.add("Add", "x", mixed)
    up = n.add("Add", n.add("MatMul", x, n.weights(24, 48)), n.weights(48))
    gelu = n.add("Mul", up, n.add("Add", n.add("Erf", n.add("Div", up, n.constant(np.float32(2**0.5)))), n.constant(np.float32(1))))
    y = n.add("Add", x, n.add("MatMul", gelu, n.weights(48, 24)))
    n.save(path, y)
    # Query, key and value of one tensor are one product where their types allow it.
    return n, 4


def guarded(path: Path) -> tuple[Network, int]:
    """Attention as PyTorch's exporter writes it, with a bias for each pair of positions, and a guard against empty rows."""
    n = Network([2, 10, 24])
    heads = n.constant(np.array([2, 10, 2, 12]))
    q, k, v = (n.add("Transpose", n.add("Reshape", n.add("Add", n.add("MatMul", "x", n.weights(24, 24)), n.weights(24)), heads), perm=perm)
               for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    root = n.constant(np.float32(12**-0.25))
    scores = n.add("MatMul", n.add("Mul", q, root), n.add("Mul", k, root))
    shares = n.add("Softmax", n.add("Add", scores, n.weights(2, 10, 10)), axis=-1)
    shares = n.add("Where", n.add("IsNaN", shares), n.constant(np.float32(0)), shares)
    return attended(n, shares, v, path)


def causal(path: Path) -> tuple[Network, int]:
    """Scores that are chosen by a triangle, as in decoders."""
    n = Network([2, 10, 24])
    heads = n.constant(np.array([2, 10, 2, 12]))
    q, k, v = (n.add("Transpose", n.add("Reshape", n.add("MatMul", "x", n.weights(24, 24)), heads), perm=perm)
               for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    seen = n.constant(np.tril(np.ones((1, 1, 10, 10), bool)))
    scores = n.add("Mul", n.add("MatMul", q, k), n.constant(np.float32(12**-0.5)))
    shares = n.add("Softmax", n.add("Where", seen, scores, n.constant(np.finfo(np.float32).min)), axis=-1)
    return attended(n, shares, v, path)


def attended(n: Network, shares: str, v: str, path: Path) -> tuple[Network, int]:
    mixed = n.add("Reshape", n.add("Transpose", n.add("MatMul", shares, v), perm=[0, 2, 1, 3]), n.constant(np.array([2, 10, 24])))
    n.save(path, n.add("MatMul", mixed, n.weights(24, 24)))
    return n, 2


class Samples(CalibrationDataReader):
    def __init__(self, network: Network):
        self.samples = iter([{"x": network.random.uniform(-1, 1, network.shape).astype(np.float32)} for _ in range(3)])

    def get_next(self):
        return next(self.samples, None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [image, attention, guarded, causal], ids=lambda make: make.__name__)
def test_tools_of_onnxruntime(worker, tmp_path, make, kind):  # noqa: F811
    if make is causal and kind.startswith("operators"):
        pytest.skip("the tool itself fails at a Where")
    plain, model = tmp_path / "m.onnx", tmp_path / "q.onnx"
    network, products = make(plain)
    if kind.startswith("dynamic"):
        quantize_dynamic(plain, model, **KINDS[kind])
    else:
        quantize_static(plain, model, Samples(network), **KINDS[kind])
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    x = np.random.default_rng(5).uniform(-1, 1, network.shape).astype(np.float32)
    expected = session.run(None, {"x": x})[0]
    x.tofile(tmp_path / "x.bin")
    worker.ask("build", name="m", options=[f"--onnx={model}", "--int8", "--profilingVerbosity=detailed", "--builderOptimizationLevel=2"])
    layers = [layer["TacticName"] for layer in json.loads(worker.ask("layers", name="m")["layers"])["Layers"]]
    worker.ask("bind", name="m", shapes="", inputs=f"x:{tmp_path / 'x.bin'}")
    worker.ask("run", name="m", count=1)
    dims = worker.ask("save", name="m", tensor=session.get_outputs()[0].name, file=str(tmp_path / "y.bin"))["dims"]
    # Sums near the middle of two bytes go either way, and later ones with them.
    assert distance(np.fromfile(tmp_path / "y.bin", np.float32).reshape(dims), expected) < 0.02
    assert sum(layer.startswith("cpu.quantized.") for layer in layers) >= products, layers
    assert not any("reference" in layer for layer in layers)
    if make is not image:
        assert any("attention" in layer for layer in layers), layers
