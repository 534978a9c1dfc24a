"""Stand-ins for CUDA's Python bindings and PyCUDA on machines without a GPU: memory of the "device" is the host's, where
plans for the CPU want it, and each call has ended when it returns. Kernels cannot be compiled or launched."""
from __future__ import annotations

import ctypes
import enum
import threading
import time
import types

import numpy

_ALIGNMENT = 256  # cudaMalloc's.


def _enumeration(name: str, **members):
    """A class whose members are numbers, under its name of CUDA."""
    return enum.IntEnum(name, members)


cudaError_t = _enumeration("cudaError_t", cudaSuccess=0, cudaErrorInvalidValue=1, cudaErrorMemoryAllocation=2,
                           cudaErrorInvalidDevice=101, cudaErrorNotSupported=801)
CUresult = _enumeration("CUresult", CUDA_SUCCESS=0, CUDA_ERROR_INVALID_VALUE=1, CUDA_ERROR_OUT_OF_MEMORY=2,
                        CUDA_ERROR_INVALID_DEVICE=101, CUDA_ERROR_NOT_SUPPORTED=801)
nvrtcResult = _enumeration("nvrtcResult", NVRTC_SUCCESS=0, NVRTC_ERROR_COMPILATION=6)
cudaMemcpyKind = _enumeration("cudaMemcpyKind", cudaMemcpyHostToHost=0, cudaMemcpyHostToDevice=1, cudaMemcpyDeviceToHost=2,
                              cudaMemcpyDeviceToDevice=3, cudaMemcpyDefault=4)
_TEXTS = {0: "no error", 1: "invalid argument: no memory of this size lies there", 2: "out of memory", 101: "invalid device ordinal",
          801: "operation not supported: kernels need a GPU", 6: "there is no compiler of kernels without a GPU"}


class Handle:
    """An address, stream, event or context: int() gives its number."""

    def __init__(self, number: int = 0):
        self.number = int(number)

    def __int__(self) -> int:
        return self.number

    def __eq__(self, other) -> bool:
        return isinstance(other, (int, Handle)) and int(other) == self.number

    def __hash__(self) -> int:
        return hash(self.number)

    def getPtr(self) -> int:  # noqa: N802: the name that the bindings have
        return ctypes.addressof(ctypes.c_void_p(self.number))


class Event(Handle):
    """The time at which it was recorded."""

    seconds = None


class Failure(Exception):
    """A status that is not success."""

    def __init__(self, status: int):
        super().__init__(_TEXTS[status])
        self.status = status


