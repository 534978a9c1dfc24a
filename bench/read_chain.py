"""Launches that do nothing but read memory, each behind the one before: what a chain of products with few rows could take at
best. They are replayed as one graph, may overlap as our kernels do, and read other bytes each, more in all than the cache holds."""
import ctypes
import glob
import os
import statistics
import sysconfig

SOURCE = r"""
extern "C" __global__ void __launch_bounds__(THREADS) read(const uint4* __restrict__ from, unsigned* to, int count) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  unsigned sum = 0;
  for (int first = blockIdx.x * THREADS * HELD + threadIdx.x; first < count; first += gridDim.x * THREADS * HELD) {
    uint4 v[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
      v[i] = first + i * THREADS < count ? __ldcs(from + first + i * THREADS) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < HELD; ++i) sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
  }
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (sum == 0x12345678) *to = sum;
}
"""
SHAPES = [(256, 8, 2), (256, 16, 2), (512, 8, 2), (512, 16, 1), (1024, 8, 1)]  # Threads, loads of each, blocks a multiprocessor.
OVERLAPS = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class Attribute(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("unused", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class Launch(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


def nvrtc() -> ctypes.CDLL:
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    folders += glob.glob(sysconfig.get_paths()["purelib"] + "/nvidia/*/lib") + glob.glob("/usr/local/cuda*/lib64")
    for folder in folders:
        for file in sorted(glob.glob(folder + "/libnvrtc.so*")):
            return ctypes.CDLL(file)
    return ctypes.CDLL("libnvrtc.so")


def compiled(architecture: str, threads: int, held: int) -> bytes:
    compiler, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    options = [f"-arch={architecture}".encode(), f"-DTHREADS={threads}".encode(), f"-DHELD={held}".encode()]
    compiler.nvrtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"read.cu", 0, None, None)
    if compiler.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)):
        raise RuntimeError("NVRTC refuses the kernel that reads")
    compiler.nvrtcGetCUBINSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    compiler.nvrtcGetCUBIN(program, code)
    return code.raw


def checked(code: int) -> None:
    if code:
        raise RuntimeError(f"the driver's error {code}")


class Reader:
    def __init__(self, architecture: str, threads: int, held: int, blocks: int):
        self.driver, self.module, self.function = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
        checked(self.driver.cuModuleLoadData(ctypes.byref(self.module), compiled(architecture, threads, held)))
        checked(self.driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, b"read"))
        self.threads, self.blocks = threads, blocks

    def launch(self, stream: int, address: int, to: int, size: int) -> None:
        overlap = (Attribute * 1)()
        overlap[0].number, overlap[0].value[0] = OVERLAPS, 1
        launch = Launch((self.blocks, 1, 1), (self.threads, 1, 1), 0, stream, overlap, 1)
        values = [ctypes.c_void_p(address), ctypes.c_void_p(to), ctypes.c_int(size // 16)]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        checked(self.driver.cuLaunchKernelEx(ctypes.byref(launch), self.function, pointers, None))


def chain_us(sizes: list[int]) -> float:
    """Microseconds of the whole chain, of the best shape of launches: the median of 20 replays."""
    import torch
    memory = torch.zeros(sum(sizes) + 16, dtype=torch.uint8, device="cuda")
    properties = torch.cuda.get_device_properties(0)
    best = float("inf")
    for threads, held, each in SHAPES:
        reader = Reader(f"sm_{properties.major}{properties.minor}", threads, held, each * properties.multi_processor_count)
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            with torch.cuda.graph(graph, stream=stream):
                at = memory.data_ptr()
                for size in sizes:
                    reader.launch(torch.cuda.current_stream().cuda_stream, at, memory.data_ptr(), size)
                    at += size // 16 * 16
            times = []
            for _ in range(25):
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                graph.replay()
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) * 1e3)
            best = min(best, statistics.median(times[5:]))
    return best
