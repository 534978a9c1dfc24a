"""A product whose weights reach it in the ways that exporters and tools leave behind.

    WEIGHTS[name] = function(g) -> the name of the weights, [INNER, OUTER]
"""
import numpy as np
from builder import Builder
from onnx import TensorProto, helper

INNER, OUTER = 256, 384
WEIGHTS = {}


def way(build):
    WEIGHTS[build.__name__] = build
    return build


@way
def plain(g: Builder) -> str:
    return g.weight(INNER, OUTER)


@way
def through_identity(g: Builder) -> str:
    return g.Identity(g.weight(INNER, OUTER))


@way
def through_cast(g: Builder) -> str:
    random = np.random.default_rng(2)
    return g.Cast(g.initializer(random.uniform(-1, 1, (INNER, OUTER)).astype(np.float16)), to=TensorProto.FLOAT)


@way
def through_transpose(g: Builder) -> str:
    return g.transpose(g.weight(OUTER, INNER), 1, 0)


@way
def through_reshape(g: Builder) -> str:
    return g.Reshape(g.weight(INNER * OUTER), g.ints(INNER, OUTER))


@way
def through_slice(g: Builder) -> str:
    return g.between(g.weight(3 * INNER, OUTER), INNER, 2 * INNER, 0)


@way
def through_concat(g: Builder) -> str:
    return g.Concat(g.weight(INNER, OUTER // 2), g.weight(INNER, OUTER // 2), axis=1)


@way
def through_dequantize(g: Builder) -> str:
    random = np.random.default_rng(3)
    return g.DequantizeLinear(g.initializer(random.integers(-100, 100, (INNER, OUTER)).astype(np.int8)), g.const(0.01))


@way
def through_dequantize_of_channels(g: Builder) -> str:
    random = np.random.default_rng(4)
    scales = g.const(random.uniform(0.01, 0.02, OUTER))
    return g.DequantizeLinear(g.initializer(random.integers(-100, 100, (INNER, OUTER)).astype(np.int8)), scales, axis=1)


@way
def through_norm_of_weights(g: Builder) -> str:
    """torch.nn.utils.weight_norm"""
    v = g.weight(INNER, OUTER)
    return g.Mul(g.weight(1, OUTER), g.Div(v, g.Sqrt(g.ReduceSum(g.Mul(v, v), g.ints(0), keepdims=1))))


@way
def through_a_known_branch(g: Builder) -> str:
    taken, left = g.weight(INNER, OUTER), g.weight(INNER, OUTER)

    def branch(name: str, x: str):
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, [INNER, OUTER])
        return helper.make_graph([helper.make_node("Identity", [x], [name])], name, [], [value])

    return g.If(g.const(True, bool), then_branch=branch("taken", taken), else_branch=branch("left", left))


def model(name: str):
    g = Builder(17, name)
    g.output(g.MatMul(g.input("x", "rows", INNER), WEIGHTS[name](g)), rank=2)
    return g.model(name)
