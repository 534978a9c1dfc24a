#!/usr/bin/env python3
"""How far FP32 results lie from those in float64: default numerics, exact ones, and ONNX Runtime.

usage: numerics_error.py BUILD MODEL.onnx... (numpy, onnx and onnxruntime are all that it takes; bench/check_networks.py
writes models). Each line: the norm of the difference over that of the result, and the layers that use a transform.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator


def in_doubles(model: onnx.ModelProto) -> onnx.ModelProto:
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    graph = wide.graph
    for i, tensor in enumerate(graph.initializer):
        if tensor.data_type == TensorProto.FLOAT:
            graph.initializer[i].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    return wide


def distance(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(actual.ravel() - expected.ravel()) / np.linalg.norm(expected))


def tenon(build: Path, model: Path, inputs: dict[str, np.ndarray], numerics: str) -> tuple[list[np.ndarray], str]:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, values in inputs.items():
            (folder / f"{name}.bin").write_bytes(values.tobytes())
        loads = ",".join(f"{name}:{folder / f'{name}.bin'}" for name in inputs)
        done = subprocess.run(
            [build / "bin/trtexec", f"--onnx={model.resolve()}", "--device=-1", f"--numerics={numerics}", f"--loadInputs={loads}",
             "--iterations=1", "--duration=0", "--warmUp=0", f"--exportOutput={folder / 'out.json'}", "--noSelfCheck"],
            capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stdout[-1000:] + done.stderr[-1000:])
        used = [match[1] for match in re.finditer(r"Numerics: (.*?), which", done.stdout)]
        outputs = json.loads((folder / "out.json").read_text())
    return [np.array(one["values"], np.float64) for one in outputs], "; ".join(used) or "no transforms"


def main() -> int:
    build = Path(sys.argv[1])
    for file in map(Path, sys.argv[2:]):
        model = onnx.load(file)
        random = np.random.default_rng(7)
        known = {tensor.name for tensor in model.graph.initializer}
        inputs = {value.name: random.standard_normal([d.dim_value for d in value.type.tensor_type.shape.dim]).astype(np.float32)
                  for value in model.graph.input if value.name not in known}
        expected = ReferenceEvaluator(in_doubles(model)).run(None, {k: v.astype(np.float64) for k, v in inputs.items()})[0]
        print(f"{file.stem}: condition: an input that is off by 1e-6 moves the result by", end=" ")
        moved = {k: v.astype(np.float64) * (1 + 1e-6 * random.standard_normal(v.shape)) for k, v in inputs.items()}
        print(f"{distance(ReferenceEvaluator(in_doubles(model)).run(None, moved)[0], expected):.1e}")
        rival = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
        print(f"  ONNX Runtime  {distance(rival, expected):.2e}")
        for numerics in ("default", "exact"):
            outputs, used = tenon(build, file, inputs, numerics)
            print(f"  {numerics:12}  {distance(outputs[0], expected):.2e}  {used}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
