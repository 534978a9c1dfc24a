"""Polygraphy, unchanged, on top of `tensorrt`: on the GPU, or without one with the stand-in for CUDA's run time."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tenon
from conftest import expected, onnx_model, with_cuda_runtime
from numerics import assert_close

pytest.importorskip("polygraphy", reason="polygraphy is not installed")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("polygraphy") / "small.onnx"
    path.write_bytes(onnx_model((2, 8)).SerializeToString())
    return path


def polygraphy(*arguments, folder=None, status=0):
    code = "import sys; from polygraphy.tools import main; sys.exit(main())"
    environment = {**with_cuda_runtime(), "POLYGRAPHY_AUTOINSTALL_DEPS": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, timeout=300, cwd=folder)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_inspect_model(model):
    assert "product" in polygraphy("inspect", "model", model, "--show", "layers")
    text = polygraphy("inspect", "model", model, "--display-as=trt", "--show", "layers", "attrs")
    assert "product" in text and "(2, 8)" in text


def test_inspect_capability(model, tmp_path):
    polygraphy("inspect", "capability", model, "-o", tmp_path / "capability")


def test_convert_and_inspect_the_engine(model, tmp_path):
    plan = tmp_path / "small.plan"
    polygraphy("convert", model, "--convert-to=trt", "-o", plan, "--save-timing-cache", tmp_path / "times")
    assert plan.stat().st_size > 0 and (tmp_path / "times").stat().st_size > 0
    assert "Layer" in polygraphy("inspect", "model", plan, "--model-type=engine", "--show", "layers")
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    assert_close(tenon.load(plan)(x), expected(x))


def test_run_compares_with_onnx_runtime(model, tmp_path):
    text = polygraphy("run", model, "--trt", "--onnxrt", "--atol=1e-4", "--rtol=1e-4", "--save-outputs", tmp_path / "o.json")
    assert "PASSED" in text and "FAILED" not in text.replace("0/1 FAILED", "")


def test_run_with_profiles_and_precision(tmp_path):
    path = tmp_path / "dynamic.onnx"
    path.write_bytes(onnx_model().SerializeToString())
    text = polygraphy("run", path, "--trt", "--onnxrt", "--trt-min-shapes", "x:[1,8]", "--trt-opt-shapes", "x:[4,8]",
                      "--trt-max-shapes", "x:[8,8]", "--input-shapes", "x:[3,8]", "--fp16", "--atol=2e-2", "--rtol=2e-2")
    assert "PASSED" in text


def test_loaders_and_runner(model):
    code = f"""
import numpy as np
from polygraphy.backend.trt import CreateConfig, EngineFromNetwork, NetworkFromOnnxPath, Profile, TrtRunner
build = EngineFromNetwork(NetworkFromOnnxPath({str(model)!r}), CreateConfig(builder_optimization_level=1))
with TrtRunner(build) as runner:
    x = np.ones((2, 8), np.float32)
    print(runner.infer({{"x": x}})["y"].sum())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**with_cuda_runtime(), "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) == pytest.approx(float(expected(np.ones((2, 8), np.float32)).sum()), rel=1e-4)


def test_outputs_of_all_layers_are_compared(model):
    text = polygraphy("run", model, "--trt", "--onnxrt", "--validate", "--trt-outputs", "mark", "all", "--onnx-outputs", "mark",
                      "all", "--atol=1e-4", "--rtol=1e-4")
    assert "Output: 'm'" in text and "Pass Rate: 100.00%" in text


def test_inputs_and_outputs_are_kept_and_compared(model, tmp_path):
    polygraphy("run", model, "--trt", "--save-inputs", tmp_path / "in.json", "--save-outputs", tmp_path / "out.json")
    text = polygraphy("run", model, "--trt", "--load-inputs", tmp_path / "in.json", "--load-outputs", tmp_path / "out.json")
    assert "Pass Rate: 100.00%" in text
    assert "y [dtype=float32, shape=(2, 16)]" in polygraphy("inspect", "data", tmp_path / "out.json", "--show-values")


def test_scripts_for_the_network_and_the_configuration(model, tmp_path):
    polygraphy("template", "trt-network", model, "-o", tmp_path / "network.py")
    polygraphy("template", "trt-config", "--fp16", "-o", tmp_path / "config.py")
    text = polygraphy("run", model, "--trt", "--onnxrt", "--trt-config-script", tmp_path / "config.py", "--atol=1e-2")
    assert "Pass Rate: 100.00%" in text
    assert "PASSED" in polygraphy("run", tmp_path / "network.py", "--model-type=trt-network-script", "--trt")
    polygraphy("run", model, "--trt", "--gen-script", tmp_path / "run.py")
    assert "TrtRunner" in (tmp_path / "run.py").read_text()


