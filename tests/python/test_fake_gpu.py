"""Arrays on a GPU, over a driver that pretends (tests/device/fake_driver), with stand-ins for PyTorch's tensors and functions."""
import ctypes
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from test_exchange import _VIEW, _Exchange, _Tensor

DRIVER = Path(os.environ.get("TENON_FAKE_DRIVER") or "/nowhere/lib").parent
pytestmark = pytest.mark.skipif(not (DRIVER / "lib/libcuda.so.1").exists(), reason="there is no driver that pretends")
GPU = 2  # DLPack's number of CUDA devices.


class Tensor:
    """As PyTorch's, on a GPU."""

    requires_grad = False

    def __init__(self, shape, gpu):
        self.memory = np.zeros(int(np.prod(shape)) * 4 + 256, np.uint8)
        self.address = (self.memory.ctypes.data + 255) // 256 * 256
        self.gpu, self.device, self.extents = gpu, f"cuda:{gpu}", (ctypes.c_int64 * len(shape))(*shape)

    @_VIEW
    def _describe(self, out):
        view = ctypes.cast(out, ctypes.POINTER(_Tensor)).contents
        view.data, view.device[0], view.device[1], view.ndim = self.address, GPU, self.gpu, len(self.extents)
        view.code, view.bits, view.lanes, view.shape, view.strides, view.offset = 2, 32, 1, self.extents, None, 0
        return 0


@ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
def _stream(kind, gpu, stream):
    stream[0] = None
    return 0


def fake_torch(calls, *, quick=True):
    """PyTorch as far as sessions use it. `calls`: takes the name of each function that makes a tensor."""
    torch = types.ModuleType("torch")
    torch.Tensor, torch.float32, torch.current = Tensor, "float32", 0

    def empty_strided(size, stride, dtype, device):
        calls.append(("empty_strided", device))
        return Tensor(size, int(device[-1]))

    def empty_strided_cuda(size, stride, dtype):
        assert size == (4, 16) and stride == (16, 1) and dtype == "float32"
        calls.append(("quick", torch.current))
        return Tensor(size, torch.current)

    torch.empty_strided, torch._C = empty_strided, types.SimpleNamespace(_cuda_getDevice=lambda: torch.current)
    if quick:
        torch._C._dynamo = types.SimpleNamespace(guards=types.SimpleNamespace(_empty_strided_cuda=empty_strided_cuda))
    ctypes.pythonapi.PyCapsule_New.restype = ctypes.py_object
    ctypes.pythonapi.PyCapsule_New.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
    Tensor.table = _Exchange(1, 0, None, view_of=Tensor._describe, current_stream=ctypes.cast(_stream, ctypes.c_void_p))
    Tensor.__dlpack_c_exchange_api__ = ctypes.pythonapi.PyCapsule_New(ctypes.addressof(Tensor.table), b"dlpack_exchange_api", None)
    sys.modules["torch"] = torch
    return torch


def _session():
    import tenon
    from conftest import onnx_model

    return tenon.build(onnx_model((4, 8)), device="cuda", level=0, progress=False).session()


def new_outputs_are_made_quickly_where_that_is_right():
    calls = []
    run, torch = _session(), fake_torch(calls)
    made = run(Tensor((4, 8), 0))
    assert type(made) is Tensor and calls == [("quick", 0)] and run.context.get_tensor_address("y") == made.address
    assert run(Tensor((4, 8), 0)) is not made and calls == [("quick", 0)] * 2
    torch.current = 1  # The quick function would make a tensor there.
    run(Tensor((4, 8), 0))
    assert calls[2:] == [("empty_strided", "cuda:0")]
    torch.current = 0
    given = Tensor((4, 16), 0)
    assert run(Tensor((4, 8), 0), out=given) is given and len(calls) == 3
    assert run.context.get_tensor_address("y") == given.address


def a_pytorch_without_the_quick_function_serves_too():
    calls = []
    run = _session()
    fake_torch(calls, quick=False)
    assert type(run(Tensor((4, 8), 0))) is Tensor and calls == [("empty_strided", "cuda:0")]


CASES = [new_outputs_are_made_quickly_where_that_is_right, a_pytorch_without_the_quick_function_serves_too]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test(case):
    """In a process of its own, since a process looks for the driver once."""
    ran = subprocess.run([sys.executable, "-c", f"import {__name__}; {__name__}.{case.__name__}()"], capture_output=True, text=True,
                         cwd=Path(__file__).parent, env={**os.environ, "TENON_CUDA_PATH": str(DRIVER)})
    assert ran.returncode == 0, ran.stderr
