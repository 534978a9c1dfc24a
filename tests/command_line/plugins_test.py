"""Plugin libraries on the command line: found when the model is read, carried by plans, and loaded in other processes."""
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

LOADED = r"no creator of plugin '%s', version '1', namespace '%s' is registered"


@pytest.fixture
def library(pytestconfig):
    folder = Path(pytestconfig.getoption("build")).resolve() / "tests/api/plugin_library"
    return lambda kind: str(folder / f"libplugin_library_{kind}.so")


def write_model(folder: Path, operator: str, space: str) -> str:
    """y = relu(the plugin's x), x of 2 by 2, y twice as long."""
    nodes = [helper.make_node(operator, ["x"], ["a"], name="repeat", plugin_namespace=space, factor=3.0),
             helper.make_node("Relu", ["a"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 2])])
    path = folder / f"{operator}.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString())
    return str(path)


def test_a_model_without_its_library_is_refused_by_name(trtexec, tmp_path):
    text = trtexec(f"--onnx={write_model(tmp_path, 'Repeat', 'test')}", passes=False)
    assert 'operator "Repeat" of domain "" is not known; register a plugin of that name' in text


def test_a_plan_needs_the_library_that_its_build_loaded(trtexec, library, tmp_path):
    model = write_model(tmp_path, "Repeat", "test")
    trtexec(f"--onnx={model}", f"--dynamicPlugins={library('listing')}", "--saveEngine=m.plan")
    text = trtexec("--loadEngine=m.plan", passes=False)
    assert "no creator of plugin 'Repeat', version '1', namespace 'test' is registered" in text
    trtexec("--loadEngine=m.plan", f"--dynamicPlugins={library('listing')}")
    # A library that is only opened registers no creators that it would have to be asked for.
    assert "is registered" in trtexec("--loadEngine=m.plan", f"--staticPlugins={library('listing')}", passes=False)


def test_a_library_that_registers_itself_is_only_opened(trtexec, library, tmp_path):
    model = write_model(tmp_path, "RepeatOfALibrary", "library")
    both = [f"--staticPlugins={library('registering')}", f"--dynamicPlugins={library('listing')}"]
    trtexec(f"--onnx={model}", *both, "--saveEngine=m.plan")
    trtexec("--loadEngine=m.plan", *both)


@pytest.mark.parametrize("libraries", [["stored"], ["stored", "listing"]])
def test_a_plan_carries_its_library_to_other_processes(trtexec, library, tmp_path, libraries):
    model = write_model(tmp_path, "StoredRepeat", "")
    carried = [f"--setPluginsToSerialize={library(kind)}" for kind in libraries]
    text = trtexec(f"--onnx={model}", f"--dynamicPlugins={library('stored')}", *carried, "--saveEngine=m.plan")
    assert "PASSED" in text
    # The library's code runs after a word for it only: any of these, and none names it.
    refused = trtexec("--loadEngine=m.plan", passes=False)
    assert "StoredRepeat" in refused or "plugin librar" in refused
    trtexec("--loadEngine=m.plan", "--versionCompatible")
    trtexec("--loadEngine=m.plan", "--versionCompatible", "--tempdir=.", "--tempfileControls=in_memory:deny,temporary:allow")
