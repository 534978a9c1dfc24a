"""Arrays on the GPU for callers without a library of their own, and whose stream a call is on."""
from __future__ import annotations

import functools
import sys

_TYPES = {"float32": "<f4", "float16": "<f2", "int8": "|i1", "uint8": "|u1", "int32": "<i4", "int64": "<i8",
          "bool": "|b1"}
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int32": 4, "int64": 8}


class DeviceArray:
    """Memory of a GPU with the CUDA array interface."""

    def __init__(self, gpu, shape, dtype: str):
        self.shape, self.dtype, self._gpu, self._address = tuple(shape), dtype, gpu, 0
        count = 1
        for extent in self.shape:
            count *= extent
        self.nbytes = count * _BYTES.get(dtype, 1)
        if dtype not in _TYPES:
            raise TypeError(f"the CUDA array interface has no {dtype}: give the outputs, as arrays of your library")
        self._address = gpu.allocate(max(self.nbytes, 1))
        if not self._address:
            raise MemoryError(f"{self.nbytes} bytes on the GPU")

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": _TYPES[self.dtype], "data": (self._address, False), "version": 3,
                "strides": None}

    def numpy(self):
        """A copy on the host."""
        import numpy

        array = numpy.empty(self.shape, self.dtype)
        self._gpu.copy_async(array.ctypes.data, self._address, self.nbytes, 0)
        self._gpu.synchronize(0)
        return array

    def __del__(self):
        if self._address:
            self._gpu.destroy(self._address)


@functools.cache
def _torch_type(name: str):
    return getattr(sys.modules["torch"], name)


def empty_like_kind(gpu, like, shape, dtype: str):
    """An array on the GPU, of the library that `like` is of (PyTorch's tensors have new_empty)."""
    new_empty = getattr(like, "new_empty", None)
    if new_empty is not None:
        return new_empty(shape, dtype=_torch_type(dtype))
    if type(like).__module__.partition(".")[0] == "cupy":
        return sys.modules["cupy"].empty(shape, dtype)
    return DeviceArray(gpu, shape, dtype)


def _torch_stream(tensor) -> int:
    """The address of PyTorch's current stream, without the object around it where PyTorch tells it."""
    torch = sys.modules["torch"]
    address = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return address(tensor.get_device()) if address else torch.cuda.current_stream(tensor.device).cuda_stream


def current_stream(inputs) -> int:
    """The stream that the caller's library works on; 0, the default one, where it has none."""
    for array in inputs:
        library = type(array).__module__.partition(".")[0]
        if library == "torch" and array.is_cuda:
            return _torch_stream(array)
        if library == "cupy":
            return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0
