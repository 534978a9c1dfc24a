"""Complex numbers: pairs of tensors inside of a graph, which plans have as neither inputs nor outputs; and Fourier transforms."""
from __future__ import annotations

import math

import torch

from .. import _native as trt
from ._layers import Unsupported, fixed
from ._table import ROWS

_U, _E = trt.UnaryOperation, trt.ElementWiseOperation
REAL = {torch.complex64: torch.float32}

COMPLEX_ROWS = {}  # Of calls with complex operands or results.


class Pair:
    """The real and the imaginary part."""

    def __init__(self, real, imaginary):
        self.parts = (real, imaginary)

    @property
    def shape(self):
        return self.parts[0].shape


class Described:
    """PyTorch's description of a part."""

    def __init__(self, of):
        self.shape, self.dtype = of.shape, REAL.get(of.dtype, of.dtype)

    def numel(self):
        return math.prod(self.shape)


class Part:
    """A call as if it were of one of its operands' two parts."""

    def __init__(self, call, index: int):
        self._call, self._index, self.name, self.result_rank = call, index, call.name, call.result_rank
        self.results = [Described(result) for result in call.results]
        self.result = self.results[0]

    def _part(self, value):
        if isinstance(value, (list, tuple)):
            return [self._part(item) for item in value]
        return value.parts[self._index] if isinstance(value, Pair) else value

    def __contains__(self, name):
        return name in self._call

    def __getitem__(self, name):
        return self._part(self._call[name])

    def get(self, name, otherwise=None):
        return self._part(self._call.get(name, otherwise))

    def is_tensor(self, name) -> bool:
        return self._call.is_tensor(name)

    def meta(self, name):
        value = self._call.meta(name)
        return Described(value) if isinstance(value, torch.Tensor) and value.dtype in REAL else value


def complex_constant(layers, value):
    return Pair(layers.constant(value.real.contiguous()), layers.constant(value.imag.contiguous()))


def _row(*names):
    def keep(function):
        for name in names:
            COMPLEX_ROWS[name] = function
        return function

    return keep


def _by_parts(layers, call):
    """Operators that move elements move both parts the same way."""
    halves = [ROWS[call.name](layers, Part(call, index)) for index in (0, 1)]
    return [Pair(*both) for both in zip(*halves)] if isinstance(halves[0], list) else Pair(*halves)


for _name in ("view.default", "reshape.default", "_unsafe_view.default", "permute.default", "transpose.int", "expand.default",
              "slice.Tensor", "select.int", "unsqueeze.default", "squeeze.dims", "squeeze.dim", "clone.default", "alias.default",
              "index_select.default", "flip.default", "roll.default", "repeat.default", "split_with_sizes.default",
              "constant_pad_nd.default", "neg.default"):
    COMPLEX_ROWS[_name] = _by_parts


def _number(layers, value, like):
    return layers.constant(torch.tensor(value, dtype=torch.float32), rank=max(1, len(like.shape)))


def _pair_of(layers, call, name):
    """An operand as a pair; real ones have no imaginary part: None."""
    value = call[name]
    if isinstance(value, Pair):
        return value.parts
    if call.is_tensor(name):
        return layers.cast(value, torch.float32), None
    rank = max(1, call.result_rank)
    number = complex(value)
    imaginary = layers.constant(number.imag, torch.float32, rank) if number.imag else None
    return layers.constant(number.real, torch.float32, rank), imaginary


def _sum(layers, first, second, op=_E.SUM):
    if second is None:
        return first
    if first is None:
        return second if op == _E.SUM else layers.unary(second, _U.NEG)
    return layers.elementwise(first, second, op)


def _product(layers, first, second):
    return None if first is None or second is None else layers.elementwise(first, second, _E.PROD)


def _filled(layers, call, real, imaginary):
    """A result's parts, each as large as the result."""
    parts = []
    for part in (real, imaginary):
        zero = layers.filled(0, call.result.shape, torch.float32)
        parts.append(zero if part is None else part if tuple(part.shape) == tuple(zero.shape) else layers.elementwise(part, zero, _E.SUM))
    return Pair(*parts)


