#!/usr/bin/env python3
"""Run whole plans under compute-sanitizer: each model is built once for a range of batches (or, with @1, of lengths), and
its plan runs once at each of --values under each of --tools, several processes side by side.

A model is a name of models/, one of bench/zoo_models.py as zoo:NAME or zoo:NAME@AXIS (exported here, that axis of the
inputs open), or a file. Models without an open axis run at their own shapes. Exits 1 when a tool found something, when a
plan was not built or did not run, or when the time was over before all of them had run; each of these is told.

initcheck does not see what TMA stores to global memory (cp.async.bulk), by which products and convolutions of
cuBLASLt and cuDNN write: it takes their results for memory without a value. --no-libraries builds without them.

usage: sanitize_plans.py [--tenon FILE] [--weights DIR] [--range MIN,OPT,MAX] [--values N,...] [--precision P]
                         [--no-libraries] [--tools TOOL,...] [--jobs N] [--builds N] [--seconds N] [--logs DIR] MODEL...
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / each) for each in ("tools", "bench", "tests")]
import check_gpu  # noqa: E402
import dynamic  # noqa: E402
import gpu_processes  # noqa: E402

SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ")
FINDING = re.compile(r"=========.*(Invalid|Uninitialized|hazard|Program hit|leaked)|\[E\]|&&&& FAILED")
WITHOUT_LIBRARIES = ["--tacticSources=-CUBLAS,-CUBLAS_LT,-CUDNN"]


@dataclass
class Outcome:
    """Of one plan at one value under one tool: nothing in `wrong` if the tool came to its end and found nothing."""
    name: str
    wrong: str
    seconds: float


def exported(model: str, weights: Path, log: Path) -> Path:
    """In a process of its own, since a broken export can end it; messages go into the log."""
    with open(log, "w") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    name, _, axis = model.removeprefix("zoo:").partition("@")
    if axis:
        return dynamic.exported(name, weights, int(axis))
    import zoo
    import zoo_models

    entry = zoo_models.MODELS[name]
    return zoo.export(entry, *zoo.calibrated(entry), "script", weights)


def file_of(model: str, weights: Path, folder: Path) -> Path:
    if not model.startswith("zoo:"):
        return dynamic.file_of(model, weights, 0)
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(exported, model, weights, folder / f"{model[4:]}.export.log").result()


def seconds_left(arguments) -> float:
    return max(1.0, arguments.end - time.monotonic())


def build(arguments, file: Path, folder: Path) -> Path:
    plan = folder / f"{file.stem}.plan"
    ends = zip(("min", "opt", "max"), arguments.range.split(","))
    log = folder / f"{file.stem}.build.log"
    command = [arguments.tenon.parent / "trtexec", f"--onnx={file}", f"--saveEngine={plan}", "--skipInference",
               *check_gpu.PRECISIONS[arguments.precision], *(WITHOUT_LIBRARIES if arguments.no_libraries else []),
               *(f"--{which}Shapes={dynamic.shapes_of(file, None, int(end))}" for which, end in ends)]
    with open(log, "w") as out:
        try:
            subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True, timeout=seconds_left(arguments))
        except subprocess.TimeoutExpired:
            raise RuntimeError("stopped by time") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"exit {error.returncode}: {log.read_text(errors='replace')[-300:]}") from None
    return plan


def wrong_in(log: str, status: int) -> str:
    ends = [int(number) for number in SUMMARY.findall(log)]
    if ends and not any(ends) and status == 0:
        return ""
    told = [line.strip() for line in log.splitlines() if FINDING.search(line)]
    return f"{sum(ends)} findings, exit {status}: {'; '.join(dict.fromkeys(told[:3])) or log[-300:]}"


def look_at(arguments, file: Path, plan: Path, tool: str, value: int, folder: Path) -> Outcome:
    name = f"{file.stem} at {value}, {tool}"
    begin = time.monotonic()
    if begin > arguments.end:
        return Outcome(name, "not begun in time", 0)
    command = [*gpu_processes.sanitizer(tool), str(arguments.tenon.parent / "trtexec"), f"--loadEngine={plan}",
               f"--shapes={dynamic.shapes_of(file, None, value)}", "--iterations=1", "--warmUp=0", "--duration=0"]
    path = folder / f"{file.stem}.{value}.{tool}.log"
    with open(path, "w") as log:
        try:
            status = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, timeout=seconds_left(arguments)).returncode
        except subprocess.TimeoutExpired:
            return Outcome(name, "stopped by time", time.monotonic() - begin)
    return Outcome(name, wrong_in(path.read_text(errors="replace"), status), time.monotonic() - begin)


def after(model: str, export: Future, arguments, folder: Path, runs) -> list[Future]:
    """Builds the exported model, then hands the runs of its plan to the pool of runs."""
    try:
        file = export.result()
        plan = build(arguments, file, folder)
    except (Exception, SystemExit) as error:  # an exporter's own limits too
        failed = Future()
        failed.set_result(Outcome(f"{model}, build", str(error) or repr(error), 0))
        return [failed]
    return [runs.submit(look_at, arguments, file, plan, tool, value, folder)
            for value in arguments.values for tool in arguments.tools]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--tenon", type=Path, default=ROOT / "build/release/bin/tenon")
    parser.add_argument("--weights", type=Path, default=Path(tempfile.gettempdir()) / "tenon-models")
    parser.add_argument("--range", default="1,4,8")
    parser.add_argument("--values", default="5")
    parser.add_argument("--precision", default="fp16", choices=check_gpu.PRECISIONS)
    parser.add_argument("--no-libraries", action="store_true")
    parser.add_argument("--tools", default="memcheck,initcheck,racecheck")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="exports, and runs, side by side")
    parser.add_argument("--builds", type=int, default=3, help="side by side")
    parser.add_argument("--seconds", type=float, default=3600, help="after which nothing more is begun")
    parser.add_argument("--logs", type=Path, help="where logs and plans stay")
    arguments = parser.parse_args()
    arguments.values = [int(value) for value in arguments.values.split(",")]
    arguments.tools = arguments.tools.split(",")
    arguments.end = time.monotonic() + arguments.seconds
    return arguments


def main() -> int:
    arguments = parse()
    arguments.weights.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.logs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(arguments.jobs) as exports, ThreadPoolExecutor(arguments.builds) as builds, \
                ThreadPoolExecutor(arguments.jobs) as runs:
            files = [exports.submit(file_of, model, arguments.weights, folder) for model in arguments.models]
            built = [builds.submit(after, *each, arguments, folder, runs) for each in zip(arguments.models, files)]
            outcomes = [run.result() for each in built for run in each.result()]
    for outcome in outcomes:
        print(f"{outcome.name}: {outcome.wrong or 'nothing found'} ({outcome.seconds:.0f} s)", flush=True)
    bad = sum(bool(outcome.wrong) for outcome in outcomes)
    print(f"{len(outcomes)} runs, {bad} with findings or failures")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
