#!/usr/bin/env python3
"""Compare networks of 8-bit integers and floats with the same networks in FP16 on this GPU, and products of 8192 with
PyTorch's, taking turns in one run. The models are quantized by `tenon quantize` (ranges from drawn samples, by max), with
--by=script by bench/quantized_models.py, or come from --models, where FILE.int8.onnx and FILE.fp8.onnx lie. Kinds are
int8, fp8, int4 (weights alone) and sparse (FP16, two of four weights zero). Times are medians of replayed graphs, inputs already on the GPU. Distances are
relative L2 to FP16's outputs; weights are random, so that they say nothing of accuracy but that a kernel is not wrong. Ahead of
each turn a network runs for --warm seconds: FP16 takes the most power, and a GPU at its limit needs some 0.1 s to change clocks.

--layers: the distance of each layer to its floor (bench/layer_floors.py) too, from the peaks in the file --peaks, which is
measured where it is not there. --decoding: products of 1 and 8 rows with weights of 4 bits, beside FP16's and the time of
reading the weights. --json: all of it in a file, for performance_page.py; results of other cases in the file stay.

usage: quant_gpu.py [--tenon FILE] [--weights DIR] [--models DIR] [--keep DIR] [--by tenon|script] [--kinds int8,fp8]
                    [--layers] [--peaks FILE] [--products] [--decoding] [--warm SECONDS] [--json FILE]
                    [MODEL:BATCH[:KIND,...]...]
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
import layer_floors  # noqa: E402
import quantized_models  # noqa: E402
from compare_gpu import Ours, take_turns  # noqa: E402
from worker_client import Worker, WorkerError, draw, shapes_text  # noqa: E402

CASES = ["resnet50:4", "resnet50:32", "resnet50:128", "bert_base:1", "bert_base:32", "vit_b_16:32", "gpt2:8", "yolo_s:1",
         "yolo_s:8", "mobilenet_v3_large:1", "mobilenet_v3_large:32", "resnet50:32:sparse", "bert_base:32:sparse"]
FLAGS = {"int8": "--int8", "fp8": "--fp8", "int4": "--int4", "sparse": "--sparsity=force"}
EXTENT, COUNT = 8192, 20
SAMPLES = 4  # for ranges
DECODING = [(4096, 4096), (4096, 14336), (14336, 4096)]


def distance(found: dict, expected: dict) -> float:
    worst = 0.0
    for name, array in expected.items():
        wanted = array.astype(np.float64)
        error = np.linalg.norm(found[name].astype(np.float64) - wanted)
        worst = max(worst, float(error / (np.linalg.norm(wanted) + 1e-30)))
    return worst


def quantized_by_tenon(tenon: str, model: Path, target: Path, kind: str) -> Path:
    import onnx
    target.parent.mkdir(parents=True, exist_ok=True)
    samples = target.with_suffix(".npz")
    inputs = onnx.load(model, load_external_data=False).graph.input
    np.savez(samples, **{value.name: draw(value, model.stem, SAMPLES) for value in inputs})
    command = [tenon, "quantize", f"--onnx_path={model}", f"--output_path={target}", f"--quantize_mode={kind}",
               f"--calibration_data={samples}", "--calibration_method=max"]
    done = subprocess.run(command, capture_output=True, text=True)
    samples.unlink()
    if done.returncode:
        raise WorkerError(done.stdout + done.stderr)
    print(f"{kind}: {done.stdout.strip().splitlines()[-1]}", flush=True)
    return target


class Quantizer:
    """Makes quantized models, each once."""

    def __init__(self, tenon: str, by: str, given: Path | None, folder: Path):
        self.tenon, self.by, self.given, self.folder = tenon, by, given, folder

    def __call__(self, model: Path, kind: str) -> Path:
        if kind in ("fp16", "sparse"):
            return model
        if self.given is not None:
            return self.given / f"{model.stem}.{kind}.onnx"
        target = self.folder / kind / model.name
        if target.exists():
            return target
        if self.by == "script":
            return quantized_models.quantize(model, target, kind)
        return quantized_by_tenon(self.tenon, model, target, kind)


def contestants_of(quantizer: Quantizer, model: Path, batch: int, kinds: list[str]) -> dict[str, Ours]:
    found = {}
    for kind in ["fp16", *kinds]:
        file = quantizer(model, kind)
        folder = quantizer.folder / kind
        folder.mkdir(parents=True, exist_ok=True)
        found[kind] = Ours(quantizer.tenon, file, batch, folder, device=FLAGS.get(kind, ""))
    return found


def compare(quantizer: Quantizer, model: Path, batch: int, kinds: list[str], peaks: dict | None, warm: float) -> dict:
    contestants = contestants_of(quantizer, model, batch, kinds)
    times, cold = take_turns(contestants, COUNT, warm), take_turns(contestants, COUNT)
    expected = contestants["fp16"].outputs()
    result = {"model": model.stem, "batch": batch, "measured": time.strftime("%Y-%m-%d %H:%M"), "ms": times, "turns_ms": cold,
              "ratio": {}, "distance": {}, "hosted": {}, "layers": {}}
    for kind in kinds:
        result["ratio"][kind] = times[kind] / times["fp16"]
        result["distance"][kind] = distance(contestants[kind].outputs(), expected)
        result["hosted"][kind] = contestants[kind].hosted()
    for contestant in contestants.values():
        contestant.worker.close()
    if peaks is not None:
        result["layers"] = {kind: layer_distances(quantizer.tenon, contestants[kind], batch, peaks) for kind in kinds}
    return result


def layer_distances(tenon: str, ours: Ours, batch: int, peaks: dict) -> dict:
    info, profile = ours.folder / "layers.json", ours.folder / "profile.json"
    command = [str(Path(tenon).with_name("trtexec")), f"--loadEngine={ours.plan}", f"--shapes={shapes_text(ours.model, batch)}",
               "--dumpProfile", "--separateProfileRun", f"--exportProfile={profile}", f"--exportLayerInfo={info}",
               "--profilingVerbosity=detailed", "--noDataTransfers", "--useCudaGraph", "--warmUp=50", "--duration=0.2",
               "--iterations=20"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise WorkerError(done.stdout[-2000:] + done.stderr[-2000:])
    return layer_floors.distances(json.loads(info.read_text())["Layers"], json.loads(profile.read_text()), peaks)


def print_layers(result: dict) -> None:
    for kind, found in result["layers"].items():
        print(f"  {kind}: {found['steps']} steps, floor of layers {found['floor_us']:.0f} us, of launches "
              f"{found['launch_floor_us']:.0f} us, profile {found['profiled_us']:.0f} us", flush=True)
        for row in found["worst"]:
            print(f"    lost {row['lost_us']:7.1f} us of {row['us']:7.1f}, floor {row['floor_us']:6.1f}: {row['count']} x "
                  f"{row['layer']} {row['tactic']} '{row['name']}'", flush=True)


def print_result(result: dict, seconds: float) -> None:
    turns = result["turns_ms"]
    kinds = ", ".join(f"{kind} {result['ms'][kind]:.4f} ms (ratio {ratio:.3f}, without --warm {turns[kind] / turns['fp16']:.3f}, "
                      f"distance {result['distance'][kind]:.1e}"
                      + (f", {result['hosted'][kind]} layers on the host" if result["hosted"][kind] else "") + ")"
                      for kind, ratio in result["ratio"].items())
    print(f"{result['model']:20} batch {result['batch']:>3}: fp16 {result['ms']['fp16']:.4f} ms, {kinds} ({seconds:.0f} s)",
          flush=True)


def product_model(folder: Path, depth: int, columns: int) -> Path:
    """One product of open rows, whose result has 16 bits."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    source = folder / f"product.{depth}.{columns}.onnx"
    if not source.exists():
        weights = np.random.default_rng(1).standard_normal((depth, columns), np.float32) * 0.02
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "product",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", depth])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", columns])],
            [numpy_helper.from_array(weights, "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), source,
                  save_as_external_data=True, location=f"{source.stem}.weights")
    return source


def bytes_of(kind: str, seed: int) -> np.ndarray:
    """Elements of a square operand, drawn as those of PyTorch's products are (bench/gpu_peaks.py)."""
    import ml_dtypes
    numbers = np.random.default_rng(seed).standard_normal((EXTENT, EXTENT), np.float32)
    return np.clip(numbers * 32, -127, 127).astype(np.int8) if kind == "int8" else numbers.astype(ml_dtypes.float8_e4m3fn)


def byte_product_model(folder: Path, kind: str) -> Path:
    """One product whose operands have 8 bits; its result has 16."""
    import onnx
    from onnx import TensorProto, helper
    kinds = {"int8": TensorProto.INT8, "fp8": TensorProto.FLOAT8E4M3FN}
    target = folder / f"bytes.{kind}.onnx"
    scale = helper.make_tensor("s", TensorProto.FLOAT16, [], np.float16(2**-7).tobytes(), raw=True)
    weights = helper.make_tensor("w", kinds[kind], [EXTENT, EXTENT], bytes_of(kind, 2).tobytes(), raw=True)
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["x", "s"], ["a"]), helper.make_node("DequantizeLinear", ["w", "s"], ["b"]),
         helper.make_node("MatMul", ["a", "b"], ["y"], "product")], "product",
        [helper.make_tensor_value_info("x", kinds[kind], [EXTENT, EXTENT])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, [EXTENT, EXTENT])], [scale, weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), target)
    return target


