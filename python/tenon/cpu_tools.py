"""python -m tenon.cpu_tools prints the folder of the stand-in for CUDA's run time on machines without a GPU.

Tools that move data by ctypes on libcudart, as Polygraphy does, then run plans for the CPU:

    LD_LIBRARY_PATH=$(python -m tenon.cpu_tools) polygraphy run model.onnx --trt --onnxrt
"""
from pathlib import Path

FOLDER = Path(__file__).parent / "host_cudart"

if __name__ == "__main__":
    print(FOLDER)
