"""Polygraphy, unchanged, on top of `tensorrt`: on machines without a GPU with the stand-in for CUDA's run time."""
import os
import subprocess
import sys

import numpy as np
import pytest
import tenon
from conftest import expected, onnx_model
from numerics import assert_close
from tenon import cpu_tools

pytest.importorskip("polygraphy", reason="polygraphy is not installed")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("polygraphy") / "small.onnx"
    path.write_bytes(onnx_model((2, 8)).SerializeToString())
    return path


def polygraphy(*arguments):
    code = "import sys; from polygraphy.tools import main; sys.exit(main())"
    environment = {**os.environ, "LD_LIBRARY_PATH": str(cpu_tools.FOLDER), "POLYGRAPHY_AUTOINSTALL_DEPS": "0",
                   "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
                          env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
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
                          env={**os.environ, "LD_LIBRARY_PATH": str(cpu_tools.FOLDER),
                               "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) == pytest.approx(float(expected(np.ones((2, 8), np.float32)).sum()), rel=1e-4)


def test_surgeon_and_debug(model, tmp_path):
    polygraphy("surgeon", "sanitize", model, "--fold-constants", "-o", tmp_path / "folded.onnx") \
        if _has("onnx_graphsurgeon") else pytest.skip("onnx_graphsurgeon is not installed")


def _has(module):
    import importlib.util

    return importlib.util.find_spec(module) is not None
