#!/usr/bin/env python3
"""torch.compile(backend="tenon") beside torch.compile's default backend, in FP16 on this GPU (FP32 without one).

Models are the ten of models/ (torchvision's and transformers' modules where these libraries have them, else the ONNX file
as a module) and those of bench/zoo_models.py, each in a process of its own. Said of each: whether its whole graph became
one plan, relative L2 distances to FP32 of ours and of a run that rounds each tensor, and medians in turns: of replayed
CUDA graphs, and of calls, which show what a call costs on the host.

usage: torch_compile.py [--seconds N] [--jobs N] [--builds N] [--no-times] [--json FILE] [PATTERN...]
"""
import argparse
import fnmatch
import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
from worker_client import WorkerError, materialized  # noqa: E402

TEN = ("resnet18", "resnet50", "mobilenet_v3_large", "vit_b_16", "bert_base", "gpt2", "yolo_s", "unet_block", "dlrm", "lstm_tagger")
TURNS, COUNT = 4, 20


def module_of(name: str, folder: Path):
    """One of the ten models and its inputs."""
    import onnx
    import torch_graph
    import torch_worker

    library = {"bert_base": torch_worker.bert, "gpt2": torch_worker.gpt2}
    if name in torch_worker.VISION or name in library:
        net = library[name]() if name in library else torch_worker.vision(name)
        graph = onnx.load(ROOT / f"models/{name}.onnx", load_external_data=False)
    else:
        graph = onnx.load(materialized(name, folder))
        net = torch_graph.build(graph, 1, name == "unet_block")
    return net, tuple(torch_graph.inputs_of(graph, name, 1))


class Pair:
    """The work of one process: a module compiled by both."""

    def __init__(self, entry, batch: int):
        self.entry, self.batch, self.graphs, self.runs = entry, batch, [], {}

    def references(self) -> dict:
        """Makes the module. Distances of rounding each tensor, and of PyTorch in half precision, to FP32."""
        import copy

        import torch
        import zoo
        import zoo_torch
        from torch_worker import DEVICE, TYPE

        self.net, self.inputs = zoo.calibrated(self.entry, self.batch)
        architecture = zoo_torch.Architecture(self.entry, self.batch)
        architecture.net, architecture.inputs = self.net, self.inputs
        found = architecture.evaluations()
        self.exact = found["exact"]
        torch.set_default_device(DEVICE)
        self.net = copy.deepcopy(self.net).to(DEVICE, TYPE)
        self.inputs = [x.to(DEVICE, TYPE) if x.is_floating_point() else x.to(DEVICE) for x in self.inputs]
        with torch.no_grad():
            half = zoo_torch.arrays(self.net(*self.inputs))
        return {"rounded": distance(found["rounded"], self.exact), "half": distance(half, self.exact)}

    def ours(self) -> dict:
        import tenon.torch
        import torch

        def counted(graph, inputs):
            self.graphs.append(tenon.torch.backend(graph, inputs, options={"pass_through_build_failures": True}))
            return self.graphs[-1]

        start = time.monotonic()
        with torch._dynamo.config.patch(allow_rnn=True):  # Else PyTorch runs recurrent layers itself.
            self.runs["ours"] = self.prepared(torch.compile(self.net, backend=counted, dynamic=False), self.inputs)
        plans = [isinstance(run, tenon.torch.Compiled) for made in self.graphs for _, _, plans in getattr(made, "known", [])
                 for run in plans.runs]
        whole = len(self.graphs) == 1 and plans == [True]
        return {"seconds": time.monotonic() - start, "whole": whole, "graphs": len(self.graphs), "parts": plans.count(False),
                "error": distance(self.results, self.exact)}

    def rival(self) -> dict:
        """Images in the layout that PyTorch is fastest with."""
        import torch

        start, net, inputs = time.monotonic(), self.net, self.inputs
        if any(isinstance(m, (torch.nn.Conv2d, torch.nn.ConvTranspose2d)) for m in net.modules()):
            import copy

            net = copy.deepcopy(net).to(memory_format=torch.channels_last)
            inputs = [x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in inputs]
        self.runs["default"] = self.prepared(torch.compile(net, dynamic=False), inputs)
        return {"seconds": time.monotonic() - start, "error": distance(self.results, self.exact)}

    def prepared(self, compiled, inputs) -> dict:
        """The ways to run a module: its call, and on a GPU the replay of a captured call."""
        import torch
        import zoo_torch

        def call():
            with torch.no_grad():
                return compiled(*inputs)

        self.results = zoo_torch.arrays(call())
        ways = {"call": call}
        if torch.cuda.is_available():
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                for _ in range(3):
                    call()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                kept = call()
            ways["graph"], ways["kept"] = graph.replay, kept
        return ways

    def time(self, name: str, way: str, count: int) -> list[float]:
        import torch_worker

        return torch_worker.timed(self.runs[name][way], count) if way in self.runs[name] else []


