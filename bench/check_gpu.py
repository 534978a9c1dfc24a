#!/usr/bin/env python3
"""Run models on a GPU and on the CPU with the same random inputs: error of the GPU's outputs against the CPU's FP32
ones, time of a query without copies to and from the host (replayed as a CUDA graph, and as plain launches), time of the
build, and the layers that ran on the host for want of a kernel.

usage: check_gpu.py [--tenon FILE] [--models DIR] [--batch N ...] [--precision fp32|tf32|fp16|bf16 ...] MODEL...
"""
import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import Worker, WorkerError, draw_inputs, files_text, materialized, shapes_text  # noqa: E402

PRECISIONS = {"fp32": ["--noTF32"], "tf32": [], "fp16": ["--fp16"], "bf16": ["--bf16"]}


def outputs_of(worker: Worker, model: Path, folder: Path) -> dict[str, np.ndarray]:
    found = {}
    for value in onnx.load(model, load_external_data=False).graph.output:
        worker.ask("save", name="m", tensor=value.name, file=str(folder / "out.bin"))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        found[value.name] = np.fromfile(folder / "out.bin", dtype)
    return found


def run(worker: Worker, model: Path, batch: int, options: list[str], inputs: dict, folder: Path, runs: int):
    shapes = shapes_text(model, batch)
    profile = [f"--{w}Shapes={shapes}" for w in ("min", "opt", "max")]
    built = worker.ask("build", name="m", options=[f"--onnx={model}", "--profilingVerbosity=detailed", *profile, *options])
    times = {}
    for graph in (True, False):
        worker.ask("bind", name="m", shapes=shapes, inputs=files_text(inputs), graph=graph, transfers=False)
        worker.ask("run", name="m", count=3)
        times[graph] = statistics.median(worker.ask("run", name="m", count=runs)["ms"])
    worker.ask("bind", name="m", shapes=shapes, inputs=files_text(inputs), graph=True)
    worker.ask("run", name="m", count=2)
    layers = json.loads(worker.ask("layers", name="m")["layers"])["Layers"]
    on_host = [layer for layer in layers if "cuda.reference" in json.dumps(layer)]
    return built["build_ms"], times, outputs_of(worker, model, folder), on_host


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    return float(np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 1e-30))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tenon", default=str(ROOT / "build/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--precision", nargs="+", default=["fp32"], choices=list(PRECISIONS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--hosted", action="store_true", help="name the layers that ran on the host")
    arguments = parser.parse_args()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in arguments.models:
            model = materialized(name, arguments.weights)
            for batch in arguments.batch:
                inputs = draw_inputs(model, batch, folder)
                with Worker(arguments.tenon, "worker") as cpu:
                    _, _, expected, _ = run(cpu, model, batch, ["--device=-1"], inputs, folder, 1)
                for precision in arguments.precision:
                    try:
                        with Worker(arguments.tenon, "worker") as gpu:
                            build, times, got, hosted = run(
                                gpu, model, batch, PRECISIONS[precision], inputs, folder, arguments.runs)
                    except WorkerError as error:
                        print(f"{name} {batch} {precision}: {error}", flush=True)
                        failed = True
                        continue
                    errors = [relative_error(got[key], expected[key]) for key in expected]
                    print(f"{name:20s} batch {batch:3d} {precision}: error {max(errors):.2e}, "
                          f"{times[True]:8.4f} ms with graph, {times[False]:8.4f} ms without, "
                          f"build {build / 1000:.1f} s, {len(hosted)} layers on the host", flush=True)
                    if arguments.hosted:
                        for layer in hosted:
                            print(f"    {layer['Name']} ({layer['LayerType']})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
