#!/usr/bin/env python3
"""A worker for ONNX Runtime or OpenVINO that takes the commands of `tenon worker`: build, bind, run, save, memory.

usage: rival_worker.py onnxruntime|openvino THREADS
"""
import json
import sys
import time

import numpy as np


def now_ms() -> float:
    return time.perf_counter() * 1000


def peak_memory_mib() -> float:
    """Of this program alone: getrusage() also counts the process before it became this one."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


class OnnxRuntime:
    def __init__(self, threads: int):
        import onnxruntime

        self.library, self.threads = onnxruntime, threads

    def build(self, model: str) -> None:
        options = self.library.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        self.session = self.library.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def types(self) -> dict[str, np.dtype]:
        names = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
                 "tensor(bool)": np.bool_, "tensor(float16)": np.float16}
        return {i.name: np.dtype(names[i.type]) for i in self.session.get_inputs()}

    def bind(self, values: dict[str, np.ndarray]) -> None:
        self.values = values

    def run(self) -> None:
        self.outputs = self.session.run(None, self.values)

    def output(self, name: str) -> np.ndarray:
        return self.outputs[[o.name for o in self.session.get_outputs()].index(name)]


class OpenVino:
    def __init__(self, threads: int):
        import openvino

        self.library, self.core, self.threads = openvino, openvino.Core(), threads

    def build(self, model: str) -> None:
        # Without the hint OpenVINO computes in bf16 where the CPU has it.
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": self.threads, "NUM_STREAMS": 1,
                    "INFERENCE_PRECISION_HINT": "f32"}
        self.compiled = self.core.compile_model(model, "CPU", settings)

    def types(self) -> dict[str, np.dtype]:
        return {i.any_name: np.dtype(i.element_type.to_dtype()) for i in self.compiled.inputs}

    def bind(self, values: dict[str, np.ndarray]) -> None:
        self.values = values  # the tensors do not keep shared memory alive
        self.request = self.compiled.create_infer_request()
        for name, value in values.items():
            self.request.set_tensor(name, self.library.Tensor(value, shared_memory=True))

    def run(self) -> None:
        self.request.infer()

    def output(self, name: str) -> np.ndarray:
        return self.request.get_tensor(name).data


def bind(rival, request: dict) -> None:
    shapes = dict(entry.rsplit(":", 1) for entry in request["shapes"].split(","))
    files = dict(entry.split(":", 1) for entry in request["inputs"].split(","))
    rival.bind({name: np.fromfile(files[name], dtype).reshape([int(extent) for extent in shapes[name].split("x")])
                for name, dtype in rival.types().items()})


def run(rival, count: int) -> list[float]:
    times = []
    for _ in range(count):
        before = now_ms()
        rival.run()
        times.append(now_ms() - before)
    return times


def answer(rival, request: dict) -> dict:
    start = now_ms()
    command = request["command"]
    if command == "build":
        rival.build(next(o for o in request["options"] if o.startswith("--onnx="))[len("--onnx=") :])
        return {"build_ms": now_ms() - start, "load_ms": now_ms() - start}
    if command == "bind":
        bind(rival, request)
        return {"bind_ms": now_ms() - start}
    if command == "run":
        return {"ms": run(rival, request.get("count", 1))}
    if command == "save":
        output = rival.output(request["tensor"])
        np.ascontiguousarray(output).tofile(request["file"])
        return {"dims": list(output.shape)}
    if command == "memory":
        return {"peak_mib": peak_memory_mib()}
    return {"error": f"there is no command '{command}'"}


def main() -> None:
    rivals = {"onnxruntime": OnnxRuntime, "openvino": OpenVino}
    if len(sys.argv) != 3 or sys.argv[1] not in rivals:
        sys.exit(__doc__)
    rival = rivals[sys.argv[1]](int(sys.argv[2]))
    for line in sys.stdin:
        try:
            print(json.dumps(answer(rival, json.loads(line))), flush=True)
        except Exception as error:  # whatever a library throws is the answer
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)


if __name__ == "__main__":
    main()