def distance(got, wanted) -> float:
    """The largest relative L2 distance of an output; infinite for other shapes."""
    import zoo

    if len(got) != len(wanted):
        return float("inf")
    return zoo.distance(dict(enumerate(got)), dict(enumerate(wanted)))


class Case:
    def __init__(self, entry, builds):
        import zoo_torch

        self.name, self.result, self.builds = entry.name, {"name": entry.name}, builds
        self.process = zoo_torch.ArchitectureProcess(entry, kind=Pair)

    def prepare(self, times: bool, seconds) -> None:
        try:
            self.result.update(self.process.ask("references", seconds=seconds()))
            with self.builds:
                self.result["ours"] = self.process.ask("ours", seconds=seconds())
            if times:
                self.result["default"] = self.process.ask("rival", seconds=seconds())
        except WorkerError as error:
            self.result["failed"] = str(error)[:300]
        if not times:
            self.process.close()
        print(f"{self.name}: {self.told()}", flush=True)

    def right(self) -> bool:
        """Errors stay within a factor of the error that rounding each tensor makes."""
        rounded = self.result["rounded"]
        bound = max(check_gpu.FP32_BOUND, check_gpu.FACTOR * max(rounded, self.result["half"]))
        return rounded > 0.3 or self.result["ours"]["error"] <= bound

    def compare(self) -> None:
        for way in ("graph", "call"):
            found = {"ours": [], "default": []}
            for _ in range(TURNS):
                for name, times in found.items():
                    times += self.process.ask("time", name, way, COUNT, seconds=20)
            if found["ours"]:
                medians = {name: statistics.median(times) for name, times in found.items()}
                self.result[way] = {**medians, "ratio": medians["ours"] / medians["default"]}
        print(f"{self.name}: {self.told()}", flush=True)

    def told(self) -> str:
        result, ours = self.result, self.result.get("ours")
        if not ours:
            return result.get("failed", "not finished")
        kind = "whole" if ours["whole"] else f"{ours['graphs']} graphs, {ours['parts']} in parts"
        times = "".join(f" | {way} {result[way]['ours']:.3f} ms, default {result[way]['default']:.3f}, {result[way]['ratio']:.2f}"
                        for way in ("graph", "call") if way in result)
        return (f"{kind}, error {ours['error']:.1e} rounded {result['rounded']:.1e} half {result['half']:.1e} "
                f"{'right' if self.right() else 'WRONG'}, built in {ours['seconds']:.0f} s{times} {result.get('failed', '')}")


def entries_of(patterns: list[str], folder: Path) -> list:
    import zoo_models

    ten = {name: zoo_models.Entry(name, lambda name=name: module_of(name, folder), False) for name in TEN}
    known = {**zoo_models.MODELS, **ten}
    return [known[name] for name in dict.fromkeys(n for p in patterns or TEN for n in fnmatch.filter(known, p))]


def report(cases: list[Case]) -> bool:
    done = [case for case in cases if "ours" in case.result]
    whole, right = [c for c in done if c.result["ours"]["whole"]], [c for c in done if c.right()]
    print(f"{len(cases)} models: {len(done)} ran, {len(whole)} as one whole graph, {len(right)} agree")
    for way in ("graph", "call"):
        ratios = [case.result[way]["ratio"] for case in done if way in case.result]
        if ratios:
            print(f"{way}: geometric mean of {len(ratios)} ratios {statistics.geometric_mean(ratios):.3f}, greatest {max(ratios):.2f}")
    return len(done) == len(right) == len(cases)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="of names of models/ and bench/zoo_models.py; none: the ten")
    parser.add_argument("--seconds", type=float, default=3600, help="behind which nothing new is begun")
    parser.add_argument("--jobs", type=int, default=8, help="models at a time")
    parser.add_argument("--builds", type=int, default=3, help="of ours at a time")
    parser.add_argument("--no-times", dest="times", action="store_false")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/models")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> int:
    from threading import Semaphore

    arguments, start = parse(), time.monotonic()
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    import timm  # noqa: F401  shared by forks
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
    import zoo_torch  # noqa: F401

    left = lambda: max(1.0, arguments.seconds - (time.monotonic() - start))  # noqa: E731
    builds = Semaphore(arguments.builds)
    cases = [Case(entry, builds) for entry in entries_of(arguments.patterns, arguments.folder)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        wait([pool.submit(case.prepare, arguments.times, lambda: 0.8 * left()) for case in cases])
    for case in cases:
        if arguments.times and "default" in case.result and left() > 1:
            try:
                case.compare()
            except WorkerError as error:
                case.result["failed"] = str(error)[:300]
        case.process.close()
        if arguments.json:
            arguments.json.write_text(json.dumps([c.result for c in cases], indent=1) + "\n")
    return 0 if report(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
