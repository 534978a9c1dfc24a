"""Programs that move data by CUDA's Python bindings and by PyCUDA run over plans for the CPU, with `python -m tenon.cpu_tools`."""
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
import numpy as np, tensorrt as trt
sys_path = __import__("sys").path
sys_path.insert(0, {folder!r})
from conftest import expected, relu_network
logger = trt.Logger(trt.Logger.ERROR)
builder, network = relu_network(trt, logger)
config = builder.create_builder_config()
engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
context = engine.create_execution_context()
x, y = np.ones((4, 8), np.float32), np.zeros((4, 16), np.float32)
"""

PYCUDA = """
import pycuda.autoinit, pycuda.driver as cuda
stream = cuda.Stream()
device_x, device_y = cuda.mem_alloc(x.nbytes), cuda.mem_alloc(y.nbytes)
host_y = cuda.pagelocked_empty(trt.volume(engine.get_tensor_shape("y")), trt.nptype(engine.get_tensor_dtype("y")))
start, end = cuda.Event(), cuda.Event()
start.record(stream)
cuda.memcpy_htod_async(device_x, x, stream)
context.set_tensor_address("x", device_x)
context.set_tensor_address("y", int(device_y))
assert context.execute_async_v3(stream_handle=stream.handle)
cuda.memcpy_dtoh_async(host_y, device_y, stream)
end.record(stream)
stream.synchronize()
np.testing.assert_allclose(host_y.reshape(4, 16), expected(x), rtol=1e-5)
assert start.time_till(end) > 0 and cuda.Device(0).make_context().pop() is None and cuda.mem_get_info()[0] > 0
try:
    cuda.memcpy_htod(cuda.mem_alloc(4), x)
    assert False
except cuda.LogicError as error:
    assert "no memory of this size" in str(error)
device_x.free()

class Calibrator(trt.IInt8EntropyCalibrator2):
    batches = 0
    def get_batch_size(self):
        return 4
    def get_batch(self, names, p_str=None):
        self.batches += 1
        if self.batches > 2:
            return None
        self.memory = cuda.to_device(x)
        return [self.memory]
    def read_calibration_cache(self):
        return None
    def write_calibration_cache(self, cache):
        assert len(cache)
config.set_flag(trt.BuilderFlag.INT8)
config.int8_calibrator = Calibrator()
assert builder.build_serialized_network(network, config)
"""

GPUARRAY = """
import pycuda.autoinit, pycuda.driver as cuda, pycuda.gpuarray as gpuarray
stream = cuda.Stream()
device_x, device_y = gpuarray.to_gpu(x), gpuarray.empty(tuple(engine.get_tensor_shape("y")), np.float32)
context.set_tensor_address("x", device_x.ptr)
context.set_tensor_address("y", device_y.gpudata)
assert context.execute_async_v3(stream.handle)
host_y = cuda.pagelocked_empty((4, 16), np.float32)
device_y.get_async(stream, host_y)
stream.synchronize()
np.testing.assert_allclose(host_y, expected(x), rtol=1e-5)
flat = device_y.reshape(-1)
assert flat.ptr == device_y.ptr and flat.shape == (64,) == device_y.ravel().shape and len(device_y) == 4 and device_y.nbytes == 256
device_x.set_async(2 * x, stream)
np.testing.assert_array_equal(device_x.copy().get(), 2 * x)
assert (gpuarray.zeros_like(device_x).get() == 0).all() and (gpuarray.zeros((2, 3), np.int32).fill(7).get() == 7).all()
for wrong in (x.astype(np.float64), x[:2]):
    try:
        device_x.set(wrong)
        assert False
    except ValueError as error:
        assert "does not fit" in str(error)
"""

BINDINGS = """
from cuda.bindings import driver, nvrtc, runtime as cudart
from cuda import cudart as as_before
assert as_before is cudart

def call(result):
    assert result[0] == cudart.cudaError_t.cudaSuccess, cudart.cudaGetErrorString(result[0])[1]
    return result[1:] if len(result) > 2 else result[-1]

