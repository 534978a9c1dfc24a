"""The part of PyCUDA that programs for TensorRT use, over the host's memory."""
from __future__ import annotations

import time
import types

import numpy

from . import _host_gpuarray
from ._host_cuda import MEMORY, Failure, Handle, _memory_left, _Module


class Error(Exception):
    """What PyCUDA raises."""


class LogicError(Error):
    """An argument is not valid."""


class MemoryError(Error):  # noqa: A001: PyCUDA's name
    """There is no memory left."""


def _raising(function):
    def called(*arguments, **named):
        try:
            return function(*arguments, **named)
        except Failure as failure:
            raise (MemoryError if failure.status == 2 else LogicError)(str(failure)) from None
    return called


class DeviceAllocation(Handle):
    """Memory that lives as long as the object."""

    def free(self):
        number, self.number = self.number, 0
        _raising(MEMORY.free)(number)

    def __del__(self):
        if self.number:
            self.free()


class Stream(Handle):
    """Work on it has ended when the call that put it there returns."""

    handle = property(int)

    def __init__(self, flags: int = 0):
        super().__init__(0)

    def synchronize(self):
        return None

    def is_done(self) -> bool:
        return True

    def wait_for_event(self, event):
        return None


class Event:
    """The time at which it was recorded."""

    def __init__(self, flags: int = 0):
        self.seconds = None

    def record(self, stream=None):
        self.seconds = time.perf_counter()
        return self

    def synchronize(self):
        return self

    def query(self) -> bool:
        return True

    def time_since(self, earlier) -> float:
        return (self.seconds - earlier.seconds) * 1e3

    def time_till(self, later) -> float:
        return later.time_since(self)


class Context:
    """The one context, to which nothing needs to switch."""

    @staticmethod
    def push():
        return None

    @staticmethod
    def pop():
        return None

    @staticmethod
    def detach():
        return None

    @staticmethod
    def synchronize():
        return None

    @staticmethod
    def get_device():
        return Device(0)

    @staticmethod
    def get_current():
        return Context()


class Device:
    """The CPU as the one device."""

    def __init__(self, number: int = 0):
        if number:
            raise LogicError("invalid device ordinal")

    @staticmethod
    def count() -> int:
        return 1

    def name(self) -> str:
        return "CPU"

    def compute_capability(self) -> tuple:
        return 0, 0

    def total_memory(self) -> int:
        return _memory_left()[1]

    def make_context(self, flags: int = 0) -> Context:
        return Context()

    retain_primary_context = make_context


def _bytes(array) -> int:
    array = array if isinstance(array, numpy.ndarray) else numpy.frombuffer(array, numpy.uint8)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise ValueError("ndarray is not contiguous")
    return array.nbytes


def _empty(shape, dtype=float, order: str = "C", mem_flags: int = 0):
    return numpy.empty(shape, dtype, order)


def _zeros(shape, dtype=float, order: str = "C", mem_flags: int = 0):
    return numpy.zeros(shape, dtype, order)


def _to_device(array):
    memory = DeviceAllocation(_raising(MEMORY.allocate)(_bytes(array)))
    MEMORY.copy(memory, array, _bytes(array))
    return memory


def modules() -> dict[str, types.ModuleType]:
    """The modules `pycuda`, `pycuda.driver`, `pycuda.gpuarray`, `pycuda.autoinit` and `pycuda.tools`."""
    package, driver = types.ModuleType("pycuda"), _Module("pycuda.driver")
    autoinit, tools = types.ModuleType("pycuda.autoinit"), types.ModuleType("pycuda.tools")
    package.__path__, package.VERSION, package.VERSION_TEXT = [], (2024, 1), "2024.1"
    copy_in, copy_out = (_raising(lambda to, source, stream=None: MEMORY.copy(to, source, _bytes(source))),
                         _raising(lambda to, source, stream=None: MEMORY.copy(to, source, _bytes(to))))
    copy_between = _raising(lambda to, source, size, stream=None: MEMORY.copy(to, source, size))
    for item in (Error, LogicError, MemoryError, DeviceAllocation, Stream, Event, Context, Device):
        setattr(driver, item.__name__, item)
    driver.__dict__.update(
        init=lambda flags=0: None, mem_alloc=lambda size: DeviceAllocation(_raising(MEMORY.allocate)(size)), to_device=_to_device,
        pagelocked_empty=_empty, pagelocked_zeros=_zeros, pagelocked_empty_like=numpy.empty_like,
        pagelocked_zeros_like=numpy.zeros_like, managed_empty=_empty, managed_zeros=_zeros, mem_get_info=_memory_left,
        memcpy_htod=copy_in, memcpy_htod_async=copy_in, memcpy_dtoh=copy_out, memcpy_dtoh_async=copy_out,
        memcpy_dtod=copy_between, memcpy_dtod_async=copy_between, get_version=lambda: (13, 0, 0), get_driver_version=lambda: 13000,
        memset_d8=_raising(lambda to, value, count: MEMORY.fill(to, value, count)), register_host_memory=lambda array, flags=0: array,
        host_alloc_flags=types.SimpleNamespace(PORTABLE=1, DEVICEMAP=2, WRITECOMBINED=4),
        ctx_flags=types.SimpleNamespace(SCHED_AUTO=0, MAP_HOST=8), mem_attach_flags=types.SimpleNamespace(GLOBAL=1),
        event_flags=types.SimpleNamespace(DEFAULT=0, BLOCKING_SYNC=1, DISABLE_TIMING=2))
    autoinit.device, autoinit.context = Device(0), Context()
    tools.make_default_context = lambda make=None: Context()
    tools.clear_context_caches = lambda: None
    gpuarray = _host_gpuarray.module(driver)
    package.driver, package.gpuarray, package.autoinit, package.tools = driver, gpuarray, autoinit, tools
    return {"pycuda": package, "pycuda.driver": driver, "pycuda.gpuarray": gpuarray, "pycuda.autoinit": autoinit, "pycuda.tools": tools}
