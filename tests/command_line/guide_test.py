"""The command lines of NVIDIA's best-practices guide, as a reader types them: each runs as it stands and prints the
guide's output, figures and names of kernels aside."""
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from conftest import QUICK
from onnx import TensorProto, helper, numpy_helper

PREFIX = r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[I\] "
NUMBER = r"[\d.e+-]+"
TIMES = ", ".join(f"{name} = {NUMBER} ms" for name in ("min", "max", "mean", "median"))
TIMES += "".join(rf", percentile\({p}%\) = {NUMBER} ms" for p in (90, 95, 99))
SUMMARY = [r"=== Performance summary ===", rf"Throughput: {NUMBER} qps", rf"Latency: {TIMES}", rf"Enqueue Time: {TIMES}",
           r"H2D Latency: min = 0 ms, max = 0 ms, mean = 0 ms, median = 0 ms, percentile\(90%\) = 0 ms, "
           r"percentile\(95%\) = 0 ms, percentile\(99%\) = 0 ms", rf"GPU Compute Time: {TIMES}",
           r"D2H Latency: min = 0 ms, max = 0 ms, mean = 0 ms, median = 0 ms, percentile\(90%\) = 0 ms, "
           r"percentile\(95%\) = 0 ms, percentile\(99%\) = 0 ms", rf"Total Host Walltime: {NUMBER} s",
           rf"Total GPU Compute Time: {NUMBER} s", r"Explanations of the performance metrics are printed in the verbose logs\."]
TENSOR = (r"\[ \{ Name: [^ ,]+, Location: Device, Dimensions: \[4,64,56,56\], "
          r"Format/Datatype: (?:[A-Za-z-]+ )+Int8 format \}\]")
LAYER = re.compile(
    r"Name: [^,]*resnetv17_stage1_conv0_fwd[^,]*, LayerType: CaskConvolution, "
    rf"Inputs: {TENSOR}, Outputs: {TENSOR}, ParameterType: Convolution, "
    r"Kernel: \[1,1\], PaddingMode: kEXPLICIT_ROUND_DOWN, PrePadding: \[0,0\], PostPadding: \[0,0\], Stride: \[1,1\], "
    r'Dilation: \[1,1\], OutMaps: 64, Groups: 1, Weights: \{"Type": "Int8", "Count": 4096\}, '
    r'Bias: \{"Type": "Float", "Count": 64\}, HasBias: 1, HasReLU: 1, HasSparseWeights: 0, HasDynamicFilter: 0, '
    r"HasDynamicBias: 0, HasResidual: 0, ConvXAsActInputIdx: -1, BiasAsActInputIdx: -1, ResAsActInputIdx: -1, "
    r"Activation: RELU, TacticName: \S+, TacticValue: 0x[0-9a-f]{16}, StreamId: 0, "
    r"Metadata: (?:(?:\\x1e)?\[ONNX Layer: [^\]]+\])+", re.ASCII)


