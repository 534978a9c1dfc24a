#!/usr/bin/env python3
"""Run models on a GPU and on the CPU with the same random inputs: error of the GPU's outputs against the CPU's FP32
ones, time of a query without copies to and from the host (replayed as a CUDA graph, and as plain launches), time of the
build, and the layers that ran on the host for want of a kernel.

Instead of that, --identical RUNS: whether that many runs, in four streams at a time of which two replay graphs, give
the same bits as one that ran alone. --rebuild: times of a build without any cache and of one with a timing cache and a
kernel cache, and whether the plans of two builds with one timing cache are the same, byte for byte.

usage: check_gpu.py [--tenon FILE] [--weights DIR] [--batch N ...] [--precision fp32|tf32|fp16|bf16 ...]
                    [--identical RUNS | --rebuild] MODEL...
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
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


def build_options(model: Path, batch: int, precision: str) -> list[str]:
    shapes = shapes_text(model, batch)
    return [f"--onnx={model}", *[f"--{which}Shapes={shapes}" for which in ("min", "opt", "max")], *PRECISIONS[precision]]


def check_identical(tenon: str, model: Path, batch: int, precision: str, count: int, folder: Path) -> bool:
    inputs = draw_inputs(model, batch, folder)
    with Worker(tenon, "worker") as worker:
        worker.ask("build", name="m", options=build_options(model, batch, precision))
        start = time.monotonic()
        done = worker.ask("repeat", name="m", shapes=shapes_text(model, batch), inputs=files_text(inputs), count=count)
    verdict = "identical" if done["differing"] == 0 else f"{done['differing']} DIFFER"
    print(f"{model.stem:20s} batch {batch:3d} {precision}: {done['runs']} runs in 4 streams, {verdict}, "
          f"{time.monotonic() - start:.1f} s", flush=True)
    return done["differing"] == 0


def timed_build(tenon: str, options: list[str], plan: Path) -> tuple[float, bytes]:
    """In a process of its own: nothing is warm but the files."""
    with Worker(tenon, "worker") as worker:
        built = worker.ask("build", name="m", options=options)
        worker.ask("save", name="m", plan=str(plan))
    return built["build_ms"] / 1000, plan.read_bytes()


def check_rebuild(tenon: str, model: Path, batch: int, precision: str, folder: Path) -> bool:
    """Kernels are cached in a folder of this check's own, which is empty at first."""
    os.environ["TENON_CACHE_DIR"] = str(folder / "cache")
    options = [*build_options(model, batch, precision), f"--timingCacheFile={folder / 'timings'}"]
    cold, first = timed_build(tenon, options, folder / "1.plan")
    warm, second = timed_build(tenon, options, folder / "2.plan")
    again, third = timed_build(tenon, options, folder / "3.plan")
    same = "the same plan" if first == second == third else "PLANS DIFFER"
    print(f"{model.stem:20s} batch {batch:3d} {precision}: build cold {cold:.1f} s, with caches {warm:.2f} and "
          f"{again:.2f} s, {same} ({len(first)} bytes)", flush=True)
    return first == second == third


def run(worker: Worker, model: Path, batch: int, options: list[str], inputs: dict, folder: Path, runs: int):
    shapes = shapes_text(model, batch)
    built = worker.ask("build", name="m", options=["--profilingVerbosity=detailed", *options])
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


def check_each(arguments: argparse.Namespace) -> int:
    """--identical or --rebuild."""
    good = True
    for name in arguments.models:
        model = materialized(name, arguments.weights)
        for batch in arguments.batch:
            for precision in arguments.precision:
                try:
                    with tempfile.TemporaryDirectory() as folder:
                        if arguments.rebuild:
                            good &= check_rebuild(arguments.tenon, model, batch, precision, Path(folder))
                        else:
                            good &= check_identical(arguments.tenon, model, batch, precision, arguments.identical,
                                                    Path(folder))
                except WorkerError as error:
                    print(f"{name} {batch} {precision}: {error}", flush=True)
                    good = False
    return 0 if good else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tenon", default=str(ROOT / "build/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--precision", nargs="+", default=["fp32"], choices=list(PRECISIONS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--hosted", action="store_true", help="name the layers that ran on the host")
    parser.add_argument("--identical", type=int, default=0, metavar="RUNS")
    parser.add_argument("--rebuild", action="store_true")
    arguments = parser.parse_args()
    if arguments.identical or arguments.rebuild:
        return check_each(arguments)
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in arguments.models:
            model = materialized(name, arguments.weights)
            for batch in arguments.batch:
                inputs = draw_inputs(model, batch, folder)
                with Worker(arguments.tenon, "worker") as cpu:
                    _, _, expected, _ = run(cpu, model, batch, [*build_options(model, batch, "fp32"), "--device=-1"],
                                            inputs, folder, 1)
                for precision in arguments.precision:
                    try:
                        with Worker(arguments.tenon, "worker") as gpu:
                            build, times, got, hosted = run(
                                gpu, model, batch, build_options(model, batch, precision), inputs, folder, arguments.runs)
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
