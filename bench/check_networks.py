#!/usr/bin/env python3
"""Networks of many kinds with random weights, for studies of the self-check: numpy and onnx are all that it takes.

usage: check_networks.py FOLDER [NAME...]    writes FOLDER/NAME.onnx
"""
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
NETWORKS = {}


def network(f):
    NETWORKS[f.__name__] = f
    return f


class Maker:
    """Nodes in order; every method returns the name of its result."""

    def __init__(self, name):
        self.name, self.nodes, self.weights, self.inputs, self.outputs = name, [], [], [], []
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.channels = {}
        self.quantized = False

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        if len(shape) > 1:
            self.channels[name] = shape[1]
        return name

    def output(self, value, name="out"):
        self.node("Identity", value, out=name)
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None))

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, *inputs, out=None, **attributes):
        out = out or f"{op.lower()}{len(self.nodes)}"
        inputs = [self.constant(x) if isinstance(x, np.ndarray) else x for x in inputs]
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attributes))
        return out

    def normal(self, *shape, std=1.0):
        return (self.random.standard_normal(shape) * std).astype(np.float32)

    def quantize(self, x, step):
        scale, zero = np.float32(step), np.int8(0)
        q = self.node("QuantizeLinear", x, np.array(scale), np.array(zero))
        return self.node("DequantizeLinear", q, np.array(scale), np.array(zero))

    def quantized_weights(self, w):
        """Per filter, for convolutions."""
        steps = np.abs(w).reshape(len(w), -1).max(1).astype(np.float32) / 127
        q = np.clip(np.rint(w / steps.reshape(-1, *[1] * (w.ndim - 1))), -127, 127).astype(np.int8)
        return self.node("DequantizeLinear", q, steps, np.zeros(len(w), np.int8), axis=0)

    def conv(self, x, filters, kernel=3, stride=1, dilation=1, groups=1, bias=True, gain=1.4):
        channels = self.channels[x]
        depth = channels // groups * kernel * kernel
        w = self.normal(filters, channels // groups, kernel, kernel, std=gain / depth**0.5)
        pad = dilation * (kernel - 1) // 2
        if self.quantized:
            x, w = self.quantize(x, 4 / 127), self.quantized_weights(w)
        inputs = [x, w] + ([self.normal(filters, std=0.1)] if bias else [])
        y = self.node("Conv", *inputs, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4,
                      dilations=[dilation] * 2, group=groups)
        self.channels[y] = filters
        return y

    def act(self, op, x, **attributes):
        y = self.node(op, x, **attributes)
        self.channels[y] = self.channels.get(x, 0)
        return y

    def relu(self, x):
        return self.act("Relu", x)

    def silu(self, x):
        return self.binary("Mul", x, self.act("Sigmoid", x))

    def hard_swish(self, x):
        return self.act("HardSwish", x)

    def binary(self, op, a, b):
        y = self.node(op, a, b)
        self.channels[y] = self.channels.get(a, 0) if isinstance(a, str) else 0
        return y

    def norm(self, x):
        """Batch normalization."""
        n = self.channels[x]
        y = self.node("BatchNormalization", x, 1 + self.normal(n, std=0.2), self.normal(n, std=0.2),
                      self.normal(n, std=0.2), np.abs(1 + self.normal(n, std=0.2)).astype(np.float32) + np.float32(0.1))
        self.channels[y] = n
        return y

    def squeeze_excite(self, x, gate="HardSigmoid"):
        n = self.channels[x]
        m = self.act("GlobalAveragePool", x)
        m = self.relu(self.conv(m, max(8, n // 4), 1))
        return self.binary("Mul", x, self.act(gate, self.conv(m, n, 1)))

    def concat(self, *values):
        y = self.node("Concat", *values, axis=1)
        self.channels[y] = sum(self.channels[v] for v in values)
        return y

    def pool(self, x, op="MaxPool", kernel=2, stride=2, pad=0):
        return self.act(op, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def up(self, x, factor=2, mode="linear"):
        scales = np.array([1, 1, factor, factor], np.float32)
        how = "pytorch_half_pixel" if mode == "linear" else "asymmetric"
        y = self.node("Resize", x, "", scales, mode=mode, coordinate_transformation_mode=how,
                      **({"nearest_mode": "floor"} if mode == "nearest" else {}))
        self.channels[y] = self.channels[x]
        return y

    def linear(self, x, size, to, bias=True, gain=1.0):
        w = self.normal(size, to, std=gain / size**0.5)
        if self.quantized:
            x, w = self.quantize(x, 4 / 127), self.transposed_weights(w)
        y = self.node("MatMul", x, w)
        return self.node("Add", y, self.normal(to, std=0.1)) if bias else y

    def transposed_weights(self, w):
        step = np.float32(np.abs(w).max() / 127)
        q = np.clip(np.rint(w / step), -127, 127).astype(np.int8)
        return self.node("DequantizeLinear", q, np.array(step), np.array(np.int8(0)))

    def layer_norm(self, x, size):
        return self.node("LayerNormalization", x, 1 + self.normal(size, std=0.2), self.normal(size, std=0.1),
                         axis=-1, epsilon=1e-5)

    def rms_norm(self, x, size):
        square = self.node("Mul", x, x)
        mean = self.node("ReduceMean", square, axes=[-1])
        root = self.node("Sqrt", self.node("Add", mean, np.array(1e-5, np.float32)))
        return self.node("Mul", self.node("Div", x, root), 1 + self.normal(size, std=0.2))

    def gelu(self, x):
        erf = self.node("Erf", self.node("Mul", x, np.array(0.5**0.5, np.float32)))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, np.array(1, np.float32))),
                         np.array(0.5, np.float32))

    def reshape(self, x, *shape):
        return self.node("Reshape", x, np.array(shape, np.int64))

    def transpose(self, x, *order):
        return self.node("Transpose", x, perm=list(order))

    def attention(self, x, batch, length, size, heads, mask=None, rotate=None):
        q, k, v = (self.linear(x, size, size) for _ in range(3))
        q, k, v = (self.transpose(self.reshape(t, batch, length, heads, size // heads), 0, 2, 1, 3) for t in (q, k, v))
        if rotate:
            q, k = rotate(q), rotate(k)
        scores = self.node("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        scores = self.node("Mul", scores, np.array((size // heads)**-0.5, np.float32))
        if mask is not None:
            scores = self.node("Add", scores, mask)
        y = self.node("MatMul", self.node("Softmax", scores, axis=-1), v)
        return self.linear(self.reshape(self.transpose(y, 0, 2, 1, 3), batch, length, size), size, size)

    def block(self, x, batch, length, size, heads, wide=4, **how):
        x = self.node("Add", x, self.attention(self.layer_norm(x, size), batch, length, size, heads, **how))
        y = self.linear(self.layer_norm(x, size), size, wide * size)
        return self.node("Add", x, self.linear(self.gelu(y), wide * size, size))

    def head(self, x, classes=100):
        n = self.channels[x]
        x = self.reshape(self.act("GlobalAveragePool", x), -1, n)
        self.output(self.linear(x, n, classes))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = 8
        return onnx.shape_inference.infer_shapes(model)


def image(m, batch=1, size=96, channels=3):
    return m.input("x", [batch, channels, size, size])


def residual(m, x, filters, stride=1, bottleneck=False, groups=1, se=False):
    y = m.relu(m.norm(m.conv(x, filters, 1 if bottleneck else 3, 1 if bottleneck else stride)))
    if bottleneck:
        y = m.relu(m.norm(m.conv(y, filters, 3, stride, groups=groups)))
    y = m.squeeze_excite(y, "Sigmoid") if se else y
    y = m.norm(m.conv(y, filters, 1 if bottleneck else 3, gain=0.7))
    if stride > 1 or m.channels[x] != filters:
        x = m.norm(m.conv(x, filters, 1, stride))
    return m.relu(m.binary("Add", x, y))


def stages(m, x, plan, **how):
    for filters, count in plan:
        for i in range(count):
            x = residual(m, x, filters, 2 if i == 0 else 1, **how)
    return x


@network
def resnet_basic(m):
    x = m.pool(m.relu(m.norm(m.conv(image(m, 1, 128), 32, 7, 2))), kernel=3, pad=1)
    m.head(stages(m, x, [(64, 2), (128, 2), (256, 2)]))


@network
def resnet_bottleneck(m):
    x = m.relu(m.norm(m.conv(image(m), 32, 7, 2)))
    m.head(stages(m, x, [(64, 3), (128, 4), (256, 6)], bottleneck=True))


@network
def regnet(m):
    x = m.relu(m.norm(m.conv(image(m), 32, 3, 2)))
    m.head(stages(m, x, [(64, 2), (160, 4), (320, 6)], bottleneck=True, groups=8, se=True))


@network
def resnext(m):
    x = m.relu(m.norm(m.conv(image(m), 32, 7, 2)))
    m.head(stages(m, x, [(128, 3), (256, 4), (512, 3)], bottleneck=True, groups=32))


def inverted(m, x, filters, stride=1, wide=4, dilation=1, act=None, se=False, kernel=3):
    act = act or m.relu
    n = m.channels[x]
    y = act(m.norm(m.conv(x, n * wide, 1)))
    y = act(m.norm(m.conv(y, n * wide, kernel, stride, dilation, groups=n * wide)))
    y = m.squeeze_excite(y) if se else y
    y = m.norm(m.conv(y, filters, 1, gain=0.8))
    return m.binary("Add", x, y) if stride == 1 and n == filters else y


@network
def mobilenet_v2(m):
    x = m.act("Clip", m.norm(m.conv(image(m), 16, 3, 2)))
    for filters, count, stride in [(16, 2, 1), (24, 3, 2), (48, 4, 2), (96, 3, 2)]:
        for i in range(count):
            x = inverted(m, x, filters, stride if i == 0 else 1)
    m.head(m.relu(m.conv(x, 256, 1)))


@network
def segmentation_dilated(m):
    """Like DeepLab on MobileNet-V3: dilated inverted residuals, hard swish, pyramids of dilations."""
    x = m.hard_swish(m.norm(m.conv(image(m, 1, 128), 16, 3, 2)))
    for filters, count, stride, dilation in [(24, 2, 2, 1), (40, 4, 2, 1), (80, 5, 1, 2), (112, 4, 1, 4)]:
        for i in range(count):
            x = inverted(m, x, filters, stride if i == 0 else 1, dilation=dilation, act=m.hard_swish, se=True, kernel=5)
    parts = [m.relu(m.conv(x, 64, 1))] + [m.relu(m.norm(m.conv(x, 64, 3, dilation=d))) for d in (6, 12, 18)]
    pooled = m.relu(m.conv(m.act("GlobalAveragePool", x), 64, 1))
    y = m.binary("Add", m.relu(m.conv(m.concat(*parts), 64, 1)), pooled)
    m.output(m.up(m.conv(y, 21, 1), 8))


@network
def unet(m):
    x, skips = image(m, 1, 64), []
    for filters in (24, 48, 96):
        x = m.relu(m.norm(m.conv(m.relu(m.norm(m.conv(x, filters))), filters)))
        skips.append(x)
        x = m.pool(x)
    x = m.relu(m.conv(x, 128))
    for filters, skip in zip((96, 48, 24), reversed(skips)):
        x = m.concat(m.up(x, 2, "nearest"), skip)
        x = m.relu(m.norm(m.conv(m.relu(m.norm(m.conv(x, filters))), filters)))
    m.output(m.act("Sigmoid", m.conv(x, 2, 1)))


@network
def efficientnet(m):
    x = m.silu(m.norm(m.conv(image(m), 24, 3, 2)))
    for filters, count, stride, kernel in [(24, 2, 1, 3), (32, 3, 2, 3), (56, 3, 2, 5), (112, 5, 2, 3), (192, 4, 1, 5)]:
        for i in range(count):
            x = inverted(m, x, filters, stride if i == 0 else 1, wide=6, act=m.silu, se=True, kernel=kernel)
    m.head(m.silu(m.conv(x, 384, 1)))


def instance_norm(m, x):
    n = m.channels[x]
    y = m.node("InstanceNormalization", x, np.ones(n, np.float32), m.normal(n, std=0.1), epsilon=1e-5)
    m.channels[y] = n
    return y


@network
def efficientnet_v2_ill_conditioned(m):
    """Fused inverted residuals (3x3, then 1x1), as the first half of EfficientNet-V2 has them. Each channel is brought to
    one scale behind each convolution and nothing goes around them, so that every layer makes errors larger."""
    x = m.silu(instance_norm(m, m.conv(image(m), 32, 3, 2)))
    for filters, count, stride in [(32, 4, 1), (48, 6, 2), (64, 6, 2)]:
        for i in range(count):
            y = m.silu(instance_norm(m, m.conv(x, 4 * m.channels[x], 3, stride if i == 0 else 1)))
            x = instance_norm(m, m.conv(y, filters, 1))
    m.head(m.silu(m.conv(x, 256, 1)))


@network
def convnext(m):
    x, size = image(m, 1, 64), 16
    x = m.conv(x, 64, 4, 4) if False else m.conv(x, 64, 3, 4)
    for i, filters in enumerate((64, 128)):
        if i:
            x, size = m.conv(x, filters, 3, 2), size // 2
        for _ in range(4):
            y = m.transpose(m.conv(x, filters, 7, groups=filters), 0, 2, 3, 1)
            y = m.gelu(m.linear(m.layer_norm(y, filters), filters, 4 * filters))
            y = m.node("Mul", m.linear(y, 4 * filters, filters), m.normal(filters, std=0.3))
            x = m.binary("Add", x, m.transpose(y, 0, 3, 1, 2))
    m.head(x)


@network
def vit(m):
    x = m.conv(image(m, 2, 64), 128, 3, 8)
    x = m.transpose(m.reshape(x, 2, 128, 64), 0, 2, 1)
    x = m.node("Add", x, m.normal(64, 128, std=0.5))
    for _ in range(6):
        x = m.block(x, 2, 64, 128, 4)
    m.output(m.linear(m.node("ReduceMean", m.layer_norm(x, 128), axes=[1], keepdims=0), 128, 50))


@network
def mobilevit(m):
    """Convolutions, then attention over the pixels at one place of 2x2 patches, and back."""
    x = m.silu(m.norm(m.conv(image(m, 1, 96), 16, 3, 2)))
    size = 48
    for filters, depth in ((48, 2), (80, 4), (96, 3)):
        x, size = inverted(m, x, filters, 2, act=m.silu), size // 2
        y = m.conv(m.silu(m.norm(m.conv(x, filters))), filters, 1)
        half = size // 2
        y = m.transpose(m.reshape(y, filters * half, 2, half, 2), 0, 2, 1, 3)
        y = m.transpose(m.reshape(y, 1, filters, half * half, 4), 0, 3, 2, 1)
        y = m.reshape(y, 4, half * half, filters)
        for _ in range(depth):
            y = m.block(y, 4, half * half, filters, 4, wide=2)
        y = m.transpose(m.reshape(m.layer_norm(y, filters), 1, 4, half * half, filters), 0, 3, 2, 1)
        y = m.transpose(m.reshape(y, filters * half, half, 2, 2), 0, 2, 1, 3)
        y = m.reshape(y, 1, filters, size, size)
        m.channels[y] = filters
        y = m.silu(m.conv(y, filters, 1))
        x = m.silu(m.norm(m.conv(m.concat(x, y), filters)))
    m.head(m.silu(m.conv(x, 160, 1)))


@network
def swin(m):
    """Attention inside 4x4 windows, every second time shifted."""
    x = m.transpose(m.conv(image(m, 1, 64), 96, 3, 4), 0, 2, 3, 1)
    for shift in (0, 2, 0, 2):
        y = m.layer_norm(x, 96)
        if shift:
            for axis in (1, 2):
                a = m.node("Slice", y, np.array([shift]), np.array([16]), np.array([axis]))
                b = m.node("Slice", y, np.array([0]), np.array([shift]), np.array([axis]))
                y = m.node("Concat", a, b, axis=axis)
        y = m.reshape(m.transpose(m.reshape(y, 1, 4, 4, 4, 4, 96), 0, 1, 3, 2, 4, 5), 16, 16, 96)
        y = m.attention(y, 16, 16, 96, 3, mask=m.normal(3, 16, 16))
        y = m.reshape(m.transpose(m.reshape(y, 1, 4, 4, 4, 4, 96), 0, 1, 3, 2, 4, 5), 1, 16, 16, 96)
        x = m.node("Add", x, y)
        x = m.node("Add", x, m.linear(m.gelu(m.linear(m.layer_norm(x, 96), 96, 384)), 384, 96))
    m.output(m.linear(m.node("ReduceMean", x, axes=[1, 2], keepdims=0), 96, 50))


@network
def mixer(m):
    x = m.transpose(m.reshape(m.conv(image(m, 1, 64), 128, 3, 8), 1, 128, 64), 0, 2, 1)
    for _ in range(6):
        y = m.transpose(m.layer_norm(x, 128), 0, 2, 1)
        x = m.node("Add", x, m.transpose(m.linear(m.gelu(m.linear(y, 64, 128)), 128, 64), 0, 2, 1))
        x = m.node("Add", x, m.linear(m.gelu(m.linear(m.layer_norm(x, 128), 128, 512)), 512, 128))
    m.output(m.linear(m.node("ReduceMean", x, axes=[1], keepdims=0), 128, 50))


def tokens(m, batch, length, size):
    ids = m.input("ids", [batch, length], TensorProto.INT64)
    return m.node("Gather", m.normal(50, size), ids)


@network
def bert(m):
    x = m.layer_norm(m.node("Add", tokens(m, 2, 48, 128), m.normal(48, 128)), 128)
    for _ in range(5):
        x = m.block(x, 2, 48, 128, 8)
    m.output(m.linear(x, 128, 64))


@network
def gpt(m):
    mask = np.triu(np.full((48, 48), -1e9, np.float32), 1)
    x = m.node("Add", tokens(m, 1, 48, 128), m.normal(48, 128))
    for _ in range(5):
        x = m.block(x, 1, 48, 128, 4, mask=mask)
    m.output(m.linear(m.layer_norm(x, 128), 128, 200))


@network
def llama(m):
    length, size, heads = 48, 128, 4
    half = size // heads // 2
    angles = np.arange(length)[:, None] * 10000.0**(-np.arange(half) / half)
    cos, sin = (np.concatenate([f(angles)] * 2, 1).astype(np.float32) for f in (np.cos, np.sin))

    def rotate(t):
        a = m.node("Slice", t, np.array([0]), np.array([half]), np.array([3]))
        b = m.node("Slice", t, np.array([half]), np.array([2 * half]), np.array([3]))
        rotated = m.node("Concat", m.node("Neg", b), a, axis=-1)
        return m.node("Add", m.node("Mul", t, cos), m.node("Mul", rotated, sin))

    mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
    x = tokens(m, 1, length, size)
    for _ in range(4):
        y = m.attention(m.rms_norm(x, size), 1, length, size, heads, mask=mask, rotate=rotate)
        x = m.node("Add", x, y)
        y = m.rms_norm(x, size)
        gate, up = m.linear(y, size, 352, bias=False), m.linear(y, size, 352, bias=False)
        y = m.node("Mul", m.node("Mul", gate, m.node("Sigmoid", gate)), up)
        x = m.node("Add", x, m.linear(y, 352, size, bias=False))
    m.output(m.linear(m.rms_norm(x, size), size, 200, bias=False))


def recurrent(m, op, gates):
    x = m.transpose(m.input("x", [2, 40, 64]), 1, 0, 2)
    width = 64
    for _ in range(2):
        y = m.node(op, x, m.normal(1, gates * 64, width, std=0.15), m.normal(1, gates * 64, 64, std=0.15),
                   m.normal(1, 2 * gates * 64, std=0.1), hidden_size=64)
        x, width = m.reshape(y, 40, 2, 64), 64
    m.output(m.linear(x, 64, 20))


@network
def lstm(m):
    recurrent(m, "LSTM", 4)


@network
def gru(m):
    recurrent(m, "GRU", 3)


@network
def recommender(m):
    dense = m.node("Relu", m.linear(m.input("dense", [8, 13]), 13, 32))
    ids = m.input("ids", [8, 6], TensorProto.INT64)
    table = m.node("Gather", m.normal(100, 32), ids)
    all_ = m.node("Concat", m.reshape(dense, 8, 1, 32), table, axis=1)
    dots = m.reshape(m.node("MatMul", all_, m.transpose(all_, 0, 2, 1)), 8, 49)
    y = m.node("Relu", m.linear(m.node("Concat", dense, dots, axis=1), 81, 64))
    m.output(m.node("Sigmoid", m.linear(y, 64, 1)))


@network
def autoencoder(m):
    x = image(m, 1, 64)
    for filters in (32, 64, 128):
        x = m.act("LeakyRelu", m.norm(m.conv(x, filters, 3, 2)), alpha=0.2)
    for filters in (64, 32, 3):
        w = m.normal(m.channels[x], filters, 4, 4, std=0.04)
        y = m.node("ConvTranspose", x, w, strides=[2, 2], pads=[1] * 4, kernel_shape=[4, 4])
        m.channels[y] = filters
        x = m.relu(y) if filters > 3 else m.act("Tanh", y)
    m.output(x)


@network
def shufflenet(m):
    x, size = m.relu(m.norm(m.conv(image(m), 48, 3, 2))), 48
    for filters, stride in [(48, 1), (96, 2), (96, 1), (192, 2), (192, 1)]:
        y = m.relu(m.norm(m.conv(x, filters, 1, groups=4)))
        size_now = size
        y = m.reshape(m.transpose(m.reshape(y, 1, 4, filters // 4, size_now, size_now), 0, 2, 1, 3, 4), 1, filters,
                      size_now, size_now)
        m.channels[y] = filters
        y = m.norm(m.conv(y, filters, 3, stride, groups=filters))
        y = m.norm(m.conv(y, filters, 1, groups=4))
        x = m.relu(m.binary("Add", x, y)) if stride == 1 and m.channels[x] == filters else m.relu(y)
        size //= stride
    m.head(x)


@network
def densenet(m):
    x = m.pool(m.relu(m.norm(m.conv(image(m), 32, 7, 2))))
    for count in (4, 6):
        for _ in range(count):
            y = m.conv(m.relu(m.norm(x)), 64, 1)
            x = m.concat(x, m.conv(m.relu(m.norm(y)), 16))
        x = m.pool(m.conv(m.relu(m.norm(x)), m.channels[x] // 2, 1), "AveragePool")
    m.head(x)


@network
def inception(m):
    x = m.pool(m.relu(m.conv(image(m), 32, 3, 2)))
    for n in (16, 24, 32):
        a = m.relu(m.conv(x, n, 1))
        b = m.relu(m.conv(m.relu(m.conv(x, n, 1)), 2 * n))
        c = m.relu(m.conv(m.relu(m.conv(x, n // 2, 1)), n, 5))
        d = m.relu(m.conv(m.pool(x, "AveragePool", 3, 1, 1), n, 1))
        x = m.concat(a, b, c, d)
    m.head(x)


@network
def detector(m):
    x, outputs = m.silu(m.conv(image(m, 1, 96), 16, 3, 2)), []
    levels = []
    for filters in (32, 64, 128):
        x = m.silu(m.norm(m.conv(x, filters, 3, 2)))
        y = m.silu(m.conv(m.silu(m.conv(x, filters // 2, 1)), filters))
        x = m.binary("Add", x, y)
        levels.append(x)
    y = m.concat(levels[1], m.up(m.conv(levels[2], 64, 1), 2, "nearest"))
    for i, level in enumerate((m.silu(m.conv(y, 64)), levels[2])):
        p = m.conv(level, 24, 1)
        size = 12 if i == 0 else 6
        p = m.transpose(m.reshape(p, 1, 3, 8, size * size), 0, 1, 3, 2)
        outputs.append(m.reshape(m.node("Sigmoid", p), 1, 3 * size * size, 8))
    m.output(m.node("Concat", *outputs, axis=1))


@network
def waves(m):
    """Dilated convolutions over time, with gates."""
    x = m.input("x", [1, 32, 256])
    m.channels[x] = 32
    for dilation in (1, 2, 4, 8, 16, 32):
        parts = []
        for op in ("Tanh", "Sigmoid"):
            w = m.normal(32, 32, 3, std=0.12)
            y = m.node("Conv", x, w, m.normal(32, std=0.1), dilations=[dilation], pads=[2 * dilation, 0],
                       kernel_shape=[3])
            parts.append(m.node(op, y))
        y = m.node("Conv", m.node("Mul", *parts), m.normal(32, 32, 1, std=0.2), kernel_shape=[1])
        x = m.node("Add", x, y)
    m.output(x)


@network
def style(m):
    x = m.relu(m.conv(image(m, 1, 48), 24, 7))
    for _ in range(4):
        y = m.conv(x, 24)
        y = m.act("InstanceNormalization", y) if False else m.node(
            "InstanceNormalization", y, np.ones(24, np.float32), m.normal(24, std=0.1))
        m.channels[y] = 24
        x = m.binary("Add", x, m.relu(y))
    m.output(m.act("Tanh", m.conv(x, 3, 7)))


@network
def diffusion(m):
    """Group normalization as exporters write it, SiLU, and attention over pixels."""
    x = m.conv(image(m, 1, 32, 4), 64)
    for _ in range(3):
        y = x
        for _ in range(2):
            g = m.node("InstanceNormalization", m.reshape(y, 1, 8, -1), np.ones(8, np.float32), np.zeros(8, np.float32))
            g = m.reshape(g, 1, 64, 32, 32)
            g = m.node("Add", m.node("Mul", g, 1 + m.normal(64, 1, 1, std=0.2)), m.normal(64, 1, 1, std=0.1))
            m.channels[g] = 64
            y = m.conv(m.silu(g), 64)
        x = m.binary("Add", x, y)
    y = m.transpose(m.reshape(m.conv(x, 64, 3, 4), 1, 64, 64), 0, 2, 1)
    y = m.attention(y, 1, 64, 64, 4)
    m.output(m.linear(y, 64, 16))


@network
def mlp_wide(m):
    x = m.input("x", [32, 256])
    for _ in range(6):
        x = m.node("Relu", m.linear(x, 256, 256, gain=1.4))
    m.output(m.linear(x, 256, 10))


@network
def qdq_resnet(m):
    m.quantized = True
    x = m.relu(m.conv(image(m, 1, 64), 32, 3, 2))
    for filters, stride in [(64, 2), (64, 1), (128, 2), (128, 1)]:
        y = m.conv(m.relu(m.conv(x, filters, 3, stride)), filters, gain=0.7)
        x = x if stride == 1 else m.conv(x, filters, 1, stride)
        x = m.relu(m.binary("Add", x, y))
    m.head(x)


@network
def qdq_mobilenet(m):
    m.quantized = True
    x = m.relu(m.conv(image(m, 1, 64), 16, 3, 2))
    for filters, stride in [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (64, 1)]:
        n = m.channels[x]
        y = m.relu(m.conv(x, 4 * n, 1))
        y = m.relu(m.conv(y, 4 * n, 3, stride, groups=4 * n))
        y = m.conv(y, filters, 1)
        x = m.binary("Add", x, y) if stride == 1 and n == filters else y
    m.head(x)


@network
def qdq_transformer(m):
    m.quantized = True
    x = m.layer_norm(m.node("Add", tokens(m, 1, 32, 64), m.normal(32, 64)), 64)
    for _ in range(3):
        x = m.block(x, 1, 32, 64, 4)
    m.output(m.linear(x, 64, 20))


def make(name):
    maker = Maker(name)
    NETWORKS[name](maker)
    return maker.model()


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or NETWORKS:
        onnx.save(make(name), folder / f"{name}.onnx")
        print(folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
