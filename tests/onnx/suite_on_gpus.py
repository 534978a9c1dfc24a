#!/usr/bin/env python3
"""Run the ONNX backend suite on one or more GPUs: shards of tenon_onnx_suite side by side, several on each GPU, and their
counts together. Shards that have not ended in time are stopped and count as far as they came. Fails when a case fails
that is not excluded, or when cases are left.

usage: suite_on_gpus.py [--gpus N] [--processes N] [--seconds N] [--excluded FILE] [--only TEXT] SUITE CASES
CASES is the folder that generate_cases.py writes.
"""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


def start(arguments: argparse.Namespace, folder: Path, index: int, count: int) -> subprocess.Popen:
    command = [arguments.suite, arguments.cases, arguments.excluded, str(folder / f"{index}.tsv"), arguments.way,
               f"--shard={index}/{count}", f"--only={arguments.only}"]
    with open(folder / f"{index}.log", "w") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT,
                                env={**os.environ, "CUDA_VISIBLE_DEVICES": str(index % arguments.gpus)})


def wait_for(children: list[subprocess.Popen], seconds: float) -> int:
    """How many had to be stopped."""
    end = time.monotonic() + seconds
    stopped = 0
    for child in children:
        try:
            child.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGTERM)
            stopped += 1
    for child in children:
        child.wait()
    return stopped


def wanted(arguments: argparse.Namespace) -> int:
    lines = (Path(arguments.cases) / "cases.txt").read_text().splitlines()
    return sum(arguments.only in line.split("\t")[1] for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("cases")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--processes", type=int, default=12, help="on each GPU")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--excluded", default=os.devnull)
    parser.add_argument("--only", default="")
    parser.add_argument("--way", default="--gpu")
    parser.add_argument("--table", type=Path, help="where all lines of the tables go")
    arguments = parser.parse_args()
    begin, count = time.monotonic(), arguments.gpus * arguments.processes
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        children = [start(arguments, folder, i, count) for i in range(count)]
        stopped = wait_for(children, arguments.seconds)
        lines = [line for file in sorted(folder.glob("*.tsv")) for line in file.read_text().splitlines()]
        told = [line for file in sorted(folder.glob("*.log")) for line in file.read_text().splitlines()
                if not line.startswith("node")]
    if arguments.table:
        arguments.table.write_text("".join(line + "\n" for line in sorted(lines)))
    print(*sorted(told), sep="\n")
    found = Counter(tuple(line.split("\t")[i] for i in (0, 2)) for line in lines)
    for name in sorted({name for name, _ in found}):
        print(f"{name}: " + ", ".join(f"{found[name, word]} {word}" for word in ("pass", "excluded", "fail")))
    left = wanted(arguments) - len(lines)
    print(f"{len(lines)} cases in {time.monotonic() - begin:.0f} s, {left} left, {stopped} of {count} processes stopped")
    return 0 if left == 0 and all(child.returncode == 0 for child in children) else 1


if __name__ == "__main__":
    sys.exit(main())
