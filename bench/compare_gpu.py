#!/usr/bin/env python3
"""Compare Tenon with PyTorch on this GPU in FP16, CUDA graphs on both sides, taking turns in one run.

PyTorch's best counts: eager and torch.compile of torchvision's or transformers' model where there is one (weights of its
own), otherwise of the ONNX file as a module, with PyTorch's own functions for attention and group norm
(bench/torch_graph.py). The file as it is runs eagerly for every model, so that outputs can be compared as well
(--outputs): relative L2 distances to our CPU's FP32 results. Times are medians of replayed graphs, inputs already on the
GPU; inputs and outputs that are real numbers are FP16 on both sides.

torch.compile runs ahead of everything in several processes, whose results PyTorch caches on disk.

With --beside, the program of another build of Tenon is the only rival: whether a change made plans faster.

usage: compare_gpu.py [--tenon FILE] [--weights DIR] [--no-compile] [--beside FILE] [--outputs] [--json FILE] MODEL:BATCH...
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
from worker_client import Worker, WorkerError, draw_inputs, files_text, materialized, shapes_text  # noqa: E402

WITH_LIBRARY = ("resnet18", "resnet50", "mobilenet_v3_large", "vit_b_16", "bert_base", "gpt2")
ATTENTION = ("unet_block",)
TURNS, COUNT = 4, 20


def peers_of(model: str, compiled: bool) -> list[tuple[str, bool]]:
    """Names of peers, and whether they are compiled. The first one computes the file's nodes."""
    kinds = [("graph", False)]
    rival = "library" if model in WITH_LIBRARY else "fused" if model in ATTENTION else "graph"
    kinds += [(rival, False)] if rival != "graph" else []
    return kinds + [(rival, True)] if compiled else kinds


def title(peer: str, compiled: bool) -> str:
    return f"{peer} {'compile' if compiled else 'eager'}"


def torch_worker(threads: int = 8) -> Worker:
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(tempfile.gettempdir()) / "tenon-inductor"))
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(threads)
    return Worker(sys.executable, str(ROOT / "bench/torch_worker.py"))


def warm_up(cases: list[tuple[str, int]], weights: Path, processes: int, deadline: float) -> None:
    """Compiles every peer once, so that the process that measures finds them in PyTorch's cache."""
    waiting = [(model, batch, peer) for model, batch in cases for peer, compiled in peers_of(model, True) if compiled]

    def work() -> None:
        with torch_worker(2) as worker:
            while time.monotonic() < deadline:
                try:
                    model, batch, peer = waiting.pop(0)
                except IndexError:
                    return
                try:
                    worker.ask("prepare", name="m", model=model, file=str(weights / f"{model}.onnx"), batch=batch,
                               peer=peer, compiled=True)
                except WorkerError as error:
                    print(f"{model}:{batch} {peer}: {error}", flush=True)

    processes = min(processes, len(waiting))
    with ThreadPoolExecutor(max(1, processes)) as pool:
        for done in [pool.submit(work) for _ in range(processes)]:
            done.result()


class Ours:
    """Tenon's plan, bound and captured. A plan that exists is loaded."""

    def __init__(self, tenon: str, model: Path, batch: int, folder: Path, precision: str = "fp16", device: str = ""):
        self.model, self.folder = model, folder
        self.plan = folder / f"{model.stem}.{batch}.{precision}.plan"
        self.worker = Worker(tenon, "worker")
        self.half = precision == "fp16"
        options = [*check_gpu.build_options(model, batch, precision), "--profilingVerbosity=detailed", *device.split()]
        options += check_gpu.half_io_options(model) if self.half else []
        self.build_ms = None
        if self.plan.exists():
            self.worker.ask("load", name="m", plan=str(self.plan), options=options)
        else:
            self.build_ms = self.worker.ask("build", name="m", options=options)["build_ms"]
            self.worker.ask("save", name="m", plan=str(self.plan))
        inputs = draw_inputs(model, batch, folder)
        inputs = check_gpu.half_inputs(model, inputs) if self.half else inputs
        self.arguments = {"shapes": shapes_text(model, batch), "inputs": files_text(inputs)}
        self.worker.ask("bind", name="m", graph=True, transfers=False, **self.arguments)

    def time(self, count: int) -> list[float]:
        return self.worker.ask("run", name="m", count=count)["ms"]

    def outputs(self) -> dict:
        self.worker.ask("bind", name="m", graph=True, **self.arguments)
        self.worker.ask("run", name="m", count=1)
        return check_gpu.outputs_of(self.worker, self.model, self.folder, self.half)

    def hosted(self) -> int:
        return len(check_gpu.hosted_layers(self.worker))


class TorchPeer:
    def __init__(self, worker: Worker, name: str, model: Path, batch: int, peer: str, compiled: bool):
        self.worker, self.name = worker, name
        worker.ask("prepare", name=name, model=model.stem, file=str(model), batch=batch, peer=peer, compiled=compiled)

    def time(self, count: int) -> list[float]:
        return self.worker.ask("time", name=self.name, count=count)["ms"]


