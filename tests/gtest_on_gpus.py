#!/usr/bin/env python3
"""Run the shards of a GoogleTest program side by side on one or more GPUs, as they are or under compute-sanitizer. Fails
when a test fails, when the sanitizer finds something, or when a shard has not ended in time.

usage: gtest_on_gpus.py [--gpus N] [--processes N] [--seconds N] [--sanitizer TOOL] [--logs FOLDER] PROGRAM [ARGUMENT...]
For kernels: TENON_TEST_CONFIGS=2 gtest_on_gpus.py --sanitizer memcheck build/bin/test_kernels_jit
             '--gtest_filter=*OnAGpu*:SizedKernels.Agree*'
             TENON_TEST_CASES=tiny instead takes one small problem for each kernel alone.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gpu_processes

GOOD = (0, 77)  # 77: all tests of a shard were skipped.
TOLD = re.compile(r"FAILED|error:|TENON_TEST_CASES|========= (?!COMPUTE-SANITIZER|ERROR SUMMARY: 0)")


def passed(log: str) -> int:
    """Also of a shard that was stopped."""
    return len(re.findall(r"^\[       OK \] ", log, re.MULTILINE))


def told(index: int, child: subprocess.Popen, log: str) -> list[str]:
    """Lines on a shard that did not pass: which test it was in where it ended within one."""
    count, begun = re.search(r"\[=+\] Running (\d+) test", log), re.findall(r"^\[ RUN      \] (.*)", log, re.MULTILINE)
    ended = re.findall(r"^\[ +(?:OK|FAILED|SKIPPED) +\] (\S+) \(", log, re.MULTILINE)
    inside = f", in {begun[-1]}" if begun and begun[-1] not in ended else ""
    return [f"shard {index}: exit {child.returncode}, {passed(log)} of {count[1] if count else 'no'} tests passed{inside}",
            *[f"  {line}" for line in log.splitlines() if TOLD.search(line)][:20]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    gpu_processes.add_options(parser)
    parser.add_argument("--logs", type=Path, help="where the logs of shards stay")
    parser.add_argument("program")
    arguments, rest = parser.parse_known_args()
    begin, count = time.monotonic(), arguments.gpus * arguments.processes
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.logs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        shards = [{"GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(i)} for i in range(count)]
        children, stopped = gpu_processes.run(arguments, folder, [[arguments.program, *rest]] * count, shards)
        logs = [(folder / f"{i}.log").read_text(errors="replace") for i in range(count)]
    for i, (child, log) in enumerate(zip(children, logs)):
        if child.returncode not in GOOD:
            print(*told(i, child, log), sep="\n")
    print(f"{sum(passed(log) for log in logs)} tests passed in {time.monotonic() - begin:.0f} s, "
          f"{stopped} of {count} processes stopped")
    bad, line = gpu_processes.findings(arguments, logs)
    print(line, end="\n" if line else "")
    return 0 if bad == 0 and all(child.returncode in GOOD for child in children) else 1


if __name__ == "__main__":
    sys.exit(main())
