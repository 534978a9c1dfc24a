#!/usr/bin/env python3
"""Run models on a GPU and on the CPU with the same random inputs: the error of the GPU's outputs against our CPU's FP32
ones (relative L2) beside the error that it may have, time of a query without copies to and from the host (replayed as a
CUDA graph, and as plain launches), time of the build, and the layers that ran on the host for want of a kernel.

In FP32 an error may be 5e-5. In TF32, FP16 and BF16 it may be 1.5 times that of an evaluation of the ONNX file in FP32
in which every tensor (inputs, weights, the result of every node) is rounded to that type: bench/torch_graph.py does
that with PyTorch, so it shares nothing with Tenon; --no-bound goes without. Outputs of fewer than 64 values are those of
several draws of inputs, on both sides, so that no error rests on how a few values happened to be rounded. Also printed
is the distance of an evaluation by PyTorch with nothing rounded, which tells whether that reference is sound.

Instead of that, --identical RUNS: whether that many runs, in four streams at a time of which two replay graphs, give
the same bits as one that ran alone. --rebuild: times of a build without any cache and of one with a timing cache and a
kernel cache, and whether the plans of two builds with one timing cache are the same, byte for byte.

usage: check_gpu.py [--tenon FILE] [--weights DIR] [--batch N ...] [--precision fp32|tf32|fp16|bf16 ...] [--jobs N]
                    [--no-bound] [--identical RUNS | --rebuild] MODEL...
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import share_out  # noqa: E402
from worker_client import (Worker, WorkerError, draw_inputs, files_text, materialized, shape_of,  # noqa: E402
                           shapes_text)

PRECISIONS = {"fp32": ["--noTF32"], "tf32": [], "fp16": ["--fp16"], "bf16": ["--bf16"]}
FP32_BOUND = 5e-5
FACTOR = 1.5  # of the error of an evaluation that rounds every tensor
CPU_JOBS = 4
LEAST_VALUES = 64  # that an error is computed from


def materialize_all(names: list[str], weights: Path) -> dict[str, Path]:
    names = list(dict.fromkeys(names))
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(names, pool.map(lambda name: materialized(name, weights), names)))


def outputs_of(worker: Worker, model: Path, folder: Path, half: bool = False) -> dict[str, np.ndarray]:
    """Of the last run. `half`: outputs of 32-bit reals were bound as 16-bit ones (half_io_options)."""
    found = {}
    for i, value in enumerate(onnx.load(model, load_external_data=False).graph.output):
        file = folder / f"{model.stem}.{id(worker)}.{i}.bin"
        worker.ask("save", name="m", tensor=value.name, file=str(file))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        found[value.name] = np.fromfile(file, np.float16 if half and dtype == np.float32 else dtype)
        file.unlink()
    return found


def half_io_options(model: Path) -> list[str]:
    """Inputs and outputs of 32-bit reals are bound as 16-bit ones, as those of a module after .half()."""
    names = {onnx.TensorProto.FLOAT: "fp16", onnx.TensorProto.INT64: "int64", onnx.TensorProto.INT32: "int32",
             onnx.TensorProto.BOOL: "bool"}
    graph = onnx.load(model, load_external_data=False).graph

    def formats(values) -> str:
        return ",".join(f"{names[value.type.tensor_type.elem_type]}:chw" for value in values)

    return [f"--inputIOFormats={formats(graph.input)}", f"--outputIOFormats={formats(graph.output)}"]


def half_inputs(model: Path, inputs: dict[str, Path]) -> dict[str, Path]:
    """The files of draw_inputs() for half_io_options()."""
    files = dict(inputs)
    for value in onnx.load(model, load_external_data=False).graph.input:
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            files[value.name] = inputs[value.name].with_suffix(".f16")
            np.fromfile(inputs[value.name], np.float32).astype(np.float16).tofile(files[value.name])
    return files


def build_options(model: Path, batch: int, precision: str) -> list[str]:
    shapes = shapes_text(model, batch)
    return [f"--onnx={model}", *[f"--{which}Shapes={shapes}" for which in ("min", "opt", "max")], *PRECISIONS[precision]]


def draws_of(model: Path, batch: int) -> int:
    """Draws of inputs that give each output enough values."""
    outputs = onnx.load(model, load_external_data=False).graph.output
    return max(-(-LEAST_VALUES // max(1, int(np.prod(shape_of(value, batch))))) for value in outputs)


def outputs_of_draws(worker: Worker, model: Path, batch: int, folder: Path, draws: int,
                     **binding) -> dict[str, np.ndarray]:
    """Each output of all draws, one behind the other."""
    found = []
    for index in range(draws):
        inputs = draw_inputs(model, batch, folder, index)
        worker.ask("bind", name="m", shapes=shapes_text(model, batch), inputs=files_text(inputs), **binding)
        worker.ask("run", name="m", count=2 if binding else 1)
        found.append(outputs_of(worker, model, folder))
    return {name: np.concatenate([outputs[name] for outputs in found]) for name in found[0]}


def cpu_outputs(tenon: str, model: Path, batch: int, folder: Path, threads: int = 4,
                draws: int = 1) -> dict[str, np.ndarray]:
    options = [*build_options(model, batch, "fp32"), "--device=-1", f"--cpuThreads={threads}", "--noSelfCheck"]
    with Worker(tenon, "worker") as worker:
        worker.ask("build", name="m", options=options)
        return outputs_of_draws(worker, model, batch, folder, draws)


def check_identical(tenon: str, model: Path, batch: int, precision: str, count: int, folder: Path) -> dict:
    inputs = draw_inputs(model, batch, folder)
    with Worker(tenon, "worker") as worker:
        worker.ask("build", name="m", options=build_options(model, batch, precision))
        start = time.monotonic()
        done = worker.ask("repeat", name="m", shapes=shapes_text(model, batch), inputs=files_text(inputs), count=count)
    verdict = "identical" if done["differing"] == 0 else f"{done['differing']} DIFFER"
    print(f"{model.stem:20s} batch {batch:3d} {precision}: {done['runs']} runs in 4 streams, {verdict}, "
          f"{time.monotonic() - start:.1f} s", flush=True)
    return {"model": model.stem, "batch": batch, "precision": precision, "runs": done["runs"],
            "differing": done["differing"], "ok": done["differing"] == 0}


def timed_build(tenon: str, options: list[str], plan: Path) -> tuple[float, bytes]:
    """In a process of its own: nothing is warm but the files."""
    with Worker(tenon, "worker") as worker:
        built = worker.ask("build", name="m", options=options)
        worker.ask("save", name="m", plan=str(plan))
    return built["build_ms"] / 1000, plan.read_bytes()


def check_rebuild(tenon: str, model: Path, batch: int, precision: str, folder: Path) -> dict:
    """Caches of kernels, NVRTC's own among them, are folders of this check's own, which are empty at first."""
    folders = {"TENON_CACHE_DIR": str(folder / "cache"), "CUDA_CACHE_PATH": str(folder / "driver_cache")}
    before = {name: os.environ.get(name) for name in folders}
    os.environ.update(folders)
    options = [*build_options(model, batch, precision), f"--timingCacheFile={folder / 'timings'}"]
    try:
        cold, first = timed_build(tenon, options, folder / "1.plan")
        warm, second = timed_build(tenon, options, folder / "2.plan")
        again, third = timed_build(tenon, options, folder / "3.plan")
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    same = first == second == third
    print(f"{model.stem:20s} batch {batch:3d} {precision}: build cold {cold:.1f} s, with caches {warm:.2f} and "
          f"{again:.2f} s, {'the same plan' if same else 'PLANS DIFFER'} ({len(first)} bytes)", flush=True)
    return {"model": model.stem, "batch": batch, "precision": precision, "cold_s": cold, "warm_s": [warm, again],
            "bytes": len(first), "ok": same}


def hosted_layers(worker: Worker) -> list[dict]:
    """Those that run on the host for want of a kernel, also inside of bodies."""
    layers = json.loads(worker.ask("layers", name="m")["layers"])["Layers"]
    return [layer for layer in layers if "cuda.reference" in json.dumps(layer)]


def run(worker: Worker, model: Path, batch: int, options: list[str], folder: Path, runs: int, draws: int = 1):
    shapes, inputs = shapes_text(model, batch), files_text(draw_inputs(model, batch, folder))
    built = worker.ask("build", name="m", options=["--profilingVerbosity=detailed", *options])
    times = {}
    for graph in (True, False):
        worker.ask("bind", name="m", shapes=shapes, inputs=inputs, graph=graph, transfers=False)
        worker.ask("run", name="m", count=3)
        times[graph] = statistics.median(worker.ask("run", name="m", count=runs)["ms"])
    outputs = outputs_of_draws(worker, model, batch, folder, draws, graph=True)
    return built["build_ms"], times, outputs, len(hosted_layers(worker))


def relative_error(got: np.ndarray, expected: np.ndarray) -> float:
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    if got.shape != expected.shape or not np.isfinite(got).all():
        return float("inf")
    return float(np.linalg.norm(got - expected) / max(np.linalg.norm(expected), 1e-30))


def largest_error(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    return max(relative_error(got[name], expected[name]) for name in expected)


def distance_to_files(got: dict[str, np.ndarray], files: list[str]) -> float:
    return max(relative_error(a, np.fromfile(file, np.float32)) for a, file in zip(got.values(), files))


class Reference:
    """FP32 outputs of our CPU and the errors of rounding, which are computed ahead, several models at a time; PyTorch's
    results, on all GPUs."""

    def __init__(self, tenon: str, folder: Path, bounds: bool, precisions: list[str], gpus: list[str | None]):
        self.tenon, self.folder = tenon, folder
        self.kinds = [p for p in precisions if p != "fp32"] if bounds else []
        self.pool = ThreadPoolExecutor(CPU_JOBS)
        self.idle: SimpleQueue[Worker] = SimpleQueue()
        self.torches = [Worker(sys.executable, str(ROOT / "bench/torch_worker.py"), gpu=gpu)
                        for gpu in (gpus if bounds else [])]
        for torch in self.torches:
            self.idle.put(torch)
        self.known: dict[tuple[Path, int], Future] = {}

    def begin(self, model: Path, batch: int) -> None:
        self.known[model, batch] = self.pool.submit(self.compute, model, batch)

    def compute(self, model: Path, batch: int) -> tuple[dict[str, np.ndarray], dict]:
        draws = draws_of(model, batch)
        outputs = cpu_outputs(self.tenon, model, batch, self.folder, draws=draws)
        if not self.torches:
            return outputs, {}
        files = [self.folder / f"{model.stem}.{batch}.{i}.fp32" for i in range(len(outputs))]
        for file, array in zip(files, outputs.values()):
            array.tofile(file)
        torch = self.idle.get()
        try:
            return outputs, torch.ask("rounded", model=model.stem, file=str(model), batch=batch, draws=draws,
                                      expected=[str(f) for f in files], kinds=self.kinds)
        finally:
            self.idle.put(torch)

    def of(self, model: Path, batch: int) -> tuple[dict[str, np.ndarray], dict]:
        return self.known[model, batch].result()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)
        for torch in self.torches:
            torch.close()


def check_error(what: "ErrorRun", case: tuple[Path, int, str], reference: Reference, folder: Path,
                gpu: str | None) -> dict:
    """Waits for the reference last, which may be on its way."""
    model, batch, precision = case
    draws = draws_of(model, batch)
    with Worker(what.tenon, "worker", gpu=gpu) as worker:
        options = [*build_options(model, batch, precision), *what.device.split()]
        build, times, got, hosted = run(worker, model, batch, options, folder, what.runs, draws)
    expected, rounding = reference.of(model, batch)
    result = {"model": model.stem, "batch": batch, "precision": precision, "error": largest_error(got, expected),
              "draws": draws, "hosted": hosted, "bound": FP32_BOUND}
    if precision != "fp32":
        rounded = rounding.get("errors", {}).get(precision)
        result["bound"] = None if rounded is None else max(FP32_BOUND, FACTOR * rounded)
    if rounding:
        result["reference_distance"] = rounding["exact"]
    if what.jobs * len(what.gpus) == 1:
        result |= {"build_ms": build, "graph_ms": times[True], "ms": times[False]}
    result["ok"] = result["error"] <= (np.inf if result["bound"] is None else result["bound"])
    return result


def print_error(result: dict) -> None:
    if "failure" in result:
        return print(f"{result['model']} {result['batch']} {result['precision']}: {result['failure']}", flush=True)
    bound = f", at most {result['bound']:.2e} {'ok' if result['ok'] else 'FAILS'}" if result["bound"] else ""
    times = (f", {result['graph_ms']:8.4f} ms with graph, {result['ms']:8.4f} ms without, build "
             f"{result['build_ms'] / 1000:.1f} s" if "ms" in result else "")
    reference = (f", PyTorch's FP32 at {result['reference_distance']:.1e}"
                 if result["precision"] == "fp32" and "reference_distance" in result else "")
    print(f"{result['model']:20s} batch {result['batch']:3d} {result['precision']}: error {result['error']:.2e}{bound}"
          f"{times}{reference}, {result['hosted']} layers on the host", flush=True)


@dataclass
class ErrorRun:
    """The cases of check_errors(), and their treatment."""
    tenon: str
    models: list[Path]
    batches: dict[str, list[int]]  # of each model
    precisions: list[str]
    bounds: bool = True
    jobs: int = 1  # at a time on each GPU; with several nothing is timed
    runs: int = 5
    deadline: float = float("inf")
    device: str = ""  # more options of the builds
    gpus: list[str | None] = field(default_factory=lambda: [None])  # None: the one that is there

    def cases(self) -> list[tuple[Path, int, str]]:
        return [(model, batch, precision) for model in self.models for batch in self.batches[model.stem]
                for precision in self.precisions]


def check_errors(what: ErrorRun, found=lambda result: None) -> tuple[list[dict], list[str]]:
    """Results, each of which is also given to `found` at once, and the cases that the deadline left out. Those that
    cost most begin, on whichever GPU has room."""
    results, late, lock = [], [], Lock()

    def check(case: tuple[Path, int, str], gpu: str | None) -> None:
        model, batch, precision = case
        if time.monotonic() > what.deadline:
            return late.append(f"{model.stem}:{batch}:{precision}")
        try:
            result = check_error(what, case, reference, folder, gpu)
        except (WorkerError, OSError) as error:
            result = {"model": model.stem, "batch": batch, "precision": precision, "failure": str(error)[:300],
                      "ok": False}
        with lock:
            print_error(result)
            results.append(result)
            found(result)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference = Reference(what.tenon, folder, what.bounds, what.precisions, what.gpus)
        cost = {case: share_out.cost_of(case[0].stem, case[1]) for case in what.cases()}
        for model, batch in dict.fromkeys(case[:2] for case in sorted(cost, key=cost.get, reverse=True)):
            reference.begin(model, batch)
        share_out.work_through(cost, cost.get, check, what.gpus, what.jobs)
        reference.close()
    if late:
        print(f"left out for want of time: {' '.join(late)}", flush=True)
    return results, late


def check_each(arguments: argparse.Namespace, models: list[Path]) -> list[dict]:
    """--identical or --rebuild."""
    results = []
    for model in models:
        for batch in arguments.batch:
            for precision in arguments.precision:
                case = (arguments.tenon, model, batch, precision)
                try:
                    with tempfile.TemporaryDirectory() as folder:
                        results.append(check_rebuild(*case, Path(folder)) if arguments.rebuild else
                                       check_identical(*case, arguments.identical, Path(folder)))
                except WorkerError as error:
                    print(f"{model.stem} {batch} {precision}: {error}", flush=True)
                    results.append({"ok": False})
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--tenon", default=str(ROOT / "build/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--batch", type=int, nargs="+", default=[1])
    parser.add_argument("--precision", nargs="+", default=["fp32"], choices=list(PRECISIONS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time on the GPU; with several nothing is timed")
    parser.add_argument("--no-bound", action="store_true", help="without PyTorch")
    parser.add_argument("--device", default="", help="more options of the build, e.g. --device=--device=-1")
    parser.add_argument("--identical", type=int, default=0, metavar="RUNS")
    parser.add_argument("--rebuild", action="store_true")
    arguments = parser.parse_args()
    models = list(materialize_all(arguments.models, arguments.weights).values())
    if arguments.identical or arguments.rebuild:
        results = check_each(arguments, models)
    else:
        results, _ = check_errors(ErrorRun(arguments.tenon, models, {m.stem: arguments.batch for m in models},
                                           arguments.precision, not arguments.no_bound, arguments.jobs, arguments.runs,
                                           device=arguments.device))
    return 0 if all(result["ok"] for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
