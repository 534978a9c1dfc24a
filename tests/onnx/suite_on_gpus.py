#!/usr/bin/env python3
"""Run the ONNX backend suite on one or more GPUs: shards of tenon_onnx_suite side by side, several on each GPU, and their
counts together. Shards that have not ended in time are stopped and count as far as they came. Fails when a case fails
that is not excluded, or when cases are left. Ends with 77 and the reason where there is no GPU.

usage: suite_on_gpus.py [--gpus N] [--processes N] [--seconds N] [--sanitizer TOOL] [--excluded FILE] [--only TEXT] SUITE CASES
CASES is the folder that generate_cases.py writes.
"""
import argparse
import ctypes
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import gpu_processes  # noqa: E402


def command(arguments: argparse.Namespace, folder: Path, index: int, count: int) -> list[str]:
    return [arguments.suite, arguments.cases, arguments.excluded, str(folder / f"{index}.tsv"), arguments.way,
            f"--shard={index}/{count}", f"--only={arguments.only}"]


SKIPPED = 77
# A shard's lines on its own counts, and a sanitizer of the process.
COUNTS = re.compile(r"[\w-]+: \d+ pass|node cases that pass|=========")


def why_no_gpu() -> str:
    """Empty where the driver finds one."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    count, code = ctypes.c_int(0), driver.cuInit(0)
    if code == 0:
        code = driver.cuDeviceGetCount(ctypes.byref(count))
    if code != 0:
        return f"the driver gives error {code}"
    return "" if count.value > 0 else "the driver finds none"


def wanted(arguments: argparse.Namespace) -> int:
    lines = (Path(arguments.cases) / "cases.txt").read_text().splitlines()
    return sum(arguments.only in line.split("\t")[1] for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite")
    parser.add_argument("cases")
    gpu_processes.add_options(parser)
    parser.add_argument("--excluded", default=os.devnull)
    parser.add_argument("--only", default="")
    parser.add_argument("--way", default="--gpu")
    parser.add_argument("--table", type=Path, help="where all lines of the tables go")
    arguments = parser.parse_args()
    if arguments.way == "--gpu" and (reason := why_no_gpu()):
        print(f"skipped, there is no GPU: {reason}")
        return SKIPPED
    begin, count = time.monotonic(), arguments.gpus * arguments.processes
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        children, stopped = gpu_processes.run(arguments, folder,
                                              [command(arguments, folder, i, count) for i in range(count)])
        lines = [line for file in sorted(folder.glob("*.tsv")) for line in file.read_text().splitlines()]
        logs = [file.read_text(errors="replace") for file in sorted(folder.glob("*.log"))]
    if arguments.table:
        arguments.table.write_text("".join(line + "\n" for line in sorted(lines)))
    told = [line for log in logs for line in log.splitlines() if not COUNTS.match(line)]
    print(*sorted(told), sep="\n")
    found = Counter(tuple(line.split("\t")[i] for i in (0, 2)) for line in lines)
    for name in sorted({name for name, _ in found}):
        print(f"{name}: " + ", ".join(f"{found[name, word]} {word}" for word in ("pass", "excluded", "fail")))
    left = wanted(arguments) - len(lines)
    print(f"{len(lines)} cases in {time.monotonic() - begin:.0f} s, {left} left, {stopped} of {count} processes stopped")
    bad, line = gpu_processes.findings(arguments, logs)
    print(line, end="\n" if line else "")
    return 0 if bad == 0 and left == 0 and all(child.returncode == 0 for child in children) else 1


if __name__ == "__main__":
    sys.exit(main())
