#!/usr/bin/env python3
"""Compare Tenon with ONNX Runtime and OpenVINO on this CPU, all in one run.

Each library has a process of its own, kept for the whole of a model. They take turns, a few inferences at a time and in
changing order, so that disturbances meet all. Printed for each model: minimum and median of an inference in ms,
Tenon's ratio to the better rival by minimum, and by the median over the turns; build, load and first inference in ms,
and the peak memory of each process in MiB (a rival's contains Python's). Tenon's plan is built by a process of its own
and loaded from its file by the one that is measured; a rival's load is its build. The results of the libraries are
compared as well: the relative L2 distance to ONNX Runtime.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import Worker, WorkerError, draw_inputs, files_text, materialized, shapes_text  # noqa: E402

MODELS = {"resnet50": [1, 8], "resnet18": [1], "mobilenet_v3_large": [1], "yolo_s": [1], "unet_block": [1],
          "bert_base": [1], "vit_b_16": [1], "gpt2": [1], "dlrm": [64], "lstm_tagger": [1]}
RIVALS = ["onnxruntime", "openvino"]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--models", type=Path, default=ROOT / "build/models")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.4, help="of each turn, at least one inference")
    parser.add_argument("--only", default="", help="models, separated by commas")
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--json", type=Path, help="write everything to this file as well")
    return parser.parse_args()


class Contestant:
    """One library with one model loaded."""

    def __init__(self, name: str, command: list[str], options: list[str], shapes: str, inputs: str,
                 plan: Path | None = None):
        self.name, self.rounds, self.build_mib = name, [], 0.0
        if plan is None:
            self.worker = Worker(*command)
            built = self.worker.ask("build", name="m", options=options)
            self.build_ms, self.load_ms = built["build_ms"], built["load_ms"]
        else:
            self.build_ms, self.build_mib = self.build_plan(command, options, plan)
            self.worker = Worker(*command)
            self.load_ms = self.worker.ask("load", name="m", plan=str(plan), options=options)["load_ms"]
        self.worker.ask("bind", name="m", shapes=shapes, inputs=inputs)
        self.first_ms = self.worker.ask("run", name="m", count=1)["ms"][0]

    @staticmethod
    def build_plan(command: list[str], options: list[str], plan: Path) -> tuple[float, float]:
        builder = Worker(*command)
        milliseconds = builder.ask("build", name="m", options=options)["build_ms"]
        builder.ask("save", name="m", plan=str(plan))
        peak = builder.ask("memory")["peak_mib"]
        builder.close()
        return milliseconds, peak

    def turn(self, count: int) -> None:
        self.rounds.append(self.worker.ask("run", name="m", count=count)["ms"])

    def output(self, file: Path) -> np.ndarray:
        self.worker.ask("save", name="m", tensor="output", file=str(file))
        return np.fromfile(file, np.float32)

    def summary(self) -> dict:
        times = [time for turn in self.rounds for time in turn]
        return {"min_ms": min(times), "median_ms": statistics.median(times), "build_ms": self.build_ms,
                "load_ms": self.load_ms, "first_ms": self.first_ms,
                "peak_mib": self.worker.ask("memory")["peak_mib"], "build_peak_mib": self.build_mib,
                "inferences": len(times)}


def start(arguments: argparse.Namespace, model: Path, batch: int, folder: Path) -> list[Contestant]:
    shapes, inputs = shapes_text(model, batch), files_text(draw_inputs(model, batch, folder))
    options = [f"--onnx={model}", f"--shapes={shapes}", f"--cpuThreads={arguments.threads}"]
    if arguments.precision == "bf16":
        options.append("--bf16")
    contestants = [Contestant("tenon", [str(arguments.build / "bin/tenon"), "worker"], options, shapes, inputs,
                              folder / "model.plan")]
    for rival in RIVALS:
        command = [sys.executable, str(ROOT / "bench/rival_worker.py"), rival, str(arguments.threads)]
        contestants.append(Contestant(rival, command, [f"--onnx={model}"], shapes, inputs))
    return contestants


def take_turns(contestants: list[Contestant], rounds: int, seconds: float) -> None:
    counts = {}
    for contestant in contestants:
        contestant.turn(3)
        counts[contestant.name] = max(1, int(seconds * 1000 / min(contestant.rounds[-1])))
    for i in range(rounds):
        shift = i % len(contestants)
        for contestant in contestants[shift:] + contestants[:shift]:
            contestant.turn(counts[contestant.name])


def round_ratio(contestants: list[Contestant]) -> float:
    """The median over the turns of Tenon's median time divided by the better rival's."""
    medians = [[statistics.median(turn) for turn in c.rounds[1:]] for c in contestants]
    return statistics.median(ours / min(theirs) for ours, *theirs in zip(*medians))


def compare(arguments: argparse.Namespace, name: str, batch: int, folder: Path) -> dict:
    contestants = start(arguments, materialized(name, arguments.models), batch, folder)
    take_turns(contestants, arguments.rounds, arguments.seconds)
    results = {c.name: c.summary() for c in contestants}
    outputs = {c.name: c.output(folder / "output.bin") for c in contestants}
    reference = outputs["onnxruntime"]
    for c in contestants:
        results[c.name]["distance"] = float(np.linalg.norm(outputs[c.name] - reference) / np.linalg.norm(reference))
        c.worker.close()
    best = min(results[rival]["min_ms"] for rival in RIVALS)
    return {"model": name, "batch": batch, "precision": arguments.precision, "threads": arguments.threads,
            "ratio_min": results["tenon"]["min_ms"] / best, "ratio_median": round_ratio(contestants),
            "load_average": os.getloadavg()[0], "results": results}


def print_result(result: dict) -> None:
    print(f"\n{result['model']}, batch {result['batch']}, {result['precision']}: ratio {result['ratio_min']:.3f} by "
          f"minimum, {result['ratio_median']:.3f} by median over turns (load average {result['load_average']:.1f})")
    print(f"  {'':12} {'min':>9} {'median':>9} {'build':>9} {'load':>9} {'first':>9} {'peak MiB':>9} {'distance':>9}")
    for name, r in result["results"].items():
        print(f"  {name:12} {r['min_ms']:9.3f} {r['median_ms']:9.3f} {r['build_ms']:9.1f} {r['load_ms']:9.1f} "
              f"{r['first_ms']:9.2f} {r['peak_mib']:9.0f} {r['distance']:9.1e}", flush=True)


def main() -> int:
    arguments = parse()
    chosen = arguments.only.split(",") if arguments.only else list(MODELS)
    results, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            for batch in [arguments.batch] if arguments.batch else MODELS[name]:
                try:
                    results.append(compare(arguments, name, batch, Path(folder)))
                    print_result(results[-1])
                except WorkerError as error:
                    failed.append(name)
                    print(f"\n{name}, batch {batch}: {error}", flush=True)
    print(f"\n{'model':20} {'batch':>5} {'ratio min':>10} {'ratio median':>13}")
    for r in results:
        print(f"{r['model']:20} {r['batch']:5} {r['ratio_min']:10.3f} {r['ratio_median']:13.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
