"""Rotary position embedding as exporters write it, of a value [b,heads,s,size].

    ROTARY[name] = build(g, x) -> value
"""
import numpy as np
from builder import Builder

SIZE = 8
ROTARY = {}


def rotation(build):
    ROTARY[build.__name__] = build
    return build


def angles(g: Builder, x: str, axis: int, size: int = SIZE) -> str:
    """positions * frequencies, [1,s,size / 2], computed in the graph."""
    positions = g.Cast(g.Unsqueeze(g.Range(g.int(0), g.extent(x, axis), g.int(1)), g.ints(0)), to=1)
    frequency = g.const((10000.0 ** (-np.arange(0, size, 2) / size)).reshape(1, size // 2, 1))
    return g.transpose(g.MatMul(frequency, g.Unsqueeze(positions, g.ints(1))), 0, 2, 1)


def cos_and_sin(g: Builder, x: str, axis: int = 1, size: int = SIZE) -> list[str]:
    """Llama's tables of the positions: [1,1,s,size]."""
    half = angles(g, x, axis, size)
    wide = g.Concat(half, half, axis=-1)
    return [g.Unsqueeze(table, g.ints(1)) for table in (g.Cos(wide), g.Sin(wide))]


def constant_tables(length: int, repeat) -> list[np.ndarray]:
    half = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE)
    return [repeat(f(half)).astype(np.float32) for f in (np.cos, np.sin)]


def rotate_half(g: Builder, x: str, size: int = SIZE) -> str:
    first, second = g.between(x, 0, size // 2, 3), g.between(x, size // 2, 2**63 - 1, 3)
    return g.Concat(g.Neg(second), first, axis=-1)


def rotary(g: Builder, x: str, cos: str, sin: str, size: int = SIZE) -> str:
    return g.Add(g.Mul(x, cos), g.Mul(rotate_half(g, x, size), sin))


@rotation
def halves_with_computed_tables(g: Builder, x: str) -> str:
    return rotary(g, x, *cos_and_sin(g, x, 2))


@rotation
def halves_with_rows_of_constant_tables(g: Builder, x: str) -> str:
    """Rows of a constant table for all positions, looked up by position."""
    positions = g.Range(g.int(0), g.extent(x, 2), g.int(1))
    rows = [g.Gather(g.initializer(table), g.Unsqueeze(positions, g.ints(0)), axis=0)
            for table in constant_tables(16, lambda half: np.concatenate([half, half], 1))]
    return rotary(g, x, *(g.Unsqueeze(row, g.ints(1)) for row in rows))


@rotation
def halves_of_a_split(g: Builder, x: str) -> str:
    cos, sin = cos_and_sin(g, x, 2)
    first, second = g.Split(x, g.ints(SIZE // 2, SIZE // 2), axis=-1, outputs=2)
    return g.Add(g.Mul(g.Concat(g.Neg(second), first, axis=-1), sin), g.Mul(cos, x))


@rotation
def half_tables(g: Builder, x: str) -> str:
    """join(x1 cos - x2 sin, x2 cos + x1 sin)"""
    half = g.Unsqueeze(angles(g, x, 2), g.ints(1))
    cos, sin = g.Cos(half), g.Sin(half)
    first, second = g.Split(x, g.ints(SIZE // 2, SIZE // 2), axis=-1, outputs=2)
    return g.Concat(g.Sub(g.Mul(first, cos), g.Mul(second, sin)), g.Add(g.Mul(second, cos), g.Mul(first, sin)), axis=-1)


@rotation
def alternating(g: Builder, x: str) -> str:
    """GPT-J: neighbours are a pair, each row of the tables is repeated element by element."""
    positions = g.Range(g.int(0), g.extent(x, 2), g.int(1))
    cos, sin = (g.Gather(g.initializer(table), positions, axis=0)
                for table in constant_tables(16, lambda half: np.repeat(half, 2, 1)))
    even, odd = (g.Slice(x, g.ints(i), g.ints(2**63 - 1), g.ints(3), g.ints(2)) for i in range(2))
    pairs = g.Concat(g.Unsqueeze(g.Neg(odd), g.ints(-1)), g.Unsqueeze(even, g.ints(-1)), axis=-1)
    return g.Add(g.Mul(x, cos), g.Mul(g.Reshape(pairs, g.Shape(x)), sin))


@rotation
def complex_pairs(g: Builder, x: str) -> str:
    """Meta's Llama: pairs are complex numbers."""
    half = g.Unsqueeze(angles(g, x, 2), g.ints(1))
    cos, sin = g.Cos(half), g.Sin(half)
    pairs = g.Reshape(x, g.Concat(g.Slice(g.Shape(x), g.ints(0), g.ints(3)), g.ints(SIZE // 2, 2), axis=0))
    real, imaginary = (g.Gather(pairs, g.int(i), axis=-1) for i in range(2))
    rotated = [g.Sub(g.Mul(real, cos), g.Mul(imaginary, sin)), g.Add(g.Mul(real, sin), g.Mul(imaginary, cos))]
    return g.Reshape(g.Concat(*(g.Unsqueeze(part, g.ints(-1)) for part in rotated), axis=-1), g.Shape(x))


@rotation
def first_elements_only(g: Builder, x: str) -> str:
    """GPT-NeoX and Phi: half of the elements turn."""
    turning, rest = g.between(x, 0, SIZE // 2, 3), g.between(x, SIZE // 2, 2**63 - 1, 3)
    cos, sin = cos_and_sin(g, x, 2, SIZE // 2)
    return g.Concat(rotary(g, turning, cos, sin, SIZE // 2), rest, axis=-1)


@rotation
def heads_inside(g: Builder, x: str) -> str:
    """Before the heads become an axis of their own: [b,s,heads,size]."""
    inside = g.transpose(x, 0, 2, 1, 3)
    half = angles(g, inside, 1)
    wide = g.Concat(half, half, axis=-1)
    cos, sin = (g.Unsqueeze(table, g.ints(2)) for table in (g.Cos(wide), g.Sin(wide)))
    return g.transpose(rotary(g, inside, cos, sin), 0, 2, 1, 3)


@rotation
def native(g: Builder, x: str) -> str:
    half = angles(g, x, 2)
    batch = g.Expand(half, g.joined(g.extent(x, 0), g.extent(x, 2), SIZE // 2))
    return g.RotaryEmbedding(x, g.Cos(batch), g.Sin(batch))