class ByteProduct:
    """Our plan of that product, bound and captured."""

    def __init__(self, tenon: str, folder: Path, kind: str):
        self.worker = Worker(tenon, "worker")
        model, x = byte_product_model(folder, kind), folder / f"bytes.{kind}.bin"
        x.write_bytes(bytes_of(kind, 1).tobytes())
        self.worker.ask("build", name="m", options=[f"--onnx={model}", "--stronglyTyped"])
        self.worker.ask("bind", name="m", graph=True, transfers=False, shapes=f"x:{EXTENT}x{EXTENT}", inputs=f"x:{x}")

    def time(self, count: int) -> list[float]:
        return self.worker.ask("run", name="m", count=count)["ms"]


def torch_products(warm: float) -> dict[str, float]:
    """TFLOP/s of PyTorch's products; weights have k contiguous."""
    import torch
    from gpu_peaks import byte_products, median_ms
    halves = [torch.randn(EXTENT, EXTENT, device="cuda").half() for _ in range(2)]
    functions = {"fp16": lambda: halves[0] @ halves[1].T, **byte_products()}
    rates = {}
    for name, function in functions.items():
        once = median_ms(function, COUNT)
        median_ms(function, round(1000 * warm / once))
        rates[name] = 2 * EXTENT**3 / median_ms(function, COUNT) / 1e9
    return rates