@_row("add.Tensor", "sub.Tensor")
def _add(layers, call):
    if call.get("alpha", 1) != 1:
        raise Unsupported("sums of complex numbers with a factor")
    op = _E.SUM if call.name.startswith("add") else _E.SUB
    (a, b), (c, d) = _pair_of(layers, call, "self"), _pair_of(layers, call, "other")
    return _filled(layers, call, _sum(layers, a, c, op), _sum(layers, b, d, op) if b is not None or d is not None else None)


@_row("mul.Tensor", "mul.Scalar")
def _multiply(layers, call):
    return _times(layers, call, _pair_of(layers, call, "self"), _pair_of(layers, call, "other"))


def _times(layers, call, first, second):
    (a, b), (c, d) = first, second
    real = _sum(layers, _product(layers, a, c), _product(layers, b, d), _E.SUB)
    return _filled(layers, call, real, _sum(layers, _product(layers, a, d), _product(layers, b, c)))


@_row("div.Tensor", "div.Scalar")
def _divide(layers, call):
    """By the conjugate over the square of the length."""
    c, d = _pair_of(layers, call, "other")
    square = _sum(layers, _product(layers, c, c), _product(layers, d, d))
    inverse = [None if part is None else layers.elementwise(part, square, _E.DIV) for part in (c, d)]
    if inverse[1] is not None:
        inverse[1] = layers.unary(inverse[1], _U.NEG)
    return _times(layers, call, _pair_of(layers, call, "self"), inverse)


@_row("_conj.default", "_conj_physical.default", "conj_physical.default")
def _conjugate(layers, call):
    real, imaginary = call["self"].parts
    return Pair(real, layers.unary(imaginary, _U.NEG))


@_row("abs.default")
def _length(layers, call):
    real, imaginary = call["self"].parts
    return layers.unary(_sum(layers, _product(layers, real, real), _product(layers, imaginary, imaginary)), _U.SQRT)


@_row("exp.default")
def _exponential(layers, call):
    real, imaginary = call["self"].parts
    length = layers.unary(real, _U.EXP)
    return Pair(*(layers.elementwise(length, layers.unary(imaginary, of), _E.PROD) for of in (_U.COS, _U.SIN)))


@_row("complex.default")
def _made(layers, call):
    return _filled(layers, call, call["real"], call["imag"])


@_row("polar.default")
def _polar(layers, call):
    length, angle = call["abs"], call["angle"]
    return _filled(layers, call, *(layers.elementwise(length, layers.unary(angle, of), _E.PROD) for of in (_U.COS, _U.SIN)))


@_row("view_as_complex.default")
def _of_pairs(layers, call):
    x, last = call["self"], len(call["self"].shape) - 1
    return Pair(*(layers.reshape(layers.slice(x, [0] * last + [index], [*call.result.shape, 1], [1] * (last + 1)), call.result.shape)
                  for index in (0, 1)))


@_row("view_as_real.default")
def _to_pairs(layers, call):
    shape = [*call.result.shape[:-1], 1]
    layer = layers.network.add_concatenation([layers.reshape(part, shape) for part in call["self"].parts])
    layer.axis = len(shape) - 1
    return layers.out(layer)


@_row("cat.default")
def _joined(layers, call):
    if not all(isinstance(part, Pair) for part in call["tensors"]):
        raise Unsupported("complex tensors beside real ones in a concatenation")
    axis, joined = call.get("dim", 0) % call.result_rank, []
    for index in (0, 1):
        layer = layers.network.add_concatenation([part.parts[index] for part in call["tensors"]])
        layer.axis = axis
        joined.append(layers.out(layer))
    return Pair(*joined)


@_row("_to_copy.default")
def _to_complex(layers, call):
    if isinstance(call["self"], Pair):
        if call.result.dtype not in REAL:
            raise Unsupported(f"complex numbers as {call.result.dtype}")
        return call["self"]
    return _filled(layers, call, layers.cast(call["self"], torch.float32), None)


# Fourier transforms: a product with the matrix of waves for each axis.

_MOST_POINTS = 1024


def _waves(layers, points: int, rows: int, columns: int, weights=1.0):
    """Cosines and sines of the products of rows' and columns' numbers, over a number of points."""
    if points > _MOST_POINTS:
        raise Unsupported(f"a Fourier transform of {points} points, more than {_MOST_POINTS}")
    angles = (torch.arange(rows)[:, None] * torch.arange(columns)[None] % points).double() * (2 * math.pi / points)
    return [layers.constant((of(angles) * weights).float()) for of in (torch.cos, torch.sin)]