class _Memory:
    """Blocks of the host's memory by address."""

    def __init__(self):
        self._blocks: dict[int, tuple[numpy.ndarray, int]] = {}
        self._lock = threading.Lock()

    def allocate(self, size: int) -> int:
        try:
            block = numpy.empty(int(size) + _ALIGNMENT, numpy.uint8)
        except (MemoryError, ValueError):
            raise Failure(2) from None
        address = -(-block.ctypes.data // _ALIGNMENT) * _ALIGNMENT
        with self._lock:
            self._blocks[address] = block, int(size)
        return address

    def free(self, memory) -> None:
        """Arrays over a block stand for it, as in CUDA's bindings."""
        address = address_of(memory)
        with self._lock:
            if address and self._blocks.pop(address, None) is None:
                raise Failure(1)

    def checked(self, memory, size: int) -> int:
        """The address of anything that CUDA's bindings take for one. A block must have the size from its start."""
        address = address_of(memory)
        if size < 0 or (address in self._blocks and size > self._blocks[address][1]) or (size and not address):
            raise Failure(1)
        return address

    def copy(self, to, source, size: int) -> None:
        ctypes.memmove(self.checked(to, int(size)), self.checked(source, int(size)), int(size))

    def fill(self, memory, value: int, size: int) -> None:
        ctypes.memset(self.checked(memory, int(size)), int(value), int(size))


MEMORY = _Memory()


def address_of(memory) -> int:
    if memory is None:
        return 0
    if isinstance(memory, int) or hasattr(type(memory), "__int__") and not isinstance(memory, numpy.ndarray):
        return int(memory)
    if isinstance(memory, ctypes._SimpleCData):
        return memory.value or 0
    return numpy.asarray(memory).ctypes.data if isinstance(memory, numpy.ndarray) else numpy.frombuffer(memory, numpy.uint8).ctypes.data


def _allocate_to(*sizes_and_flags):
    return MEMORY.allocate(sizes_and_flags[0])


def _record(event, _stream=None, *_):
    event.seconds = time.perf_counter()


def _elapsed(first, last):
    if first.seconds is None or last.seconds is None:
        raise Failure(1)
    return (last.seconds - first.seconds) * 1e3


def _device(number=0):
    if int(number) != 0:
        raise Failure(101)
    return 0


def _memory_left():
    with open("/proc/meminfo") as file:
        rows = dict(line.split(":", 1) for line in file)
    return tuple(int(rows[name].split()[0]) * 1024 for name in ("MemAvailable", "MemTotal"))


def _properties(number=0):
    _device(number)
    return types.SimpleNamespace(name=b"CPU", major=0, minor=0, totalGlobalMem=_memory_left()[1], multiProcessorCount=1,
                                 integrated=1, unifiedAddressing=1, warpSize=1, sharedMemPerBlock=0)


def _refuse(*_, **__):
    raise Failure(801)


def _refuse_source(*_, **__):
    raise Failure(6)


def _nothing(*_, **__):
    return None


def _stream(*_):
    return Handle(0)


# Functions by name: of the run time (behind "cuda") and the driver (behind "cu").
_SHARED = {
    "MemFree Free FreeAsync FreeHost MemFreeHost MemFreeAsync": lambda memory, *_: MEMORY.free(memory),
    "MemAlloc Malloc MallocAsync MallocHost HostAlloc MallocManaged MemAllocHost MemAllocManaged MemHostAlloc MemAllocAsync": _allocate_to,
    "Memcpy MemcpyAsync MemcpyHtoD MemcpyDtoH MemcpyDtoD MemcpyHtoDAsync MemcpyDtoHAsync MemcpyDtoDAsync":
        lambda to, source, size, *_: MEMORY.copy(to, source, size),
    "Memset MemsetAsync MemsetD8 MemsetD8Async": lambda memory, value, size, *_: MEMORY.fill(memory, value, size),
    "MemsetD32 MemsetD32Async": lambda memory, value, count, *_: numpy.ctypeslib.as_array(
        (ctypes.c_uint32 * count).from_address(MEMORY.checked(memory, 4 * count))).fill(value),
    "StreamCreate StreamCreateWithFlags StreamCreateWithPriority": _stream,
    "StreamDestroy StreamSynchronize StreamQuery StreamWaitEvent DeviceSynchronize CtxSynchronize EventSynchronize EventQuery "
    "EventDestroy HostRegister HostUnregister ProfilerStart ProfilerStop MemHostRegister MemHostUnregister": _nothing,
    "EventCreate EventCreateWithFlags": lambda *_: Event(1),
    "EventRecord": _record, "EventElapsedTime": _elapsed,
    "SetDevice": lambda number: _device(number) and None, "GetDevice": lambda: 0, "GetDeviceCount DeviceGetCount": lambda: 1,
    "MemGetInfo": _memory_left, "GetDeviceProperties": _properties,
    "RuntimeGetVersion DriverGetVersion": lambda: 13000, "DeviceGetAttribute": lambda *_: 0,
    "HostGetDevicePointer MemHostGetDevicePointer": lambda memory, *_: address_of(memory),
    "DeviceGetStreamPriorityRange CtxGetStreamPriorityRange": lambda: (0, 0),
    "SetDeviceFlags": _nothing,
    "GetLastError PeekAtLastError Init CtxDestroy CtxSetCurrent CtxPushCurrent DevicePrimaryCtxRelease DevicePrimaryCtxReset "
    "DeviceReset": _nothing,
    "DeviceGet": _device, "DeviceGetName": lambda *_: b"CPU", "DeviceTotalMem": lambda *_: _memory_left()[1],
    "CtxCreate CtxGetCurrent CtxPopCurrent DevicePrimaryCtxRetain CtxGetDevice": lambda *_: Handle(1),
    "ModuleLoadData ModuleLoad ModuleGetFunction LaunchKernel StreamBeginCapture StreamEndCapture GraphInstantiate GraphLaunch "
    "LibraryLoadData": _refuse,
}
# Numbers of the run time, by value: they change nothing here.
_FLAGS = {
    0: "HostAllocDefault HostRegisterDefault EventDefault EventWaitDefault EventRecordDefault StreamDefault DeviceScheduleAuto",
    1: "HostAllocPortable HostRegisterPortable StreamNonBlocking EventBlockingSync MemAttachGlobal DeviceScheduleSpin",
    2: "HostAllocMapped HostRegisterMapped EventDisableTiming MemAttachHost DeviceScheduleYield",
    4: "HostAllocWriteCombined EventInterprocess DeviceScheduleBlockingSync",
    8: "DeviceMapHost",
}
_COMPILER = "nvrtcCreateProgram nvrtcCompileProgram nvrtcGetPTX nvrtcGetPTXSize nvrtcGetCUBIN nvrtcGetCUBINSize nvrtcGetProgramLog " \
            "nvrtcGetProgramLogSize nvrtcDestroyProgram nvrtcVersion"


def _answering(function, kind):
    """The function as the bindings have it: a tuple of the status and the results."""
    def called(*arguments, **named):
        try:
            result = function(*arguments, **named)
        except Failure as failure:
            return (kind(failure.status), None)
        return (kind(0),) if result is None else (kind(0), *result) if isinstance(result, tuple) else (kind(0), result)
    return called


def _with_errors(module, kind, prefix: str):
    setattr(module, kind.__name__, kind)
    setattr(module, f"{prefix}GetErrorName", lambda error: (kind(0), kind(error).name.encode()))
    setattr(module, f"{prefix}GetErrorString", lambda error: (kind(0), _TEXTS[int(error)].encode()))


class _Module(types.ModuleType):
    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{self.__name__}.{name} has no stand-in without a GPU")


def _table(module, prefix: str, kind) -> None:
    for names, function in _SHARED.items():
        for name in names.split():
            setattr(module, prefix + name, _answering(function, kind))
    for name in ("Stream_t", "Event_t", "stream", "event", "context", "deviceptr", "device"):
        setattr(module, prefix + name if name.endswith("_t") else "CU" + name, Event if "vent" in name else Handle)
    _with_errors(module, kind, prefix)


class CoreDevice:
    """`cuda.core.Device`: there is none."""

    def __init__(self, device_id: int | None = None):
        raise RuntimeError("there is no GPU")

    @classmethod
    def get_all_devices(cls) -> tuple:
        return ()


def bindings() -> dict[str, types.ModuleType]:
    """The modules `cuda.bindings` and, as they were called before, `cuda.cudart`, `cuda.cuda` and `cuda.nvrtc`, and `cuda.core`."""
    names = ("runtime", "driver", "nvrtc")
    runtime, driver, nvrtc = (_Module(f"cuda.bindings.{name}") for name in names)
    _table(runtime, "cuda", cudaError_t)
    _table(driver, "cu", CUresult)
    runtime.cudaMemcpyKind = cudaMemcpyKind
    runtime.cudaDeviceAttr = runtime.cudaStreamCaptureMode = _AnyMember()
    driver.CUdevice_attribute = _AnyMember()
    driver.cuuint64_t = int
    for number, flags in _FLAGS.items():
        for flag in flags.split():
            setattr(runtime, f"cuda{flag}", number)
    _with_errors(nvrtc, nvrtcResult, "nvrtc")
    for name in _COMPILER.split():
        setattr(nvrtc, name, _answering(_refuse_source, nvrtcResult))
    packages = types.ModuleType("cuda"), types.ModuleType("cuda.bindings")
    for package in packages:
        package.__path__ = []
        package.__version__ = "13.0.0"
    modules = {package.__name__: package for package in packages}
    packages[0].bindings = packages[1]
    for module, new, old in zip((runtime, driver, nvrtc), names, ("cudart", "cuda", "nvrtc")):
        modules[f"cuda.bindings.{new}"] = modules[f"cuda.{old}"] = module
        setattr(packages[1], new, module)
        setattr(packages[0], old, module)
    packages[0].core = modules["cuda.core"] = _Module("cuda.core")
    packages[0].core.Device = CoreDevice
    return modules


class _AnyMember:
    """An enumeration whose members mean nothing here."""

    def __getattr__(self, name: str) -> str:
        return name
