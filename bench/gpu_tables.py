"""The GPU's tables of docs/performance.md, from the JSON of bench/gpu_report.py."""

AIMS = {"resnet50": {1: 0.6, 32: 0.75}, "bert_base": {1: 0.6, 32: 0.75}, "vit_b_16": {1: 0.6, 32: 0.75},
        "mobilenet_v3_large": {1: 0.6, 32: 0.75}, "yolo_s": {1: 0.6, 8: 0.75}, "gpt2": {1: 0.6, 8: 0.75}}

FP32_BOUND = 5e-5
# The next step for the layers of a kind; the first word that the kind has in it counts.
NEXT = {"gather": "one launch for all gathers of one shape",
        "rnn": "steps wait for each other: less exchange between the blocks of a cluster at each",
        "mha": "longer runs of keys for each block, products and exponentials of two tiles in turns",
        "conv": "tiles for this shape; at small batches splits along the channels",
        "matmul": "splits along the inner axis for few rows; rows of the next product's tiles start early",
        "normalization": "into the product ahead or behind, so that its launch and a pass over the rows go",
        "softmax": "into the kernel that reads it", "reduce": "into the convolution ahead",
        "concat": "its readers take parts where they lie", "reformat": "a layout that both neighbours take",
        "pointwise": "into the kernel ahead"}


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def ordered(records: list[dict]) -> list[dict]:
    return sorted(records, key=lambda r: (r["model"], r["batch"]))


def days(records: list[dict], key: str = "measured") -> str:
    found = sorted({r[key].split()[0] for r in records if key in r})
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}" if found else ""


def peaks(found: dict) -> str:
    return (f"{found['gpu']}, CUDA {found['cuda']}, cuDNN {found['cudnn']}, PyTorch {found['torch']}. Measured peaks, "
            "from which floors are computed: products of 8192x8192 matrices with random elements "
            f"{found['fp16_tflops']:.0f} TFLOP/s in FP16, {found['bf16_tflops']:.0f} in BF16, "
            f"{found['tf32_tflops']:.0f} in TF32, {found['fp32_tflops']:.0f} in FP32; a copy of 2 GiB "
            f"{found['copy_gbs']:.0f} GB/s; a node of a replayed graph {found['node_us']:.2f} us, one that fills the GPU "
            f"once {found['wave_node_us']:.2f} us."
            + (f" These are of one of {found['gpus']} GPUs that shared the models; floors are from the peaks of each model's "
               "own." if found.get("gpus", 1) > 1 else "") + "\n")


def compared(records: list[dict]) -> str:
    rows = []
    for r in ordered(records):
        peers = r["peers"]
        best = min(peers, key=peers.get) if peers else None
        other = "*" if "peers_measured" in r else ""
        rows.append([r["model"], str(r["batch"]), f"{r['ms']:.4f}", f"{peers[best]:.4f}{other} ({best})" if best else "",
                     f"{r['ratio']:.2f}" if "ratio" in r else "", f"{AIMS.get(r['model'], {}).get(r['batch'], 1.0):.2f}",
                     ", ".join(f"{k} {v:.3f}" for k, v in peers.items() if k != best),
                     " / ".join(f"{r[key]:.1e}" for key in ("distance", "torch_distance") if key in r)])
    text = table(["model", "batch", "Tenon, ms", "PyTorch's best, ms", "ratio", "aimed at", "PyTorch's others, ms",
                  "distances"], rows)
    old = [r for r in records if "peers_measured" in r]
    if old:
        text += f"\n\n\\* PyTorch's times are of another run ({days(old, 'peers_measured')})."
    return text


def but(others: list[str], between: str = ", ") -> str:
    """Behind a sentence that holds for all but these."""
    return f" **Not so:** {between.join(others)}." if others else ""


def aims(records: list[dict]) -> str:
    """The number of ratios at the aim, and the other ones."""
    aimed = [(r, AIMS.get(r["model"], {}).get(r["batch"], 1.0)) for r in ordered(records) if "ratio" in r]
    missed = [f"{r['model']} at batch {r['batch']} ({r['ratio']:.2f}, not {aim:.2f})"
              for r, aim in aimed if round(r["ratio"], 2) > aim]
    return (f"{len(aimed) - len(missed)} of {len(aimed)} ratios reach the aim." + but(missed))


def distances(records: list[dict], times: dict) -> str:
    rows = []
    for r in ordered(records):
        floor = max(r["floor_us"], r["launch_floor_us"])
        ours = times.get((r["model"], r["batch"]))
        rows.append([r["model"], str(r["batch"]), str(r["steps"]), f"{r['floor_us']:.0f}", f"{r['launch_floor_us']:.0f}",
                     f"{ours * 1000:.0f}" if ours else "", f"{ours * 1000 / floor:.2f}" if ours else "",
                     f"{r['profiled_us']:.0f}", f"{r['profile_floor_us']:.0f}" if "profile_floor_us" in r else ""])
    return table(["model", "batch", "steps", "floor of layers, us", "floor of launches, us", "measured, us",
                  "times the larger floor", "profile's sum, us", "of idle kernels, us"], rows)


def worst(records: list[dict], count: int = 10) -> str:
    """Of all layers at one time: the same number of us counts more in a model that takes less."""
    rows = [(w["lost_us"] / r["profiled_us"], r, w) for r in records if r["profiled_us"] for w in r["worst"]]
    rows.sort(key=lambda row: -row[0])
    return table(["model", "batch", "layers", "tactic", "time, us", "floor, us", "lost, us", "part of the model", "next"],
                 [[r["model"], str(r["batch"]), f"{w['count']} x {w['layer']}", f"`{w['tactic'].split('{')[0]}`",
                   f"{w['us']:.1f}", f"{w['floor_us']:.1f}", f"{w['lost_us']:.1f}", f"{part:.2f}", next_step(w["layer"])]
                  for part, r, w in rows[:count]])


