"""Tensors as plugins' functions see them: described while a network is built, with memory while it runs."""
from __future__ import annotations

import ctypes
import itertools
from dataclasses import dataclass

import tensorrt as trt

from ._expressions import ShapeExprs

Shape = tuple


class TensorDesc:
    """Type and shape of a tensor, as expressions."""

    def __init__(self, shape_expr=(), dtype=None, format=None, scale=None):
        self.shape_expr = shape_expr if isinstance(shape_expr, ShapeExprs) else ShapeExprs(shape_expr)
        self.dtype, self.format, self.scale = dtype, format, scale
        self._aliased = None
        self._index = None

    @property
    def ndim(self) -> int:
        return len(self.shape_expr)

    @property
    def shape(self):
        """Extents of tensors whose extents are constant."""
        return Shape(extent.constant_value() for extent in self.shape_expr)

    @property
    def is_size_tensor(self) -> bool:
        return False

    def like(self) -> "TensorDesc":
        return TensorDesc(ShapeExprs(self.shape_expr), self.dtype, self.format, self.scale)

    def aliased(self) -> "TensorDesc":
        """An output that lies where this input does."""
        made = self.like()
        made._aliased = self._index
        return made

    def get_aliased(self):
        return self._aliased


class SizeTensorDesc(TensorDesc):
    """A tensor that says how large an output is."""

    @property
    def is_size_tensor(self) -> bool:
        return True


def size_tensor(opt, upper_bound):
    raise NotImplementedError("outputs whose extents plugins find out while they run are not supported: give an upper "
                              "bound as the extent, and the number of elements as another output")


def from_shape_expr(shape_expr) -> TensorDesc:
    return TensorDesc(shape_expr, trt.float32)


_CODES = {trt.float32: "<f4", trt.float16: "<f2", trt.int8: "|i1", trt.uint8: "|u1", trt.int32: "<i4", trt.int64: "<i8",
          trt.bool: "|b1"}


class Tensor:
    """Memory of a run: of the host where the plan is for a CPU, else of the GPU."""

    def __init__(self, desc, address: int):
        self.dtype, self.format, self.scale = desc.type, desc.format, desc.scale
        self.shape, self.data_ptr = Shape(desc.dims), address
        self.strides = tuple(trt.volume(self.shape[axis + 1:]) for axis in range(len(self.shape)))

    def numel(self) -> int:
        return trt.volume(self.shape)

    def like(self):
        return self

    @property
    def _interface(self):
        return {"shape": self.shape, "typestr": _CODES[self.dtype], "data": (self.data_ptr, False), "version": 3,
                "strides": None}

    @property
    def __cuda_array_interface__(self):
        return self._interface

    def numpy(self):
        """The memory as an array; only for plans for the CPU."""
        import numpy

        dtype = numpy.dtype(_CODES[self.dtype])
        memory = (ctypes.c_char * (self.numel() * dtype.itemsize)).from_address(self.data_ptr)
        return numpy.frombuffer(memory, dtype).reshape(self.shape)


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


@dataclass
class PluginDef:
    """The functions of one plugin."""

    plugin_id: str = ""
    register: object = None
    impl: object = None
    aot_impl: object = None
    autotune: object = None
    creator: object = None
