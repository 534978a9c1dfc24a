"""Blocks as exporters write them in which a value and its results meet again: layer scales, residuals behind
transposes, rotary embedding of merged products, activations spelled out, cyclic shifts.

    EXPORTED[name] = Case(opset, build, runs, steps, tolerance)

`build(g)` writes the graph; `runs` are the values of its symbols, all served by one plan. `steps` is how many steps that
compute something the plan may have at most.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np
from builder import INT64, Builder

END = 2**63 - 1
IMAGES = ({"b": 1}, {"b": 3})
ROWS = ({"b": 1, "s": 5}, {"b": 3, "s": 7})


@dataclass
class Case:
    opset: int
    build: Callable[[Builder], None]
    runs: tuple
    steps: int


EXPORTED: dict[str, Case] = {}


def exported(opset: int, steps: int, runs: tuple = IMAGES):
    def put(build):
        EXPORTED[build.__name__] = Case(opset, build, runs, steps)
        return build

    return put


# ---- shared parts -----------------------------------------------------------------------------------


def gelu(g: Builder, x: str) -> str:
    return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, g.const(np.sqrt(2)))), g.const(1))), g.const(0.5))


def layer_norm(g: Builder, x: str, width: int, native: bool = True) -> str:
    scale, bias = g.weight(width), g.weight(width)
    if native:
        return g.LayerNormalization(x, scale, bias, axis=-1, epsilon=1e-6)
    axes = {"axes": [-1]} if g.opset < 18 else {}
    more = () if axes else (g.ints(-1),)
    centered = g.Sub(x, g.ReduceMean(x, *more, **axes))
    variance = g.ReduceMean(g.Pow(centered, g.const(2)), *more, **axes)
    return g.Add(g.Mul(g.Div(centered, g.Sqrt(g.Add(variance, g.const(1e-6)))), scale), bias)


def depthwise(g: Builder, x: str, width: int) -> str:
    return g.Conv(x, g.weight(width, 1, 7, 7, scale=0.1), g.weight(width), group=width, kernel_shape=[7, 7],
                  pads=[3, 3, 3, 3])


def rows_gemm(g: Builder, x: str, inputs: int, outputs: int, side: int) -> str:
    """nn.Linear of an image by exporters that write Gemm."""
    y = g.Gemm(g.Reshape(x, g.ints(-1, inputs)), g.weight(outputs, inputs), g.weight(outputs), transB=1)
    return g.Reshape(y, g.ints(-1, side, side, outputs))


# ---- layer scales and residuals ----------------------------------------------------------------------------------

WIDTH, SIDE = 16, 6


def image(g: Builder, width: int = WIDTH, side: int = SIDE) -> str:
    """Behind a convolution, as blocks stand."""
    x = g.input("x", "b", 3, side, side)
    return g.Conv(x, g.weight(width, 3, 1, 1), g.weight(width), kernel_shape=[1, 1])


def convnext(g: Builder, x: str, scale: str, native: bool, gemm: bool = False) -> str:
    """scale: where the layer scale stands."""
    y = g.transpose(depthwise(g, x, WIDTH), 0, 2, 3, 1)
    y = layer_norm(g, y, WIDTH, native)
    linear = (lambda v, i, o: rows_gemm(g, v, i, o, SIDE)) if gemm else g.linear
    y = linear(gelu(g, linear(y, WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)
    if scale == "inside":
        y = g.Mul(g.weight(WIDTH), y)
    y = g.transpose(y, 0, 3, 1, 2)
    if scale == "outside":
        y = g.Mul(y, g.weight(WIDTH, 1, 1))
    if scale == "four axes":
        y = g.Mul(y, g.weight(1, WIDTH, 1, 1))
    return g.Add(y, x)


def two_blocks(scale: str, native: bool = True, gemm: bool = False):
    def build(g: Builder) -> None:
        x = image(g)
        for _ in range(2):
            x = convnext(g, x, scale, native, gemm)
        g.output(g.GlobalAveragePool(x), rank=4)

    return build


# The first convolution, then four a block: depthwise, normalization, two products; the mean.
for row in (("convnext_torchvision", 17, two_blocks("outside")), ("convnext_timm", 17, two_blocks("four axes")),
            ("convnext_transformers", 17, two_blocks("inside")),
            ("convnext_without_scale", 17, two_blocks("none")),
            ("convnext_opset_13", 13, two_blocks("outside", native=False)),
            ("convnext_dynamo", 18, two_blocks("four axes", native=False)),
            ("convnext_gemm", 17, two_blocks("outside", gemm=True))):
    EXPORTED[row[0]] = Case(row[1], row[2], IMAGES, 10)


@exported(15, 10)
def convnext_keras(g: Builder):
    """tf2onnx: images are channels-last, transposes stand around convolutions, normalization is spelled out."""
    x = g.transpose(image(g), 0, 2, 3, 1)
    for _ in range(2):
        y = g.transpose(depthwise(g, g.transpose(x, 0, 3, 1, 2), WIDTH), 0, 2, 3, 1)
        y = layer_norm(g, y, WIDTH, native=False)
        y = g.Add(g.MatMul(y, g.weight(WIDTH, 4 * WIDTH)), g.weight(4 * WIDTH))
        y = g.Mul(g.Mul(g.const(0.5), y), g.Add(g.const(1), g.Erf(g.Mul(y, g.const(np.sqrt(0.5))))))
        y = g.Add(g.MatMul(y, g.weight(4 * WIDTH, WIDTH)), g.weight(WIDTH))
        x = g.Add(x, g.Mul(y, g.weight(WIDTH)))
    g.output(g.ReduceMean(x, axes=[1, 2], keepdims=0), rank=2)


@exported(17, 4, ROWS)
def layer_scale_of_tokens(g: Builder):
    """CaiT, BEiT, DINOv2: x + gamma * mlp(norm(x))."""
    x = g.input("x", "b", "s", WIDTH)
    y = g.linear(gelu(g, g.linear(layer_norm(g, x, WIDTH), WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)
    g.output(g.Add(x, g.Mul(y, g.weight(WIDTH))), rank=3)


@exported(17, 5)
def layer_scale_of_convolution(g: Builder):
    """PoolFormer and its like: x + gamma * conv(x), gamma as [c,1,1]."""
    x = image(g)
    y = g.Conv(x, g.weight(WIDTH, WIDTH, 1, 1), g.weight(WIDTH), kernel_shape=[1, 1])
    x = g.Add(x, g.Mul(g.weight(WIDTH, 1, 1), y))
    y = g.Conv(gelu(g, x), g.weight(WIDTH, WIDTH, 1, 1), g.weight(WIDTH), kernel_shape=[1, 1])
    g.output(g.Add(x, g.Mul(g.Unsqueeze(g.Unsqueeze(g.weight(WIDTH), g.ints(-1)), g.ints(-1)), y)), rank=4)


@exported(17, 4)
def tokens_of_an_image(g: Builder):
    """PVT, MaxViT: flatten(2).transpose(1, 2), a product, and back to where the residual is."""
    x = image(g)
    rows = g.transpose(g.Reshape(x, g.ints(0, WIDTH, SIDE * SIDE)), 0, 2, 1)
    y = g.linear(layer_norm(g, rows, WIDTH), WIDTH, WIDTH)
    y = g.Reshape(g.transpose(y, 0, 2, 1), g.ints(0, WIDTH, SIDE, SIDE))
    g.output(g.Add(x, g.Mul(y, g.weight(WIDTH, 1, 1))), rank=4)


# ---- rotary embedding in whole blocks, gates ---------------------------------------------------------------------

HEADS, SIZE = 4, 8
TOKENS = HEADS * SIZE


def tables(g: Builder, positions: str, size: int = SIZE, cast: bool = False) -> list[str]:
    """transformers' LlamaRotaryEmbedding of position ids [b,s]: [b,1,s,size]."""
    frequency = g.const((10000.0 ** (-np.arange(0, size, 2) / size)).reshape(1, size // 2, 1))
    batch = g.extent(positions, 0)
    wide = g.Expand(frequency, g.joined(batch, size // 2, 1))
    angles = g.transpose(g.MatMul(wide, g.Cast(g.Unsqueeze(positions, g.ints(1)), to=1)), 0, 2, 1)
    both = g.Concat(angles, angles, axis=-1)
    found = [g.Mul(f(both), g.const(1.0)) for f in (g.Cos, g.Sin)]
    return [g.Unsqueeze(g.Cast(table, to=1) if cast else table, g.ints(1)) for table in found]


def rotate(g: Builder, x: str, cos: str, sin: str, size: int = SIZE, computed: bool = False) -> str:
    """x * cos + rotate_half(x) * sin. `computed`: half of the size is read from the shape."""
    if computed:
        half = g.Unsqueeze(g.Div(g.extent(x, 3), g.int(2)), g.ints(0))
        first = g.Slice(x, g.ints(0), half, g.ints(3), g.ints(1))
        second = g.Slice(x, half, g.ints(END), g.ints(3), g.ints(1))
    else:
        first, second = g.between(x, 0, size // 2, 3), g.between(x, size // 2, END, 3)
    return g.Add(g.Mul(x, cos), g.Mul(g.Concat(g.Neg(second), first, axis=-1), sin))


def heads(g: Builder, x: str, count: int, like: str) -> str:
    return g.transpose(g.view(x, g.extent(like, 0), g.extent(like, 1), count, SIZE), 0, 2, 1, 3)


def repeated(g: Builder, x: str, times: int) -> str:
    """repeat_kv"""
    if times == 1:
        return x
    b, n, s = (g.extent(x, i) for i in range(3))
    wide = g.Expand(g.Unsqueeze(x, g.ints(2)), g.joined(b, n, times, s, SIZE))
    return g.Reshape(wide, g.joined(b, g.Mul(n, g.int(times)), s, SIZE))


def rms(g: Builder, x: str, width: int) -> str:
    axes = {"axes": [-1]} if g.opset < 18 else {}
    more = () if axes else (g.ints(-1),)
    variance = g.ReduceMean(g.Pow(x, g.const(2)), *more, **axes)
    return g.Mul(g.weight(width), g.Mul(x, g.Div(g.const(1), g.Sqrt(g.Add(variance, g.const(1e-6))))))


def llama(g: Builder, x: str, turn: list[str], mask: str, groups: int, merged: bool, computed: bool) -> str:
    kv = HEADS // groups
    y = rms(g, x, TOKENS)
    widths = [TOKENS, kv * SIZE, kv * SIZE]
    if merged:  # Phi-3
        packed = g.linear(y, TOKENS, sum(widths), bias=False)
        ends = np.cumsum(widths).tolist()
        q, k, v = (g.between(packed, end - width, end, 2) for width, end in zip(widths, ends))
    else:
        q, k, v = (g.linear(y, TOKENS, width, bias=False) for width in widths)
    q, k, v = heads(g, q, HEADS, x), heads(g, k, kv, x), heads(g, v, kv, x)
    q, k = rotate(g, q, *turn, computed=computed), rotate(g, k, *turn, computed=computed)
    k, v = repeated(g, k, groups), repeated(g, v, groups)
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.const(SIZE ** -0.5))
    weights = g.Softmax(g.Add(scores, mask), axis=-1)
    y = g.view(g.transpose(g.MatMul(weights, v), 0, 2, 1, 3), g.extent(x, 0), g.extent(x, 1), TOKENS)
    x = g.Add(x, g.linear(y, TOKENS, TOKENS, bias=False))
    y = rms(g, x, TOKENS)
    if merged:
        gate, up = g.Split(g.linear(y, TOKENS, 128, bias=False), g.ints(64, 64), axis=-1, outputs=2)
    else:
        gate, up = (g.linear(y, TOKENS, 64, bias=False) for _ in range(2))
    y = g.Mul(g.Mul(gate, g.Sigmoid(gate)), up)
    return g.Add(x, g.linear(y, 64, TOKENS, bias=False))


def decoder(groups: int, merged: bool, computed: bool = False, cast: bool = False):
    def build(g: Builder) -> None:
        x = g.input("x", "b", "s", TOKENS)
        positions = g.input("positions", "b", "s", type=INT64)
        mask = g.input("mask", "b", 1, "s", "s")
        turn = tables(g, positions, cast=cast)
        for _ in range(2):
            x = llama(g, x, turn, mask, groups, merged, computed)
        g.output(x, rank=3)

    return build


# Of a layer: two normalizations, four products, the rotation, attention and the gate; of the tables the conversion of
# positions, the angles, cosine and sine at once.
for row in (("llama", 17, decoder(1, False)), ("llama_grouped", 14, decoder(2, False, computed=True)),
            ("llama_one_key", 17, decoder(4, False)), ("phi3", 17, decoder(1, True, cast=True)),
            ("phi3_grouped", 18, decoder(2, True)), ("llama_opset_18", 18, decoder(2, False, computed=True, cast=True))):
    # A single head of keys is not merged with the queries yet.
    EXPORTED[row[0]] = Case(row[1], row[2], ROWS, 25 if row[0] == "llama_one_key" else 21)


def table_of(g: Builder, positions: str, *axes: int, size: int = SIZE) -> list[str]:
    """Cosine and sine of positions [b,s] times frequencies, spelled as an outer product, with axes of 1 put in."""
    frequency = g.const(10000.0 ** (-np.arange(0, size, 2) / size))
    angles = g.Mul(g.Unsqueeze(g.Cast(positions, to=1), g.ints(-1)), frequency)
    both = g.Concat(angles, angles, axis=-1)
    return [g.Unsqueeze(f(both), g.ints(*axes)) if axes else f(both) for f in (g.Cos, g.Sin)]


def attend(g: Builder, q: str, k: str, v: str) -> str:
    scores = g.Mul(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.const(SIZE ** -0.5))
    return g.transpose(g.MatMul(g.Softmax(scores, axis=-1), v), 0, 2, 1, 3)


def positions_of(g: Builder) -> tuple[str, str]:
    return g.input("x", "b", "s", TOKENS), g.input("positions", "b", "s", type=INT64)


# The product, the tables in three steps, two rotations, attention; positions that are counted, and queries that do not
# lie evenly, are one more.
@exported(17, 8, ROWS)
def rotary_of_parts_of_heads(g: Builder):
    """InternLM2: heads are parted into groups of queries with a key and a value each."""
    x, positions = positions_of(g)
    groups = HEADS // 2
    packed = g.linear(x, TOKENS, groups * 4 * SIZE, bias=False)
    packed = g.view(packed, g.extent(x, 0), g.extent(x, 1), groups, 4, SIZE)
    q = g.view(g.between(packed, 0, 2, 3), g.extent(x, 0), g.extent(x, 1), HEADS, SIZE)
    k, v = (g.Squeeze(g.between(packed, i, i + 1, 3), g.ints(3)) for i in (2, 3))
    turn = table_of(g, positions, 1)
    q, k, v = (g.transpose(value, 0, 2, 1, 3) for value in (q, k, v))
    q, k = rotate(g, q, *turn), rotate(g, k, *turn)
    y = attend(g, q, repeated(g, k, 2), repeated(g, v, 2))
    g.output(g.view(y, g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


@exported(17, 6, ROWS)
def rotary_before_heads_move(g: Builder):
    """Tables have an axis of 1 for the heads, which stand behind the positions."""
    x, positions = positions_of(g)
    packed = g.linear(x, TOKENS, 3 * TOKENS, bias=False)
    q, k, v = (g.view(part, g.extent(x, 0), g.extent(x, 1), HEADS, SIZE)
               for part in g.Split(packed, g.ints(TOKENS, TOKENS, TOKENS), axis=-1, outputs=3))
    turn = table_of(g, positions, 2)
    q, k = rotate(g, q, *turn), rotate(g, k, *turn)
    y = attend(g, *(g.transpose(value, 0, 2, 1, 3) for value in (q, k, v)))
    g.output(g.view(y, g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


@exported(17, 6, ROWS)
def rotary_of_queries_and_keys_at_once(g: Builder):
    """One rotation of the heads of both, which are parted behind it."""
    x, positions = positions_of(g)
    packed = g.linear(x, TOKENS, 3 * TOKENS, bias=False)
    packed = g.transpose(g.view(packed, g.extent(x, 0), g.extent(x, 1), 3 * HEADS, SIZE), 0, 2, 1, 3)
    both, v = g.between(packed, 0, 2 * HEADS, 1), g.between(packed, 2 * HEADS, END, 1)
    both = rotate(g, both, *table_of(g, positions, 1))
    q, k = g.between(both, 0, HEADS, 1), g.between(both, HEADS, END, 1)
    y = attend(g, q, k, v)
    g.output(g.view(y, g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


@exported(17, 7, ROWS)
def rotary_of_five_axes(g: Builder):
    """Queries, keys and values are an axis of their own: [3,b,heads,s,size]; queries and keys turn together."""
    x, positions = positions_of(g)
    packed = g.linear(x, TOKENS, 3 * TOKENS, bias=False)
    packed = g.transpose(g.view(packed, g.extent(x, 0), g.extent(x, 1), 3, HEADS, SIZE), 2, 0, 3, 1, 4)
    both, v = g.between(packed, 0, 2, 0), g.Gather(packed, g.int(2), axis=0)
    first, second = g.between(both, 0, SIZE // 2, 4), g.between(both, SIZE // 2, END, 4)
    cos, sin = table_of(g, positions, 0, 2)
    both = g.Add(g.Mul(both, cos), g.Mul(g.Concat(g.Neg(second), first, axis=-1), sin))
    q, k = (g.Gather(both, g.int(i), axis=0) for i in range(2))
    y = attend(g, q, k, v)
    g.output(g.view(y, g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


@exported(17, 7, ROWS)
def rotary_of_three_axes(g: Builder):
    """Heads are joined with the batch."""
    x = g.input("x", "b", "s", TOKENS)
    packed = g.linear(x, TOKENS, 3 * TOKENS, bias=False)
    joined = g.Mul(g.extent(x, 0), g.int(HEADS))
    q, k, v = (g.view(heads(g, part, HEADS, x), joined, g.extent(x, 1), SIZE)
               for part in g.Split(packed, g.ints(TOKENS, TOKENS, TOKENS), axis=-1, outputs=3))
    positions = g.Unsqueeze(g.Range(g.int(0), g.extent(x, 1), g.int(1)), g.ints(0))
    cos, sin = table_of(g, positions)

    def rotated(value: str) -> str:
        first, second = g.between(value, 0, SIZE // 2, 2), g.between(value, SIZE // 2, END, 2)
        return g.Add(g.Mul(value, cos), g.Mul(g.Concat(g.Neg(second), first, axis=-1), sin))

    scores = g.Mul(g.MatMul(rotated(q), g.transpose(rotated(k), 0, 2, 1)), g.const(SIZE ** -0.5))
    y = g.view(g.MatMul(g.Softmax(scores, axis=-1), v), g.extent(x, 0), HEADS, g.extent(x, 1), SIZE)
    g.output(g.view(g.transpose(y, 0, 2, 1, 3), g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


@exported(17, 7, ROWS)
def rotary_sequence_first(g: Builder):
    """ChatGLM and Megatron: [s,b,heads,size], tables [s,1,1,size]."""
    x = g.input("x", "s", "b", TOKENS)
    packed = g.linear(x, TOKENS, 3 * TOKENS, bias=False)
    q, k, v = (g.view(part, g.extent(x, 0), g.extent(x, 1), HEADS, SIZE)
               for part in g.Split(packed, g.ints(TOKENS, TOKENS, TOKENS), axis=-1, outputs=3))
    turn = table_of(g, g.Range(g.int(0), g.extent(x, 0), g.int(1)), 1, 2)
    q, k = rotate(g, q, *turn), rotate(g, k, *turn)
    q, k, v = (g.transpose(value, 1, 2, 0, 3) for value in (q, k, v))
    y = g.transpose(attend(g, q, k, v), 1, 0, 2, 3)
    g.output(g.view(y, g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


@exported(17, 6, ROWS)
def rotary_minus_by_subtraction(g: Builder):
    """join(x1 cos - x2 sin, x2 cos + x1 sin) of parts of one product, with tables of half the width."""
    x, positions = positions_of(g)
    packed = g.linear(x, TOKENS, 3 * TOKENS, bias=False)
    q, k, v = (heads(g, part, HEADS, x)
               for part in g.Split(packed, g.ints(TOKENS, TOKENS, TOKENS), axis=-1, outputs=3))
    frequency = g.const(10000.0 ** (-np.arange(0, SIZE, 2) / SIZE))
    angles = g.Unsqueeze(g.Mul(g.Unsqueeze(g.Cast(positions, to=1), g.ints(-1)), frequency), g.ints(1))
    cos, sin = g.Cos(angles), g.Sin(angles)

    def rotated(value: str) -> str:
        first, second = g.Split(value, g.ints(SIZE // 2, SIZE // 2), axis=-1, outputs=2)
        return g.Concat(g.Sub(g.Mul(first, cos), g.Mul(second, sin)), g.Add(g.Mul(first, sin), g.Mul(second, cos)),
                        axis=-1)

    y = attend(g, rotated(q), rotated(k), v)
    g.output(g.view(y, g.extent(x, 0), g.extent(x, 1), TOKENS), rank=3)


# ---- a value that is used twice ----------------------------------------------------------------------------------


def twice(build):
    """Behind a convolution, whose result leaves channels-first, and behind a product."""

    def of_convolution(g: Builder) -> None:
        g.output(build(g, image(g)), rank=4)

    def of_product(g: Builder) -> None:
        x = g.input("x", "b", "s", WIDTH)
        g.output(build(g, g.linear(x, WIDTH, WIDTH)), rank=3)

    EXPORTED[build.__name__ + "_of_convolution"] = Case(17, of_convolution, IMAGES, 2)
    EXPORTED[build.__name__ + "_of_product"] = Case(17, of_product, ROWS, 1)
    return build


@twice
def sum_with_function(g: Builder, x: str) -> str:
    return g.Add(x, g.Tanh(x))


@twice
def relu_squared(g: Builder, x: str) -> str:
    y = g.Relu(x)
    return g.Mul(y, y)


@twice
def relu_to_the_power(g: Builder, x: str) -> str:
    return g.Pow(g.Relu(x), g.const(2))


@twice
def gaussian(g: Builder, x: str) -> str:
    return g.Exp(g.Neg(g.Mul(x, x)))


@twice
def gaussian_by_power(g: Builder, x: str) -> str:
    return g.Exp(g.Mul(g.Pow(x, g.const(2)), g.const(-0.5)))


@twice
def silu_as_quotient(g: Builder, x: str) -> str:
    return g.Div(x, g.Add(g.const(1), g.Exp(g.Neg(x))))


@twice
def silu_by_exponentials(g: Builder, x: str) -> str:
    return g.Mul(x, g.Reciprocal(g.Add(g.Exp(g.Neg(x)), g.const(1))))


@twice
def mish_by_logarithm(g: Builder, x: str) -> str:
    return g.Mul(x, g.Tanh(g.Log(g.Add(g.const(1), g.Exp(x)))))


@twice
def mish_by_softplus(g: Builder, x: str) -> str:
    return g.Mul(x, g.Tanh(g.Softplus(x)))


@twice
def mish_as_quotient(g: Builder, x: str) -> str:
    """x n / (n + 2), n = e^x (e^x + 2)"""
    e = g.Exp(x)
    n = g.Mul(e, g.Add(e, g.const(2)))
    return g.Div(g.Mul(x, n), g.Add(n, g.const(2)))


@twice
def quick_gelu(g: Builder, x: str) -> str:
    return g.Mul(x, g.Sigmoid(g.Mul(g.const(1.702), x)))


@twice
def tanh_by_exponentials(g: Builder, x: str) -> str:
    up, down = g.Exp(x), g.Exp(g.Neg(x))
    return g.Div(g.Sub(up, down), g.Add(up, down))


@twice
def snake(g: Builder, x: str) -> str:
    """x + sin(a x)^2 / a, a for each channel left out."""
    s = g.Sin(g.Mul(x, g.const(1.5)))
    return g.Add(x, g.Mul(g.Mul(s, s), g.const(1 / 1.5)))


@twice
def leaky_as_maximum(g: Builder, x: str) -> str:
    return g.Max(x, g.Mul(x, g.const(0.1)))


@twice
def choice(g: Builder, x: str) -> str:
    return g.Where(g.Greater(x, g.const(0)), x, g.Mul(x, g.const(0.2)))


# ---- data movement -----------------------------------------------------------------------------------------------


@exported(17, 2)
def reduction_along_channels(g: Builder):
    x = image(g)
    g.output(g.ReduceMax(g.transpose(x, 0, 2, 3, 1), axes=[3], keepdims=0), rank=3)


@exported(17, 4)
def top_along_channels(g: Builder):
    """torch.topk(x, 2, dim=1) by exporters that move the axis to the end, where channels of an image lie anyway."""
    x = image(g)
    values, indices = g.TopK(g.transpose(x, 0, 2, 3, 1), g.ints(2), axis=-1, outputs=2)
    g.output(g.transpose(values, 0, 3, 1, 2), rank=4)
    g.output(g.transpose(indices, 0, 3, 1, 2), INT64, rank=4)


@exported(17, 1, ROWS)
def top_along_the_middle(g: Builder):
    x = g.input("x", "b", "s", WIDTH)
    values, _ = g.TopK(g.transpose(x, 0, 2, 1), g.ints(2), axis=-1, outputs=2)
    g.output(g.transpose(values, 0, 2, 1), rank=3)


@exported(17, 1, ROWS)
def mean_along_the_middle(g: Builder):
    x = g.input("x", "b", "s", WIDTH)
    g.output(g.ReduceMean(g.transpose(x, 0, 2, 1), axes=[2], keepdims=0), rank=2)


@exported(17, 1)
def transposes_around_a_join(g: Builder):
    """[b,h,w,c] as [b,hw,c] by way of [b,c,h,w]."""
    x = g.input("x", "b", 4, 6, 8)
    y = g.Reshape(g.transpose(x, 0, 3, 1, 2), g.ints(0, 8, 24))
    g.output(g.Relu(g.transpose(y, 0, 2, 1)), rank=3)


@exported(17, 1)
def transposes_around_a_part(g: Builder):
    """The way back."""
    x = g.input("x", "b", 24, 8)
    y = g.Reshape(g.transpose(x, 0, 2, 1), g.ints(0, 8, 4, 6))
    g.output(g.Relu(g.transpose(y, 0, 2, 3, 1)), rank=4)


@exported(17, 1)
def transposes_around_joined_heads(g: Builder):
    """Axes that do not stay together: one copy."""
    x = g.input("x", "b", 4, 6, 8)
    y = g.Reshape(g.transpose(x, 0, 2, 1, 3), g.ints(0, 24, 8))
    g.output(g.transpose(y, 0, 2, 1), rank=3)


def roll(g: Builder, x: str, shift: int, axis: int) -> str:
    """torch.roll(x, -shift, axis) as TorchScript's exporter writes it."""
    return g.Concat(g.between(x, shift, END, axis), g.between(x, 0, shift, axis), axis=axis)


def windows(g: Builder, x: str, side: int, window: int, width: int) -> str:
    n = side // window
    parted = g.Reshape(x, g.ints(-1, n, window, n, window, width))
    return g.Reshape(g.transpose(parted, 0, 1, 3, 2, 4, 5), g.ints(-1, window * window, width))


def unwindows(g: Builder, x: str, side: int, window: int, width: int) -> str:
    n = side // window
    parted = g.Reshape(x, g.ints(-1, n, n, window, window, width))
    return g.Reshape(g.transpose(parted, 0, 1, 3, 2, 4, 5), g.ints(-1, side, side, width))


@exported(17, 1)
def cyclic_shift(g: Builder):
    x = g.input("x", "b", 8, 8, 16)
    g.output(roll(g, roll(g, x, 2, 1), 2, 2), rank=4)


@exported(17, 1)
def shifted_windows(g: Builder):
    x = g.input("x", "b", 8, 8, 16)
    g.output(windows(g, roll(g, roll(g, x, 2, 1), 2, 2), 8, 4, 16), rank=3)


@exported(17, 1)
def shifted_back(g: Builder):
    x = g.input("x", "b", 4, 16, 16)
    y = unwindows(g, g.Reshape(x, g.ints(-1, 16, 16)), 8, 4, 16)
    g.output(roll(g, roll(g, y, 6, 1), 6, 2), rank=4)


@exported(17, 9)
def swin(g: Builder):
    """A block with shifted windows: normalization, shift, products, attention, the way back, MLP."""
    side, window, width, heads = 8, 4, 16, 2
    x = g.input("x", "b", side, side, width)
    y = layer_norm(g, x, width)
    y = windows(g, roll(g, roll(g, y, 2, 1), 2, 2), side, window, width)
    packed = g.Reshape(g.linear(y, width, 3 * width), g.ints(-1, window * window, 3, heads, width // heads))
    packed = g.transpose(packed, 2, 0, 3, 1, 4)
    q, k, v = (g.Gather(packed, g.int(i), axis=0) for i in range(3))
    q = g.Mul(q, g.const((width // heads) ** -0.5))
    scores = g.Add(g.MatMul(q, g.transpose(k, 0, 1, 3, 2)), g.weight(1, heads, window * window, window * window))
    y = g.MatMul(g.Softmax(scores, axis=-1), v)
    y = g.Reshape(g.transpose(y, 0, 2, 1, 3), g.ints(-1, window * window, width))
    y = unwindows(g, g.linear(y, width, width), side, window, width)
    x = g.Add(x, roll(g, roll(g, y, 6, 1), 6, 2))
    y = layer_norm(g, x, width)
    g.output(g.Add(x, g.linear(gelu(g, g.linear(y, width, 4 * width)), 4 * width, width)), rank=4)
