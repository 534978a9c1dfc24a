#!/usr/bin/env python3
"""Measure everything that docs/performance.md says about a GPU, and write it as JSON.

Parts, in this order:
    peaks      peaks of the GPU (bench/gpu_peaks.py)
    compare    times beside PyTorch's in FP16 (bench/compare_gpu.py); --reuse-torch keeps PyTorch's times of the file
    layers     each layer's distance to its floor (bench/layer_floors.py), needs peaks
    enqueue    enqueue times with and without CUDA graphs and trtexec's warnings
    errors     errors and their bounds at batches 1, 8 and 32 in four precisions (bench/check_gpu.py)
    identical  a thousand runs in four streams, some of them replayed graphs
    rebuild    builds of resnet50 without and with caches

New figures replace the file's for the same model, batch and precision; the rest stays, so parts can be
measured one by one. With --seconds, cases that would begin later are left out and told. With --gpus, each of several
GPUs of one kind measures some of the models; cases of errors go to whichever GPU has room. Fails if anything fails.

usage: gpu_report.py --json FILE [--parts PART,...] [--models NAME,...] [--batches N,...] [--precisions ...]
                     [--seconds N] [--gpus N] [--reuse-torch] [--tenon FILE] [--weights DIR]
then:  performance_page.py --cpu FILE --gpu FILE > docs/performance.md
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
import compare_gpu  # noqa: E402
import layer_floors  # noqa: E402
import share_out  # noqa: E402
from worker_client import WorkerError, shapes_text  # noqa: E402

PARTS = ["peaks", "compare", "layers", "enqueue", "errors", "identical", "rebuild"]
BATCHES = {"resnet50": [1, 8, 32], "bert_base": [1, 8, 32], "vit_b_16": [1, 8, 32], "mobilenet_v3_large": [1, 8, 32],
           "yolo_s": [1, 8], "gpt2": [1, 8], "resnet18": [1, 8, 32], "unet_block": [1, 4], "dlrm": [1, 256],
           "lstm_tagger": [1, 8]}
ERROR_BATCHES = [1, 8, 32]
# Model, options of trtexec and its expected warnings.
ENQUEUES = [("dlrm", "--noDataTransfers --noCudaGraph", "Enqueue-bound"), ("dlrm", "--noDataTransfers --useCudaGraph", ""),
            ("resnet50", "--noDataTransfers --noCudaGraph", ""), ("resnet50", "--noDataTransfers --useCudaGraph", ""),
            ("bert_base", "--noDataTransfers --noCudaGraph", ""), ("bert_base", "--noDataTransfers --useCudaGraph", ""),
            ("gpt2", "--useCudaGraph", "D2H")]
KEYS = ("model", "batch", "precision", "options")


class Report:
    """The file, and the command line's choice."""

    def __init__(self, arguments: argparse.Namespace, folder: Path):
        self.arguments, self.folder = arguments, folder
        self.data = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        self.deadline = time.monotonic() + arguments.seconds
        self.good, self.late = True, []
        self.models = [m for m in BATCHES if not arguments.models or m in arguments.models.split(",")]
        self.files = check_gpu.materialize_all(self.models, arguments.weights)

    def batches(self, model: str, defaults: list[int]) -> list[int]:
        chosen = [int(b) for b in self.arguments.batches.split(",")] if self.arguments.batches else defaults
        return [b for b in chosen if b in defaults or len(chosen) == 1]

    def cases(self) -> list[tuple[str, int]]:
        return [(model, batch) for model in self.models for batch in self.batches(model, BATCHES[model])]

    def in_time(self, case: str) -> bool:
        if time.monotonic() < self.deadline:
            return True
        self.late.append(case)
        return False

    def old(self, part: str, **case) -> dict:
        return next((r for r in self.data.get(part, []) if all(r.get(k) == v for k, v in case.items())), {})

    def add(self, part: str, record: dict) -> None:
        self.good &= record.get("ok", True)
        self.keep(part, {**record, "measured": time.strftime("%Y-%m-%d %H:%M")})
        self.save()

    def keep(self, part: str, record: dict) -> None:
        """In place of an older one of the same case."""
        key = tuple(record.get(k) for k in KEYS)
        old = next((r for r in self.data.get(part, []) if tuple(r.get(k) for k in KEYS) == key), None)
        if old is None or old["measured"] <= record["measured"]:
            self.data[part] = [*[r for r in self.data.get(part, []) if r is not old], record]

    def fail(self, part: str, case: str, error: Exception) -> None:
        self.good = False
        print(f"{part}: {case}: {str(error)[:300]}", flush=True)

    def save(self) -> None:
        self.arguments.json.parent.mkdir(parents=True, exist_ok=True)
        self.arguments.json.write_text(json.dumps(self.data, indent=1) + "\n")


