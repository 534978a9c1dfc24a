#!/usr/bin/env python3
"""Verdicts of the self-check on networks of many kinds, and its cost.

usage: check_study.py [--device=-1] [--flags='' --flags=--bf16 ...] [--jobs=N] [--seconds=N] [--trtexec=PATH]
                      [--models=FOLDER] [NAME...]

The networks are those of check_networks.py, or every .onnx file of a folder. Each is built once a set of flags. A line
says the verdict, the largest distance of an output to the reference, regions compared, seconds of the build and of the
check behind it (waiting for the reference included), and the log's lines on precision and its warnings.
"""
import argparse
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parent.parent
LOCK = Lock()
sys.path.insert(0, str(ROOT / "bench"))

TOOK = re.compile(r"self-check took ([\d.]+) s behind a build of ([\d.]+) s")
AGREES = re.compile(r"outputs agree with .*? \(distance ([\d.e+-]+)\), and (\d+) of (\d+) regions(.*)")
COST = re.compile(r"self-check: (\S+(?: with quantization)? moves output .*)")


def build(trtexec: str, model: Path, flags: str, device: str, limit: int) -> dict:
    command = [trtexec, f"--onnx={model}", "--skipInference", "--verbose", f"--device={device}", *flags.split()]
    start = time.time()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"verdict": f"over {limit} s", "wall": limit}
    log = done.stdout + done.stderr
    row = {"wall": time.time() - start, "verdict": "no verdict", "notes": []}
    if found := AGREES.search(log):
        row["verdict"] = "passed" + found[4]
        row["distance"], row["regions"] = float(found[1]), f"{found[2]}/{found[3]}"
    if found := re.search(r"self-check: (not done, .*|failed.*)", log):
        row["verdict"] = found[1]
    if done.returncode:
        row["verdict"] += f" (exit {done.returncode})"
    if found := TOOK.search(log):
        row["check"], row["build"] = float(found[1]), float(found[2])
    row["notes"] += [found[1] for found in COST.finditer(log)]
    row["notes"] += [line.split("] ", 1)[-1] for line in log.splitlines() if "[W]" in line and "self-check" in line]
    return row


def show(name: str, flags: str, row: dict) -> None:
    share = f"{row['check'] / (row['check'] + row['build']):4.0%}" if row.get("build") else "   -"
    print(f"{name:22} {flags or '(fp32)':14} {row['verdict'][:60]:28} {row.get('distance', float('nan')):8.1e} "
          f"{row.get('regions', '-'):>8} build {row.get('build', 0):6.2f} s check {row.get('check', 0):5.2f} s {share}",
          flush=True)
    for note in row.get("notes", []):
        print(f"    {note[:220]}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="-1")
    parser.add_argument("--flags", action="append")
    parser.add_argument("--models", type=Path)
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--jobs", type=int, default=1, help="builds at a time; their times are then those of a busy machine")
    parser.add_argument("--seconds", type=float, default=1e9, help="no build begins later")
    parser.add_argument("--limit", type=int, default=300, help="seconds a build may take")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = arguments.models
        if models is None:
            import check_networks
            import onnx
            models = Path(folder)
            for name in arguments.names or check_networks.NETWORKS:
                onnx.save(check_networks.make(name), models / f"{name}.onnx")
        models = [m for m in sorted(models.glob("*.onnx")) if not arguments.names or m.stem in arguments.names]
        end = time.time() + arguments.seconds
        rows = []

        def study(task):
            flags, model = task
            if time.time() > end:
                return
            row = build(arguments.trtexec, model, flags, arguments.device, arguments.limit)
            with LOCK:
                show(model.stem, flags, row)
                rows.append(row)

        tasks = [(flags, model) for flags in arguments.flags or [""] for model in models]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            list(pool.map(study, tasks))
        if len(rows) < len(tasks):
            print(f"{len(tasks) - len(rows)} builds were left out for lack of time")
    passed = sum(row["verdict"] == "passed" for row in rows)
    built = sum(row.get("build", 0) for row in rows)
    checked = sum(row.get("check", 0) for row in rows)
    print(f"{passed} of {len(rows)} builds passed with nothing left out; checks took "
          f"{checked:.1f} s, builds without them {built:.1f} s: {checked / max(built + checked, 1e-9):.0%} of both")
    return 0 if passed == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
