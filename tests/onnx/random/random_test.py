#!/usr/bin/env python3
"""Random ONNX models through builds and runs at all levels, held to what ONNX Runtime computes node by node.

Run by ctest with a few; usage for many:
    random_test.py --build build/release [--first 0] [--count 20000] [--seconds 3600] [--memory MIB] [--device cuda] [--keep FOLDER]"""
import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from eager import Rejected  # noqa: E402
from families import ALL  # noqa: E402
from numerics import tolerance  # noqa: E402
from random_models import Drawn, mistake  # noqa: E402
from worker_client import Worker, WorkerError, files_text  # noqa: E402

SECONDS = 10  # A step may take.


class Program:
    """`tenon worker`, started again where it ends or hangs."""

    def __init__(self, build: Path, mebibytes: int | None, device: str):
        limit = ["prlimit", f"--as={mebibytes << 20}"] if mebibytes else []
        self.command, self.worker = [*limit, str(build / "bin/tenon"), "worker"], None
        self.device = ["--device=-1"] if device == "cpu" else []
        self.seconds = SECONDS if device == "cpu" else 60

    def ask(self, command: str, **arguments) -> dict:
        self.worker = self.worker or Worker(*self.command)
        hung = threading.Event()
        process = self.worker.process
        timer = threading.Timer(self.seconds, lambda: (hung.set(), process.kill()))
        timer.start()
        try:
            return self.worker.ask(command, name="m", **arguments)
        except WorkerError as error:
            if "the worker ended" in str(error):
                self.worker = None
                raise WorkerError(f"hangs for {self.seconds} s: {command}" if hung.is_set() else f"CRASH {error}") from error
            raise
        finally:
            timer.cancel()

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()


def text_of_shapes(drawn: Drawn, run: int) -> str:
    return ",".join(f"{name}:{'x'.join(map(str, a.shape)) or 'scalar'}" for name, a in drawn.inputs(run).items() if a.ndim)


def options(drawn: Drawn, file: Path) -> list[str]:
    """Levels, threads and profiles by the seed."""
    words = [f"--onnx={file}", f"--builderOptimizationLevel={drawn.seed % 6}", f"--cpuThreads={1 + drawn.seed // 6 % 2}", "--noTF32"]
    if drawn.runs > 1:
        bounds = ("opt", 0), ("min", 1), ("max", 2)
        words += [f"--{bound}Shapes={text_of_shapes(drawn, run)}" for bound, run in bounds]
    return words


def plan_type(dtype: np.dtype) -> np.dtype:
    """Plans have no float64: such networks are computed in float32."""
    return np.dtype(np.float32) if dtype == np.float64 else dtype


def results(program: Program, drawn: Drawn, run: int, folder: Path) -> list[np.ndarray]:
    files = {}
    for name, array in drawn.inputs(run).items():
        files[name] = folder / f"{name}.bin"
        np.ascontiguousarray(array, plan_type(array.dtype)).tofile(files[name])
    program.ask("bind", shapes=text_of_shapes(drawn, run), inputs=files_text(files))
    program.ask("run", count=2)
    found = []
    for value in drawn.outputs:
        dims = program.ask("save", tensor=value.name, file=str(folder / "out.bin"))["dims"]
        found.append(np.fromfile(folder / "out.bin", plan_type(value.dtype)).reshape(dims))
    return found


def try_seed(program: Program, seed: int, folder: Path) -> str | None:
    """Empty where all is well, else the error; None where nothing was drawn."""
    try:
        drawn = Drawn(seed, ALL)
    except Rejected:
        return None
    file = folder / "model.onnx"
    onnx.save(drawn.model(), file)
    try:
        program.ask("build", options=[*options(drawn, file), *program.device])
        for run in range(drawn.runs):
            for value, actual in zip(drawn.outputs, results(program, drawn, run, folder)):
                kind = str(plan_type(drawn.dtype))
                wrong = mistake(actual, value, run, tolerance("kTransform", kind))
                if wrong:
                    return f"{kind} {value.name} of run {run}: {wrong}"
    except WorkerError as error:
        return str(error)
    return ""


def run(build: Path, first: int, count: int, seconds: float, mebibytes: int | None, device: str, keep: Path | None) -> tuple[int, list[str]]:
    """How many were tried, and the failures."""
    program, tried, wrong, end = Program(build, mebibytes, device), 0, [], time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            if time.monotonic() > end:
                break
            problem = try_seed(program, seed, Path(folder))
            tried += problem is not None
            if not problem:
                continue
            wrong.append(f"seed {seed}: {problem[:400]}")
            print(wrong[-1], flush=True)
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}.onnx").write_bytes((Path(folder) / "model.onnx").read_bytes())
    program.close()
    return tried, wrong


def test_random_models_compute_what_onnx_runtime_does(pytestconfig):
    tried, wrong = run(Path(pytestconfig.getoption("build")), 0, 150, 120, None, "cpu", None)
    assert tried > 20
    assert not wrong, "\n".join(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--memory", type=int, help="MiB of address space that the program may have")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--keep", type=Path, help="where models are left that go wrong")
    a = parser.parse_args()
    tried, wrong = run(a.build, a.first, a.count, a.seconds, a.memory, a.device, a.keep)
    print(f"{tried} models, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
