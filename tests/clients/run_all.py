#!/usr/bin/env python3
"""Compile, link and run the public programs for TensorRT that a folder of checkouts has, and print a table of what came out.

A row is a client: sources that compile with their own headers and how many of these compile with ours; programs that link with
lib/compat; runs that end right, of those whose data are there. Below the table stands a reason for everything that is missing.

On a machine without a GPU the programs run over plans of the CPU, with tests/clients/host_cudart.cpp in place of CUDA's run time;
runs that need a kernel of the program's own are named and not counted.

usage: run_all.py CHECKOUTS BUILD WORK [--no-compile] [--device-code] [--jobs=N] [--resnet50=FILE] [--models=FILE]...
       CHECKOUTS: a folder with checkouts named TensorRT (release/10.16) and tensorrtx; BUILD: our build folder
       WORK: a folder for programs and data; programs that are there already are not linked again
       --no-compile: only the programs, not every source twice
       --resnet50: with weights, for sampleINT8API; --models: for trtexec's command lines, in place of the digits
"""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import clients
import run_samples
import run_trtexec

HERE = Path(__file__).resolve().parent
# Programs that need a GPU, each with its reason.
NEED_GPU = {"sampleNonZeroPlugin": "its plugin is a kernel of CUDA", "sampleEditableTimingCache": "its layer has one tactic on a CPU"}


def has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None and subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0


def stand_in(folder: Path) -> Path:
    """CUDA's run time without a GPU, built into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{clients.CUDA}/include",
             "-Wl,-soname,libcudart.so.13", "-o", str(folder / "libcudart.so.13"), str(HERE / "host_cudart.cpp")]
    subprocess.run(words, check=True)
    return folder


def environment(options: argparse.Namespace, gpu: bool) -> dict[str, str]:
    paths = [options.build.absolute() / "lib/compat", options.build.absolute() / "lib"]
    paths += [clients.CUDA / "lib64"] if gpu else [stand_in(options.work.absolute() / "host")]
    more = {} if gpu else {"CUDA_VISIBLE_DEVICES": "-1"}
    return dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, [*paths, os.environ.get("LD_LIBRARY_PATH", "")])), **more)


def linked(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The programs that are there, and reasons for the others."""
    options.link = options.work / "programs"
    why = []
    if not all((options.link / name).exists() for name in clients.PROGRAMS):
        try:
            clients.link_all(options)
        except subprocess.CalledProcessError as error:
            why.append(f"linking: {' '.join(map(str, error.cmd))[-200:]}")
    return [name for name in clients.PROGRAMS if (options.link / name).exists()], why


def data_of(options: argparse.Namespace) -> Path:
    data = options.work / "data"
    data.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, str(HERE / "digits.py"), str(data)], check=True)
    if options.resnet50:
        run_samples.add_model(options.resnet50, data)
    return data.absolute()


def runs_of(options: argparse.Namespace, programs: list[str], gpu: bool) -> dict[str, list[tuple[str, bool, str]]]:
    """By client: each run, whether it ended right, and why not."""
    where, around, data = options.link.absolute(), environment(options, gpu), data_of(options)
    found: dict[str, list[tuple[str, bool, str]]] = {"samples": [], "trtexec": []}
    if len(programs) == len(clients.PROGRAMS):
        found["samples"] = list(run_samples.results(where, data, around))
    if "trtexec" in programs:
        for model in options.models or [data / "mnist.onnx"]:
            found["trtexec"] += run_trtexec.results(where / "trtexec", model.absolute(), around)
    return found


def excused(run: str, gpu: bool, has_network: bool) -> str | None:
    """Why a run cannot end right here; None where it must."""
    name = run.split(" ")[0]
    if name == "sampleINT8API" and not has_network:
        return "no network was given (--resnet50)"
    return None if gpu else NEED_GPU.get(name)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("checkouts", "build", "work"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--device-code", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--resnet50", type=Path)
    parser.add_argument("--models", type=Path, action="append", default=[])
    parser.set_defaults(group=[])
    return parser.parse_args()


def main() -> int:
    options = parse()
    gpu, reasons, wrong = has_gpu(), [], 0
    compiled = [] if options.no_compile else clients.compile_all(options)
    programs, why = linked(options)
    reasons += why
    runs = runs_of(options, programs, gpu)
    print(f"{'client':<12}{'theirs':>8}{'ours':>8}{'linked':>10}{'ran right':>12}")
    for name in dict.fromkeys([*(row.group for row in compiled), *runs]):
        rows = [row for row in compiled if row.group == name and row.theirs]
        reasons += [f"{name}: {row.source}: {row.error}" for row in rows if not row.ours]
        done = runs.get(name, [])
        left = [run for run, ok, _ in done if not ok and excused(run, gpu, bool(options.resnet50))]
        reasons += [f"{run}: {excused(run, gpu, bool(options.resnet50)) if run in left else text}" for run, ok, text in done if not ok]
        right, count = sum(ok for _, ok, _ in done), len(done) - len(left)
        wrong += sum(not row.ours for row in rows) + count - right
        of = [p for p in clients.PROGRAMS if (p == "trtexec") == (name == "trtexec")] if name in runs else []
        link = f"{sum(p in programs for p in of)}/{len(of)}" if of else "-"
        print(f"{name:<12}{len(rows) or '-':>8}{sum(row.ours for row in rows) or '-':>8}{link:>10}"
              f"{f'{right}/{count}' if done else '-':>12}")
    reasons += [f"{name}: not run: {reason}" for name, reason in run_samples.NOT_RUN.items()]
    print("\n".join(reasons))
    return 1 if wrong or why else 0


if __name__ == "__main__":
    sys.exit(main())