def print_rates(title: str, times: dict[str, float]) -> None:
    print(f"{title}: " + ", ".join(f"{kind} {2 * EXTENT**3 / ms / 1e9:.0f}" for kind, ms in times.items()), flush=True)


def products(quantizer: Quantizer, kinds: list[str], warm: float) -> None:
    contestants = contestants_of(quantizer, product_model(quantizer.folder, EXTENT, EXTENT), EXTENT, kinds)
    times = take_turns(contestants, COUNT, warm)
    for contestant in contestants.values():
        contestant.worker.close()
    # The quantization of the left operand is a kernel of its own.
    print_rates(f"products of {EXTENT}, TFLOP/s", times)
    alone = {kind: ByteProduct(quantizer.tenon, quantizer.folder, kind) for kind in kinds if kind in ("int8", "fp8")}
    print_rates("of operands that have 8 bits already", take_turns(alone, COUNT, warm))
    for contestant in alone.values():
        contestant.worker.close()
    try:
        print("PyTorch: " + ", ".join(f"{name} {rate:.0f}" for name, rate in torch_products(warm).items()), flush=True)
    except ImportError as error:
        print(f"PyTorch: {error}", flush=True)


def decoding(quantizer: Quantizer, peaks: dict) -> None:
    """The bound is the time of reading weights of 4 bits and their scales (FP32, one for 128)."""
    for depth, columns in DECODING:
        for rows in (1, 8):
            contestants = contestants_of(quantizer, product_model(quantizer.folder, depth, columns), rows, ["int4"])
            times = take_turns(contestants, COUNT)
            expected = contestants["fp16"].outputs()
            found = distance(contestants["int4"].outputs(), expected)
            for contestant in contestants.values():
                contestant.worker.close()
            bound = depth * columns * (0.5 + 4 / 128) / peaks["copy_gbs"] / 1e6
            print(f"{rows} x {depth} x {columns}: fp16 {times['fp16']:.4f} ms, int4 {times['int4']:.4f} ms, bound {bound:.4f} ms "
                  f"({bound / times['int4']:.2f} of the bandwidth), distance {found:.1e}", flush=True)


