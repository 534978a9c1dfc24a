"""Layers of a network as the converters' table uses them: constants, casts, broadcasting."""
from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .. import _native as trt

TYPES = {torch.float32: trt.float32, torch.float16: trt.float16, torch.bfloat16: trt.bfloat16, torch.int32: trt.int32,
         torch.int64: trt.int64, torch.int8: trt.int8, torch.uint8: trt.uint8, torch.bool: trt.bool}


class Unsupported(RuntimeError):
    """A part of a graph has no layers: the text names it."""


def type_of(dtype):
    if dtype not in TYPES:
        raise Unsupported(f"tensors of {dtype}")
    return TYPES[dtype]


def plain(extent):
    """An extent as an integer where it is one, else PyTorch's symbol for it."""
    if isinstance(extent, int):
        return extent
    expression = extent.node.expr
    return int(expression) if expression.is_number else extent


def is_negative(number) -> bool:
    """Also of an expression that is so whatever its symbols are, as the place -n is."""
    return number < 0 if isinstance(number, int) else statically_known_true(number < 0)


def is_fixed(extents) -> bool:
    return all(isinstance(plain(extent), int) for extent in extents)


def fixed(extents) -> tuple[int, ...]:
    """Extents as integers; dynamic ones are refused."""
    if not is_fixed(extents):
        raise Unsupported(f"the dynamic extents {tuple(extents)}, which must be known when the plan is built")
    return tuple(plain(extent) for extent in extents)


# Functions of extents by the names that SymPy and PyTorch give them. All are of two operands or more.
_EXTENT_FUNCTIONS = {"Add": trt.ElementWiseOperation.SUM, "Mul": trt.ElementWiseOperation.PROD,
                     "Max": trt.ElementWiseOperation.MAX, "Min": trt.ElementWiseOperation.MIN,
                     "FloorDiv": trt.ElementWiseOperation.FLOOR_DIV, "CleanDiv": trt.ElementWiseOperation.FLOOR_DIV}


