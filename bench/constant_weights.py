#!/usr/bin/env python3
"""The time of a product whose weights reach it through casts, transposes, slices, dequantization and so on, against the
product with a plain initializer. Where weights are not constants of the plan, this shows it: a ratio far above 1.

usage: constant_weights.py [--build DIR] [--threads N] [--turns N]
"""
import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/onnx/fusions")]
from weights import WEIGHTS, model  # noqa: E402
from worker_client import Worker  # noqa: E402

ROWS = "x:64x256"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=20)
    options = parser.parse_args()
    times = {name: [] for name in WEIGHTS}
    with tempfile.TemporaryDirectory() as folder, Worker(str(options.build.resolve() / "bin/tenon"), "worker") as worker:
        for name in WEIGHTS:
            file = Path(folder) / f"{name}.onnx"
            onnx.save(model(name), file)
            worker.ask("build", name=name, options=[f"--onnx={file}", f"--cpuThreads={options.threads}", f"--shapes={ROWS}"])
            worker.ask("bind", name=name, shapes=ROWS, inputs="")
        for _ in range(options.turns):
            for name in WEIGHTS:
                times[name].append(statistics.median(worker.ask("run", name=name, count=5)["ms"]))
    plain = min(times["plain"])
    for name, measured in times.items():
        print(f"{name:32} {min(measured):8.4f} ms {min(measured) / plain:6.2f} times a plain one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
