"""Control of the passes: the list, the applied ones, the ones left out; and the hunt for values that are not finite."""
import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def write_two_products(file: Path) -> Path:
    """y = relu(relu(x a) b), products `first` and `second`."""
    random = np.random.default_rng(1)
    nodes = [helper.make_node("MatMul", ["x", "a"], ["p"], "first"), helper.make_node("Relu", ["p"], ["r"], "relu1"),
             helper.make_node("MatMul", ["r", "b"], ["q"], "second"), helper.make_node("Relu", ["q"], ["y"], "relu2")]
    weights = [numpy_helper.from_array(random.random((8, 8)).astype(np.float32), name) for name in "ab"]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [4, 8])], [value("y", TensorProto.FLOAT, [4, 8])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


@pytest.fixture
def names(trtexec, tmp_path: Path):
    """The names of the steps of a plan that is built so."""
    write_two_products(tmp_path / "two.onnx")

    def build(*options: str) -> list[str]:
        trtexec("--onnx=two.onnx", "--skipInference", "--profilingVerbosity=detailed", "--exportLayerInfo=layers.json", *options)
        return [layer["Name"] for layer in json.loads((tmp_path / "layers.json").read_text())["Layers"]]

    return build


def test_passes_are_listed(trtexec):
    text = trtexec("--passes=list")
    assert "fuse_epilogue: joins" in text and "recognize_attention: finds" in text


def test_applied_passes_are_recorded_in_the_plan(trtexec, tmp_path: Path):
    write_two_products(tmp_path / "two.onnx")
    trtexec("--onnx=two.onnx", "--skipInference", "--saveEngine=two.plan")
    text = trtexec("--loadEngine=two.plan", "--skipInference", "--passes=applied")
    assert "fuse_epilogue: first + relu1" in text and "fuse_epilogue: second + relu2" in text


def test_names_of_joined_layers(names):
    assert names() == ["first + relu1", "second + relu2"]


def test_a_pass_is_left_out(names):
    assert len(names("--disablePass=fuse_epilogue")) == 4


def test_a_pass_is_left_out_for_some_nodes(names):
    assert names("--disablePass=fuse_epilogue:sec*") == ["first + relu1", "second", "relu2"]


def test_nodes_stay_unfused(names):
    assert names("--noFuse=fir*") == ["first", "relu1", "second + relu2"]


def test_level_0_joins_nothing(names):
    assert names("--builderOptimizationLevel=0") == ["first", "relu1", "second", "relu2"]


def test_passes_are_left_out_by_a_pattern(names):
    assert names("--disablePass=fuse_*,merge_*") == ["first", "relu1", "second", "relu2"]


def test_an_unknown_pass_is_refused(trtexec, tmp_path: Path):
    write_two_products(tmp_path / "two.onnx")
    assert "there is no pass 'fuse_all'" in trtexec("--onnx=two.onnx", "--disablePass=fuse_all", passes=False)


def test_the_first_value_that_is_not_finite_is_named(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Sub", ["x", "x"], ["zero"], "nothing"), helper.make_node("Log", ["zero"], ["log"], "logarithm"),
             helper.make_node("Exp", ["log"], ["y"], "back")]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [3])], [value("y", TensorProto.FLOAT, [3])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), tmp_path / "log.onnx")
    write_two_products(tmp_path / "two.onnx")

    def hunt(model: str) -> subprocess.CompletedProcess:
        return subprocess.run([program, "nan-hunt", f"--onnx={model}"], capture_output=True, text=True, cwd=tmp_path, timeout=60)

    found = hunt("log.onnx")
    assert found.returncode == 5 and "logarithm" in found.stdout and "back" not in found.stdout.split("logarithm")[0]
    assert hunt("two.onnx").returncode == 0
