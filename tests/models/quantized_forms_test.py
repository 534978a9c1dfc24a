"""The ways that exporters and quantizers write quantized networks: each agrees with ONNX Runtime without optimizations, and
computes its products in integers where they can be, with no more quantize or dequantize steps left alone than is known."""
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from models_test import worker  # noqa: F401
from onnx import TensorProto, helper, numpy_helper


class Form:
    """A graph with one input x; `products` and `lone` are the plan's expected counts: products in integers, and
    quantize and dequantize steps of their own, at most."""

    def __init__(self, shape, opset=19):
        self.shape, self.opset, self.nodes, self.constants, self.microsoft = shape, opset, [], [], False
        self.random = np.random.default_rng(11)

    def constant(self, array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(array if isinstance(array, TensorProto) else numpy_helper.from_array(np.asarray(array), name))
        return name if not isinstance(array, TensorProto) else array.name

    def add(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes) -> str:
        names = [f"{kind.lower()}{len(self.nodes)}_{i}" for i in range(outputs)]
        self.microsoft |= domain != ""
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def q(self, value: str, scale=0.02, zero=0, kind=np.int8, domain="") -> str:
        return self.add("QuantizeLinear", value, self.constant(np.float32(scale)), self.constant(kind(zero)), domain=domain)

    def dq(self, value: str, scale=0.02, zero=0, kind=np.int8, domain="", **attributes) -> str:
        scale = np.asarray(scale, np.float32)
        return self.add("DequantizeLinear", value, self.constant(scale), self.constant(np.full(scale.shape, zero, kind)),
                        domain=domain, **attributes)

    def pair(self, value: str, scale=0.02, zero=0, kind=np.int8, domain="") -> str:
        return self.dq(self.q(value, scale, zero, kind, domain), scale, zero, kind, domain)

    def bytes(self, *shape) -> np.ndarray:
        return self.random.integers(-127, 128, shape).astype(np.int8)

    def floats(self, *shape, size=0.2) -> np.ndarray:
        return self.random.normal(0, size, shape).astype(np.float32)

    def scales(self, count) -> np.ndarray:
        return self.random.uniform(0.5, 1, count).astype(np.float32) * 0.002

    def conv(self, x, out=16, into=8, kernel=3, weights=None, **attributes) -> str:
        weights = weights or self.dq(self.constant(self.bytes(out, into, kernel, kernel)), self.scales(out), axis=0)
        return self.add("Conv", x, weights, self.constant(self.floats(out)), pads=[kernel // 2] * 4, **attributes)

    def save(self, path: Path, output: str) -> Path:
        imports = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid("com.microsoft", 1)] * self.microsoft
        graph = helper.make_graph(self.nodes, "form", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
        return path


IMAGE, ROWS = [2, 8, 12, 12], [6, 32]
FORMS = {}


def form(products: int, lone: int, shape=None, opset=19):
    """Registers a function that fills a Form and gives its output."""
    def register(function):
        FORMS[function.__name__] = (function, products, lone, shape or IMAGE, opset)
        return function
    return register


@form(2, 3)
def residual_quantized_before_the_sum(f):
    x = f.pair("x")
    y = f.pair(f.add("Relu", f.conv(x, 8)))
    return f.pair(f.add("Add", f.conv(y, 8), x))


@form(2, 3)
def residual_in_its_own_pair(f):
    """PyTorch's exporter quantizes each operand of the sum."""
    y = f.pair(f.conv(f.pair("x"), 8))
    z = f.pair(f.conv(y, 8), 0.03)
    return f.pair(f.add("Relu", f.add("Add", z, y)), 0.025)


@form(2, 3)
def concat_of_one_scale(f):
    x = f.pair("x")
    parts = [f.pair(f.conv(x, 8)), x]
    return f.pair(f.conv(f.pair(f.add("Concat", *parts, axis=1)), 8, 16))


@form(2, 5)
def concat_of_several_scales(f):
    x = f.pair("x")
    parts = [f.pair(f.conv(x, 8), 0.03), x]
    return f.pair(f.conv(f.pair(f.add("Concat", *parts, axis=1), 0.025), 8, 16))


@form(1, 2)
def weights_quantized_in_place(f):
    """ModelOpt and PyTorch leave weights in floating point, with both nodes behind them."""
    scale, zero = f.constant(f.scales(16)), f.constant(np.zeros(16, np.int8))
    w = f.constant(f.floats(16, 8, 3, 3, size=0.1))
    w = f.add("DequantizeLinear", f.add("QuantizeLinear", w, scale, zero, axis=0), scale, zero, axis=0)
    return f.pair(f.conv(f.pair("x"), weights=w))


@form(1, 2, ROWS)
def weights_behind_a_transpose(f):
    w = f.add("Transpose", f.dq(f.constant(f.bytes(24, 32)), f.scales(24), axis=0), perm=[1, 0])
    return f.pair(f.add("MatMul", f.pair("x"), w))


@form(1, 2, ROWS)
def weights_transposed_as_bytes(f):
    w = f.dq(f.add("Transpose", f.constant(f.bytes(24, 32)), perm=[1, 0]), f.scales(24), axis=1)
    return f.pair(f.add("MatMul", f.pair("x"), w))


@form(1, 2, ROWS)
def gemm_with_a_bias_of_32_bits(f):
    bias = f.dq(f.constant(f.random.integers(-3000, 3000, 24).astype(np.int32)), 2e-5, kind=np.int32)
    return f.pair(f.add("Gemm", f.pair("x"), f.dq(f.constant(f.bytes(24, 32)), 0.001), bias, transB=1))


@form(1, 2)
def convolution_with_a_bias_of_32_bits(f):
    bias = f.dq(f.constant(f.random.integers(-3000, 3000, 16).astype(np.int32)), f.scales(16) * 0.02, kind=np.int32, axis=0)
    w = f.dq(f.constant(f.bytes(16, 8, 3, 3)), f.scales(16), axis=0)
    return f.pair(f.add("Conv", f.pair("x"), w, bias, pads=[1, 1, 1, 1]))


@form(2, 3)
def zero_points_other_than_zero(f):
    y = f.pair(f.add("Relu", f.conv(f.pair("x", 0.02, 117, np.uint8))), 0.015, 0, np.uint8)
    return f.pair(f.conv(y, 8, 16), 0.02, 131, np.uint8)


@form(1, 2)
def weights_of_uint8(f):
    w = f.dq(f.constant(f.random.integers(2, 255, (16, 8, 3, 3)).astype(np.uint8)), 0.001, 128, np.uint8)
    return f.pair(f.conv(f.pair("x", 0.02, 120, np.uint8), weights=w), 0.02, 120, np.uint8)


@form(2, 3)
def weights_of_uint8_with_zero_points_of_their_own(f):
    """ONNX Runtime's QUInt8 per channel: without its zero point a weight may need 9 bits."""
    def weights(out, into):
        zeros = f.constant(f.random.integers(90, 170, out).astype(np.uint8))
        return f.add("DequantizeLinear", f.constant(f.random.integers(0, 256, (out, into, 3, 3)).astype(np.uint8)),
                     f.constant(f.scales(out)), zeros, axis=0)
    y = f.pair(f.add("Relu", f.conv(f.pair("x", 0.02, 120, np.uint8), weights=weights(16, 8))), 0.02, 0, np.uint8)
    return f.pair(f.conv(y, 8, weights=weights(8, 16)), 0.03, 120, np.uint8)


@form(1, 2, ROWS)
def product_with_weights_of_uint8(f):
    w = f.dq(f.constant(f.random.integers(0, 256, (32, 24)).astype(np.uint8)), 0.001, 103, np.uint8)
    return f.pair(f.add("MatMul", f.pair("x", 0.02, 120, np.uint8), w), 0.02, 120, np.uint8)


@form(1, 2)
def scales_of_one_element(f):
    """Vectors where scalars are meant."""
    scale, zero = f.constant(np.array([0.02], np.float32)), f.constant(np.zeros(1, np.int8))
    x = f.add("DequantizeLinear", f.add("QuantizeLinear", "x", scale, zero, axis=0), scale, zero, axis=0)
    return f.pair(f.conv(x))


@form(1, 2)
def scales_from_constant_nodes(f):
    scale = f.add("Constant", value=numpy_helper.from_array(np.float32(0.02)))
    zero = f.add("Constant", value=numpy_helper.from_array(np.int8(0)))
    return f.pair(f.conv(f.add("DequantizeLinear", f.add("QuantizeLinear", "x", scale, zero), scale, zero)))


@form(1, 2, opset=13)
def opset_13(f):
    return f.pair(f.conv(f.pair("x")))


@form(1, 2, opset=21)
def output_type_as_an_attribute(f):
    scale = f.constant(np.float32(0.02))
    x = f.add("DequantizeLinear", f.add("QuantizeLinear", "x", scale, output_dtype=TensorProto.INT8), scale)
    return f.pair(f.conv(x))


@form(0, 2, ROWS, opset=21)
def blocks_of_four_bits(f):
    w = helper.make_tensor("w4", TensorProto.INT4, [32, 24], f.random.integers(-8, 8, 768).astype(np.int8))
    return f.add("MatMul", "x", f.add("DequantizeLinear", f.constant(w), f.constant(f.floats(2, 24, size=0.02)), axis=0, block_size=16))


@form(0, 2, ROWS, opset=21)
def blocks_of_bytes(f):
    scales = f.constant(np.abs(f.floats(4, 24, size=0.002)))
    return f.add("MatMul", "x", f.add("DequantizeLinear", f.constant(f.bytes(32, 24)), scales, axis=0, block_size=8))


@form(0, 6, ROWS, opset=21)
def activations_of_16_bits(f):
    """More digits than kernels have: computed with rounded reals."""
    w = f.dq(f.constant(f.bytes(32, 24)), f.scales(24), axis=1)
    return f.pair(f.add("MatMul", f.pair("x", 1e-4, 0, np.int16), w), 1e-3, 0, np.int16)


@form(1, 2)
def pool_between_pairs(f):
    y = f.pair(f.add("Relu", f.conv(f.pair("x"))))
    return f.pair(f.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]))


@form(1, 4)
def average_between_pairs(f):
    return f.pair(f.add("GlobalAveragePool", f.pair(f.conv(f.pair("x")))))


@form(2, 3)
def reshape_between_pairs(f):
    y = f.pair(f.add("Reshape", f.pair(f.conv(f.pair("x"), 4)), f.constant(np.array([2, -1], np.int64))))
    return f.pair(f.add("MatMul", y, f.dq(f.constant(f.bytes(576, 24)), f.scales(24), axis=1)))


@form(1, 2)
def clip_of_six(f):
    y = f.conv(f.pair("x"))
    return f.pair(f.add("Clip", y, f.constant(np.float32(0)), f.constant(np.float32(2))), 2 / 255, 0, np.uint8)


@form(1, 2)
def swish_in_pairs(f):
    y = f.conv(f.pair("x"))
    return f.pair(f.add("Mul", y, f.add("Sigmoid", y)))


@form(2, 2)
def depthwise_beside_a_product(f):
    w = f.dq(f.constant(f.bytes(8, 1, 3, 3)), f.scales(8), axis=0)
    y = f.pair(f.add("Conv", f.pair("x"), w, group=8, pads=[1, 1, 1, 1]))
    return f.pair(f.conv(y, 8, 8, 1))


@form(2, 2, [2, 40, 14, 13])
def depthwise_with_zero_points(f):
    """A block of MobileNet: the bytes of padding are zero points."""
    w = f.dq(f.constant(f.bytes(40, 1, 5, 5)), f.scales(40), axis=0)
    y = f.add("Conv", f.pair("x", 0.013, 119, np.uint8), w, f.constant(f.floats(40)), group=40, pads=[2, 2, 2, 2], strides=[2, 2])
    y = f.pair(f.add("HardSwish", f.pair(y, 0.02, 120, np.uint8)), 0.01, 9, np.uint8)
    return f.pair(f.conv(y, 16, 40, 1), 0.02, 131, np.uint8)


@form(1, 2, [4, 600, 8])
def functions_of_one_byte(f):
    """GELU with a pair behind each of its steps: one result for each byte."""
    y = f.pair(f.add("MatMul", f.pair("x"), f.dq(f.constant(f.bytes(8, 24)), f.scales(24), axis=1)), 0.03)
    e = f.pair(f.add("Erf", f.pair(f.add("Div", y, f.constant(np.float32(2**0.5))), 0.021)), 0.008)
    return f.pair(f.add("Mul", f.pair(f.add("Mul", y, f.pair(f.add("Add", e, f.constant(np.float32(1))), 0.016)), 0.06),
                        f.constant(np.float32(0.5))), 0.03)


@form(1, 2)
def nodes_of_the_microsoft_domain(f):
    w = f.dq(f.constant(f.bytes(16, 8, 3, 3)), f.scales(16), domain="com.microsoft", axis=0)
    return f.pair(f.conv(f.pair("x", domain="com.microsoft"), weights=w), domain="com.microsoft")


def numbers(f, scale, zero=0, kind=np.int8):
    return [f.constant(np.float32(scale)), f.constant(kind(zero))]


@form(2, 2)
def operators_on_bytes(f):
    """QLinearConv and ONNX Runtime's further operators."""
    def conv(x, out, into):
        return f.add("QLinearConv", x, *numbers(f, 0.02), f.constant(f.bytes(out, into, 3, 3)), f.constant(f.scales(out)),
                     f.constant(np.zeros(out, np.int8)), *numbers(f, 0.02), f.constant(np.arange(out, dtype=np.int32) * 100), pads=[1, 1, 1, 1])
    x = f.q("x")
    y = conv(conv(x, 8, 8), 8, 8)
    y = f.add("QLinearAdd", y, *numbers(f, 0.02), x, *numbers(f, 0.02), *numbers(f, 0.03), domain="com.microsoft")
    return f.dq(y, 0.03)


@form(1, 6)
def pools_and_joins_on_bytes(f):
    w = [f.constant(f.bytes(8, 8, 1, 1)), f.constant(np.float32(0.002)), f.constant(np.int8(0))]
    y = f.add("QLinearConv", f.q("x"), *numbers(f, 0.02), *w, *numbers(f, 0.02))
    y = f.add("QLinearConcat", *numbers(f, 0.02), y, *numbers(f, 0.02), y, *numbers(f, 0.02), axis=1, domain="com.microsoft")
    y = f.add("QLinearGlobalAveragePool", y, *numbers(f, 0.02), *numbers(f, 0.01), domain="com.microsoft")
    return f.dq(f.add("QLinearSigmoid", y, *numbers(f, 0.01), *numbers(f, 1 / 256, -128), domain="com.microsoft"), 1 / 256, -128)


@form(1, 2, ROWS)
def product_on_bytes(f):
    y = f.add("QLinearMatMul", f.q("x"), *numbers(f, 0.02), f.constant(f.bytes(32, 24)), *numbers(f, 0.001), *numbers(f, 0.02))
    return f.dq(y)


@form(2, 2, ROWS)
def products_on_bytes_with_mixed_vectors(f):
    """Scales of columns beside one zero point, and the other way about."""
    zeros = f.constant(f.random.integers(-9, 9, 24).astype(np.int8))
    y = f.add("QLinearMatMul", f.q("x"), *numbers(f, 0.02), f.constant(f.bytes(32, 24)), f.constant(np.float32(0.001)), zeros, *numbers(f, 0.02))
    return f.dq(f.add("QLinearMatMul", y, *numbers(f, 0.02), f.constant(f.bytes(24, 16)), f.constant(f.scales(16)), f.constant(np.int8(3)),
                      *numbers(f, 0.02)))


@form(1, 2)
def convolution_on_bytes_with_mixed_vectors(f):
    y = f.add("QLinearConv", f.q("x"), *numbers(f, 0.02), f.constant(f.bytes(16, 8, 3, 3)), f.constant(f.scales(16)), f.constant(np.int8(0)),
              *numbers(f, 0.02), pads=[1, 1, 1, 1])
    return f.dq(y)


@form(1, 2, ROWS)
def gemm_on_bytes(f):
    y = f.add("QGemm", f.q("x"), *numbers(f, 0.02), f.constant(f.bytes(24, 32)), *numbers(f, 0.001),
              f.constant(np.arange(24, dtype=np.int32) * 50), *numbers(f, 0.02), transB=1, alpha=1.0, domain="com.microsoft")
    return f.dq(y)


@form(1, 2, ROWS)
def gemm_on_bytes_with_a_factor(f):
    """Alpha scales the bias of 32 bits, too."""
    y = f.add("QGemm", f.q("x"), *numbers(f, 0.02), f.constant(f.bytes(24, 32)), *numbers(f, 0.001),
              f.constant(np.arange(24, dtype=np.int32) * 500), *numbers(f, 0.02), transB=1, alpha=0.5, domain="com.microsoft")
    return f.dq(y)


@form(0, 7)
def further_operators_on_bytes(f):
    """Channels last, a choice between two scales, and a softmax of old files, over several axes."""
    y = f.q("x")
    y = f.add("QLinearAveragePool", y, *numbers(f, 0.02), *numbers(f, 0.015), kernel_shape=[3, 2], pads=[1, 0, 1, 0],
              channels_last=1, domain="com.microsoft")
    y = f.add("QLinearWhere", f.constant(f.random.random((2, 8, 11, 12)) < 0.5), y, *numbers(f, 0.015),
              f.constant(f.bytes(12)), *numbers(f, 0.01, 3), *numbers(f, 0.02), domain="com.microsoft")
    y = f.add("QLinearSoftmax", y, *numbers(f, 0.02), *numbers(f, 1 / 2560, -128), axis=2, opset=12, domain="com.microsoft")
    y = f.add("QLinearGlobalAveragePool", y, *numbers(f, 1 / 2560, -128), *numbers(f, 1 / 25600, -128), channels_last=1, domain="com.microsoft")
    return f.dq(y, 1 / 25600, -128)


@form(1, 2, opset=23)
def no_output_type_spelled_out(f):
    """ONNX Runtime writes the defaults of attributes into files that it optimized."""
    scale, zero = f.constant(np.float32(0.02)), f.constant(np.int8(0))
    x = f.add("QuantizeLinear", "x", scale, zero, output_dtype=0, precision=0, block_size=0, saturate=1)
    return f.pair(f.conv(f.add("DequantizeLinear", x, scale, zero, output_dtype=0, block_size=0)))


@form(1, 1, ROWS)
def scales_of_columns_with_one_zero_point(f):
    return f.add("DynamicQuantizeMatMul", "x", f.constant(f.bytes(32, 24)), f.constant(f.scales(24)), f.constant(np.int8(3)),
                 f.constant(f.floats(24)), domain="com.microsoft")


@form(1, 1, ROWS)
def one_scale_with_zero_points_of_columns(f):
    return f.add("DynamicQuantizeMatMul", "x", f.constant(f.bytes(32, 24)), f.constant(np.float32(0.001)),
                 f.constant(f.random.integers(-9, 9, 24).astype(np.int8)), f.constant(f.floats(24)), domain="com.microsoft")


@form(1, 1, ROWS)
def quantized_as_it_runs(f):
    """Scales of the activations come from the data."""
    return f.add("DynamicQuantizeMatMul", "x", f.constant(f.bytes(32, 24)), *numbers(f, 0.001), f.constant(f.floats(24)), domain="com.microsoft")


def dynamically(f, kind, x, weights, scales, zero=None, **attributes):
    """As ONNX Runtime's quantize_dynamic writes a product."""
    x, scale, shift = f.add("DynamicQuantizeLinear", x, outputs=3)
    y = f.add(kind, x, f.constant(weights), shift, *([] if zero is None else [f.constant(zero)]), **attributes)
    return f.add("Mul", f.add("Cast", y, to=TensorProto.FLOAT), f.add("Mul", scale, f.constant(scales)))


@form(2, 2, ROWS)
def products_quantized_as_they_run(f):
    """Weights with a scale for each column, and in u8 with a zero point."""
    y = dynamically(f, "MatMulInteger", "x", f.bytes(32, 24), f.scales(24), np.zeros(24, np.int8))
    y = f.add("Relu", f.add("Add", y, f.constant(f.floats(24))))
    weights = f.random.integers(0, 256, (24, 40)).astype(np.uint8)
    return f.add("Add", dynamically(f, "MatMulInteger", y, weights, np.float32(0.002), np.uint8(117)), f.constant(f.floats(40)))


@form(3, 3)
def convolutions_quantized_as_they_run(f):
    """One group, some, and one for each channel; bytes of padding are the zero point."""
    y = "x"
    for groups in (1, 2, 8):
        y = dynamically(f, "ConvInteger", y, f.bytes(8, 8 // groups, 3, 3), np.float32(0.004), np.int8(0), group=groups, pads=[1, 1, 1, 1])
        y = f.add("Relu", f.add("Add", y, f.constant(f.floats(1, 8, 1, 1))))
    return y


@form(2, 2, [2, 24, 14, 13])
def convolutions_of_groups(f):
    """As in ResNeXt and RegNet."""
    y = "x"
    for into, out, groups in ((24, 36, 4), (36, 80, 2)):
        w = f.dq(f.constant(f.bytes(out, into // groups, 3, 3)), f.scales(out), axis=0)
        y = f.add("Relu", f.add("Conv", f.pair(y, 0.02, 110, np.uint8), w, f.constant(f.floats(out)), group=groups, pads=[1, 1, 1, 1]))
    return f.pair(y, 0.03, 0, np.uint8)


def blobs(f, bits, depth, zeros, groups=None):
    """A product with weights [24, depth] in blocks of 16 along the depth, as many zero points in bytes, or those given."""
    blocks = -(-depth // 16)
    packed = f.random.integers(0, 256, (24, blocks, 2 * bits)).astype(np.uint8)
    if isinstance(zeros, int):
        zeros = f.random.integers(0, 256, zeros).astype(np.uint8) if zeros else None
    points = ["" if zeros is None else f.constant(zeros), "" if groups is None else f.constant(groups)]
    return f.add("MatMulNBits", "x", f.constant(packed), f.constant(f.floats(24 * blocks, size=0.02)), *points, K=depth, N=24,
                 bits=bits, block_size=16, domain="com.microsoft")


@form(0, 0, ROWS)
def weights_of_four_bits_in_blobs(f):
    return blobs(f, 4, 32, 24)


@form(0, 0, [6, 40])
def weights_of_four_bits_with_a_short_block(f):
    return blobs(f, 4, 40, 0)


@form(0, 0, [6, 40])
def weights_of_two_bits_in_blobs(f):
    return blobs(f, 2, 40, 24)


@form(0, 0, [6, 40])
def weights_of_two_bits_without_zero_points(f):
    return blobs(f, 2, 40, 0)


@form(0, 0, [6, 40])
def weights_of_eight_bits_in_blobs(f):
    return blobs(f, 8, 40, 72)


@form(0, 0, ROWS)
def weights_in_blobs_with_real_zero_points(f):
    """As half-quadratic quantization gives them."""
    return blobs(f, 4, 32, f.random.uniform(0, 15, 48).astype(np.float32))


@form(0, 0, [6, 64])
def weights_in_blobs_with_groups_of_their_own(f):
    """Rows in the order of their error, as GPTQ with act-order packs them."""
    return blobs(f, 4, 64, None, f.random.integers(0, 4, 64).astype(np.int32))


def by_onnxruntime(model: Path, x: np.ndarray) -> np.ndarray:
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


@pytest.mark.parametrize("name", FORMS)
def test_form(worker, tmp_path, name):  # noqa: F811
    function, products, lone, shape, opset = FORMS[name]
    made = Form(shape, opset)
    output = function(made)
    model = made.save(tmp_path / "m.onnx", output)
    x = np.random.default_rng(3).uniform(-1.5, 1.5, shape).astype(np.float32)
    expected = by_onnxruntime(model, x)
    x.tofile(tmp_path / "x.bin")
    worker.ask("build", name="m", options=[f"--onnx={model}", "--profilingVerbosity=detailed", "--int8", "--noTF32"])
    layers = [layer["TacticName"] for layer in json.loads(worker.ask("layers", name="m")["layers"])["Layers"]]
    worker.ask("bind", name="m", shapes="", inputs=f"x:{tmp_path / 'x.bin'}")
    worker.ask("run", name="m", count=1)
    dims = worker.ask("save", name="m", tensor=output, file=str(tmp_path / "y.bin"))["dims"]
    actual = np.fromfile(tmp_path / "y.bin", np.float32).reshape(dims)
    on_gpu = any(layer.startswith("cuda.") for layer in layers)
    in_integers = sum(layer.startswith(("cuda.quantized.", "cpu.quantized.conv", "cpu.quantized.winograd", "cpu.quantized.depthwise",
                                        "cpu.quantized.matmul")) for layer in layers)
    alone = sum(layer.startswith(("cuda.quantize.", "cpu.quantize.")) for layer in layers)
    size = np.abs(expected).max()
    print(f"{name}: {in_integers} products in integers, {alone} steps alone, distance {np.abs(actual - expected).max() / size:.1e}: {layers}")
    slow = sum("reference" in layer for layer in layers)
    assert slow == {"activations_of_16_bits": 4}.get(name, 0)
    # One unit of a quantization, where a sum lies in the middle of two.
    assert np.mean(np.abs(actual - expected) <= 1e-5 * size) > 0.9 and np.abs(actual - expected).max() <= 0.04 * size + 0.03
    # Kernels of GPUs take other forms, and none takes groups or products of few rows.
    assert on_gpu or (in_integers == products and alone <= lone)


def sums_behind_swish(f):
    """The sum's operand has as many elements as a result of one row."""
    product = f.add("MatMul", f.pair("x"), f.dq(f.constant(f.bytes(64, 80)), f.scales(80), axis=1))
    return f.pair(f.add("Add", f.add("Mul", f.add("Sigmoid", product), product), f.constant(f.floats(80))))


RANGES = {sums_behind_swish: (64, 3, 6), quantized_as_it_runs: (32, 3, 6), weights_of_four_bits_in_blobs: (32, 4, 64),
          weights_of_eight_bits_in_blobs: (40, 4, 64)}


@pytest.mark.parametrize("function", RANGES, ids=lambda function: function.__name__)
def test_form_for_a_range_of_rows(worker, tmp_path, function):  # noqa: F811
    """Kernels are chosen under the usual number of rows; the plan runs under the others too, which that kernel may not take."""
    depth, usual, most = RANGES[function]
    made = Form(["rows", depth], 21)
    output = function(made)
    model = made.save(tmp_path / "m.onnx", output)
    ranges = zip(("min", "opt", "max"), (1, usual, most))
    worker.ask("build", name="m", options=[f"--onnx={model}", "--int8", "--noTF32", *(f"--{end}Shapes=x:{n}x{depth}" for end, n in ranges)])
    for rows in (1, usual, most):
        x = np.random.default_rng(rows).uniform(-1.5, 1.5, (rows, depth)).astype(np.float32)
        expected = by_onnxruntime(model, x)
        x.tofile(tmp_path / "x.bin")
        worker.ask("bind", name="m", shapes=f"x:{rows}x{depth}", inputs=f"x:{tmp_path / 'x.bin'}")
        worker.ask("run", name="m", count=1)
        worker.ask("save", name="m", tensor=output, file=str(tmp_path / "y.bin"))
        actual = np.fromfile(tmp_path / "y.bin", np.float32).reshape(expected.shape)
        assert np.abs(actual - expected).max() <= 0.04 * np.abs(expected).max() + 0.03, rows


def with_other_weights(model: Path, target: Path) -> Path:
    """Weights in another order, zero points moved, scales smaller: the same network otherwise."""
    proto, random = onnx.load(model), np.random.default_rng(5)
    factors = {}  # Equal scales stay equal, as joins of one scale need them.
    for tensor in proto.graph.initializer:
        numbers = numpy_helper.to_array(tensor)
        if tensor.data_type == TensorProto.FLOAT and numbers.size:
            other = numbers * np.float32(factors.setdefault(numbers.tobytes(), random.uniform(0.7, 1)))
        elif tensor.data_type in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4) and numbers.ndim >= 2:
            other = random.permutation(numbers.reshape(-1)).reshape(numbers.shape)
        elif tensor.data_type in (TensorProto.INT8, TensorProto.UINT8) and (numbers != 0).any() and np.abs(numbers.astype(int)).max() < 127:
            other = numbers + numbers.dtype.type(1)
        else:
            continue
        if tensor.data_type == TensorProto.INT4:
            tensor.CopyFrom(helper.make_tensor(tensor.name, TensorProto.INT4, numbers.shape, other.astype(np.int8).reshape(-1)))
        else:
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(other, numbers.dtype), tensor.name))
    onnx.save(proto, target)
    return target


@pytest.mark.parametrize("stripped", [False, True], ids=["whole", "stripped"])
@pytest.mark.parametrize("name", FORMS)
def test_form_refitted(pytestconfig, tmp_path, name, stripped):
    """A plan of one model takes the weights of another: bytes, zero points, blobs of packed numbers. None stays behind."""
    function, _, _, shape, opset = FORMS[name]
    made = Form(shape, opset)
    output = function(made)
    model = made.save(tmp_path / "m.onnx", output)
    other = with_other_weights(model, tmp_path / "other.onnx")
    x = np.random.default_rng(3).uniform(-1.5, 1.5, shape).astype(np.float32)
    x.tofile(tmp_path / "x.bin")
    expected, before = by_onnxruntime(other, x), by_onnxruntime(model, x)
    assert not np.array_equal(expected, before)

    def trtexec(*options: str):
        program = Path(pytestconfig.getoption("build")).resolve() / "bin/trtexec"
        done = subprocess.run([program, *options, "--noTF32"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    trtexec("--onnx=m.onnx", "--int8", "--refit", "--saveEngine=m.plan", "--skipInference", *(["--stripWeights"] if stripped else []))
    trtexec("--loadEngine=m.plan", "--refitFromOnnx=other.onnx", "--loadInputs=x:x.bin", "--exportOutput=y.json", "--iterations=1",
            "--warmUp=0", "--duration=0")
    values = next(one for one in json.loads((tmp_path / "y.json").read_text()) if one["name"] == output)["values"]
    actual = np.asarray(values, np.float32).reshape(expected.shape)
    assert np.linalg.norm(actual - expected) < 0.01 * np.linalg.norm(expected)