device = call(driver.cuDeviceGet(call(driver.cuInit(0)) and 0))
call(driver.cuCtxCreate(None, 0, device))
stream = call(cudart.cudaStreamCreate())
device_x, device_y = call(cudart.cudaMalloc(x.nbytes)), call(cudart.cudaMallocAsync(y.nbytes, stream))
call(cudart.cudaMemcpyAsync(device_x, x.ctypes.data, x.nbytes, cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, stream))
assert context.set_tensor_address("x", device_x) and context.set_tensor_address("y", device_y)
assert context.execute_async_v3(stream)
call(cudart.cudaMemcpy(y.data, device_y, y.nbytes, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost))
call(cudart.cudaStreamSynchronize(stream))
np.testing.assert_allclose(y, expected(x), rtol=1e-5)
invalid = cudart.cudaError_t.cudaErrorInvalidValue
assert cudart.cudaMemcpy(device_x, y, y.nbytes, 1)[0] == invalid and cudart.cudaFree(device_x + 1)[0] == invalid
assert cudart.cudaGetErrorName(invalid)[1] == b"cudaErrorInvalidValue" and call(cudart.cudaFree(device_x)) == 0
assert cudart.cudaFree(device_x)[0] == invalid and call(cudart.cudaGetDeviceCount()) == 1
assert cudart.cudaSetDevice(1)[0] == cudart.cudaError_t.cudaErrorInvalidDevice and call(cudart.cudaSetDevice(0)) == 0
assert driver.cuModuleLoadData(b"")[0] == driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
assert nvrtc.nvrtcCreateProgram(b"", b"", 0, [], [])[0] == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION
try:
    cudart.cudaImaginary
    assert False
except AttributeError as error:
    assert "no stand-in" in str(error)
import ctypes
library, count, first = ctypes.CDLL("libcudart.so"), ctypes.c_int(), ctypes.c_void_p()
library.cudaGetErrorString.restype = ctypes.c_char_p
assert library.cudaDeviceSynchronize() == 0 == library.cudaSetDevice(0) and library.cudaGetErrorString(library.cudaSetDevice(1)) == b"invalid device ordinal"
assert library.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1
assert library.cudaMallocAsync(ctypes.byref(first), ctypes.c_size_t(8), None) == 0 == library.cudaMemset(first, 1, ctypes.c_size_t(8))
assert ctypes.string_at(first.value, 8) == b"\\1" * 8 and library.cudaFreeAsync(first, None) == 0
pinned = call(cudart.cudaHostAlloc(16, 0))
array = np.ctypeslib.as_array((ctypes.c_float * 4).from_address(pinned))
assert call(cudart.cudaFreeHost(array)) == 0 and cudart.cudaFreeHost(pinned)[0] == invalid
written = call(cudart.cudaHostAlloc(16, cudart.cudaHostAllocWriteCombined | cudart.cudaHostAllocMapped))
assert call(cudart.cudaHostGetDevicePointer(written, 0)) == written and call(cudart.cudaFreeHost(written)) == 0
"""

# Programs ask whether a module is there before they import it.
FOUND = """
import importlib.util
for name in ("cuda", "cuda.bindings", "cuda.bindings.runtime", "cuda.cudart", "pycuda", "pycuda.driver"):
    found = importlib.util.find_spec(name)
    assert found is not None and (found.submodule_search_locations is not None) == (name in ("cuda", "cuda.bindings", "pycuda"))
from cuda.core import Device
assert len(Device.get_all_devices()) == 0
"""


def run(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "tenon.cpu_tools", *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("body", [PYCUDA, GPUARRAY, BINDINGS, FOUND], ids=["pycuda", "gpuarray", "bindings", "found"])
def test_scripts_run_unchanged(body, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(HEAD.format(folder=str(Path(__file__).parent)) + body)
    done = run(script)
    assert done.returncode == 0, done.stderr


def test_pytorch_finds_no_device(tmp_path):
    """Whose kernels there are none of."""
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text("import torch; print(torch.cuda.is_available(), torch.accelerator.is_available())")
    assert run(script).stdout == "False False\n"


def test_arguments_and_status_are_the_scripts(tmp_path):
    (tmp_path / "helper.py").write_text("name = 'beside'")
    (tmp_path / "script.py").write_text("import sys, helper; print(helper.name, sys.argv[1:], __name__); sys.exit(3)")
    done = run(tmp_path / "script.py", "--flag", "-m")
    assert (done.returncode, done.stdout) == (3, "beside ['--flag', '-m'] __main__\n"), done.stderr
    assert run("-m", "json.tool", "--help").stdout.startswith("usage:") and run().stdout.strip().endswith("host_cudart")