class Network:
    """The beginning of a ResNet: a stem, a pooling, a 1x1 convolution, a product; with `quantized` as the guide's tool
    writes it."""

    def __init__(self, quantized: bool):
        self.quantized, self.nodes, self.weights = quantized, [], []
        self.random = np.random.default_rng(1)

    def constant(self, name: str, values) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def rounded(self, value: str) -> str:
        """Behind QuantizeLinear and DequantizeLinear."""
        if not self.quantized:
            return value
        scale = self.constant(f"{value}_scale", np.float32(0.02))
        zero = self.constant(f"{value}_zero", np.int8(0))
        for op, source in (("QuantizeLinear", value), ("DequantizeLinear", f"{value}_QuantizeLinear_Output")):
            self.nodes.append(helper.make_node(op, [source, scale, zero], [f"{value}_{op}_Output"], f"{value}_{op}"))
        return f"{value}_DequantizeLinear_Output"

    def convolution(self, value: str, name: str, channels: tuple, kernel: int, stride: int) -> str:
        out, into = channels
        weights = self.constant(f"{name}_weight", self.random.normal(0, 0.05, (out, into, kernel, kernel)).astype(np.float32))
        bias = self.constant(f"{name}_bias", np.zeros(out, np.float32))
        pads = [kernel // 2] * 4
        self.nodes.append(helper.make_node("Conv", [self.rounded(value), self.rounded(weights), bias], [f"{name}_out"],
                                           f"{name}_fwd", pads=pads, strides=[stride] * 2))
        self.nodes.append(helper.make_node("Relu", [f"{name}_out"], [f"{name}_relu"], f"{name}_relu_fwd"))
        return f"{name}_relu"

    def save(self, file: Path) -> Path:
        value = self.convolution("data", "resnetv17_conv0", (64, 3), 7, 2)
        self.nodes.append(helper.make_node("MaxPool", [value], ["resnetv17_pool0_fwd"], "resnetv17_pool0_fwd",
                                           kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
        value = self.convolution("resnetv17_pool0_fwd", "resnetv17_stage1_conv0", (64, 64), 1, 1)
        value = self.convolution(value, "resnetv17_stage1_conv1", (64, 64), 3, 1)
        self.nodes.append(helper.make_node("GlobalAveragePool", [value], ["resnetv17_pool1_fwd"], "resnetv17_pool1_fwd"))
        self.nodes.append(helper.make_node("Flatten", ["resnetv17_pool1_fwd"], ["flat"], "flatten"))
        weights = self.constant("resnetv17_dense0_weight", self.random.normal(0, 0.05, (1000, 64)).astype(np.float32))
        bias = self.constant("resnetv17_dense0_bias", np.zeros(1000, np.float32))
        self.nodes.append(helper.make_node("Gemm", ["flat", weights, bias], ["resnetv17_dense0_fwd"], "resnetv17_dense0_fwd",
                                           transB=1))
        info = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "mxnet_converted_model", [info("data", TensorProto.FLOAT, ["N", 3, 224, 224])],
                                  [info("resnetv17_dense0_fwd", TensorProto.FLOAT, ["N", 1000])], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), file)
        return file


@pytest.fixture
def models(tmp_path: Path) -> Path:
    Network(False).save(tmp_path / "resnet50-v1-12.onnx")
    Network(True).save(tmp_path / "resnet50-v1-12-quantized.onnx")
    return tmp_path


def check_lines(text: str, patterns: list[str]) -> None:
    """The lines follow each other in the log, warnings of unstable times aside."""
    told = "".join(line for line in text.splitlines(keepends=True) if "] [W] " not in line)
    found = re.search("".join(f"{PREFIX}{pattern}\n" for pattern in patterns), told)
    assert found, text[-4000:]


def test_performance_of_a_model(trtexec, models: Path):
    text = trtexec(*"--onnx=resnet50-v1-12.onnx --shapes=data:4x3x224x224 --fp16 --noDataTransfers --useCudaGraph "
                   "--useSpinWait".split())
    check_lines(text, SUMMARY)


def test_performance_of_a_quantized_model(trtexec, models: Path):
    text = trtexec(*"--onnx=resnet50-v1-12-quantized.onnx --shapes=data:4x3x224x224 --stronglyTyped --noDataTransfers "
                   "--useCudaGraph --useSpinWait".split())
    check_lines(text, SUMMARY)


def test_layers_and_their_times(trtexec, models: Path):
    text = trtexec(*"--onnx=resnet50-v1-12-quantized.onnx --shapes=data:4x3x224x224 --stronglyTyped --noDataTransfers "
                   "--useCudaGraph --useSpinWait --profilingVerbosity=detailed --dumpLayerInfo --dumpProfile "
                   "--separateProfileRun --exportLayerInfo=layers.json".split())
    lines = [line for line in text.split("\n") if LAYER.fullmatch(line)]
    assert len(lines) == 1, "\n".join(line for line in text.split("\n") if "conv0_fwd" in line)
    check_lines(text, SUMMARY)
    row = r"\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+   "
    check_lines(text, [r"   Time\(ms\)     Avg.\(ms\)   Median\(ms\)   Time\(%\)   Layer", row + ".*"])
    assert re.search(PREFIX + row + "Total\n", text) and re.search(PREFIX + row + r".*resnetv17_stage1_conv0_fwd.*\n", text)
    check_schema(json.loads((models / "layers.json").read_text()))


def check_schema(info: dict) -> None:
    """Assumptions of tools that read layer information."""
    assert list(info) == ["Layers", "Bindings"] and info["Bindings"] == ["data", "resnetv17_dense0_fwd"]
    names = [layer["Name"] for layer in info["Layers"]]
    assert all(names) and len(set(names)) == len(names)
    made = {"data"}
    for layer in info["Layers"]:
        assert list(layer)[:4] == ["Name", "LayerType", "Inputs", "Outputs"]
        assert isinstance(layer["ParameterType"], str) and isinstance(layer["StreamId"], int)
        assert re.fullmatch("0x[0-9a-f]{16}", layer["TacticValue"]) and layer["TacticName"]
        assert layer["LayerType"] == "mha" or layer["LayerType"][0].isupper() and "(" not in layer["LayerType"]
        for tensor in layer["Inputs"] + layer["Outputs"]:
            assert list(tensor) == ["Name", "Location", "Dimensions", "Format/Datatype"] and tensor["Name"]
            assert all(extent > 0 for extent in tensor["Dimensions"])
        assert {tensor["Name"] for tensor in layer["Inputs"]} <= made
        made |= {tensor["Name"] for tensor in layer["Outputs"]}
        for part in ("Weights", "Bias"):
            if part in layer:
                assert layer[part]["Type"] in ("Int8", "Half", "Float", "Int32", "BFloat16")
    kinds = {layer["LayerType"]: layer for layer in info["Layers"]}
    assert kinds["CaskConvolution"]["Weights"]["Type"] == "Int8"


def test_performance_of_a_plan(trtexec, models: Path):
    trtexec("--onnx=resnet50-v1-12-quantized.onnx", "--shapes=data:4x3x224x224", "--stronglyTyped", "--skipInference",
            "--saveEngine=resnet50-v1-12-quantized.plan")
    text = trtexec(*"--loadEngine=resnet50-v1-12-quantized.plan --shapes=data:4x3x224x224 --noDataTransfers --useCudaGraph "
                   "--useSpinWait".split())
    check_lines(text, SUMMARY)
    text = trtexec(*"--loadEngine=resnet50-v1-12-quantized.plan --warmUp=50 --iterations=10 --duration=0.5".split())
    assert re.search(r"Warmup completed \d+ queries over 50 ms", text) and "Average on 10 runs" in text


def test_plans_for_profilers(trtexec, models: Path):
    (models / "foo.onnx").write_bytes((models / "resnet50-v1-12.onnx").read_bytes())
    trtexec(*"--onnx=foo.onnx --profilingVerbosity=detailed --saveEngine=foo.plan".split())
    text = trtexec(*"--profilingVerbosity=detailed --loadEngine=foo.plan --warmUp=0 --duration=0 --iterations=50".split())
    assert "Timing trace has 50 queries" in text and "profilingVerbosity has no effect" not in text
    text = trtexec(*"--profilingVerbosity=detailed --loadEngine=foo.plan --warmUp=0 --duration=0 --iterations=50 "
                   "--useCudaGraph".split())
    assert "Timing trace has 50 queries" in text


def test_contexts_give_layers_their_extents_and_profiles_their_names(trtexec, models: Path):
    build = ["--onnx=resnet50-v1-12.onnx", "--profilingVerbosity=detailed", "--profile=0", "--optShapes=data:2x3x224x224",
             "--maxShapes=data:4x3x224x224", "--minShapes=data:1x3x224x224", "--profile=1", "--minShapes=data:1x3x224x224",
             "--optShapes=data:1x3x224x224", "--maxShapes=data:8x3x224x224"]
    trtexec(*build, "--saveEngine=r.plan", "--skipInference", "--exportLayerInfo=all.json")
    info = json.loads((models / "all.json").read_text())
    count = len(info["Layers"]) // 2
    first, second = info["Layers"][:count], info["Layers"][count:]
    assert [layer["Name"] + " [profile 1]" for layer in first] == [layer["Name"] for layer in second]
    assert info["Bindings"][:2] == [name.removesuffix(" [profile 1]") for name in info["Bindings"][2:]]
    assert first[0]["Inputs"][0]["Dimensions"] == [-1, 3, 224, 224]
    trtexec("--loadEngine=r.plan", "--useProfile=1", "--shapes=data:3x3x224x224", "--exportLayerInfo=one.json")
    info = json.loads((models / "one.json").read_text())
    assert len(info["Layers"]) == count and all(layer["Name"].endswith(" [profile 1]") for layer in info["Layers"])
    assert info["Layers"][0]["Inputs"][0]["Dimensions"] == [3, 3, 224, 224]
    assert QUICK


def test_a_few_iterations_for_profilers(trtexec, models: Path):
    trtexec("--onnx=resnet50-v1-12-quantized.onnx", "--stronglyTyped", "--skipInference", "--saveEngine=alexnet_int8.plan")
    text = trtexec(*"--loadEngine=alexnet_int8.plan --warmUp=0 --duration=0 --iterations=20".split())
    assert "Timing trace has 20 queries" in text


def write_transformer(file: Path, tokens: int = 17, heads: int = 4, size: int = 16) -> Path:
    """The attention of a vision transformer, its products quantized."""
    random, width = np.random.default_rng(2), heads * size
    weights = [numpy_helper.from_array(np.float32(0.05), "scale"), numpy_helper.from_array(np.int8(0), "zero")]
    nodes = []

    def constant(name: str, values) -> str:
        weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def node(op: str, *inputs: str, **attributes) -> str:
        nodes.append(helper.make_node(op, inputs, [f"{op}_{len(nodes)}"], f"block_{op}_{len(nodes)}", **attributes))
        return nodes[-1].output[0]

    def rounded(value: str) -> str:
        return node("DequantizeLinear", node("QuantizeLinear", value, "scale", "zero"), "scale", "zero")

    def product(value: str, name: str) -> str:
        matrix = constant(name, random.normal(0, 0.1, (width, width)).astype(np.float32))
        return node("MatMul", rounded(value), rounded(matrix))

    apart, together = constant("apart", np.int64([0, 0, heads, size])), constant("together", np.int64([0, 0, width]))
    q, k, v = (node("Reshape", product("x", name), apart) for name in "qkv")
    q, v, k = node("Transpose", q, perm=[0, 2, 1, 3]), node("Transpose", v, perm=[0, 2, 1, 3]), node("Transpose", k, perm=[0, 2, 3, 1])
    scores = node("Div", node("MatMul", q, k), constant("root", np.float32(size ** 0.5)))
    mixed = node("MatMul", node("Softmax", scores, axis=-1), v)
    joined = node("Reshape", node("Transpose", mixed, perm=[0, 2, 1, 3]), together)
    nodes.append(helper.make_node("Add", [product(joined, "out"), "x"], ["y"], "block_sum"))
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "vit", [info("x", TensorProto.FLOAT, [1, tokens, width])],
                              [info("y", TensorProto.FLOAT, [1, tokens, width])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    return file


# Each command line of the guide, in its order, as a reader types it, and what its output has to show; a profiler in front
# is left out, and the first plan of the quantized model is saved for the lines that load it.
SHOWN = {"summary": SUMMARY, "layers": [r"   Time\(ms\)     Avg.\(ms\)   Median\(ms\)   Time\(%\)   Layer"]}
GUIDE = [
    ("trtexec --onnx=resnet50-v1-12.onnx --shapes=data:4x3x224x224 --fp16 --noDataTransfers --useCudaGraph --useSpinWait",
     "summary"),
    ("trtexec --onnx=resnet50-v1-12-quantized.onnx --shapes=data:4x3x224x224 --stronglyTyped --noDataTransfers --useCudaGraph "
     "--useSpinWait", "summary"),
    ("trtexec --onnx=resnet50-v1-12-quantized.onnx --shapes=data:4x3x224x224 --stronglyTyped --noDataTransfers --useCudaGraph "
     "--useSpinWait --profilingVerbosity=detailed --dumpLayerInfo --dumpProfile --separateProfileRun", "layers"),
    ("trtexec --loadEngine=resnet50-v1-12-quantized.plan --shapes=data:4x3x224x224 --noDataTransfers --useCudaGraph "
     "--useSpinWait", "summary"),
    ("trtexec --onnx=foo.onnx --profilingVerbosity=detailed --saveEngine=foo.plan", ""),
    ("trtexec --profilingVerbosity=detailed --loadEngine=foo.plan --warmUp=0 --duration=0 --iterations=50", "50 queries"),
    ("trtexec --profilingVerbosity=detailed --loadEngine=foo.plan --warmUp=0 --duration=0 --iterations=50 --useCudaGraph",
     "50 queries"),
    ("trtexec --loadEngine=alexnet_int8.plan --warmUp=0 --duration=0 --iterations=20", "20 queries"),
    ("trtexec --onnx=vit_base_patch8_224_Opset17.quant.onnx --saveEngine=vit_base_patch8_224_Opset17.engine --stronglyTyped "
     "--skipInference --profilingVerbosity=detailed", ""),
    ("trtexec --loadEngine=vit_base_patch8_224_Opset17.engine --useCudaGraph --noDataTransfers --useSpinWait", "summary"),
    ("trtexec --loadEngine=vit_base_patch8_224_Opset17.engine --profilingVerbosity=detailed --dumpLayerInfo --skipInference",
     "LayerType: mha"),
]


def has_gpu() -> bool:
    listing = shutil.which("nvidia-smi")
    return bool(listing) and "GPU 0" in subprocess.run([listing, "-L"], capture_output=True, text=True).stdout


@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.skipif(not has_gpu(), reason="no NVIDIA GPU"))])
def test_every_line_runs_as_it_stands(pytestconfig, models: Path, device: str):
    """Nothing added, with the default three seconds; on the GPU, and as on a machine without one."""
    programs = Path(pytestconfig.getoption("build")).resolve() / "bin"
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    if device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = "-1"

    def typed(line: str) -> str:
        done = subprocess.run(shlex.split(line), capture_output=True, text=True, cwd=models, timeout=120, env=environment,
                              stdin=subprocess.DEVNULL)
        text = done.stdout + done.stderr
        assert ("Note: no GPU is used" in text) == (device == "cpu"), text[:6000]
        assert done.returncode == 0 and "&&&& PASSED TensorRT.trtexec" in text, f"{line}\n{text[-4000:]}"
        return text

    (models / "foo.onnx").write_bytes((models / "resnet50-v1-12.onnx").read_bytes())
    write_transformer(models / "vit_base_patch8_224_Opset17.quant.onnx")
    for plan in ("resnet50-v1-12-quantized.plan", "alexnet_int8.plan"):
        shapes = "--shapes=data:4x3x224x224" if plan.startswith("resnet") else ""
        typed(f"trtexec --onnx=resnet50-v1-12-quantized.onnx {shapes} --stronglyTyped --skipInference --saveEngine={plan}")
    for line, shown in GUIDE:
        text = typed(line)
        if shown in SHOWN:
            check_lines(text, SHOWN[shown])
        assert shown in SHOWN or shown in text, f"{line}\n{text[-4000:]}"
