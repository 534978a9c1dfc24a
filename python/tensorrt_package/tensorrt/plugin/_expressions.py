"""Extents as expressions of the inputs' extents: trees that a build lowers to the library's expressions."""
from __future__ import annotations

import tensorrt as trt

_Operation = trt.DimensionOperation
_EVALUATE = {_Operation.SUM: lambda a, b: a + b, _Operation.PROD: lambda a, b: a * b, _Operation.MAX: lambda a, b: a if a > b else b,
             _Operation.MIN: lambda a, b: a if a < b else b, _Operation.SUB: lambda a, b: a - b,
             _Operation.EQUAL: lambda a, b: int(a == b), _Operation.LESS: lambda a, b: int(a < b),
             _Operation.FLOOR_DIV: lambda a, b: a // b, _Operation.CEIL_DIV: lambda a, b: -(-a // b)}


class SymExpr:
    """Base of expressions."""


class SymIntExpr(SymExpr):
    """An integer: a constant, an extent of an input, or an operation of two."""

    def __init__(self, value=None, *, place=None, operation=None, operands=()):
        if isinstance(value, SymIntExpr):  # The same in another type.
            value, place, operation, operands = value._value, value._place, value._operation, value._operands
        self._value, self._place, self._operation, self._operands = value, place, operation, operands

    def _with(self, operation, other):
        other = other if isinstance(other, SymIntExpr) else type(self)(int(other))
        if self._value is not None and other._value is not None:
            return type(self)(_EVALUATE[operation](self._value, other._value))
        return type(self)(operation=operation, operands=(self, other))

    def _after(self, operation, other):
        return type(self)(int(other))._with(operation, self)

    def __add__(self, other):
        return self._with(_Operation.SUM, other)

    def __radd__(self, other):
        return self._after(_Operation.SUM, other)

    def __sub__(self, other):
        return self._with(_Operation.SUB, other)

    def __rsub__(self, other):
        return self._after(_Operation.SUB, other)

    def __mul__(self, other):
        return self._with(_Operation.PROD, other)

    def __rmul__(self, other):
        return self._after(_Operation.PROD, other)

    def __floordiv__(self, other):
        return self._with(_Operation.FLOOR_DIV, other)

    def __rfloordiv__(self, other):
        return self._after(_Operation.FLOOR_DIV, other)

    def __eq__(self, other):
        return self._with(_Operation.EQUAL, other)

    def __lt__(self, other):
        return self._with(_Operation.LESS, other)

    def __gt__(self, other):
        return self._after(_Operation.LESS, other) if not isinstance(other, SymIntExpr) else other._with(_Operation.LESS, self)

    __hash__ = None

    @property
    def is_constant(self) -> bool:
        return self._value is not None

    def constant_value(self) -> int:
        if self._value is None:
            raise ValueError("the extent is not constant")
        return self._value

    @property
    def is_fake(self) -> bool:
        return False

    @property
    def is_size_tensor(self) -> bool:
        return False

    def evaluate(self, shapes) -> int:
        """The value for shapes of the inputs."""
        if self._value is not None:
            return self._value
        if self._place is not None:
            return int(shapes[self._place[0]][self._place[1]])
        return _EVALUATE[self._operation](*(operand.evaluate(shapes) for operand in self._operands))

    def stored(self):
        """As JSON has it: a number, a place, or an operation of two."""
        if self._value is not None:
            return self._value
        if self._place is not None:
            return {"place": list(self._place)}
        return {"operation": self._operation.name, "operands": [operand.stored() for operand in self._operands]}

    @staticmethod
    def restored(stored) -> "SymIntExpr":
        if not isinstance(stored, dict):
            return SymIntExpr(stored)
        if "place" in stored:
            return SymIntExpr(place=tuple(stored["place"]))
        return SymIntExpr(operation=getattr(_Operation, stored["operation"]),
                          operands=tuple(map(SymIntExpr.restored, stored["operands"])))

    def lower(self, inputs, builder):
        """The library's expression. `inputs`: shapes of the inputs."""
        if self._value is not None:
            return builder.constant(self._value)
        if self._place is not None:
            return inputs[self._place[0]][self._place[1]]
        first, second = (operand.lower(inputs, builder) for operand in self._operands)
        return builder.operation(self._operation, first, second)


class ShapeExpr(SymIntExpr):
    """One extent."""


class SizeTensorShapeExpr(ShapeExpr):
    """An extent that a run finds out; networks here have none."""


class SymInt8(SymIntExpr):
    """An argument of a kernel, of 8 bits."""


class SymInt16(SymIntExpr):
    """An argument of a kernel, of 16 bits."""


class SymInt32(SymIntExpr):
    """An argument of a kernel, of 32 bits."""


class SymExprImpl(trt.ISymExpr):
    """An expression as an argument of a kernel."""

    def __init__(self, expr):
        super().__init__(trt.PluginArgType.INT, trt.PluginArgDataType.INT32, expr)


class SymExprs(list):
    """Several expressions: as a list of them, or as many empty places."""

    def __init__(self, expressions=()):
        super().__init__([None] * expressions if isinstance(expressions, int) else expressions)

    @classmethod
    def from_tuple(cls, expressions):
        return cls(expressions)


class SymIntExprs(SymExprs):
    """Several integers."""


class ShapeExprs(SymIntExprs):
    """A shape."""

    def __init__(self, extents=(), _is_dummy=False):
        if isinstance(extents, int):
            extents = [0] * extents
        super().__init__(extent if isinstance(extent, SymIntExpr) else ShapeExpr(int(extent)) for extent in extents)

    def numel(self):
        product = ShapeExpr(1)
        for extent in self:
            product = product * extent
        return product


def cdiv(first, second):
    """first / second, rounded up."""
    if isinstance(first, SymIntExpr):
        return first._with(_Operation.CEIL_DIV, second)
    return ShapeExpr(first)._with(_Operation.CEIL_DIV, second) if isinstance(second, SymIntExpr) else -(-first // second)


def max(first, second):  # noqa: A001: the surface's name
    return (first if isinstance(first, SymIntExpr) else ShapeExpr(first))._with(_Operation.MAX, second)


def min(first, second):  # noqa: A001: the surface's name
    return (first if isinstance(first, SymIntExpr) else ShapeExpr(first))._with(_Operation.MIN, second)
