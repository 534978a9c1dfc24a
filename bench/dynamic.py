#!/usr/bin/env python3
"""Compare plans for a range of shapes with plans for one shape each, taking turns in one run.

For each model one plan is built for all of --range (smallest, usual, largest), and one for each value of --values, which
the model's symbolic extents take (--symbol: that one alone, the others are 1). Times are medians of replayed graphs (on a
CPU: of runs), inputs already in place. Beside the ratio stands how long the plan for the range took to become ready for
the shape when it met it first, in a process without a kernel cache: kernels compiled there are missing from the plan.

A model is a name of models/, one of bench/zoo_models.py as zoo:NAME (exported here, its inputs' first axis open, or the
one of --axis: 1 are the lengths of sequences), or a file.

With --plans all plans are kept, and plans of an earlier run are timed again rather than built. With
--least times are the least, not medians: for machines on which others work.

With --steps N also the N steps that lose most, each timed alone: steps are told apart by their names, and one that the
other plan has under no name, or not at all, counts whole.

usage: dynamic.py [--tenon FILE] [--range MIN,OPT,MAX] [--values N,...] [--symbol NAME] [--axis N] [--precision P] [--cpu]
                  [--count N] [--least] [--steps N] [--plans DIR] [--json FILE] MODEL...
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]
import check_gpu  # noqa: E402
from worker_client import Worker, WorkerError, draw_inputs, files_text, materialized  # noqa: E402

VALUES = "1,2,3,5,8,13,16,17,24,32"
TURNS = 4
DIGITS = 32  # of a kernel's name in the cache, which has other files as well


def exported(name: str, folder: Path, axis: int) -> Path:
    """A model of bench/zoo_models.py, that axis of its inputs symbolic."""
    import torch
    import zoo
    import zoo_models

    net, inputs = zoo.calibrated(zoo_models.MODELS[name])
    names = [f"input{i}" for i in range(len(inputs))]
    file = folder / f"{name}.onnx"
    torch.onnx.export(net, inputs, str(file), dynamo=False, input_names=names, opset_version=17,
                      dynamic_axes={each: {axis: "extent"} for each in names})
    return file


def file_of(model: str, folder: Path, axis: int) -> Path:
    if model.startswith("zoo:"):
        return exported(model.removeprefix("zoo:"), folder, axis)
    return Path(model) if model.endswith(".onnx") else materialized(model, folder)


def shapes_of(model: Path, symbol: str | None, value: int) -> str:
    """--shapes with the value for the symbol, or for all of them."""
    def extent(dim) -> str:
        if dim.HasField("dim_value"):
            return str(dim.dim_value)
        return str(value if symbol in (None, dim.dim_param) else 1)

    graph = onnx.load(model, load_external_data=False).graph
    return ",".join(f"{v.name}:{'x'.join(extent(d) for d in v.type.tensor_type.shape.dim)}" for v in graph.input)


class Plan:
    """A plan of a model in a worker of its own, bound to one shape at a time."""

    def __init__(self, arguments, model: Path, ends: tuple[int, int, int], folder: Path):
        self.arguments, self.model, self.folder = arguments, model, folder
        self.half = arguments.precision == "fp16" and not arguments.cpu
        self.options = [f"--{which}Shapes={shapes_of(model, arguments.symbol, end)}"
                        for which, end in zip(("min", "opt", "max"), ends)]
        self.options += [f"--onnx={model}", *check_gpu.PRECISIONS[arguments.precision]]
        self.options += check_gpu.half_io_options(model) if self.half else []
        self.options += ["--profilingVerbosity=detailed"] if arguments.steps else []
        self.options += ["--device=-1"] if arguments.cpu else [f"--timingCacheFile={folder / 'timing.cache'}"]
        self.file = (arguments.plans or folder) / f"{model.stem}.{'-'.join(map(str, ends))}.{arguments.precision}.plan"
        self.worker = Worker(arguments.tenon, "worker")
        self.build_ms = 0.0 if self.file.exists() else self.build()
        if not self.build_ms:
            self.worker.ask("load", name="m", plan=str(self.file), options=self.options)

    def build(self) -> float:
        built = self.worker.ask("build", name="m", options=self.options)
        self.worker.ask("save", name="m", plan=str(self.file))
        return built["build_ms"]

    def load_bare(self, folder: Path) -> None:
        """Starts again with the plan alone: kernels are cached in an empty folder."""
        self.worker.close()
        self.worker = Worker("env", f"TENON_CACHE_DIR={folder}", self.arguments.tenon, "worker")
        start = time.monotonic()
        self.worker.ask("load", name="m", plan=str(self.file), options=self.options)
        self.load_ms = (time.monotonic() - start) * 1000

    def bind(self, value: int) -> float:
        """Milliseconds until the shape is ready, inputs in place."""
        inputs = draw_inputs(self.model, value, self.folder)
        inputs = check_gpu.half_inputs(self.model, inputs) if self.half else inputs
        start = time.monotonic()
        self.worker.ask("bind", name="m", graph=not self.arguments.cpu, transfers=False,
                        shapes=shapes_of(self.model, self.arguments.symbol, value), inputs=files_text(inputs))
        return (time.monotonic() - start) * 1000

    def time(self, count: int) -> list[float]:
        return self.worker.ask("run", name="m", count=count)["ms"]


    def steps(self, value: int) -> dict[str, tuple[float, str]]:
        """Microseconds and kernel of each step under a shape, by name."""
        times, layers = self.folder / "times.json", self.folder / "layers.json"
        options = [f"--loadEngine={self.file}", f"--shapes={shapes_of(self.model, self.arguments.symbol, value)}",
                   "--iterations=30", "--duration=0", "--separateProfileRun", "--noDataTransfers", "--profilingVerbosity=detailed",
                   f"--exportProfile={times}", f"--exportLayerInfo={layers}"]
        options += ["--device=-1"] if self.arguments.cpu else []
        subprocess.run(["trtexec", *options], executable=self.arguments.tenon, check=True, stdout=subprocess.DEVNULL)
        kernels = {layer["Name"]: layer.get("TacticName", "") for layer in json.loads(layers.read_text())["Layers"]
                   if isinstance(layer, dict)}
        return {step["name"]: (step["medianMs"] * 1000, kernels.get(step["name"], ""))
                for step in json.loads(times.read_text()) if "name" in step}


def print_steps(dynamic: Plan, static: Plan, value: int, count: int) -> None:
    ours, best = dynamic.steps(value), static.steps(value)
    nothing = (0.0, "")
    lost = sorted(((ours.get(name, nothing)[0] - best.get(name, nothing)[0], name) for name in {**ours, **best}),
                  reverse=True)
    print(f"        steps: {len(ours)} in {sum(t for t, _ in ours.values()):.1f} us, static {len(best)} in "
          f"{sum(t for t, _ in best.values()):.1f} us", flush=True)
    for more, name in lost[:count]:
        print(f"        {more:+7.2f} us {name[-60:]}: {ours.get(name, nothing)[0]:.2f} {ours.get(name, nothing)[1]}, "
              f"static {best.get(name, nothing)[0]:.2f} {best.get(name, nothing)[1]}", flush=True)


def take_turns(dynamic: Plan, static: Plan, count: int, middle) -> tuple[float, float]:
    times = ([], [])
    for plan in (dynamic, static):
        plan.time(max(2, count // 2))
    for turn in range(TURNS):
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        for which in order:
            times[which].extend((dynamic, static)[which].time(count))
    return middle(times[0]), middle(times[1])


def compare(arguments, model: Path, folder: Path) -> list[dict]:
    results = []
    dynamic = Plan(arguments, model, arguments.range, folder)
    with tempfile.TemporaryDirectory() as empty:
        dynamic.load_bare(Path(empty))
        print(f"{model.stem}: {arguments.range} built in {dynamic.build_ms / 1000:.1f} s, "
              f"{dynamic.file.stat().st_size >> 10} KiB; loaded without caches in {dynamic.load_ms:.0f} ms", flush=True)
        for value in arguments.values:
            first = dynamic.bind(value)
            compiled = sum(len(file.stem) == DIGITS for file in Path(empty).glob("kernels/*.bin"))
            static = Plan(arguments, model, (value, value, value), folder)
            static.bind(value)
            ours, best = take_turns(dynamic, static, arguments.count, min if arguments.least else statistics.median)
            static.worker.close()
            again = dynamic.bind(value)
            results.append({"model": model.stem, "value": value, "dynamic_ms": ours, "static_ms": best,
                            "ratio": ours / best, "first_bind_ms": first, "bind_ms": again, "compiled": compiled,
                            "static_build_ms": static.build_ms, "build_ms": dynamic.build_ms})
            print(f"  {value:>4}: {ours:8.4f} ms, static {best:8.4f}, ratio {ours / best:.3f}; first ready after "
                  f"{first:.0f} ms, later {again:.0f} ms, {compiled} kernels compiled so far", flush=True)
            if arguments.steps:
                print_steps(dynamic, static, value, arguments.steps)
    dynamic.worker.close()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--tenon", default=str(ROOT / "build/release/bin/tenon"))
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--range", default="1,8,32")
    parser.add_argument("--values", default=VALUES)
    parser.add_argument("--symbol")
    parser.add_argument("--axis", type=int, default=0)
    parser.add_argument("--precision", default="fp16", choices=check_gpu.PRECISIONS)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--count", type=int, default=20, help="runs a turn")
    parser.add_argument("--least", action="store_true", help="least times in place of medians")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--plans", type=Path, help="folder that keeps the plans")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.range = tuple(int(end) for end in arguments.range.split(","))
    arguments.values = [int(value) for value in arguments.values.split(",")]
    results = []
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results += compare(arguments, file_of(model, arguments.weights, arguments.axis), Path(folder))
            except WorkerError as error:
                print(f"{model}: {error}", flush=True)
    if not results:
        return 1
    ratios = sorted(result["ratio"] for result in results)
    print(f"{len(ratios)} shapes: worst ratio {ratios[-1]:.3f}, median {statistics.median(ratios):.3f}; shapes that waited "
          f"for a compiler: {sum(r['compiled'] > 0 for r in results)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