def take_turns(contestants: dict, count: int, warm: float = 0.0) -> dict[str, float]:
    """`warm`: each runs for so many seconds ahead of its turn. A GPU at the limit of its power takes some 0.1 s to find the
    clock for what it runs; until then it has that of what ran before."""
    times = {name: [] for name in contestants}
    ahead = {name: 0 for name in contestants}
    for name, contestant in contestants.items():
        ahead[name] = round(1000 * warm / statistics.median(contestant.time(-(-count // 2))))
    for _ in range(TURNS):
        for name, contestant in contestants.items():
            times[name] += contestant.time(ahead[name] + count)[ahead[name]:]
    return {name: statistics.median(found) for name, found in times.items()}


def torch_peers(worker: Worker, model: Path, batch: int, compiled: bool) -> dict[str, TorchPeer]:
    peers = {}
    for peer, is_compiled in peers_of(model.stem, compiled):
        name = title(peer, is_compiled)
        try:
            peers[name] = TorchPeer(worker, name, model, batch, peer, is_compiled)
        except WorkerError as error:
            print(f"{model.stem}:{batch} {name}: {error}", flush=True)
    return peers


def compare_builds(tenon: str, beside: str, model: Path, batch: int, folder: Path, device: str, count: int) -> dict:
    """Two builds of Tenon, each with plans of its own."""
    folders = {program: folder / str(number) for number, program in enumerate((tenon, beside))}
    for one in folders.values():
        one.mkdir(exist_ok=True)
    contestants = {program: Ours(program, model, batch, one, device=device) for program, one in folders.items()}
    times = take_turns(contestants, count)
    for contestant in contestants.values():
        contestant.worker.close()
    return {"model": model.stem, "batch": batch, "ms": times[tenon], "peers": {beside: times[beside]},
            "build_ms": contestants[tenon].build_ms, "hosted": 0, "ratio": times[tenon] / times[beside]}


def save_expected(tenon: str, model: Path, batch: int, folder: Path) -> list[str]:
    """Files of the CPU's FP32 outputs."""
    files = []
    for name, array in check_gpu.cpu_outputs(tenon, model, batch, folder).items():
        files.append(str(folder / f"{model.stem}.{batch}.{len(files)}.expected"))
        array.tofile(files[-1])
    return files


def compare(tenon: str, torch: Worker | None, model: Path, batch: int, folder: Path, compiled: bool,
            expected: list[str] | None, device: str = "", count: int = COUNT) -> dict:
    """Without `torch` only our side is timed. `expected`: files of FP32 outputs, to tell both sides' distances."""
    ours = Ours(tenon, model, batch, folder, device=device)
    with ours.worker:
        peers = torch_peers(torch, model, batch, compiled) if torch else {}
        times = take_turns({"tenon": ours, **peers}, count)
        result = {"model": model.stem, "batch": batch, "ms": times.pop("tenon"), "peers": times,
                  "build_ms": ours.build_ms, "plan_bytes": ours.plan.stat().st_size, "hosted": ours.hosted()}
        if expected:
            result["distance"] = check_gpu.distance_to_files(ours.outputs(), expected)
            if title("graph", False) in peers:
                result["torch_distance"] = torch.ask("distance", name=title("graph", False),
                                                     expected=expected)["distance"]
        for name in peers:
            torch.ask("drop", name=name)
    if times:
        result["ratio"] = result["ms"] / min(times.values())
    return result


def measured(arguments: argparse.Namespace, torch: Worker, model: Path, batch: int, folder: Path) -> dict:
    if arguments.beside:
        return compare_builds(arguments.tenon, arguments.beside, model, batch, folder, arguments.device, arguments.count)
    expected = save_expected(arguments.tenon, model, batch, folder) if arguments.outputs else None
    return compare(arguments.tenon, torch, model, batch, folder, not arguments.no_compile, expected, arguments.device, arguments.count)


def print_result(result: dict, seconds: float) -> None:
    build = f", built in {result['build_ms'] / 1000:.1f} s" if result["build_ms"] else ""
    distances = "".join(f", {name} {result[key]:.1e}" for key, name in
                        (("distance", "distance"), ("torch_distance", "PyTorch's")) if key in result)
    print(f"{result['model']:20} batch {result['batch']:>3}: {result['ms']:8.4f} ms{build}; "
          + ", ".join(f"{k} {v:.4f}" for k, v in result["peers"].items())
          + (f"; ratio {result['ratio']:.3f}" if "ratio" in result else "") + distances
          + (f"; {result['hosted']} layers on the host" if result["hosted"] else "") + f" ({seconds:.0f} s)", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="MODEL:BATCH")
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--device", default="", help="more options of the build, e.g. --device=--device=-1")
    parser.add_argument("--outputs", action="store_true", help="compare outputs with those of the CPU in FP32")
    parser.add_argument("--count", type=int, default=COUNT, help="runs a turn")
    parser.add_argument("--processes", type=int, default=6, help="that compile ahead; 0: none")
    parser.add_argument("--beside", help="the program of another build, in place of PyTorch")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cases = [(name, int(batch)) for name, batch in (case.split(":") for case in arguments.cases)]
    files = check_gpu.materialize_all([name for name, _ in cases], arguments.weights)
    if arguments.processes and not arguments.no_compile and not arguments.beside:
        warm_up(cases, arguments.weights, arguments.processes, time.monotonic() + 200)
    results = []
    with tempfile.TemporaryDirectory() as temporary, torch_worker() as torch:
        for name, batch in cases:
            start = time.monotonic()
            try:
                results.append(measured(arguments, torch, files[name], batch, Path(temporary)))
            except WorkerError as error:
                print(f"{name}:{batch}: {error}", flush=True)
                continue
            print_result(results[-1], time.monotonic() - start)
            if arguments.json:
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 0 if len(results) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
