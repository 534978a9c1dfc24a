#!/usr/bin/env python3
"""Random graphs in many processes side by side, on the CPU or over the GPUs of a machine, for some time: no crash, no hang, no
difference. A process takes a block of seeds after the other; behind a seed that fails a new process goes on.

usage: random_graphs.py [--device cuda] [--gpus 2] [--processes 12] [--seconds 120] [--first 0] [--block 250]
                        [--tests NAME,...] build/release/bin/test_check
"""
import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import gpu_processes  # noqa: E402

TESTS = "ComputeWhatTheReferenceDoes,OfSeveralTypesComputeWhatTheReferenceDoes,OfSeveralBatchesComputeWhatTheReferenceDoes"
LEVELS = 6  # A seed's is its remainder.
GRACE = 60  # Seconds that a graph may take which is begun at the end.


class Study:
    def __init__(self, arguments):
        self.arguments, self.end = arguments, time.monotonic() + arguments.seconds
        self.lock, self.turns, self.blocks = threading.Lock(), itertools.count(), Counter()
        self.graphs, self.levels, self.failures = Counter(), Counter(), []

    def left(self) -> float:
        return self.end - time.monotonic()

    def work(self, worker: int) -> None:
        """What one process after the other does, each on one core."""
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[worker % len(cores)]})
        tests, block = self.arguments.tests.split(","), self.arguments.block
        while self.left() > 0:
            with self.lock:
                test = tests[next(self.turns) % len(tests)]
                at = first = self.arguments.first + self.blocks[test] * block
                self.blocks[test] += 1
            while at < first + block and self.left() > 0:
                at += self.run(worker, test, at, first + block - at)

    def run(self, worker: int, test: str, first: int, count: int) -> int:
        """How many seeds are behind it."""
        with tempfile.TemporaryFile("w+", errors="replace") as file:
            process = subprocess.Popen(
                [self.arguments.program, f"--gtest_filter=RandomGraphs.{test}"], stdout=file, stderr=subprocess.STDOUT,
                env={**os.environ, "TENON_TEST_DEVICE": self.arguments.device, "TENON_TEST_SEEDS": f"{first}:{count}",
                     "TENON_TEST_SECONDS": f"{self.left():.1f}", **gpu_processes.visible(worker % self.arguments.gpus)})
            try:
                status = process.wait(self.left() + GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                status = process.wait()
            file.seek(0)
            log = file.read()
        begun = [int(seed) for seed in re.findall(r"^seed (\d+)$", log, re.MULTILINE)]
        with self.lock:
            self.graphs[test] += len(begun)
            self.levels.update(seed % LEVELS for seed in begun)
            if status != 0:
                # A test names the seeds that it failed for; the last one that began is that of a crash.
                named = [int(seed) for seed in re.findall(r"^TENON_TEST_SEEDS=(\d+):1$", log, re.MULTILINE)]
                for seed in named or [begun[-1] if begun else first]:
                    self.failures.append(f"{test} TENON_TEST_SEEDS={seed}:1 level {seed % LEVELS}: status {status}\n"
                                         + log[log.find(f"\nseed {seed}\n") + 1:][:2000])
                    print(self.failures[-1], flush=True)
        return max(len(begun), 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="in all")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--first", type=int, default=0, help="seed")
    parser.add_argument("--block", type=int, default=250, help="seeds of a process")
    parser.add_argument("--tests", default=TESTS, help="one that is named twice gets twice as many blocks")
    parser.add_argument("program")
    arguments = parser.parse_args()
    study = Study(arguments)
    workers = [threading.Thread(target=study.work, args=(i,)) for i in range(arguments.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for test, count in sorted(study.graphs.items()):
        print(f"{count} graphs: {test}")
        if count == 0:
            study.failures.append(f"{test}: no graph; is it a test of the program?")
            print(study.failures[-1])
    print("by level: " + ", ".join(str(study.levels[level]) for level in range(LEVELS)))
    print(f"{sum(study.graphs.values())} graphs, {len(study.failures)} failures")
    return 1 if study.failures else 0


if __name__ == "__main__":
    sys.exit(main())
