"""Programs for TensorRT that move data by CUDA, on machines without a GPU: over plans for the CPU, with stand-ins for CUDA.

    python -m tenon.cpu_tools script.py ARGUMENTS        # or -m MODULE ARGUMENTS

runs a script with stand-ins for CUDA's Python bindings (`cuda.bindings`, `cuda.cudart`), for PyCUDA and for CUDA's run time.

    LD_LIBRARY_PATH=$(python -m tenon.cpu_tools) polygraphy run model.onnx --trt --onnxrt

without arguments it prints the folder of the stand-in for CUDA's run time, for tools that load that by ctypes.
"""
import ctypes
import importlib.machinery
import os
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "host_cudart"


def install() -> None:
    """Puts the stand-ins in the place of CUDA's modules and library, for this process and its children. To be called ahead of
    the first import of these modules. GPUs are left alone: their memory is not the host's."""
    from . import _host_cuda, _host_pycuda

    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("LD_LIBRARY_PATH")]))
    for library in FOLDER.glob("*.so"):
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)  # Who opens it by its name later gets this one.
    stand_ins = {**_host_cuda.bindings(), **_host_pycuda.modules()}
    for name, module in stand_ins.items():  # importlib.util.find_spec() asks modules that are there for it.
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=hasattr(module, "__path__"))
    sys.modules.update(stand_ins)


def _run(arguments: list[str]) -> None:
    install()
    module = arguments[0] == "-m"
    sys.argv = arguments[module:]
    if module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _run(sys.argv[1:])
    else:
        print(FOLDER)
