"""INT8 by ranges on the command line: calibration caches that are there or not, and inputs and outputs that are INT8."""
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

RANGES = {"x": 1.0, "c1": 3.0, "r1": 3.0, "y": 6.0}
UNTIMED = "--builderOptimizationLevel=2"  # Times decide about layers from 3 on.


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two convolutions."""
    random, value = np.random.default_rng(0), helper.make_tensor_value_info
    weights = [numpy_helper.from_array(random.normal(0, 0.2, shape).astype(np.float32), name)
               for name, shape in (("w1", (8, 3, 3, 3)), ("w2", (8, 8, 3, 3)))]
    nodes = [helper.make_node("Conv", ["x", "w1"], ["c1"], "conv1", pads=[1] * 4), helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
             helper.make_node("Conv", ["r1", "w2"], ["y"], "conv2", pads=[1] * 4)]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [1, 3, 16, 16])],
                              [value("y", TensorProto.FLOAT, [1, 8, 16, 16])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "m.onnx")
    write_cache(tmp_path / "ranges.cache", RANGES)
    return tmp_path / "m.onnx"


def write_cache(path: Path, ranges: dict[str, float]) -> None:
    lines = "".join(f"{name}: {np.float32(r / 127).view(np.uint32):08x}\n" for name, r in ranges.items())
    path.write_text("TRT-101600-EntropyCalibration2\n" + lines)


def rounded(x: np.ndarray, limit: float) -> np.ndarray:
    return np.clip(np.rint(x / (limit / 127)), -127, 127)


@pytest.mark.parametrize("inputs", [False, True])
@pytest.mark.parametrize("outputs", [False, True])
def test_bytes_in_and_out_by_the_scales_of_a_cache(trtexec, model: Path, inputs: bool, outputs: bool):
    x = np.random.default_rng(1).uniform(-1, 1, (1, 3, 16, 16)).astype(np.float32)
    bytes_in = rounded(x, RANGES["x"])
    (bytes_in.astype(np.int8) if inputs else x).tofile(model.parent / "x.bin")
    formats = ["--inputIOFormats=int8:chw"] * inputs + ["--outputIOFormats=int8:chw"] * outputs
    text = trtexec("--onnx=m.onnx", "--int8", "--calib=ranges.cache", UNTIMED, *formats, "--loadInputs=x:x.bin", "--exportOutput=o.json")
    assert "INT8: 2 of 2 layers with products compute in 8-bit integers" in text and "made-up" not in text
    found = np.array(json.loads((model.parent / "o.json").read_text())[0]["values"]).reshape(1, 8, 16, 16)
    [expected] = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).run(
        None, {"x": (bytes_in * (RANGES["x"] / 127)).astype(np.float32)})
    if outputs:
        assert np.abs(found).max() > 30 and np.all(found == np.rint(found))
        found = found * (RANGES["y"] / 127)
    assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)


@pytest.mark.parametrize("flags", [["--int8"], []])
def test_bytes_in_and_out_without_a_cache_get_made_up_ranges(trtexec, model: Path, flags: list[str]):
    text = trtexec("--onnx=m.onnx", *flags, UNTIMED, "--inputIOFormats=int8:chw", "--outputIOFormats=int8:chw")
    assert "INT8 inputs get the made-up range -2 to 2 and INT8 outputs -4 to 4" in text
    assert ("INT8: 2 of 2 layers with products compute in 8-bit integers" in text) == bool(flags)


def test_integers_of_the_network_have_no_scales(trtexec, tmp_path: Path):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["r"], "relu"), helper.make_node("Cast", ["r"], ["y"], "cast", to=TensorProto.INT8)]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.INT8, [4])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "cast.onnx")
    np.array([-3, 2, 7.5, 100], np.float32).tofile(tmp_path / "x.bin")
    text = trtexec("--onnx=cast.onnx", "--loadInputs=x:x.bin", "--exportOutput=o.json")
    assert "made-up" not in text and json.loads((tmp_path / "o.json").read_text())[0]["values"] == [0, 2, 7, 100]


def test_bytes_need_their_scales_in_the_cache(trtexec, model: Path):
    write_cache(model.parent / "part.cache", {"x": 1.0, "r1": 3.0})
    text = trtexec("--onnx=m.onnx", "--int8", "--calib=part.cache", "--outputIOFormats=int8:chw", passes=False)
    assert "--calib=part.cache: the calibration cache has no scale for 'y', which is INT8" in text
    text = trtexec("--onnx=m.onnx", "--int8", "--calib=none.cache", "--outputIOFormats=int8:chw", passes=False)
    assert "--calib=none.cache: there is no such file, and INT8 inputs and outputs need the scales of a calibration cache" in text


def test_a_cache_that_is_missing_is_made_up(trtexec, model: Path):
    """As trtexec, which calibrates by random numbers then, and writes no cache."""
    text = trtexec("--onnx=m.onnx", "--int8", "--calib=none.cache", UNTIMED)
    assert "[W] --calib=none.cache: there is no such file: ranges are made up by a run with random inputs" in text
    assert "INT8: 2 of 2 layers with products compute in 8-bit integers" in text
    assert not (model.parent / "none.cache").exists()


def test_a_cache_that_cannot_be_read_is_an_error(trtexec, model: Path):
    (model.parent / "folder.cache").mkdir()
    assert "folder.cache" in trtexec("--onnx=m.onnx", "--int8", "--calib=folder.cache", passes=False)
    (model.parent / "text.cache").write_text("hello\n")
    assert "is not of the form" in trtexec("--onnx=m.onnx", "--int8", "--calib=text.cache", passes=False)
