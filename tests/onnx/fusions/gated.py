"""Gated MLPs: down(f(gate(x)) * up(x)), as exporters write them.

    GATED[name] = Form(opset, build, steps)     build(g, x) -> value

`steps` is how many steps that compute something the plan may have at most: two where the first product ends in the gate.
"""
from dataclasses import dataclass
from typing import Callable

import numpy as np
from builder import Builder
from onnx import TensorProto

WIDTH, HIDDEN, EXPERTS = 32, 64, 4
END = 2**63 - 1


@dataclass
class Form:
    opset: int
    build: Callable[[Builder, str], str]
    steps: int


GATED: dict[str, Form] = {}


def gated(steps: int = 2, opset: int = 17):
    def put(build):
        GATED[build.__name__] = Form(opset, build, steps)
        return build

    return put


# ---- functions of the gate ---------------------------------------------------------------------------


def silu(g: Builder, x: str) -> str:
    return g.Mul(x, g.Sigmoid(x))


def silu_by_exponential(g: Builder, x: str) -> str:
    return g.Div(x, g.Add(g.Exp(g.Neg(x)), g.const(1)))


def gelu(g: Builder, x: str) -> str:
    return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, g.const(np.sqrt(2)))), g.const(1))), g.const(0.5))


def gelu_by_tanh(g: Builder, x: str) -> str:
    inner = g.Mul(g.const(np.sqrt(2 / np.pi)), g.Add(x, g.Mul(g.const(0.044715), g.Pow(x, g.const(3)))))
    return g.Mul(g.Mul(g.const(0.5), x), g.Add(g.const(1), g.Tanh(inner)))


def mish(g: Builder, x: str) -> str:
    return g.Mul(x, g.Tanh(g.Softplus(x)))


# ---- parts -------------------------------------------------------------------------------------------


def halves(g: Builder, x: str) -> list[str]:
    return g.Split(x, g.ints(HIDDEN, HIDDEN), axis=-1, outputs=2)


def pair(g: Builder, x: str, bias: bool = False) -> list[str]:
    return [g.linear(x, WIDTH, HIDDEN, bias=bias) for _ in range(2)]


def both(g: Builder, x: str, bias: bool = False) -> str:
    return g.linear(x, WIDTH, 2 * HIDDEN, bias=bias)


def down(g: Builder, x: str, bias: bool = False) -> str:
    return g.linear(x, HIDDEN, WIDTH, bias=bias)


# ---- two products ------------------------------------------------------------------------------------


@gated()
def swiglu_of_two_products(g: Builder, x: str) -> str:
    """Llama."""
    gate, up = pair(g, x)
    return down(g, g.Mul(silu(g, gate), up))


@gated()
def geglu_of_two_products(g: Builder, x: str) -> str:
    """T5 1.1."""
    gate, up = pair(g, x)
    return down(g, g.Mul(gelu(g, gate), up))


@gated()
def geglu_by_tanh(g: Builder, x: str) -> str:
    """Gemma."""
    gate, up = pair(g, x)
    return down(g, g.Mul(gelu_by_tanh(g, gate), up))


@gated()
def swiglu_by_exponential(g: Builder, x: str) -> str:
    up, gate = pair(g, x, bias=True)
    return down(g, g.Mul(up, silu_by_exponential(g, gate)), bias=True)


@gated()
def gate_of_mish(g: Builder, x: str) -> str:
    gate, up = pair(g, x)
    return down(g, g.Mul(mish(g, gate), up))


@gated()
def bias_of_the_gate_alone(g: Builder, x: str) -> str:
    gate, up = g.linear(x, WIDTH, HIDDEN), g.linear(x, WIDTH, HIDDEN, bias=False)
    return down(g, g.Mul(silu(g, gate), up))


