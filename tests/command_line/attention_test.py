"""The workflow of a quantized vision transformer: built once without running, run from the file, looked at for `mha`."""
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

TOKENS, HEADS = 5, 2


class Block:
    """Attention over packed queries, keys and values, as tools for quantization leave it."""

    def __init__(self, size: int, byte: int | None, casts: int | None = None):
        self.size, self.byte, self.casts = size, byte, casts
        self.nodes, self.constants = [], []

    def add(self, op: str, *inputs: str, **attributes) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def constant(self, values, data_type: int) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(values)
        self.constants.append(helper.make_tensor(name, data_type, array.shape, array.flatten().tolist()))
        return name

    def rounded(self, x: str, scale: float) -> str:
        """Through bytes and back, and into f32 where products are to accumulate there."""
        if self.byte is not None:
            operands = self.constant(scale, TensorProto.FLOAT), self.constant(0, self.byte)
            x = self.add("DequantizeLinear", self.add("QuantizeLinear", x, *operands), *operands)
        return x if self.casts is None else self.add("Cast", x, to=TensorProto.FLOAT)

    def product(self, a: str, b: str) -> str:
        y = self.add("MatMul", a, b)
        return y if self.casts is None else self.add("Cast", y, to=self.casts)

    def model(self, file: Path) -> Path:
        kind = self.casts or TensorProto.FLOAT
        shape = [1, HEADS, TOKENS, self.size]
        k = self.add("Transpose", self.rounded("k", 0.02), perm=[0, 1, 3, 2])
        scores = self.product(self.rounded("q", 0.02), k)
        scores = self.add("Mul", scores, self.constant(self.size ** -0.5, kind))
        weights = self.add("Softmax", scores, axis=-1)
        y = self.product(self.rounded(weights, 0.0078125), self.rounded("v", 0.02))
        value = helper.make_tensor_value_info
        self.nodes.append(helper.make_node("Identity", [y], ["y"], "out"))
        graph = helper.make_graph(self.nodes, "block", [value(n, kind, shape) for n in "qkv"], [value("y", kind, shape)],
                                  self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), file)
        return file


def run_workflow(trtexec, folder: Path, block: Block) -> list[dict]:
    """Build, run, look at: the layers that the last one prints."""
    model = block.model(folder / "block.onnx")
    text = trtexec(f"--onnx={model}", "--saveEngine=block.engine", "--stronglyTyped", "--skipInference",
                   "--profilingVerbosity=detailed")
    assert "Skipped inference" in text and "Throughput" not in text
    text = trtexec("--loadEngine=block.engine", "--useCudaGraph", "--noDataTransfers", "--useSpinWait")
    assert "Throughput" in text
    text = trtexec("--loadEngine=block.engine", "--profilingVerbosity=detailed", "--dumpLayerInfo",
                   "--exportLayerInfo=layers.json", "--skipInference")
    assert "Throughput" not in text and "LayerType: mha, " in text
    return json.loads((folder / "layers.json").read_text())["Layers"]


@pytest.mark.parametrize("byte", [TensorProto.INT8, TensorProto.FLOAT8E4M3FN, None], ids=["int8", "fp8", "plain"])
@pytest.mark.parametrize("size", [32, 20], ids=["heads of 32", "heads of 20"])
def test_attention_is_found_in_the_saved_engine(trtexec, tmp_path: Path, byte, size: int):
    """Heads of no multiple of 16 elements too: with bytes around or without."""
    kinds = [layer["LayerType"] for layer in run_workflow(trtexec, tmp_path, Block(size, byte))]
    assert kinds.count("mha") == 1 and not {"CudaSoftMax", "MatrixMultiply"} & set(kinds), kinds


def test_accumulation_in_f32_by_casts(trtexec, tmp_path: Path):
    """Casts around both products leave attention of 16 bits, whose kernels accumulate in f32."""
    layers = run_workflow(trtexec, tmp_path, Block(32, None, TensorProto.BFLOAT16))
    attention = [layer for layer in layers if layer["LayerType"] == "mha"]
    assert len(attention) == 1, layers
    assert all("BFloat16" in tensor["Format/Datatype"] for tensor in attention[0]["Inputs"] + attention[0]["Outputs"])
