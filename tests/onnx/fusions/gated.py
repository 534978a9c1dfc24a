"""Gated MLPs: down(f(gate(x)) * up(x)).

    GATED[name] = build(g, x) -> value
"""
import numpy as np
from builder import Builder

WIDTH, HIDDEN = 32, 64
GATED = {}


def gated(build):
    GATED[build.__name__] = build
    return build


def silu(g: Builder, x: str) -> str:
    return g.Mul(x, g.Sigmoid(x))


def gelu(g: Builder, x: str) -> str:
    return g.Mul(g.Mul(x, g.Add(g.Erf(g.Div(x, g.const(np.sqrt(2)))), g.const(1))), g.const(0.5))


@gated
def swiglu_of_two_products(g: Builder, x: str) -> str:
    """Llama."""
    gate, up = (g.linear(x, WIDTH, HIDDEN, bias=False) for _ in range(2))
    return g.linear(g.Mul(silu(g, gate), up), HIDDEN, WIDTH, bias=False)


@gated
def swiglu_of_one_product(g: Builder, x: str) -> str:
    """Phi-3: gate and values are halves of one product."""
    gate, up = g.Split(g.linear(x, WIDTH, 2 * HIDDEN, bias=False), g.ints(HIDDEN, HIDDEN), axis=-1, outputs=2)
    return g.linear(g.Mul(up, silu(g, gate)), HIDDEN, WIDTH, bias=False)


@gated
def geglu_with_biases(g: Builder, x: str) -> str:
    """Diffusers: the second half is the gate."""
    both = g.linear(x, WIDTH, 2 * HIDDEN)
    up, gate = g.between(both, 0, HIDDEN, 2), g.between(both, HIDDEN, 2**63 - 1, 2)
    return g.linear(g.Mul(up, gelu(g, gate)), HIDDEN, WIDTH)


@gated
def geglu_of_two_products(g: Builder, x: str) -> str:
    """T5 1.1."""
    gate, up = (g.linear(x, WIDTH, HIDDEN, bias=False) for _ in range(2))
    return g.linear(g.Mul(gelu(g, gate), up), HIDDEN, WIDTH, bias=False)