@gated()
def swiglu_of_gemms(g: Builder, x: str) -> str:
    """Each product over [rows, columns] between reshapes, as the weights of nn.Linear lie."""
    def linear(value: str, inputs: int, outputs: int) -> str:
        rows = g.Gemm(g.Reshape(value, g.ints(-1, inputs)), g.weight(outputs, inputs), g.weight(outputs), transB=1)
        return g.view(rows, g.extent(x, 0), g.extent(x, 1), outputs)

    gate, up = (linear(x, WIDTH, HIDDEN) for _ in range(2))
    return linear(g.Mul(silu(g, gate), up), HIDDEN, WIDTH)


@gated(steps=3)
def in_a_block(g: Builder, x: str) -> str:
    """Behind RMS normalization, with a residual."""
    mean = g.ReduceMean(g.Pow(x, g.const(2)), axes=[-1], keepdims=1)
    rows = g.Mul(g.weight(WIDTH), g.Mul(x, g.Reciprocal(g.Sqrt(g.Add(mean, g.const(1e-6))))))
    gate, up = pair(g, rows)
    return g.Add(x, down(g, g.Mul(silu(g, gate), up)))


@gated(steps=5)
def with_adapters(g: Builder, x: str) -> str:
    """LoRA: products of small rank beside each."""
    def linear(value: str, inputs: int, outputs: int) -> str:
        small = g.MatMul(g.MatMul(value, g.weight(inputs, 4)), g.weight(4, outputs))
        return g.Add(g.linear(value, inputs, outputs, bias=False), g.Mul(small, g.const(2)))

    gate, up = (linear(x, WIDTH, HIDDEN) for _ in range(2))
    return linear(g.Mul(silu(g, gate), up), HIDDEN, WIDTH)


# ---- one product -------------------------------------------------------------------------------------


@gated()
def swiglu_of_one_product(g: Builder, x: str) -> str:
    """Phi-3: gate and values are halves of one product."""
    gate, up = halves(g, both(g, x))
    return down(g, g.Mul(up, silu(g, gate)))


@gated()
def geglu_with_biases(g: Builder, x: str) -> str:
    """Diffusers: the second half is the gate."""
    whole = both(g, x, bias=True)
    up, gate = g.between(whole, 0, HIDDEN, 2), g.between(whole, HIDDEN, END, 2)
    return down(g, g.Mul(up, gelu(g, gate)), bias=True)


@gated()
def halves_by_their_shape(g: Builder, x: str) -> str:
    """chunk() by TorchScript."""
    whole = both(g, x)
    half = g.Unsqueeze(g.Div(g.Add(g.extent(whole, 2), g.int(1)), g.int(2)), g.ints(0))
    gate, up = g.Slice(whole, g.ints(0), half, g.ints(2)), g.Slice(whole, half, g.Mul(half, g.ints(2)), g.ints(2))
    return down(g, g.Mul(silu(g, gate), up))


@gated()
def half_from_the_end(g: Builder, x: str) -> str:
    whole = both(g, x)
    return down(g, g.Mul(silu(g, g.between(whole, 0, HIDDEN, -1)), g.between(whole, -HIDDEN, END, -1)))


@gated()
def equal_parts(g: Builder, x: str) -> str:
    """GLU of a sigmoid, the gate behind."""
    up, gate = g.Split(both(g, x, bias=True), axis=2, num_outputs=2, outputs=2)
    return down(g, g.Mul(up, g.Sigmoid(gate)))


GATED["equal_parts"].opset = 18


@gated(steps=3)
def halves_on_an_axis_of_their_own(g: Builder, x: str) -> str:
    """unflatten(-1, (2, -1)).unbind(-2)"""
    whole = g.Reshape(both(g, x), g.ints(0, 0, 2, HIDDEN))
    return down(g, g.Mul(silu(g, g.Gather(whole, g.int(0), axis=2)), g.Gather(whole, g.int(1), axis=2)))


@gated(steps=3)
def every_second_column(g: Builder, x: str) -> str:
    """GPT-OSS, with limits and an offset."""
    whole = both(g, x, bias=True)
    gate, up = (g.Slice(whole, g.ints(first), g.ints(END), g.ints(-1), g.ints(2)) for first in (0, 1))
    gate, up = g.Min(gate, g.const(1.5)), g.Clip(up, g.const(-1.5), g.const(1.5))
    return down(g, g.Mul(g.Add(up, g.const(1)), g.Mul(gate, g.Sigmoid(g.Mul(gate, g.const(1.702))))), bias=True)


