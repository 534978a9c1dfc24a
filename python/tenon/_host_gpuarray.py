"""`pycuda.gpuarray` over the host's memory: arrays that hold and move data. Arithmetic, which compiles kernels, is not there."""
from __future__ import annotations

import math
import types

import numpy


def _extents(shape) -> tuple:
    return (int(shape),) if numpy.isscalar(shape) else tuple(map(int, shape))


class GPUArray:
    """An array whose memory is that of `driver.mem_alloc`, or another array's."""

    def __init__(self, shape, dtype, allocator=None, base=None, gpudata=None, order: str = "C"):
        self.shape, self.dtype, self.base = _extents(shape), numpy.dtype(dtype), base
        self.size, self.ndim, self.itemsize = math.prod(self.shape), len(self.shape), self.dtype.itemsize
        self.nbytes, self.mem_size = self.size * self.itemsize, self.size
        dense = self.shape[1:] if order == "C" else self.shape[:-1]
        steps = [self.itemsize * math.prod(dense[i:] if order == "C" else dense[:i]) for i in range(self.ndim)]
        self.strides = tuple(steps)
        self._order, self._allocator = order, allocator
        self.gpudata = (allocator or GPUArray.driver.mem_alloc)(max(self.nbytes, 1)) if gpudata is None else gpudata

    @property
    def ptr(self) -> int:
        return int(self.gpudata)

    @property
    def __cuda_array_interface__(self) -> dict:
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.ptr, False), "version": 3, "strides": self.strides}

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("scalar has no len()")
        return self.shape[0]

    def __repr__(self) -> str:
        return repr(self.get())

    def _checked(self, array) -> numpy.ndarray:
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError(f"{array.dtype} {array.shape} does not fit an array of {self.dtype} {self.shape}")
        return array

    def set(self, ary, async_=False, stream=None) -> None:
        GPUArray.driver.memcpy_htod(self.gpudata, numpy.asarray(self._checked(ary), order=self._order))

    def set_async(self, ary, stream=None) -> None:
        self.set(ary)

    def get(self, ary=None, pagelocked=False, async_=False, stream=None) -> numpy.ndarray:
        into = numpy.empty(self.shape, self.dtype, self._order) if ary is None else self._checked(ary)
        GPUArray.driver.memcpy_dtoh(into, self.gpudata)
        return into

    def get_async(self, stream=None, ary=None) -> numpy.ndarray:
        return self.get(ary)

    def fill(self, value, stream=None) -> GPUArray:
        self.set(numpy.full(self.shape, value, self.dtype))
        return self

    def copy(self) -> GPUArray:
        return to_gpu(self.get())

    def reshape(self, *shape, order: str = "C") -> GPUArray:
        wanted = shape[0] if len(shape) == 1 and not numpy.isscalar(shape[0]) else shape
        extents = numpy.empty(self.shape, numpy.uint8).reshape(wanted).shape
        return GPUArray(extents, self.dtype, base=self, gpudata=self.gpudata, order=self._order)

    def ravel(self) -> GPUArray:
        return self.reshape(self.size)


def to_gpu(ary, allocator=None) -> GPUArray:
    ary = numpy.asarray(ary)
    result = GPUArray(ary.shape, ary.dtype, allocator)
    result.set(ary)
    return result


def to_gpu_async(ary, allocator=None, stream=None) -> GPUArray:
    return to_gpu(ary, allocator)


def empty(shape, dtype, allocator=None, order: str = "C") -> GPUArray:
    return GPUArray(shape, dtype, allocator, order=order)


def zeros(shape, dtype=numpy.float64, allocator=None, order: str = "C") -> GPUArray:
    return GPUArray(shape, dtype, allocator, order=order).fill(0)


def empty_like(other, dtype=None, order: str = "C") -> GPUArray:
    return GPUArray(other.shape, dtype or other.dtype)


def zeros_like(other, dtype=None, order: str = "C") -> GPUArray:
    return empty_like(other, dtype).fill(0)


def ones_like(other, dtype=None, order: str = "C") -> GPUArray:
    return empty_like(other, dtype).fill(1)


def module(driver) -> types.ModuleType:
    """The module `pycuda.gpuarray`, whose memory is the driver's."""
    GPUArray.driver = driver
    made = types.ModuleType("pycuda.gpuarray")
    for item in (GPUArray, to_gpu, to_gpu_async, empty, zeros, empty_like, zeros_like, ones_like):
        setattr(made, item.__name__, item)
    return made