def test_int8_with_a_calibrator(model, tmp_path):
    """Polygraphy's calibrator draws batches and keeps their ranges in a file, which the next build reads."""
    cache = tmp_path / "ranges.cache"
    for _ in range(2):
        text = polygraphy("run", model, "--trt", "--onnxrt", "--int8", "--calibration-cache", cache, "--atol=0.1")
        assert "Pass Rate: 100.00%" in text and cache.read_bytes().startswith(b"TRT-101600-EntropyCalibration2")


def test_debug_build(model, tmp_path):
    text = polygraphy("debug", "build", model, "--until=2", "--artifacts", "polygraphy_debug.engine", "--check", "test", "-s",
                      "polygraphy_debug.engine", folder=tmp_path)
    assert "Passed: 2/2" in text and len(list((tmp_path / "polygraphy_artifacts" / "good").iterdir())) == 2


def test_debug_precision(model, tmp_path):
    text = polygraphy("debug", "precision", model, "--fp16", "--check", "true", folder=tmp_path)
    assert "try running the first 1 layer(s) in higher precision" in text
    text = polygraphy("debug", "precision", model, "--fp16", "--check", "false", folder=tmp_path)
    assert "Could not find a configuration" in text


def test_tactics_are_saved_shown_and_replayed(model, tmp_path):
    tactics, plans = tmp_path / "tactics.json", [tmp_path / "first.plan", tmp_path / "second.plan"]
    polygraphy("convert", model, "--convert-to=trt", "-o", plans[0], "--save-tactics", tactics)
    assert "Implementation:" in polygraphy("inspect", "tactics", tactics)
    polygraphy("convert", model, "--convert-to=trt", "-o", plans[1], "--load-tactics", tactics)
    assert len({str(_kernels(plan)) for plan in plans}) == 1
    text = tactics.read_text()
    other = json.loads(text)
    for algorithm in other["replay"].values():
        algorithm["tactic"] += 1
    tactics.write_text(json.dumps(other))
    told = polygraphy("convert", model, "--convert-to=trt", "-o", plans[1], "--load-tactics", tactics, status=1)
    assert "Tactic in replay was not provided by TensorRT as a choice" in told


def test_tactic_recorder_and_replayer(tmp_path):
    """A kernel other than the usual one, which the replay has chosen again; its recorder sees it."""
    path = tmp_path / "conv.onnx"
    path.write_bytes(_convolution().SerializeToString())
    code = f"""
import tensorrt as trt
from polygraphy.backend.trt import Algorithm, CreateConfig, EngineBytesFromNetwork, NetworkFromOnnxPath, TacticRecorder, TacticReplayData
from polygraphy.backend.trt import TacticReplayer
class Other(trt.IAlgorithmSelector):
    def __init__(self):
        trt.IAlgorithmSelector.__init__(self)
        self.chosen = TacticReplayData()
    def select_algorithms(self, context, choices):
        return [len(choices) - 1]
    def report_algorithms(self, contexts, choices):
        for context, choice in zip(contexts, choices):
            self.chosen.add(context.name, Algorithm.from_trt(context, choice))
            assert [list(shape) for shape in context.get_shape(0)] == [[1, 16, 20, 20]] * 3
def build(selector):
    with EngineBytesFromNetwork(NetworkFromOnnxPath({str(path)!r}), CreateConfig(algorithm_selector=selector))():
        return selector
usual, other = TacticReplayData(), Other()
build(TacticRecorder(usual))
build(other)
build(TacticReplayer(other.chosen))
chosen = other.chosen["conv"]
print(chosen != usual["conv"], [t.dtype for t in chosen.inputs + chosen.outputs] == [trt.float32] * 2)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
                          env={**with_cuda_runtime(), "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[-2:] == ["True", "True"], done.stdout


def _convolution():
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(np.full((16, 16, 3, 3), 0.01, np.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], "conv", pads=[1, 1, 1, 1])
    shape = (1, 16, 20, 20)
    graph = helper.make_graph([node], "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], [weights])
    return onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _kernels(plan):
    return [(layer["name"], layer["tactic"]) for layer in tenon.load(plan).layers]


def test_surgeon(model, tmp_path):
    if not _has("onnx_graphsurgeon"):
        pytest.skip("onnx_graphsurgeon is not installed")
    polygraphy("surgeon", "sanitize", model, "--fold-constants", "-o", tmp_path / "folded.onnx")
    polygraphy("surgeon", "extract", model, "--inputs", "x:[2,8]:float32", "--outputs", "m:auto", "-o", tmp_path / "part.onnx")
    for name in ("folded.onnx", "part.onnx"):
        assert "Pass Rate: 100.00%" in polygraphy("run", tmp_path / name, "--trt", "--onnxrt", "--atol=1e-4", "--rtol=1e-4")


def _has(module):
    import importlib.util

    return importlib.util.find_spec(module) is not None
