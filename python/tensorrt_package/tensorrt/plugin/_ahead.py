"""Kernels that aot_impl() compiles ahead of time: kept in the plan as text, and launched through NVIDIA's driver."""
from __future__ import annotations

import base64
import ctypes
import functools

from ._expressions import ShapeExpr, SymInt8, SymInt16, SymInt32, SymIntExpr

_SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_mem")
_MOST_SHARED = 48 * 1024  # Bytes that kernels may ask for without telling the driver first.
_DYNAMIC_SHARED = 8  # The driver's number of that attribute.
_WIDTHS = {SymInt8: ctypes.c_int8, SymInt16: ctypes.c_int16, SymInt32: ctypes.c_int32}


def _expression(value) -> SymIntExpr:
    return value if isinstance(value, SymIntExpr) else ShapeExpr(int(value))


class Kernel:
    """One compiled kernel: its name, its text (PTX), and how it is launched, as expressions of the inputs' extents.

    Its arguments are the inputs' addresses, the further ones, and the outputs' addresses."""

    def __init__(self, name: str, text: bytes, sizes: dict, arguments: list):
        """arguments: pairs of a type of ctypes' and an expression."""
        self.name, self.text, self.sizes, self.arguments = name, text, sizes, arguments

    @classmethod
    def of(cls, made) -> "Kernel":
        """Of the results of a function of aot_impl()."""
        name, text, launch, arguments = made
        sizes = {size: _expression(getattr(launch, size)) for size in _SIZES}
        pairs = [(next((width for kind, width in _WIDTHS.items() if isinstance(one, kind)), ctypes.c_int32), _expression(one))
                 for one in arguments]
        return cls(name.decode() if isinstance(name, bytes) else name, text.encode() if isinstance(text, str) else bytes(text),
                   sizes, pairs)

    def stored(self) -> dict:
        """As JSON has it."""
        return {"name": self.name, "text": base64.b64encode(self.text).decode(),
                "sizes": {size: expression.stored() for size, expression in self.sizes.items()},
                "arguments": [[width.__name__, expression.stored()] for width, expression in self.arguments]}

    @classmethod
    def restored(cls, stored: dict) -> "Kernel":
        return cls(stored["name"], base64.b64decode(stored["text"]),
                   {size: SymIntExpr.restored(expression) for size, expression in stored["sizes"].items()},
                   [(getattr(ctypes, width), SymIntExpr.restored(expression)) for width, expression in stored["arguments"]])

    def launch(self, inputs, outputs, shapes, stream: int) -> None:
        """inputs, outputs: addresses. shapes: of the inputs."""
        sizes = {size: expression.evaluate(shapes) for size, expression in self.sizes.items()}
        if 0 in (sizes["grid_x"], sizes["grid_y"], sizes["grid_z"]):
            return  # Nothing to compute: tensors without elements.
        values = [*map(ctypes.c_void_p, inputs), *(width(expression.evaluate(shapes)) for width, expression in self.arguments),
                  *map(ctypes.c_void_p, outputs)]
        addresses = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        function = _function(_context(), self.text, self.name)
        if sizes["shared_mem"] > _MOST_SHARED:
            _check("cuFuncSetAttribute", function, _DYNAMIC_SHARED, sizes["shared_mem"])
        _check("cuLaunchKernel", function, *(ctypes.c_uint(sizes[size]) for size in _SIZES), ctypes.c_void_p(stream), addresses, None)


@functools.cache
def _driver():
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise RuntimeError("a plugin's kernel that is compiled ahead of time runs on NVIDIA GPUs alone: give impl() as well, or "
                           "build for a GPU") from error


def _check(name: str, *arguments) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status:
        raise RuntimeError(f"a plugin's kernel: {name} of the driver failed with {status}")


def _context() -> int:
    context = ctypes.c_void_p()
    _check("cuCtxGetCurrent", ctypes.byref(context))
    return context.value or 0


@functools.lru_cache(256)
def _function(context: int, text: bytes, name: str):
    """The kernel in a context of the driver. Modules stay loaded: runs that were captured refer to them."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text))
    _check("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    return function


def wanted_ahead(plugin, aot) -> bool:
    """Whether a plugin's kernels are compiled ahead of time: by request, else where there is no impl()."""
    ahead = aot if aot is not None else plugin.impl_func is None
    if (plugin.aot_impl_func if ahead else plugin.impl_func) is None:
        missing = "aot_impl()" if ahead else "impl()"
        raise ValueError(f"plugin '{plugin.plugin_id}' has no {missing}")
    return bool(ahead)