class Layers:
    """Adds layers to a network and gives their outputs."""

    def __init__(self, network):
        self.network = network
        self._constants = {}  # By the tensor's identity. Weights are read when the network is built.
        self._places = {}  # Of each symbol: an input and its axis that has this extent.
        self._known = {}  # Tensors of one element that hold the value of an expression, by its text.

    def out(self, layer, index: int = 0):
        if layer is None:
            raise Unsupported("a layer that the network refuses (see the log)")
        return layer.get_output(index)

    def input(self, name: str, value):
        """An input as PyTorch describes it; other tensors' dynamic extents are computed from its."""
        shape = tuple(plain(extent) for extent in value.shape)
        # PyTorch gives numbers that may vary as tensors of float64; they are read as float32.
        dtype = torch.float32 if value.dtype == torch.float64 and not shape else value.dtype
        made = self.network.add_input(name, type_of(dtype), tuple(x if isinstance(x, int) else -1 for x in shape))
        for axis, extent in enumerate(shape):
            if not isinstance(extent, int) and extent.node.expr.is_Symbol:
                self._places.setdefault(extent.node.expr, (made, axis))
        return made

    def extents(self, shape):
        """Extents that may be symbols, as a tensor of int64."""
        parts = [self._extent(plain(extent)) for extent in shape]
        return parts[0] if len(parts) == 1 else self.out(self.network.add_concatenation(parts))

    def _extent(self, extent):
        if isinstance(extent, int):
            return self.constant(torch.tensor([extent], dtype=torch.int64))
        return self._expression(extent.node.expr)

    def _expression(self, expression):
        text = str(expression)
        if text not in self._known:
            self._known[text] = self._new_expression(expression)
        return self._known[text]

    def _new_expression(self, expression):
        if expression.is_Integer:
            return self.constant(torch.tensor([int(expression)], dtype=torch.int64))
        if expression.is_Symbol:
            if expression not in self._places:
                raise Unsupported(f"the extent {expression}, which is no input's")
            tensor, axis = self._places[expression]
            return self.slice(self.out(self.network.add_shape(tensor)), (axis,), (1,), (1,))
        name, operands = type(expression).__name__, [self._expression(operand) for operand in expression.args]
        if name in ("Mod", "PythonMod"):
            first, second = operands
            whole = self.elementwise(first, second, trt.ElementWiseOperation.FLOOR_DIV)
            return self.elementwise(first, self.elementwise(whole, second, trt.ElementWiseOperation.PROD),
                                    trt.ElementWiseOperation.SUB)
        if name == "Pow" and expression.args[1].is_Integer and expression.args[1] > 0:
            operands = operands[:1] * int(expression.args[1])
            name = "Mul"
        if name not in _EXTENT_FUNCTIONS:
            raise Unsupported(f"the extent {expression}")
        made = operands[0]
        for operand in operands[1:]:
            made = self.elementwise(made, operand, _EXTENT_FUNCTIONS[name])
        return made

    def filled(self, value, shape, dtype):
        """A tensor whose elements are all `value`."""
        if is_fixed(shape):
            return self.constant(torch.full(fixed(shape), value, dtype=dtype))
        rank = len(shape)
        return self.slice(self.constant(value, dtype, rank), [0] * rank, shape, [0] * rank)

    def constant(self, value, dtype=None, rank: int | None = None):
        """A tensor or number as a constant, of `rank` axes where it is a number."""
        if isinstance(value, torch.SymInt):
            return self.ranked(self.cast(self.extents([value]), dtype or torch.int64), rank or 1)
        tensor = torch.as_tensor(value, dtype=dtype).detach().cpu().contiguous()
        if tensor.dtype == torch.float64 and tensor.dim() == 0:
            tensor = tensor.float()  # A number beside tensors, whose type the result has.
        if rank is not None and tensor.dim() == 0:
            tensor = tensor.reshape((1,) * rank)
        made = self.out(self.network.add_constant(tuple(tensor.shape), self._weights(tensor)))
        self._constants[id(made)] = made, tensor
        return made

    @staticmethod
    def _weights(tensor):
        return trt.Weights(type_of(tensor.dtype), tensor.data_ptr(), tensor.numel())

    def weights_of(self, made):
        """The weights of a constant; None for other tensors."""
        return self._weights(self._constants[id(made)][1]) if id(made) in self._constants else None

    def tensor_of(self, made):
        """PyTorch's tensor of a constant; None for other tensors."""
        return self._constants[id(made)][1] if id(made) in self._constants else None

    @staticmethod
    def dtype_of(x):
        """PyTorch's type of a tensor of the network."""
        return next(dtype for dtype, type_ in TYPES.items() if type_ == x.dtype)

    def cast(self, x, dtype):
        return x if x.dtype == type_of(dtype) else self.out(self.network.add_cast(x, type_of(dtype)))

    def reshape(self, x, shape):
        layer = self.network.add_shuffle(x)
        layer.zero_is_placeholder = False
        shape = [plain(extent) for extent in shape]
        unknown = sum(not isinstance(extent, int) for extent in shape)
        if unknown == 0 or (unknown == 1 and 0 not in shape):
            layer.reshape_dims = tuple(extent if isinstance(extent, int) else -1 for extent in shape)
        else:
            layer.set_input(1, self.extents(shape))
        return self.out(layer)

    def permute(self, x, order):
        layer = self.network.add_shuffle(x)
        layer.first_transpose = tuple(order)
        return self.out(layer)

    def ranked(self, x, rank: int):
        """With leading extents of 1, up to `rank` axes."""
        shape = tuple(x.shape)
        if len(shape) == rank:
            return x
        if -1 not in shape:
            return self.reshape(x, (1,) * (rank - len(shape)) + shape)
        axes = self.constant(torch.arange(rank - len(shape), dtype=torch.int64))
        return self.out(self.network.add_unsqueeze(x, axes))

    def elementwise(self, first, second, op):
        rank = max(len(first.shape), len(second.shape))
        return self.out(self.network.add_elementwise(self.ranked(first, rank), self.ranked(second, rank), op))

    def unary(self, x, op):
        return self.out(self.network.add_unary(x, op))

    def activation(self, x, kind, alpha=None, beta=None):
        layer = self.network.add_activation(x, kind)
        if alpha is not None:
            layer.alpha = alpha
        if beta is not None:
            layer.beta = beta
        return self.out(layer)

    def reduce(self, x, op, axes, keep: bool):
        mask = sum(1 << axis for axis in axes)
        return self.out(self.network.add_reduce(x, op, mask, keep)) if mask else x

    def slice(self, x, start, size, step, mode=None):
        """Starts and sizes may be symbols. `mode`: the values beyond the ends."""
        known = [tuple(extent if isinstance(extent, int) else 0 for extent in map(plain, part)) for part in (start, size)]
        layer = self.network.add_slice(x, *known, tuple(step))
        self.out(layer)
        if mode is not None:
            layer.mode = mode
        for index, part in ((1, start), (2, size)):
            if not is_fixed(part):
                layer.set_input(index, self.extents(part))
        return layer.get_output(0) if mode is None else layer

    def matmul(self, first, second, transpose_second: bool = False):
        none, other = trt.MatrixOperation.NONE, trt.MatrixOperation.TRANSPOSE
        rank = max(len(first.shape), len(second.shape))
        return self.out(self.network.add_matrix_multiply(self.ranked(first, rank), none, self.ranked(second, rank),
                                                         other if transpose_second else none))