@gated(steps=3)
def gate_without_a_function(g: Builder, x: str) -> str:
    gate, up = halves(g, both(g, x))
    return down(g, g.Mul(gate, up))


@gated(steps=3)
def square_of_relu(g: Builder, x: str) -> str:
    gate, up = halves(g, both(g, x))
    gate = g.Relu(gate)
    return down(g, g.Mul(g.Mul(gate, gate), up))


@gated(steps=5)
def columns_beside(g: Builder, x: str) -> str:
    """The product has more columns than gate and values."""
    gate, up, more = g.Split(g.linear(x, WIDTH, 2 * HIDDEN + 8, bias=False), g.ints(HIDDEN, HIDDEN, 8), axis=-1, outputs=3)
    g.output(more, rank=3)
    return down(g, g.Mul(silu(g, gate), up))


# ---- weights of 8 bits -------------------------------------------------------------------------------


@gated(steps=3)
def weights_of_bytes(g: Builder, x: str) -> str:
    """A number a column, activations as they are: products that read bytes end in no gate of another."""
    def linear(value: str, inputs: int, outputs: int) -> str:
        random = np.random.default_rng(inputs + g.count)
        numbers = g.initializer(random.integers(-127, 128, (inputs, outputs)).astype(np.int8))
        return g.MatMul(value, g.DequantizeLinear(numbers, g.const(random.uniform(0.002, 0.004, outputs)), axis=1))

    gate, up = (linear(x, WIDTH, HIDDEN) for _ in range(2))
    return linear(g.Mul(silu(g, gate), up), HIDDEN, WIDTH)


# ---- experts -----------------------------------------------------------------------------------------


@gated(steps=7)
def all_experts_at_once(g: Builder, x: str) -> str:
    """Shares of a softmax among experts whose weights lie in one tensor."""
    rows = g.Reshape(x, g.ints(-1, WIDTH))
    shares = g.Softmax(g.MatMul(rows, g.weight(WIDTH, EXPERTS)), axis=-1)
    gate, up = (g.MatMul(g.Unsqueeze(rows, g.ints(0)), g.weight(EXPERTS, WIDTH, HIDDEN)) for _ in range(2))
    parts = g.MatMul(g.Mul(silu(g, gate), up), g.weight(EXPERTS, HIDDEN, WIDTH))
    parts = g.Mul(parts, g.Unsqueeze(g.transpose(shares, 1, 0), g.ints(2)))
    return g.Reshape(g.ReduceSum(parts, g.ints(0), keepdims=0), g.Shape(x))


@gated(steps=48, opset=18)
def rows_of_each_expert(g: Builder, x: str) -> str:
    """Mixtral: the two likeliest experts of a row, those rows alone."""
    rows = g.Reshape(x, g.ints(-1, WIDTH))
    shares, places = g.TopK(g.Softmax(g.MatMul(rows, g.weight(WIDTH, EXPERTS)), axis=-1), g.ints(2), axis=-1, outputs=2)
    chosen = g.transpose(g.OneHot(places, g.int(EXPERTS), g.const([0, 1], np.int64), axis=-1), 2, 1, 0)
    total = g.Expand(g.const(0), g.Shape(rows))
    for expert in range(EXPERTS):
        found = g.transpose(g.NonZero(g.Gather(chosen, g.int(expert), axis=0)), 1, 0)
        turn, row = g.Split(found, g.ints(1, 1), axis=1, outputs=2)
        gate, up = pair(g, g.Gather(rows, g.Squeeze(row, g.ints(1)), axis=0))
        share = g.Unsqueeze(g.GatherND(shares, g.Concat(row, turn, axis=1)), g.ints(1))
        total = g.ScatterND(total, row, g.Mul(down(g, g.Mul(silu(g, gate), up)), share), reduction="add")
    return g.Cast(g.Reshape(total, g.Shape(x)), to=TensorProto.FLOAT)