def _along(layers, parts, axis: int, work):
    """`work` on the parts with an axis as the last one."""
    rank = len(next(part for part in parts if part is not None).shape)
    order = [*(i for i in range(rank) if i != axis), axis]
    back = [order.index(i) for i in range(rank)]
    moved = [None if part is None else layers.permute(part, order) if axis != rank - 1 else part for part in parts]
    made = work(*moved)
    return [part if axis == rank - 1 else layers.permute(part, back) for part in made]


def _transformed(layers, parts, axis: int, points: int, count: int, forward: bool):
    cosines, sines = _waves(layers, points, points, count)

    def work(real, imaginary):
        def times(part, matrix):
            return None if part is None else layers.matmul(part, matrix)

        first, second = times(imaginary, sines), times(real, sines)
        made_real = _sum(layers, times(real, cosines), first, _E.SUM if forward else _E.SUB)
        made_imaginary = _sum(layers, times(imaginary, cosines), second, _E.SUB if forward else _E.SUM)
        return [made_real, made_imaginary]

    return _along(layers, parts, axis, work)


def _scaled(layers, parts, normalization: int, points: int):
    """As PyTorch numbers them: none, by the square root of the points, by the points."""
    factor = (1, 1 / math.sqrt(points), 1 / points)[normalization]
    return [part if factor == 1 else layers.elementwise(part, _number(layers, factor, part), _E.PROD) for part in parts]


def _axes_of(call):
    shape = fixed(call.meta("self").shape)
    return shape, [axis % len(shape) for axis in call["dim"]]


@_row("_fft_c2c.default")
def _of_complex(layers, call):
    shape, axes = _axes_of(call)
    parts = list(call["self"].parts)
    for axis in axes:
        parts = _transformed(layers, parts, axis, shape[axis], shape[axis], call["forward"])
    return Pair(*_scaled(layers, parts, call["normalization"], math.prod(shape[axis] for axis in axes)))


@_row("_fft_r2c.default")
def _of_real(layers, call):
    shape, axes = _axes_of(call)
    if layers.dtype_of(call["self"]) != torch.float32:
        raise Unsupported(f"a Fourier transform of {call.meta('self').dtype}")
    parts = [call["self"], None]
    for axis in reversed(axes):
        count = shape[axis] // 2 + 1 if axis == axes[-1] and call["onesided"] else shape[axis]
        parts = _transformed(layers, parts, axis, shape[axis], count, True)
    return Pair(*_scaled(layers, parts, call["normalization"], math.prod(shape[axis] for axis in axes)))


@_row("_fft_c2r.default")
def _to_real(layers, call):
    """Each wave but the first, and the last of an even number of points, stands for its mirror image too."""
    (shape, axes), points = _axes_of(call), call["last_dim_size"]
    parts = list(call["self"].parts)
    for axis in axes[:-1]:
        parts = _transformed(layers, parts, axis, shape[axis], shape[axis], False)
    count = points // 2 + 1
    starts, sizes = [0] * len(shape), list(fixed(parts[0].shape))
    sizes[axes[-1]] = count
    parts = [layers.slice(part, starts, sizes, [1] * len(shape)) for part in parts]
    weights = torch.full((count, 1), 2.0, dtype=torch.float64)
    weights[0] = 1
    if points % 2 == 0:
        weights[-1] = 1
    cosines, sines = _waves(layers, points, count, points, weights)

    def work(real, imaginary):
        return [layers.elementwise(layers.matmul(real, cosines), layers.matmul(imaginary, sines), _E.SUB)]

    (made,) = _along(layers, parts, axes[-1], work)
    total = points * math.prod(shape[axis] for axis in axes[:-1])
    return _scaled(layers, [made], call["normalization"], total)[0]


def _tensors(value) -> list:
    return [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, torch.Tensor)]


def of_complex(node) -> bool:
    """Whether a node has complex operands or results."""
    return any(x.dtype.is_complex for near in (node, *node.all_input_nodes) for x in _tensors(near.meta.get("val")))


def is_complex(call) -> bool:
    """The same of a call."""
    return of_complex(call.node)
