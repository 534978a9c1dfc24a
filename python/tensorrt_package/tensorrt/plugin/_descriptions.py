"""Tensors as plugins' functions see them: described while a network is built, with memory while it runs."""
from __future__ import annotations

import copy
import ctypes
import itertools
from dataclasses import dataclass

import tensorrt as trt

from ._expressions import ShapeExpr, ShapeExprs, SizeTensorShapeExpr

class Shape(list):
    """Extents as numbers: -1 where a run finds out, and while a network is built where inputs are dynamic."""

    def __init__(self, tensor_desc=()):
        """tensor_desc: numbers, or a description of the library's."""
        self._range = tensor_desc if isinstance(tensor_desc, trt.DynamicPluginTensorDesc) else None
        described = tensor_desc.desc if self._range is not None else tensor_desc
        super().__init__(described.dims if isinstance(described, trt.PluginTensorDesc) else described or ())

    def __eq__(self, other):
        return tuple(self) == tuple(other) if isinstance(other, (tuple, list, trt.Dims)) else NotImplemented

    __hash__ = None

    def __str__(self) -> str:
        return f"Shape{tuple(self)}"

    @property
    def is_dynamic(self) -> bool:
        return any(extent < 0 for extent in self)

    def numel(self) -> int:
        if self.is_dynamic:
            raise ValueError(f"{self} has an extent that is not known")
        return trt.volume(self)

    def _of_range(self, name: str) -> tuple:
        if not self.is_dynamic:
            raise ValueError(f"{self} is not dynamic: it has no {name}")
        if self._range is None:
            raise AttributeError(f"{self} is of a run: it has no {name}")
        return tuple(getattr(self._range, name))

    @property
    def opt(self) -> tuple:
        """The extents that kernels are chosen for."""
        return self._of_range("opt")

    @property
    def min(self) -> tuple:
        return self._of_range("min")

    @property
    def max(self) -> tuple:
        return self._of_range("max")


class TensorDesc:
    """Type and shape of a tensor, as expressions; as numbers too while types and formats are chosen (`has_shape`)."""

    _fixed = False

    def __init__(self, shape_expr=(), dtype=None, format=None, scale=None):
        self.shape_expr = shape_expr if isinstance(shape_expr, ShapeExprs) else ShapeExprs(shape_expr)
        self.dtype, self.format, self.scale = dtype, format, scale
        self._shape = self._aliased = None

    def __setattr__(self, name, value):
        if self._fixed:
            raise ValueError(f"{name} of an input's description cannot be set: like() gives one that can be changed")
        super().__setattr__(name, value)

    def _fix(self) -> "TensorDesc":
        self.__dict__["_fixed"] = True
        return self

    @property
    def ndim(self) -> int:
        return len(self.shape_expr)

    @property
    def has_shape(self) -> bool:
        return self._shape is not None

    @property
    def has_shape_expr(self) -> bool:
        return self.shape_expr is not None

    @property
    def shape(self) -> Shape:
        """Extents as numbers."""
        if self._shape is None:
            raise ValueError("extents as numbers are known in functions of autotune() alone: see has_shape, shape_expr")
        return self._shape

    @shape.setter
    def shape(self, shape):
        self._shape = shape if isinstance(shape, Shape) else Shape(shape)

    @property
    def is_dynamic(self) -> bool:
        return self.shape.is_dynamic

    def numel(self) -> int:
        return self.shape.numel()

    @property
    def is_size_tensor(self) -> bool:
        return False

    def like(self) -> "TensorDesc":
        """The same, to be changed."""
        made = TensorDesc(ShapeExprs(self.shape_expr), self.dtype, self.format, self.scale)
        made._shape = self._shape
        return made

    def aliased(self) -> "TensorDesc":
        """An output that lies where this input does."""
        made = self.like()
        made._aliased = self
        return made._fix()

    def get_aliased(self):
        """The input that it lies in, or None."""
        return self._aliased

    @property
    def is_aliased(self) -> bool:
        return self._aliased is not None


class SizeTensorDesc(TensorDesc):
    """A scalar output that says how large an extent of another is."""

    def __init__(self, opt, upper_bound):
        super().__init__((), trt.int32)
        self.opt, self.upper_bound = (one if isinstance(one, ShapeExpr) else ShapeExpr(one) for one in (opt, upper_bound))
        self.index = None

    @property
    def is_size_tensor(self) -> bool:
        return True

    def expr(self) -> SizeTensorShapeExpr:
        """The extent, for the shape of another output."""
        return SizeTensorShapeExpr(self)


def size_tensor(opt, upper_bound) -> SizeTensorDesc:
    """An output by which a run says how large an extent is. opt: kernels behind are chosen for it."""
    return SizeTensorDesc(opt, upper_bound)


def from_shape_expr(shape_expr, dtype=trt.float32) -> TensorDesc:
    return TensorDesc(shape_expr, dtype)


_CODES = {trt.float32: "<f4", trt.float16: "<f2", trt.int8: "|i1", trt.uint8: "|u1", trt.int32: "<i4", trt.int64: "<i8",
          trt.bool: "|b1"}


_LAST = (trt.TensorFormat.HWC, trt.TensorFormat.DHWC)


def _strides(shape, format) -> tuple:
    """Elements from one index to the next, by axis; channels lie innermost in formats of _LAST."""
    order = [axis for axis in range(len(shape)) if axis != 1] + [1] if format in _LAST and len(shape) > 1 else range(len(shape))
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis], step = step, step * shape[axis]
    return tuple(strides)


