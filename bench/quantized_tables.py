"""docs/quantized_performance.md from the JSON of bench/quant_gpu.py --layers."""
from gpu_tables import but, days, distances, ordered, peaks, table, worst

NAMES = {"int8": "INT8", "fp8": "FP8", "int4": "INT4 weights", "sparse": "FP16, 2:4 sparse"}
# Of FP16's time, or milliseconds; 1 of FP16's where nothing stands here.
AIMS = {("resnet50", 4, "int8"): 0.625, ("resnet50", 32, "int8"): "0.45 ms", ("resnet50", 128, "int8"): "1.40 ms",
        ("bert_base", 32, "int8"): 0.62, ("bert_base", 32, "fp8"): 0.62, ("vit_b_16", 32, "int8"): 0.65,
        ("vit_b_16", 32, "fp8"): 0.65, ("gpt2", 8, "int8"): 0.65, ("gpt2", 8, "fp8"): 0.65}


def cases(results: list[dict]) -> list[dict]:
    """A record for each kind of number, with its layers."""
    return [{"model": r["model"], "batch": r["batch"], "kind": kind, "measured": r["measured"], "fp16_ms": r["ms"]["fp16"],
             "ms": r["ms"][kind], "ratio": ratio, "turns": r["turns_ms"][kind] / r["turns_ms"]["fp16"],
             "hosted": r["hosted"][kind], "layers": r["layers"].get(kind)}
            for r in ordered(results) for kind, ratio in r["ratio"].items()]


def aim_of(case: dict) -> float | str:
    return AIMS.get((case["model"], case["batch"], case["kind"]), 1.0)


def reaches(case: dict) -> bool:
    aim = aim_of(case)
    return case["ms"] <= float(aim.split()[0]) if isinstance(aim, str) else round(case["ratio"], 3) <= aim


def compared(found: list[dict]) -> str:
    rows = [[c["model"], str(c["batch"]), NAMES[c["kind"]], f"{c['fp16_ms']:.4f}", f"{c['ms']:.4f}",
             f"{c['ratio']:.3f}" if reaches(c) else f"**{c['ratio']:.3f}**", f"{c['turns']:.3f}", str(aim_of(c))] for c in found]
    return table(["model", "batch", "numbers", "FP16, ms", "ms", "ratio", "ratio in turns", "aimed at"], rows)


def layers_of(found: list[dict]) -> list[dict]:
    return [{"model": f"{c['model']}, {NAMES[c['kind']]}", "batch": c["batch"], **c["layers"]} for c in found if c["layers"]]


def page(data: dict) -> str:
    found = cases(data["results"])
    missed = [f"{c['model']} at batch {c['batch']} in {NAMES[c['kind']]} ({c['ratio']:.3f} of FP16, {c['ms']:.3f} ms; aim "
              f"{aim_of(c)})" for c in found if not reaches(c)]
    parts = ["# Performance of quantized networks\n",
             f"Made by bench/performance_page.py from `bench/quant_gpu.py --layers --json FILE`, {days(found)}. Models are quantized "
             "by `tenon quantize`. Medians of replayed graphs, inputs on the GPU. A GPU at the limit of its power has another "
             "clock for each network, and takes some 0.1 s to find it: each network runs for 0.2 s ahead of its turn, except for "
             "*ratio in turns*, which is of 20 runs each without that.\n"]
    if "peaks" in data:
        parts.append(peaks(data["peaks"]))
    parts += [f"{len(found) - len(missed)} of {len(found)} reach the aim." + but(missed, "; ") + "\n", compared(found)]
    if layers := layers_of(found):
        times = {(f"{c['model']}, {NAMES[c['kind']]}", c["batch"]): c["ms"] for c in found}
        parts += ["\n## Distance to the floor\n",
                  "As in [performance.md](performance.md): a layer's floor is the larger one of operations by the rate of its type "
                  "and bytes by bandwidth.\n", distances(layers, times),
                  "\nThe ten groups of layers that lose most of their model's profile:\n", worst(layers)]
    parts += ["\n## Reasons\n", "Predictions, outcomes and attempts without a gain are in [notes/performance.md](notes/performance.md); "
              "[quantization.md](quantization.md) has the kernels."]
    return "\n".join(parts)