def case_of(text: str, kinds: str) -> tuple[str, int, list[str]]:
    name, batch, *own = text.split(":")
    return name, int(batch), (own[0] if own else kinds).split(",")


def keep(file: Path, peaks: dict | None, results: list[dict]) -> None:
    """In place of the file's results of the same cases."""
    data = json.loads(file.read_text()) if file.exists() else {}
    new = {case_key(result) for result in results}
    data["results"] = [r for r in data.get("results", []) if case_key(r) not in new] + results
    file.write_text(json.dumps(data | ({"peaks": peaks} if peaks else {}), indent=1) + "\n")


def case_key(result: dict) -> tuple:
    return result["model"], result["batch"], tuple(result["ratio"])


def peaks_of(file: Path) -> dict:
    if not file.exists():
        import gpu_peaks
        file.write_text(json.dumps(gpu_peaks.measured(), indent=1) + "\n")
    return json.loads(file.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="MODEL:BATCH[:KIND,...]")
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--models", type=Path, help="quantized models, e.g. of other tools")
    parser.add_argument("--by", choices=["tenon", "script"], default="tenon", help="the quantizer")
    parser.add_argument("--keep", type=Path, help="folder for quantized models and plans, which are taken from there")
    parser.add_argument("--kinds", default="int8,fp8")
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--peaks", type=Path, default=Path(tempfile.gettempdir()) / "tenon-peaks.json")
    parser.add_argument("--products", action="store_true")
    parser.add_argument("--decoding", action="store_true")
    parser.add_argument("--warm", type=float, default=0.2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    alone = arguments.products or arguments.decoding
    texts = arguments.cases or ([] if alone else CASES)
    cases = [case_of(text, arguments.kinds) for text in texts]
    files = check_gpu.materialize_all(sorted({name for name, _, _ in cases}), arguments.weights)
    results = []
    peaks = peaks_of(arguments.peaks) if arguments.layers or arguments.decoding else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        quantizer = Quantizer(arguments.tenon, arguments.by, arguments.models, folder)
        for name, batch, kinds in cases:
            start = time.monotonic()
            try:
                results.append(compare(quantizer, files[name], batch, kinds, peaks if arguments.layers else None, arguments.warm))
            except WorkerError as error:
                print(f"{name}:{batch}: {error}", flush=True)
                continue
            print_result(results[-1], time.monotonic() - start)
            print_layers(results[-1])
            if arguments.json:
                keep(arguments.json, peaks, results)
        if arguments.products:
            products(quantizer, arguments.kinds.split(","), arguments.warm)
        if arguments.decoding:
            decoding(quantizer, peaks)
    return 0 if len(results) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