def next_step(layer: str) -> str:
    kind = layer.split(" to ")[0].lower()
    return next((text for word, text in NEXT.items() if word in kind), "")


def enqueues(records: list[dict]) -> str:
    return table(["model", "options", "enqueue, ms", "GPU, ms", "warnings"],
                 [[r["model"], f"`{r['options']}`", f"{r['enqueue_ms']:.4f}", f"{r['compute_ms']:.4f}",
                   "; ".join(w.lstrip("* ").split(":")[0] for w in r["warnings"]) or "none"] for r in ordered(records)])


def errors(records: list[dict]) -> str:
    cells = {(r["model"], r["batch"], r["precision"]): r for r in records}
    precisions = [p for p in ("fp32", "tf32", "fp16", "bf16") if any(r["precision"] == p for r in records)]
    rows = []
    for model, batch in sorted({key[:2] for key in cells}):
        found = [cells.get((model, batch, p)) for p in precisions]
        draws = max((r.get("draws", 1) for r in found if r), default=1)
        rows.append([model, str(batch) + (f" ({draws} draws)" if draws > 1 else ""), *map(error_cell, found)])
    return table(["model", "batch", *(f"{p}, of {FP32_BOUND:.0e}" if p == "fp32" else f"{p}, of its bound"
                                      for p in precisions)], rows)


def error_cell(record: dict | None) -> str:
    if record is None:
        return ""
    if "error" not in record:
        return "**failed**"
    error = f"{record['error']:.1e}" if record["ok"] else f"**{record['error']:.1e}**"
    return error + (f" of {record['bound']:.1e}" if record["bound"] and record["precision"] != "fp32" else "")


def broken_bounds(records: list[dict]) -> str:
    """How many errors are within their bounds, and which are not."""
    broken = [r for r in ordered(records) if not r["ok"]]
    told = [f"{r['model']} at batch {r['batch']} in {r['precision']} "
            + (f"({r['error'] / r['bound']:.2f} times its bound)" if "error" in r else f"({r.get('failure', '')[:80]})")
            for r in broken]
    return (f"{len(records) - len(broken)} of {len(records)} are within their bounds." + but(told))


def identical(records: list[dict]) -> str:
    same = sorted(r["model"] for r in records if r["ok"])
    other = [f"{r['model']} ({r['differing']} of {r['runs']})" for r in records if not r["ok"]]
    return (f"{records[0]['runs']} runs in four streams, two of which replay graphs, give the bits of a run alone: "
            f"{', '.join(same) or 'none'}." + but(other))


def rebuilds(records: list[dict]) -> str:
    return "\n".join(f"{r['model']} at batch {r['batch']} builds in {r['cold_s']:.1f} s without caches, "
                     f"{max(r['warm_s']):.2f} s with timing and kernel caches, to "
                     f"{'the same bytes' if r['ok'] else '**other bytes**'}." for r in records)


def section(title: str, command: str, text: str, records) -> str:
    when = f", {days(records)}" if isinstance(records, list) else ""
    return f"### {title}\n\n`bench/gpu_report.py --parts {command}`{when}. {text}".rstrip() + "\n"


def page(data: dict) -> str:
    parts = ["## GPU\n\nAll of this by `bench/gpu_report.py --json FILE`."]
    if "peaks" in data:
        parts.append(peaks(data["peaks"]))
    if compare := data.get("compare"):
        parts += [section("FP16 beside PyTorch", "compare", "Medians of replayed graphs on both sides, in turns, inputs on "
                          "the GPU. Distances (Tenon / PyTorch's evaluation of the file) are to our CPU's FP32. "
                          + aims(compare), compare),
                  compared(compare)]
    if layers := data.get("layers"):
        times = {(r["model"], r["batch"]): r["ms"] for r in data.get("compare", [])}
        parts += [section("Distance to the floor", "peaks,compare,layers", "A layer's floor is the larger one of operations "
                          "by peak rate and bytes by bandwidth; weights that stay in the second-level cache between "
                          "replays may beat it, and that an LSTM's steps wait for each other counts for nothing. Launches: "
                          "steps by the time of a graph's node. The profile is of a replayed graph with the recording of "
                          "an event behind each step; a time lasts from one event to the next and nothing is subtracted "
                          "from it, so the sum holds times that overlap when nothing is recorded: the start of a step's kernels "
                          "and the end of the step ahead. Kernels that do nothing, as many as there are steps, have the "
                          "sum in the last column.", layers),
                  distances(layers, times),
                  "\nThe ten groups of layers that lose most of their model's profile, above their floor or, where that is "
                  "larger, a kernel that does nothing:\n",
                  worst(layers)]
    if enqueue := data.get("enqueue"):
        parts += [section("Enqueueing", "enqueue", "trtexec at batch 1.", enqueue), enqueues(enqueue)]
    if checked := data.get("errors"):
        parts += [section("Errors", "errors", "Relative L2 error against our CPU's FP32, and its limit: 5e-5 in FP32, "
                          "else 1.5 times the error of an FP32 evaluation with every tensor rounded to the type. Outputs "
                          "of fewer than 64 values are those of several draws of inputs. " + broken_bounds(checked),
                          checked), errors(checked)]
    if found := data.get("identical"):
        parts += [section("Same bits", "identical", "", found), identical(found)]
    if found := data.get("rebuild"):
        parts += [section("Builds", "rebuild", "", found), rebuilds(found)]
    return "\n".join(part if part.endswith("\n") else part + "\n" for part in parts)