def peaks(report: Report) -> None:
    with compare_gpu.torch_worker() as worker:
        report.data["peaks"] = worker.ask("peaks")
    report.save()
    print(", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in report.data["peaks"].items()))


def compare(report: Report) -> None:
    arguments, cases = report.arguments, report.cases()
    reuse = {(model, batch) for model, batch in cases
             if arguments.reuse_torch and report.old("compare", model=model, batch=batch).get("peers")}
    rivals = [case for case in cases if case not in reuse]
    compiled = not arguments.no_compile
    with ThreadPoolExecutor(3) as pool:
        expected = {case: pool.submit(compare_gpu.save_expected, arguments.tenon, report.files[case[0]], case[1],
                                      report.folder) for case in cases if arguments.outputs}
        if compiled and rivals:
            compare_gpu.warm_up(rivals, arguments.weights, 6, report.deadline)
    print(f"prepared [{report_seconds(report):.0f} s]", flush=True)
    worker = compare_gpu.torch_worker() if rivals else None
    for case in cases:
        if not report.in_time(f"compare {case[0]}:{case[1]}"):
            continue
        try:
            compare_case(report, case, None if case in reuse else worker, compiled,
                         expected[case].result() if case in expected else None)
        except WorkerError as error:
            report.fail("compare", f"{case[0]}:{case[1]}", error)
    if worker is not None:
        worker.close()


def compare_case(report: Report, case: tuple[str, int], worker, compiled: bool, expected: list[str] | None) -> None:
    model, batch = case
    start, arguments = time.monotonic(), report.arguments
    result = compare_gpu.compare(arguments.tenon, worker, report.files[model], batch, report.folder, compiled, expected,
                                 arguments.device, arguments.count)
    if worker is None:
        old = report.old("compare", model=model, batch=batch)
        result |= {key: old[key] for key in ["torch_distance"] if key in old}
        result |= {"peers": old["peers"], "ratio": result["ms"] / min(old["peers"].values()),
                   "peers_measured": old.get("peers_measured", old["measured"])}
    compare_gpu.print_result(result, time.monotonic() - start)
    report.add("compare", result)


def trtexec(report: Report, model: str, batch: int, *options: str) -> str:
    """Runs the plan that `compare` built, or builds it."""
    file = report.files[model]
    plan = report.folder / f"{model}.{batch}.fp16.plan"
    if not plan.exists():
        compare_gpu.Ours(report.arguments.tenon, file, batch, report.folder, device=report.arguments.device).worker.close()
    command = [str(Path(report.arguments.tenon).with_name("trtexec")), f"--loadEngine={plan}",
               f"--shapes={shapes_text(file, batch)}", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise WorkerError("\n".join(line for line in (done.stdout + done.stderr).splitlines() if "[E]" in line))
    return done.stdout + done.stderr


def layers(report: Report) -> None:
    if "peaks" not in report.data:
        raise WorkerError("floors need the peaks: --parts peaks,layers")
    for model, batch in report.cases():
        if not report.in_time(f"layers {model}:{batch}"):
            continue
        try:
            found = layer_distances(report, model, batch)
        except (WorkerError, OSError) as error:
            report.fail("layers", f"{model}:{batch}", error)
            continue
        print(f"{model:20} batch {batch:3}: {found['steps']} steps, floor {found['floor_us']:.1f} us, launches "
              f"{found['launch_floor_us']:.1f} us, profiled {found['profiled_us']:.1f} us; most lost: "
              + "; ".join(f"{w['lost_us']:.1f} us {w['count']} {w['layer'][:60]}" for w in found["worst"][:3]), flush=True)
        report.add("layers", found)


def layer_distances(report: Report, model: str, batch: int) -> dict:
    info, profile = report.folder / "layers.json", report.folder / "profile.json"
    trtexec(report, model, batch, "--dumpProfile", "--separateProfileRun", f"--exportProfile={profile}",
            f"--exportLayerInfo={info}", "--profilingVerbosity=detailed", "--noDataTransfers", "--useCudaGraph",
            "--warmUp=50", "--duration=0.2", "--iterations=20")
    found = layer_floors.distances(json.loads(info.read_text())["Layers"], json.loads(profile.read_text()),
                                   report.data["peaks"])
    return {"model": model, "batch": batch, **found}


def enqueue(report: Report) -> None:
    for model, options, warning in ENQUEUES:
        if model not in report.models or not report.in_time(f"enqueue {model} {options}"):
            continue
        try:
            text = trtexec(report, model, 1, *options.split(), "--warmUp=100", "--duration=0.5", "--iterations=20")
        except WorkerError as error:
            report.fail("enqueue", model, error)
            continue
        warnings = [line.split("[W]")[1].strip() for line in text.splitlines() if "[W] *" in line]
        record = {"model": model, "batch": 1, "options": options, "enqueue_ms": median_of(text, "Enqueue Time"),
                  "compute_ms": median_of(text, "GPU Compute Time"), "warnings": warnings, "expected": warning,
                  "ok": not warning or any(warning in w for w in warnings)}
        print(f"{model:20} {options:36}: enqueue {record['enqueue_ms']:.4f} ms, compute {record['compute_ms']:.4f} ms"
              + ("" if record["ok"] else f", DOES NOT WARN of {warning}"), *warnings, sep="\n    ", flush=True)
        report.add("enqueue", record)


def median_of(text: str, title: str) -> float:
    found = re.search(title + r": .*?median = ([0-9.e+-]+) ms", text)
    return float(found.group(1)) if found else float("nan")


def errors(report: Report) -> None:
    arguments = report.arguments
    batches = {model: report.batches(model, ERROR_BATCHES) for model in report.models}
    gpus = gpu_names(arguments.gpus) if arguments.gpus > 1 else [None]
    what = check_gpu.ErrorRun(arguments.tenon, [report.files[m] for m in report.models], batches,
                              arguments.precisions.split(","), jobs=arguments.jobs, deadline=report.deadline,
                              device=arguments.device, gpus=gpus)
    _, late = check_gpu.check_errors(what, lambda record: report.add("errors", record))
    report.late += [f"errors {case}" for case in late]


def each(report: Report, part: str, models: list[str], check) -> None:
    for model in models:
        if model not in report.models or not report.in_time(f"{part} {model}"):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                report.add(part, check(report.files[model], Path(folder)))
        except WorkerError as error:
            report.fail(part, model, error)


def identical(report: Report) -> None:
    each(report, "identical", report.models,
         lambda file, folder: check_gpu.check_identical(report.arguments.tenon, file, 1, "fp16", 1000, folder))


def rebuild(report: Report) -> None:
    each(report, "rebuild", ["resnet50"],
         lambda file, folder: check_gpu.check_rebuild(report.arguments.tenon, file, 1, "fp16", folder))


def run_part(report: Report, part: str) -> None:
    """A part that cannot be measured fails, the others go on."""
    try:
        globals()[part](report)
    except WorkerError as error:
        report.fail(part, "all", error)


def gpu_names(count: int) -> list[str]:
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return (seen.split(",") if seen else [str(i) for i in range(count)])[:count]


def run_on_each(report: Report, parts: list[str], folder: Path) -> None:
    """This script once for each GPU, where nothing runs beside the timed work; their results become part of the
    file."""
    options = without(sys.argv[1:], "--gpus", "--json", "--models", "--parts")
    children = []
    for gpu, models in zip(gpu_names(report.arguments.gpus), share_out.groups_of(report.cases(), report.arguments.gpus)):
        file = folder / f"{gpu}.json"
        file.write_text(json.dumps(report.data))
        command = [sys.executable, __file__, *options, "--json", str(file), "--models", ",".join(models), "--parts",
                   ",".join(parts)]
        children.append((file, subprocess.Popen(command, env={**os.environ, "CUDA_VISIBLE_DEVICES": gpu})))
    for file, child in children:
        report.good &= child.wait() == 0
        found = json.loads(file.read_text())
        for part in found.keys() - {"peaks"}:
            for record in found[part]:
                report.keep(part, record)
        if peaks := found.get("peaks", report.data.get("peaks")):
            report.data["peaks"] = {**peaks, "gpus": len(children)}
        report.save()


def without(options: list[str], *names: str) -> list[str]:
    """Of a command line, arguments other than these options and their values."""
    kept, skip = [], False
    for option in options:
        if not skip and option.split("=")[0] not in names:
            kept.append(option)
        skip = not skip and option in names
    return kept


def report_seconds(report: Report) -> float:
    return time.monotonic() - (report.deadline - report.arguments.seconds)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--models", default="")
    parser.add_argument("--batches", default="", help="of those that a part measures; a single one is measured anyway")
    parser.add_argument("--precisions", default="fp32,tf32,fp16,bf16", help="of errors")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--reuse-torch", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--outputs", action="store_true", help="compare also tells distances of both sides' outputs")
    parser.add_argument("--jobs", type=int, default=4, help="cases of errors at a time on each GPU")
    parser.add_argument("--count", type=int, default=compare_gpu.COUNT, help="runs of a turn of compare")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--device", default="", help="more options of builds, e.g. --device=--device=-1")
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    chosen = arguments.parts.split(",")
    if set(chosen) - set(PARTS):
        sys.exit(f"parts are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TENON_CACHE_DIR", str(Path(folder) / "cache"))
        report = Report(arguments, Path(folder))
        parts = [part for part in PARTS if part in chosen]
        if arguments.gpus > 1:
            if timed := [part for part in parts if part != "errors"]:
                run_on_each(report, timed, Path(folder))
            parts = [part for part in parts if part == "errors"]
        for part in parts:
            print(f"--- {part} [{report_seconds(report):.0f} s]", flush=True)
            run_part(report, part)
        print(f"--- end [{report_seconds(report):.0f} s]", flush=True)
    if report.late:
        print("left out for want of time: " + ", ".join(report.late))
    return 0 if report.good and not report.late else 1


if __name__ == "__main__":
    sys.exit(main())
