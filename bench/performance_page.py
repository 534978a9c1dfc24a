#!/usr/bin/env python3
"""Write docs/performance.md and docs/quantized_performance.md from the JSON files that the benchmarks of this folder leave.

usage: performance_page.py --cpu FILE [--cpu-bf16 FILE] [--gpu FILE] > docs/performance.md
       performance_page.py --quantized FILE > docs/quantized_performance.md

Files come from `compare_cpu.py --json FILE [--precision bf16]`, `gpu_report.py --json FILE` and
`quant_gpu.py --layers --json FILE`. docs/notes/performance.md
has predictions, outcomes and reasons, which no script can know.
"""
import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import gpu_tables  # noqa: E402
import quantized_tables  # noqa: E402
from gpu_tables import table  # noqa: E402


def figure(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def triple(result: dict, key: str) -> str:
    return " / ".join(figure(result["results"][name][key]) for name in ("tenon", "onnxruntime", "openvino"))


def times(results: list[dict]) -> str:
    rows = [[r["model"], str(r["batch"]), triple(r, "min_ms"), triple(r, "median_ms"), f"{r['ratio_min']:.2f}",
             f"{r['ratio_median']:.2f}", f"{r['results']['tenon']['distance']:.1e}"] for r in results]
    return table(["model", "batch", "minimum, ms", "median, ms", "ratio of minima", "median ratio", "distance"], rows)


def costs(results: list[dict]) -> str:
    rows = [[r["model"], str(r["batch"]), figure(r["results"]["tenon"]["build_ms"]), triple(r, "load_ms"),
             triple(r, "first_ms"), triple(r, "peak_mib")] for r in results]
    return table(["model", "batch", "our build, ms", "load, ms", "first inference, ms", "peak memory, MiB"], rows)


def bf16(low: list[dict], full: list[dict]) -> str:
    exact = {(r["model"], r["batch"]): r["results"]["tenon"]["min_ms"] for r in full}
    rows = []
    for r in low:
        ours, f32 = r["results"]["tenon"], exact.get((r["model"], r["batch"]))
        if f32 is not None:
            rows.append([r["model"], str(r["batch"]), figure(ours["min_ms"]), figure(f32),
                         f"{ours['min_ms'] / f32:.2f}", f"{ours['distance']:.1e}"])
    return table(["model", "batch", "bf16, ms", "fp32, ms", "ratio", "distance to fp32"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    page = parser.add_mutually_exclusive_group(required=True)
    page.add_argument("--cpu", type=Path)
    page.add_argument("--quantized", type=Path)
    parser.add_argument("--cpu-bf16", type=Path)
    parser.add_argument("--gpu", type=Path)
    arguments = parser.parse_args()
    if arguments.quantized:
        print(quantized_tables.page(json.loads(arguments.quantized.read_text())).rstrip())
        return
    results = json.loads(arguments.cpu.read_text())
    print("# Performance\n\nMade by bench/performance_page.py from measurements; every figure names its command.\n")
    print("## CPU, FP32\n\n`bench/compare_cpu.py --json FILE`: Tenon / ONNX Runtime / OpenVINO, "
          f"{results[0]['threads']} threads, taking turns. A ratio is Tenon's time divided by the better rival's; the "
          "median ratio is taken over the turns. The distance is the relative L2 distance to ONNX Runtime's result.\n")
    print(times(results))
    print("\nA plan is built once, by a process of its own; the rivals build when they load.\n")
    print(costs(results))
    if arguments.cpu_bf16:
        print("\n## CPU, bf16\n\n`bench/compare_cpu.py --precision bf16 --json FILE`.\n")
        print(bf16(json.loads(arguments.cpu_bf16.read_text()), results))
    if arguments.gpu:
        print("\n" + gpu_tables.page(json.loads(arguments.gpu.read_text())).rstrip())
    print("\n## Reasons\n\nPredictions, outcomes and attempts without a gain are in "
          "[notes/performance.md](notes/performance.md).")


if __name__ == "__main__":
    main()
