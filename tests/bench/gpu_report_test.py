"""A report over several GPUs, with a program that stands for `tenon`."""
import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

HERE = Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "bench/gpu_report.py"


@pytest.fixture
def run(tmp_path: Path):
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xy"]
    model = helper.make_model(helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", values[:1], values[1:]))
    for name in ("dlrm", "gpt2", "yolo_s"):
        onnx.save(model, tmp_path / f"{name}.onnx")
        (tmp_path / f"{name}.weights").touch()
    tenon = tmp_path / "tenon"
    tenon.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'stub_worker.py'} {tmp_path / 'log'}\n")
    tenon.chmod(0o755)

    def start(gpus: int, *options: str) -> tuple[subprocess.CompletedProcess, dict, list[str]]:
        report = tmp_path / "gpu.json"
        environment = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
        done = subprocess.run([sys.executable, SCRIPT, "--json", report, "--gpus", str(gpus), "--models", "dlrm,gpt2,yolo_s",
                               "--tenon", tenon, "--weights", tmp_path, *options], capture_output=True, text=True,
                              env=environment)
        return done, json.loads(report.read_text()), (tmp_path / "log").read_text().split()

    return start


def test_each_gpu_measures_some_models_and_one_file_has_all(run):
    done, data, gpus = run(2, "--parts", "identical")
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(r["model"] for r in data["identical"]) == ["dlrm", "gpt2", "yolo_s"]
    assert sorted(gpus) in (["0", "0", "1"], ["0", "1", "1"])


def test_a_part_that_cannot_be_measured_fails_the_report(run):
    done, data, _ = run(2, "--parts=identical,layers")
    assert done.returncode == 1 and "floors need the peaks" in done.stdout
    assert len(data["identical"]) == 3
