#!/usr/bin/env python3
"""Compare Tenon with ONNX Runtime and OpenVINO on a model in 8-bit integers, on this CPU, and with the model in FP32.

The model of models/ is quantized by onnxruntime.quantization's quantize_static: format QDQ, random data to calibrate
with, activations u8 with weights i8 per channel ("u8s8"), or both i8 with one scale ("s8s8"). The libraries then read
the same file and take turns, each in a process of its own. Printed: minimum and median of an inference in ms, the
ratio to the better rival, Tenon's part of its own FP32 time, and distances (relative L2) to ONNX Runtime without
optimizations, which computes the nodes in f32.
"""
import argparse
import contextlib
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import Worker, draw_inputs, files_text, materialized, shape_of, shapes_text  # noqa: E402

KINDS = {"u8s8": dict(activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True),
         "s8s8": dict(activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, extra_options={"ActivationSymmetric": True})}


class RandomData(CalibrationDataReader):
    """A few inputs like the measured ones."""

    def __init__(self, model: Path, folder: Path):
        self.feeds = iter([arrays(model, folder)])

    def get_next(self):
        return next(self.feeds, None)


def arrays(model: Path, folder: Path) -> dict[str, np.ndarray]:
    files = draw_inputs(model, 1, folder)
    values = onnx.load(model, load_external_data=False).graph.input
    return {v.name: np.fromfile(files[v.name], onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type))
            .reshape(shape_of(v, 1)) for v in values}


def quantized(name: str, kind: str, models: Path, folder: Path) -> tuple[Path, Path]:
    """The model in one file, and quantized."""
    whole, to = folder / f"{name}.onnx", folder / f"{name}_{kind}.onnx"
    if to.exists():
        return whole, to
    onnx.save(onnx.load(materialized(name, models)), whole)
    quantize_static(whole, to, RandomData(whole, folder), quant_format=QuantFormat.QDQ, **KINDS[kind])
    return whole, to


def session_of(model: Path, threads: int, optimized: bool) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    if not optimized:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])


def tenon(worker: Worker, slot: str, model: Path, folder: Path, threads: int) -> None:
    worker.ask("build", name=slot, options=[f"--onnx={model}", f"--shapes={shapes_text(model, 1)}", f"--cpuThreads={threads}", "--noSelfCheck"])
    worker.ask("bind", name=slot, shapes=shapes_text(model, 1), inputs=files_text(draw_inputs(model, 1, folder)))


def distance(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm((actual - expected).ravel()) / np.linalg.norm(expected.ravel()))


def outputs_of(worker: Worker, slot: str, names: list[str], folder: Path) -> list[np.ndarray]:
    worker.ask("run", name=slot, count=1)
    results = []
    for name in names:
        dims = worker.ask("save", name=slot, tensor=name, file=str(folder / "output.bin"))["dims"]
        results.append(np.fromfile(folder / "output.bin", np.float32).reshape(dims))
    return results


def turns(workers: dict[str, tuple[Worker, str]], rounds: int, count: int) -> dict[str, list[float]]:
    """Times of each, some inferences at a time."""
    times: dict[str, list[float]] = {name: [] for name in workers}
    for worker, slot in workers.values():
        worker.ask("run", name=slot, count=3)
    for _ in range(rounds):
        for name, (worker, slot) in workers.items():
            times[name] += worker.ask("run", name=slot, count=count)["ms"]
    return times


def measure(arguments: argparse.Namespace, name: str, kind: str, folder: Path) -> None:
    whole, model = quantized(name, kind, arguments.models, folder)
    feeds = arrays(model, folder)
    plain = session_of(model, arguments.threads, optimized=False)
    names = [value.name for value in plain.get_outputs()]
    expected = plain.run(None, feeds)
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(Worker(str(arguments.build.resolve() / "bin/tenon"), "worker"))
        tenon(ours, "int8", model, folder, arguments.threads)
        tenon(ours, "fp32", whole, folder, arguments.threads)
        workers = {"tenon": (ours, "int8"), "fp32": (ours, "fp32")}
        for library in arguments.rivals.split(","):
            rival = stack.enter_context(Worker(sys.executable, str(ROOT / "bench/rival_worker.py"), library, str(arguments.threads)))
            rival.ask("build", name="int8", options=[f"--onnx={model}"])
            rival.ask("bind", name="int8", shapes=shapes_text(model, 1), inputs=files_text(draw_inputs(model, 1, folder)))
            workers[library] = (rival, "int8")
        times = turns(workers, arguments.rounds, arguments.count)
        result = outputs_of(ours, "int8", names, folder)
    fast = session_of(model, arguments.threads, optimized=True).run(None, feeds)
    best = {library: min(list_of_ms) for library, list_of_ms in times.items()}
    rivals = [best[library] for library in arguments.rivals.split(",")]
    figures = "  ".join(f"{library} {best[library]:7.3f} {statistics.median(times[library]):7.3f}" for library in times)
    print(f"{name:20} {kind}  {figures}  ratio {best['tenon'] / min(rivals):.2f}  of fp32 {best['tenon'] / best['fp32']:.2f}  "
          f"distance {distance(result[0], expected[0]):.1e}, onnxruntime's {distance(fast[0], expected[0]):.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--models", type=Path, default=ROOT / "build/models")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--count", type=int, default=30, help="inferences of each turn")
    parser.add_argument("--only", default="resnet50,mobilenet_v3_large", help="models, separated by commas")
    parser.add_argument("--kinds", default="u8s8,s8s8")
    parser.add_argument("--rivals", default="onnxruntime,openvino", help="libraries, separated by commas")
    parser.add_argument("--keep", type=Path, help="folder for quantized models, which are taken from there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.only.split(","):
            for kind in arguments.kinds.split(","):
                measure(arguments, name, kind, folder)


if __name__ == "__main__":
    main()
