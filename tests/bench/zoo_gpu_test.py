"""The zoo's lines for a model on a GPU, with a program that stands for `tenon`."""
import argparse
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "bench"), str(HERE.parents[1] / "tools")]
import zoo_gpu  # noqa: E402


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """y = -x, of shape [1, 5], with the inputs of batch 1."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 5]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "negated", values[:1], values[1:])
    onnx.save(helper.make_model(graph), tmp_path / "negated.onnx")
    np.savez(tmp_path / "negated.1.npz", x=np.linspace(-1, 1, 5, dtype=np.float32)[None] / 3)
    return tmp_path / "negated.onnx"


def test_inputs_and_outputs_of_half_precision_are_bound_as_such(file: Path, tmp_path: Path):
    case = zoo_gpu.GpuCase(file, tmp_path / "half", half=True)
    case.write_inputs()
    assert np.fromfile(tmp_path / "half/x.bin", np.float16).tolist() == case.arrays["x"].flatten().tolist()
    assert case.outputs == {"y": np.float16}
    assert "--inputIOFormats=fp16:chw" in case.build_options("fp16") and "--fp16" in case.build_options("fp16")
    whole = zoo_gpu.GpuCase(file, tmp_path / "whole")
    assert whole.outputs == {"y": np.float32} and "--noTF32" in whole.build_options("fp32")


def test_outputs_of_pytorch_get_the_names_of_the_file(file: Path, tmp_path: Path):
    case = zoo_gpu.GpuCase(file, tmp_path / "case")
    assert list(case.named([np.zeros(5)])) == ["y"]
    with pytest.raises(zoo_gpu.WorkerError, match="2 outputs, the file 1"):
        case.named([np.zeros(5), np.zeros(5)])


@pytest.mark.parametrize("got, expected, distance", [
    ([3.0, 4.0], [3.0, 4.0], 0), ([3.0, 5.0], [3.0, 4.0], 0.2), ([np.nan, 4.0], [3.0, 4.0], np.inf),
    ([np.inf, 4.0], [3.0, 4.0], np.inf), ([np.inf, np.nan, 1], [np.inf, np.nan, 1], 0), ([3, np.inf], [3, -np.inf], np.inf),
    ([3.0, 4.0], [[3.0, 4.0]], np.inf),
])
def test_distances_of_what_is_not_finite_are_infinite(got, expected, distance):
    assert zoo_gpu.zoo.distance({"a": np.array([1.0]), "y": np.array(got)},
                                {"a": np.array([1.0]), "y": np.array(expected)}) == pytest.approx(distance)


def model_of(**result) -> zoo_gpu.Model:
    model = zoo_gpu.Model.__new__(zoo_gpu.Model)
    model.name, model.result = "m", result
    return model


GOOD = {"fp16": {"error": 1e-3, "finite": True, "hosted": []}, "fp32": {"error": 1e-6, "finite": True, "hosted": []},
        "torch_exact": 1e-6, "torch_rounded": 1e-3}


@pytest.mark.parametrize("change, said", [
    ({}, []),
    ({"fp16": {"error": 1.6e-3}}, ["FP16 error 1.6e-03 above 1.5e-03"]),
    ({"fp32": {"error": 6e-5}}, ["FP32 error 6.0e-05"]),
    ({"fp16": {"error": float("inf"), "finite": False}}, ["FP16 error inf", "fp16 not finite"]),
    ({"fp16": {"error": 1e-3, "hosted": ["topk a", "loop b"]}}, ["2 on the host: topk a; loop b"]),
    ({"failures": {"fp16": "no kernel"}}, ["fp16: no kernel"]),
    # A detector that chooses other boxes when its numbers are rounded.
    ({"fp16": {"error": 0.7}, "torch_rounded": 0.6}, []),
    ({"torch_rounded": float("inf")}, []),
])
def test_what_is_wrong_with_a_model(change: dict, said: list[str]):
    found = model_of(**{**GOOD, **change}).wrong()
    assert len(found) == len(said) and all(text.startswith(start) for text, start in zip(found, said)), found


def test_a_plan_is_built_bound_and_compared(file: Path, tmp_path: Path):
    tenon = tmp_path / "tenon"
    tenon.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'stub_worker.py'} {tmp_path / 'log'}\n")
    tenon.chmod(0o755)
    arguments = argparse.Namespace(tenon=str(tenon), device="")
    case = zoo_gpu.GpuCase(file, tmp_path / "case")
    plan = zoo_gpu.OnGpu(arguments, case, "fp16")
    found = plan.found({"y": -case.arrays["x"]})
    plan.worker.close()
    assert 1e-5 < found["error"] < 1e-3 and found["finite"] and found["hosted"] == [] and found["build_s"] == 0.001
    with pytest.raises(zoo_gpu.WorkerError, match="no such type"):
        zoo_gpu.OnGpu(arguments, case, "bf16")
