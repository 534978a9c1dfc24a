"""Processes side by side on one or more GPUs, as they are or under compute-sanitizer, each with a log of its own."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

SANITIZER_FOUND = 9  # compute-sanitizer's exit status for findings.


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--processes", type=int, default=12, help="on each GPU")
    parser.add_argument("--seconds", type=float, default=120, help="after which processes are stopped")
    parser.add_argument("--sanitizer", choices=["memcheck", "racecheck", "initcheck", "synccheck"])


def visible(index: int) -> dict[str, str]:
    """The environment of a process on the GPU `index` of the visible ones; of all GPUs where none are named."""
    named = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu not in ("", "-1")]
    return {"CUDA_VISIBLE_DEVICES": named[index % len(named)] if named else str(index)}


def sanitizer(tool: str) -> list[str]:
    places = [shutil.which("compute-sanitizer"), "/usr/local/cuda/bin/compute-sanitizer"]
    found = next((place for place in places if place and Path(place).exists()), None)
    if found is None:
        raise SystemExit("compute-sanitizer is not installed: it comes with the CUDA toolkit, package cuda-sanitizer")
    return [found, "--tool", tool, "--error-exitcode", str(SANITIZER_FOUND), "--target-processes", "all"]


def start(arguments: argparse.Namespace, command: list[str], log: Path, gpu: int, more: dict) -> subprocess.Popen:
    prefix = sanitizer(arguments.sanitizer) if arguments.sanitizer else []
    with open(log, "w") as file:
        return subprocess.Popen([*prefix, *command], stdout=file, stderr=subprocess.STDOUT,
                                env={**os.environ, **visible(gpu), **more})


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


def run(arguments: argparse.Namespace, folder: Path, commands: list[list[str]],
        environments: list[dict] | None = None) -> tuple[list[subprocess.Popen], int]:
    """Runs all at once, N.log in the folder for command N; the processes, and how many had to be stopped."""
    children = [start(arguments, command, folder / f"{i}.log", i % arguments.gpus,
                      environments[i] if environments else {}) for i, command in enumerate(commands)]
    return children, wait_for(children, arguments.seconds)


def findings(arguments: argparse.Namespace, logs: list[str]) -> tuple[int, str]:
    """How many of the logs show something that the sanitizer found, or no sanitizer that came to its end; and a line."""
    if not arguments.sanitizer:
        return 0, ""
    ends = [[int(number) for number in re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ", log)] for log in logs]
    bad = sum(not end or any(end) for end in ends)
    return bad, f"{arguments.sanitizer}: {sum(map(len, ends))} processes looked at, {sum(map(sum, ends))} errors"
