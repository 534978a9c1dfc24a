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
    """An integer: a constant, an extent of an input, or an operation of two.

    It is fake where a plugin is asked for the types of its outputs: no extent is known there."""

    def __init__(self, value=None, *, place=None, operation=None, operands=(), fake=False):
        if isinstance(value, SymIntExpr):  # The same in another type.
            value, place, operation, operands, fake = value._value, value._place, value._operation, value._operands, value._fake
        self._value, self._place, self._operation, self._operands = value, place, operation, operands
        self._fake = fake or any(operand._fake for operand in operands)

    def _with(self, operation, other):
        other = other if isinstance(other, SymIntExpr) else type(self)(int(other))
        if other.is_size_tensor:
            return other._with(operation, self)
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

    def __bool__(self) -> bool:
        return bool(self.constant_value())

    def __repr__(self) -> str:
        shown = "fake" if self._fake else "dynamic" if self._value is None else self._value
        return f"{type(self).__name__}[{shown}]"

    @property
    def is_constant(self) -> bool:
        if self._fake:
            raise RuntimeError("types of outputs are asked for, and extents are not known yet: see is_fake")
        return self._value is not None

    def constant_value(self) -> int:
        if not self.is_constant:
            raise RuntimeError("the extent is not constant: see is_constant")
        return self._value

    @property
    def is_fake(self) -> bool:
        return self._fake

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
    """An extent that a run finds out, and writes to an output: SizeTensorDesc.expr()."""

    def __init__(self, size_tensor_desc):
        super().__init__(fake=size_tensor_desc.opt.is_fake)
        self._described = size_tensor_desc

    def _with(self, operation, other):
        raise ValueError("the extent that a size tensor has takes part in no operation")

    @property
    def is_size_tensor(self) -> bool:
        return True

    def lower(self, inputs, builder):
        described = self._described
        if described.index is None:
            raise ValueError("an extent is of a size tensor that is not among the plugin's outputs")
        return builder.declare_size_tensor(described.index, described.opt.lower(inputs, builder),
                                           described.upper_bound.lower(inputs, builder))


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
    """Several expressions: as a list of them, or as many empty places. Numbers become constants."""

    _kind = SymInt32

    def __init__(self, expressions=()):
        super().__init__([None] * expressions if isinstance(expressions, int) else map(self._taken, expressions))

    def __setitem__(self, index, expression):
        super().__setitem__(index, list(map(self._taken, expression)) if isinstance(index, slice) else self._taken(expression))

    @classmethod
    def _taken(cls, expression):
        if isinstance(expression, SymExpr):
            return expression
        if isinstance(expression, float) or not hasattr(expression, "__index__"):
            raise ValueError(f"an expression or an integer is wanted, not {expression!r}")
        return cls._kind(int(expression))

    @classmethod
    def from_tuple(cls, expressions):
        return cls(expressions)


class SymIntExprs(SymExprs):
    """Several integers."""


class ShapeExprs(SymIntExprs):
    """A shape."""

    _kind = ShapeExpr

    def __init__(self, extents=(), _is_dummy=False):
        if isinstance(extents, int):
            extents = [ShapeExpr(0, fake=_is_dummy) for _ in range(extents)]
        super().__init__(extents)
        if len(self) > trt.Dims.MAX_DIMS:
            raise ValueError(f"a shape has {trt.Dims.MAX_DIMS} extents at most, and not {len(self)}")

    @classmethod
    def _taken(cls, expression):
        taken = super()._taken(expression)
        return taken if isinstance(taken, ShapeExpr) else ShapeExpr(taken)

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
