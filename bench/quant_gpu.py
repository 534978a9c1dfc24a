#!/usr/bin/env python3
"""Compare networks of 8-bit integers and floats with the same networks in FP16 on this GPU, and products of 8192 with
PyTorch's, taking turns in one run. The models are quantized by bench/quantized_models.py, or come from --models, where
FILE.int8.onnx and FILE.fp8.onnx lie. Times are medians of replayed graphs, inputs already on the GPU. Distances
are relative L2 to FP16's outputs; weights are random, so that they say nothing of accuracy but that a kernel is not wrong.

usage: quant_gpu.py [--tenon FILE] [--weights DIR] [--models DIR] [--keep DIR] [--kinds int8,fp8] [--products]
                    [MODEL:BATCH...]
"""
import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
from compare_gpu import Ours, take_turns  # noqa: E402
from quantized_models import quantize  # noqa: E402
from worker_client import WorkerError  # noqa: E402

CASES = ["resnet50:4", "resnet50:32", "resnet50:128", "bert_base:1", "bert_base:32", "vit_b_16:32", "gpt2:8", "yolo_s:1",
         "yolo_s:8", "mobilenet_v3_large:1", "mobilenet_v3_large:32"]
FLAGS = {"int8": "--int8", "fp8": "--fp8"}
EXTENT, COUNT = 8192, 20


def distance(found: dict, expected: dict) -> float:
    worst = 0.0
    for name, array in expected.items():
        wanted = array.astype(np.float64)
        error = np.linalg.norm(found[name].astype(np.float64) - wanted)
        worst = max(worst, float(error / (np.linalg.norm(wanted) + 1e-30)))
    return worst


def quantized(model: Path, kind: str, given: Path | None, folder: Path) -> Path:
    if given is not None:
        return given / f"{model.stem}.{kind}.onnx"
    target = folder / kind / model.name
    return target if target.exists() else quantize(model, target, kind)


def compare(tenon: str, model: Path, batch: int, kinds: list[str], given: Path | None, folder: Path) -> dict:
    contestants = {"fp16": Ours(tenon, model, batch, folder)}
    for kind in kinds:
        file = quantized(model, kind, given, folder)
        contestants[kind] = Ours(tenon, file, batch, file.parent, device=FLAGS[kind])
    times = take_turns(contestants, COUNT)
    expected = contestants["fp16"].outputs()
    result = {"model": model.stem, "batch": batch, "ms": times, "ratio": {}, "distance": {}, "hosted": {}}
    for kind in kinds:
        result["ratio"][kind] = times[kind] / times["fp16"]
        result["distance"][kind] = distance(contestants[kind].outputs(), expected)
        result["hosted"][kind] = contestants[kind].hosted()
    for contestant in contestants.values():
        contestant.worker.close()
    return result


def print_result(result: dict, seconds: float) -> None:
    kinds = ", ".join(f"{kind} {result['ms'][kind]:.4f} ms (ratio {ratio:.3f}, distance {result['distance'][kind]:.1e}"
                      + (f", {result['hosted'][kind]} layers on the host" if result["hosted"][kind] else "") + ")"
                      for kind, ratio in result["ratio"].items())
    print(f"{result['model']:20} batch {result['batch']:>3}: fp16 {result['ms']['fp16']:.4f} ms, {kinds} ({seconds:.0f} s)",
          flush=True)


def product_model(folder: Path, kind: str) -> Path:
    """One product of EXTENT, whose result has 16 bits."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    source = folder / "product.onnx"
    if not source.exists():
        weights = np.random.default_rng(1).standard_normal((EXTENT, EXTENT), np.float32) * 0.02
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", EXTENT])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", EXTENT])],
            [numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), source,
                  save_as_external_data=True, location="product.weights")
    return source if kind == "fp16" else quantized(source, kind, None, folder)


def torch_products() -> dict[str, float]:
    """TFLOP/s of PyTorch's products; weights have k contiguous."""
    import torch
    from gpu_peaks import median_ms
    a, b = (torch.randn(EXTENT, EXTENT, device="cuda") for _ in range(2))
    one = torch.ones((), device="cuda")
    integers = [(x * 32).clamp(-127, 127).to(torch.int8) for x in (a, b)]
    floats = [x.to(torch.float8_e4m3fn) for x in (a, b)]
    halves = [x.half() for x in (a, b)]

    def scaled(fast: bool):
        return torch._scaled_mm(floats[0], floats[1].T, one, one, out_dtype=torch.float16, use_fast_accum=fast)

    functions = {"fp16": lambda: halves[0] @ halves[1].T, "_int_mm": lambda: torch._int_mm(integers[0], integers[1].T),
                 "_scaled_mm": lambda: scaled(False), "_scaled_mm fast": lambda: scaled(True)}
    return {name: 2 * EXTENT**3 / median_ms(function, COUNT) / 1e9 for name, function in functions.items()}


def products(tenon: str, kinds: list[str], folder: Path) -> None:
    contestants = {}
    for kind in ["fp16", *kinds]:
        file = product_model(folder, kind)
        contestants[kind] = Ours(tenon, file, EXTENT, file.parent, device=FLAGS.get(kind, ""))
    times = take_turns(contestants, COUNT)
    for contestant in contestants.values():
        contestant.worker.close()
    # The quantization of the left operand is a kernel of its own.
    print(f"products of {EXTENT}, TFLOP/s: "
          + ", ".join(f"{kind} {2 * EXTENT**3 / ms / 1e9:.0f}" for kind, ms in times.items()), flush=True)
    try:
        print("PyTorch: " + ", ".join(f"{name} {rate:.0f}" for name, rate in torch_products().items()), flush=True)
    except ImportError as error:
        print(f"PyTorch: {error}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="MODEL:BATCH")
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--models", type=Path, help="quantized models, e.g. of `tenon quantize`")
    parser.add_argument("--keep", type=Path, help="folder for quantized models and plans, which are taken from there")
    parser.add_argument("--kinds", default="int8,fp8")
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    texts = arguments.cases or ([] if arguments.products else CASES)
    cases = [(name, int(batch)) for name, batch in (case.split(":") for case in texts)]
    files = check_gpu.materialize_all(sorted({name for name, _ in cases}), arguments.weights)
    results, kinds = [], arguments.kinds.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, batch in cases:
            start = time.monotonic()
            try:
                results.append(compare(arguments.tenon, files[name], batch, kinds, arguments.models, folder))
            except WorkerError as error:
                print(f"{name}:{batch}: {error}", flush=True)
                continue
            print_result(results[-1], time.monotonic() - start)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")
        if arguments.products:
            products(arguments.tenon, kinds, folder)
    return 0 if len(results) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
