#!/usr/bin/env python3
"""Run NVIDIA's samples, as `clients.py --link` made them, over lib/compat on this machine's GPU with the data of digits.py.

Each sample verifies its own result and says PASSED. Samples whose data exist nowhere but in NVIDIA's downloads are named as not run.

usage: run_samples.py PROGRAMS LIBRARIES DATA RESNET50_ONNX
"""
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import onnx

SAMPLES = {
    "sampleOnnxMNIST": [[], ["--fp16"], ["--bf16"]],
    "sampleDynamicReshape": [[], ["--fp16"]],
    "sampleIOFormats": [[]],
    "sampleNamedDimensions": [[]],
    "sampleNonZeroPlugin": [[], ["--fp16"], ["--columnOrder"]],
    "sampleProgressMonitor": [[], ["--fp16"]],
    "sampleEditableTimingCache": [[]],
    "sampleINT8API": [["--model=resnet50.onnx"]],
}
DATA_FLAG = {"sampleINT8API": "--data"}
NOT_RUN = {"sampleCharRNN": "char-rnn.wts is a download", "sampleOnnxMnistCoordConvAC": "mnist_with_coordconv.onnx is a download"}


def int8_data(program: Path, data: Path, environment: dict[str, str]) -> None:
    """A picture, 1000 labels and a range for each tensor, under the names of sampleINT8API's own files."""
    (data / "airliner.ppm").write_bytes(b"P6\n224 224\n255\n" + bytes(i % 251 for i in range(3 * 224 * 224)))
    (data / "reference_labels.txt").write_text("".join(f"label {i}\n" for i in range(1000)))
    subprocess.run([program, f"--data={data}/", "--model=resnet50.onnx", "--write_tensors"], cwd=data, env=environment,
                   capture_output=True, timeout=120)
    names = [line.split(": ", 1)[1] for line in (data / "network_tensors.txt").read_text().splitlines()]
    (data / "resnet50_per_tensor_dynamic_range.txt").write_text("".join(f"{name}: 8.0\n" for name in names))


def add_model(model: Path, data: Path) -> None:
    """With its weights, for one picture: sampleINT8API has no profile."""
    loaded = onnx.load(model)
    for tensor in (*loaded.graph.input, *loaded.graph.output):
        tensor.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(loaded, data / "resnet50.onnx")


def results(programs: Path, data: Path, environment: dict[str, str]) -> Iterator[tuple[str, bool, str]]:
    """Program with flags, whether it ran right, and why not."""
    if (data / "resnet50.onnx").exists():
        int8_data(programs / "sampleINT8API", data, environment)
    for name, variants in SAMPLES.items():
        for flags in variants:
            done = subprocess.run([programs / name, f"{DATA_FLAG.get(name, '--datadir')}={data}/", *flags], cwd=data, env=environment,
                                  capture_output=True, text=True, timeout=120)
            text = done.stdout + done.stderr
            ok = done.returncode == 0 and "&&&& PASSED" in text
            errors = [line for line in text.splitlines() if "[E]" in line or "rror" in line] or text.splitlines()[-2:]
            yield f"{name} {' '.join(flags)}".strip(), ok, "" if ok else f"exit code {done.returncode}: {errors[:2]}"


def main() -> int:
    programs, libraries, data = (Path(path).absolute() for path in sys.argv[1:4])
    if len(sys.argv) > 4:
        add_model(Path(sys.argv[4]), data)
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{libraries}:{os.environ.get('LD_LIBRARY_PATH', '')}")
    rows = []
    for name, ok, why in results(programs, data, environment):
        rows.append(ok)
        print(f"{name}: {'passed' if ok else why}", flush=True)
    for name, reason in NOT_RUN.items():
        print(f"{name}: not run: {reason}")
    print(f"{len(rows)} runs of samples, {rows.count(False)} failed")
    return 0 if all(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
