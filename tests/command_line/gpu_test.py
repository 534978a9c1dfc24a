"""trtexec's lines on NVIDIA GPUs that are present, absent, or unusable."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

QUICK = ["--iterations=4", "--warmUp=0", "--duration=0", "--builderOptimizationLevel=1", "--noSelfCheck"]


H200 = """name = NVIDIA H200
architecture = sm_90
libraries = driver 13.0, nvrtc 13.0, cublasLt 130100, cudnn 9.19.0
compute_units = 132
compute_capability = 90
memory_bytes = 150109880320
shared_memory_per_block = 232448
cache_bytes = 52428800
native_bf16 = 1
native_fp16 = 1
"""


def save(graph: onnx.GraphProto, file: Path):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, file)


def write_model(file: Path) -> Path:
    node = helper.make_node("Softmax", ["x"], ["y"])
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 64]) for name in "xy"]
    save(helper.make_graph([node], "rows", tensors[:1], tensors[1:]), file)
    return file


@pytest.fixture
def gpu(pytestconfig, tmp_path: Path):
    """trtexec with a driver that only pretends (tests/device/fake_driver)."""
    build = Path(pytestconfig.getoption("build")).resolve()
    driver = build / "tests/fake_driver"
    if not (driver / "lib/libcuda.so.1").exists() or not (build / "lib/libtenon_cuda.so").exists():
        pytest.skip("this build has no part for NVIDIA GPUs")
    model = write_model(tmp_path / "rows.onnx")

    def run(*arguments: str, init: int = 0) -> str:
        environment = {**os.environ, "TENON_CUDA_PATH": str(driver), "FAKE_DRIVER_INIT": str(init),
                       "TENON_CACHE_DIR": str(tmp_path / "cache")}
        command = [build / "bin/trtexec", f"--onnx={model}", "--tacticSources=-CUDNN,-CUBLAS,-CUBLAS_LT", *QUICK]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=120,
                              stdin=subprocess.DEVNULL, env=environment)
        print(done.stdout[-3000:], done.stderr[-3000:])
        if "NVRTC" in done.stderr and "cannot be used" in done.stderr:
            pytest.skip("no run-time compiler")
        assert done.returncode == 0
        return done.stdout + done.stderr

    return run


def test_the_device_is_described(gpu):
    text = gpu()
    for line in ("Device 0: \"a GPU of a test\"", "Selected Device ID: 0",
                 "Selected Device UUID: GPU-1f1f1f1f-1f1f-1f1f-1f1f-1f1f1f1f1f1f", "Compute Capability: 8.0", "SMs: 108",
                 "Memory Bus Width: 5120 bits (ECC enabled)", "Application Compute Clock Rate: 1.41 GHz",
                 "Libraries: driver 13.0"):
        assert line in text


def test_a_gpu_that_is_not_there_is_no_warning(gpu):
    text = gpu(init=100)
    assert "no GPU is used" in text
    assert "The plan is for the CPU" not in text


@pytest.mark.parametrize("code", [3, 35, 803])
def test_a_gpu_that_cannot_be_used_is_a_warning(gpu, code: int):
    text = gpu(init=code)
    assert "[W] [TRT] The plan is for the CPU: the NVIDIA driver does not start" in text


def test_flags_without_effect_say_so(gpu):
    text = gpu("--sleepTime=5", "--useManagedMemory", "--persistentCacheRatio=0.5")
    for flag in ("sleepTime", "useManagedMemory", "persistentCacheRatio"):
        assert f"--{flag} has no effect" in text


@pytest.mark.parametrize("level, is_wide", [("ampere+", True), ("sameComputeCapability", False)])
def test_plans_run_where_the_compatibility_level_says(gpu, level: str, is_wide: bool):
    text = gpu(f"--hardwareCompatibilityLevel={level}")
    assert ("the plan runs on GPUs of compute capability 8.0 and later" in text) == is_wide


def test_streams_and_graphs_work_together(gpu):
    for threads in ([], ["--threads"]):
        text = gpu("--infStreams=3", "--useCudaGraph", "--useSpinWait", "--noDataTransfers", *threads)
        assert "Timing trace has 12 queries" in text
        assert "H2D Latency: min = 0 ms" in text


@pytest.mark.parametrize("sources, tactic", [("+CUDNN", "cuda.gemm.cudnn{"), ("-CUDNN", "cuda.gemm.lt{"),
                                             ("-CUDNN,-CUBLAS", "cuda.gemm.lt{"), ("-CUDNN,-CUBLAS_LT", "cuda.gemm.tile"),
                                             ("-CUDNN,-CUBLAS,-CUBLAS_LT", "cuda.gemm.tile")])
def test_sources_that_are_switched_off_are_not_used(gpu, tmp_path: Path, sources: str, tactic: str):
    """By times that were recorded on an H200 (tests/select/cuda), where cuDNN is best and cuBLASLt second."""
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=1), helper.make_node("MatMul", ["s", "w"], ["m"]),
             helper.make_node("Add", ["m", "b"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    shapes = {"x": [128, 256], "w": [256, 64], "b": [64]}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [128, 64])]
    model = tmp_path / "product.onnx"
    save(helper.make_graph(nodes, "product", inputs, outputs), model)
    described = tmp_path / "h200.txt"
    described.write_text(H200)
    recorded = tmp_path / "h200.cache"
    shutil.copy(Path(__file__).parents[1] / "select/cuda/h200.cache", recorded)
    plan = tmp_path / "plan"
    gpu(f"--onnx={model}", f"--deviceDescription={described}", f"--timingCacheFile={recorded}", "--builderOptimizationLevel=3",
        f"--tacticSources={sources}", f"--saveEngine={plan}")
    assert tactic.encode() in plan.read_bytes()


def test_builds_at_the_same_time_leave_the_timings_of_both(gpu, tmp_path: Path):
    def build(cache: Path, *precision: str):
        gpu("--builderOptimizationLevel=3", f"--timingCacheFile={cache}", "--skipInference", *precision)
        return cache.stat().st_size

    one_by_one, at_once = tmp_path / "one_by_one", tmp_path / "at_once"
    first, both = build(one_by_one), build(one_by_one, "--fp16")
    assert first < both
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda precision: build(at_once, *precision), ([], ["--fp16"])))
    assert at_once.stat().st_size == both