class Tensor:
    """Memory of a run: of the host where the plan is for a CPU, else of the GPU."""

    def __init__(self, desc, address: int, stream: int = 0):
        self.dtype, self.format, self.scale = desc.type, desc.format, desc.scale
        self.shape, self.data_ptr, self._stream, self._aliased = Shape(desc), address, stream, None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def strides(self) -> tuple:
        return _strides(self.shape, self.format)

    @property
    def is_data_dependent(self) -> bool:
        """Whether the function finds out an extent: it is -1 in `shape`, and aliased() gives the memory with a shape."""
        return self.shape.is_dynamic

    def numel(self) -> int:
        return self.shape.numel()

    def like(self):
        return self

    def aliased(self, shape=None) -> "Tensor":
        """The same memory with another shape."""
        made = copy.copy(self)
        made.shape = self.shape if shape is None else Shape(shape)
        if not self.is_data_dependent and made.numel() > self.numel():
            raise ValueError(f"{made.shape} has more elements than {self.shape}")
        made._aliased = self
        return made

    def get_aliased(self):
        """The tensor that has the same memory, or None."""
        return self._aliased

    @property
    def is_aliased(self) -> bool:
        return self._aliased is not None

    @property
    def _interface(self):
        if self.dtype not in _CODES:
            raise ValueError(f"arrays have no elements of {self.dtype}")
        size = self.dtype.itemsize
        return {"shape": tuple(self.shape), "typestr": _CODES[self.dtype], "data": (self.data_ptr, False), "version": 3,
                "strides": tuple(stride * size for stride in self.strides), "stream": self._stream or None}

    @property
    def __cuda_array_interface__(self):
        return self._interface

    def numpy(self):
        """The memory as an array; only for plans for the CPU."""
        import numpy

        described = self._interface
        memory = (ctypes.c_char * (self.numel() * self.dtype.itemsize)).from_address(self.data_ptr)
        return numpy.ndarray(described["shape"], described["typestr"], memory, strides=described["strides"])


@dataclass
class AutoTuneCombination:
    """Types and formats that a plugin takes together: one alternative for all tensors, in order, behind each `|`."""

    types: str = ""
    layouts: str = "LINEAR"

    def __init__(self, io_types: str | None = None, layouts: str | None = None, tactics=None):
        self.types, self.layouts, self._tactics, self._of = io_types or "", layouts or "LINEAR", list(tactics or ()), {}

    def tactics(self, tactics) -> None:
        """Numbers above 0 of ways to compute, of which the build times each."""
        self._tactics = list(tactics)

    def pos(self, pos, io_types: str, layouts: str = "LINEAR") -> None:
        """Types and formats of some tensors by number, inputs first: `pos([0, 1], "FP32|FP16", "LINEAR")`."""
        for position in [pos] if isinstance(pos, int) else pos:
            if position in self._of or (self.types and position < len(self.types.split(","))):
                raise ValueError(f"the types of tensor {position} were given before")
            self._of[position] = io_types, layouts

    def set_types(self, types: str):
        self.types = types

    def set_layouts(self, layouts: str):
        self.layouts = layouts

    def alternatives(self, count: int) -> list:
        """Lists of (type, format), one for each tensor. Entries behind `|` belong together, with the others' at the same place;
        those behind `*` are each tensor's own choice."""
        types = [entry.strip() for entry in self.types.split(",")] if self.types else [""] * count
        layouts = [entry.strip() for entry in self.layouts.replace("+", ",").split(",")]
        types = types * count if len(types) == 1 else types
        layouts = layouts * count if len(layouts) == 1 else layouts
        unknown = [position for position in self._of if not 0 <= position < count]
        if unknown:
            raise ValueError(f"a combination names tensor {unknown[0]}, and the plugin has {count}")
        types, layouts = ([*given, *[""] * (count - len(given))] if self._of else given for given in (types, layouts))
        for position, entry in self._of.items():
            types[position], layouts[position] = entry
        if len(types) != count or len(layouts) != count:
            raise ValueError(f"a combination of {count} tensors has {len(types)} types and {len(layouts)} layouts")
        made = []
        for i, j in itertools.product(range(max(map(_places, types))), range(max(map(_places, layouts)))):
            each = [itertools.product([_named(trt.DataType, _SHORT.get(kind, kind)) if kind else None
                                       for kind in _choices(kinds, i)],
                                      [_named(trt.TensorFormat, layout) for layout in _choices(formats, j)])
                    for kinds, formats in zip(types, layouts)]
            made += map(list, itertools.product(*each))
        return made


# Types whose name here is not the enumerator's.
_SHORT = {"FP32": "FLOAT", "FP16": "HALF"}


def _named(kind, name: str):
    if name not in kind.__members__:
        raise ValueError(f"there is no {kind.__name__} '{name}': one of {', '.join([*kind.__members__, *_SHORT])}")
    return kind.__members__[name]


def _places(entry: str) -> int:
    return len(entry.split("|"))


def _choices(entry: str, place: int) -> list[str]:
    """The choices at one place: "FP32|FP16" has two places of one choice, "FP32*FP16" one place of two."""
    parts = entry.split("|")
    return [choice.strip() for choice in parts[min(place, len(parts) - 1)].split("*")]

