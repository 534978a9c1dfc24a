"""tenon debug precision: the layers that must stay in high precision, as rounding, plans and a command judge them."""
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from commands_test import CPU, columns, tenon  # noqa: F401
from onnx import TensorProto, helper, numpy_helper

SIZE = 16


class Model:
    """A chain of layers over [8,16], each by its name."""

    def __init__(self):
        self.nodes, self.weights, self.last = [], [], "x"
        self.random = np.random.default_rng(0)

    def weight(self, name: str, values) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def layer(self, kind: str, name: str, *operands: str, **attributes) -> "Model":
        self.nodes.append(helper.make_node(kind, [self.last, *operands], [f"{name}_out"], name, **attributes))
        self.last = f"{name}_out"
        return self

    def number(self, kind: str, name: str, value: float) -> "Model":
        return self.layer(kind, name, self.weight(f"{name}_number", np.float32(value)))

    def product(self, name: str, weights: np.ndarray | None = None) -> "Model":
        if weights is None:
            weights = self.random.normal(0, 0.25, (SIZE, SIZE))
        return self.layer("MatMul", name, self.weight(f"{name}_w", weights.astype(np.float32)))

    def quantized_product(self, name: str, scale: float) -> "Model":
        """Between pairs; the activations' has this scale."""
        s, zero = self.weight(f"{name}_s", np.float32(scale)), self.weight(f"{name}_z", np.int8(0))
        self.layer("QuantizeLinear", f"{name}_q", s, zero).layer("DequantizeLinear", f"{name}_dq", s, zero)
        self.weight(f"{name}_w8", self.random.integers(-127, 127, (SIZE, SIZE)).astype(np.int8))
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_w8", self.weight(f"{name}_ws", np.float32(0.004)), f"{name}_z"],
                                           [f"{name}_w"], f"{name}_wdq"))
        return self.layer("MatMul", name, f"{name}_w")

    def save(self, path: Path) -> Path:
        value = helper.make_tensor_value_info
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "g", [value("x", TensorProto.FLOAT, [8, SIZE])], [value("y", TensorProto.FLOAT, [8, SIZE])],
                                  self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
        return path


def overflowing(path: Path) -> Path:
    """One layer's numbers are beyond FP16's."""
    model = Model()
    for i in range(3):
        model.product(f"before{i}").layer("Relu", f"relu{i}")
    model.number("Mul", "grows", 1e6).number("Mul", "shrinks", 1e-6)
    for i in range(3):
        model.product(f"behind{i}").layer("Relu", f"again{i}")
    return model.save(path)


def cancelling(path: Path) -> Path:
    """Of the fourth product nothing is left in 8 bits of mantissa: its columns sum to 0, and its rows are near 1000."""
    model = Model()
    for i in range(3):
        model.product(f"before{i}")
    zero_sum = model.random.normal(0, 0.25, (SIZE, SIZE))
    # A rectifier between them, since a sum goes into the bias of a product right behind it.
    model.number("Add", "shift", 1000).layer("Relu", "positive").product("cancels", zero_sum - zero_sum.mean(0))
    for i in range(3):
        model.product(f"behind{i}")
    return model.save(path)


def quantized(path: Path, coarse: float = 5.0) -> Path:
    """The scale of the third product is too coarse."""
    model = Model()
    for i, scale in enumerate([0.01, 0.01, coarse, 0.02]):
        model.quantized_product(f"product{i}", scale)
    return model.save(path)


def kept(text: str) -> list[str]:
    """The names of the table."""
    table = re.search(r"Layers that must stay in fp(?:32|16)\n  layer.*\n((?:  .+\n)+)", text)
    return [line.split()[0] for line in table[1].splitlines()]


def distances(text: str) -> dict[str, float]:
    return {name: float(number) for name, number in re.findall(r"^  (no layer|\d+ layers?|all layers) in fp32 +(\S+)$", text, re.M)}


def test_numbers_beyond_half_precision(tenon, tmp_path: Path):
    overflowing(tmp_path / "model.onnx")
    text = tenon("debug", "precision", "model.onnx", "--fp16", *CPU)
    assert "evaluated on the CPU without builds" in text and columns(text.split("Next")[0]) <= 100
    assert kept(text) == ["grows", "shrinks"]
    assert "--fp16 --device=-1 --precisionConstraints=obey --layerPrecisions=grows:fp32,shrinks:fp32" in text
    found = distances(text)
    assert found["no layer"] > 0.5 and found["2 layers"] < 0.01 and found["all layers"] == 0
    assert "all 14 layers may compute in bf16" in tenon("debug", "precision", "model.onnx", "--bf16", "--by=rounding", *CPU)


def test_plans_of_the_device(tenon, tmp_path: Path):
    cancelling(tmp_path / "model.onnx")
    text = tenon("debug", "precision", "model.onnx", "--bf16", "--tolerance=0.02", "-o", "mixed.plan", *CPU)
    assert "cancels" in kept(text) and set(kept(text)) <= {"before2", "shift", "positive", "cancels"}  # The sum may be a part of the product ahead of it.
    [precisions] = re.findall(r"--layerPrecisions=\S+", text)
    compare = ["compare", "model.onnx", "reference", "--bf16", "--tolerance=0.02", *CPU]
    tenon(*compare, status=5)
    tenon(*compare, "--precisionConstraints=obey", precisions)
    tenon("compare", "mixed.plan", "reference", "--model=model.onnx", "--tolerance=0.02", *CPU)
    assert not (tmp_path / "tenon_debug.plan").exists()


@pytest.mark.parametrize("mode", ["bisect", "linear"])
def test_layers_from_one_end(tenon, tmp_path: Path, mode: str):
    overflowing(tmp_path / "model.onnx")
    all_layers = [node.name for node in onnx.load(tmp_path / "model.onnx").graph.node]
    words = ["debug", "precision", "model.onnx", "--fp16", f"--mode={mode}", *CPU]
    assert kept(tenon(*words)) == all_layers[:8]
    assert kept(tenon(*words, "--dir=reverse")) == all_layers[6:]


def test_quantized_models_lose_the_pairs_of_kept_layers(tenon, tmp_path: Path):
    quantized(tmp_path / "model.onnx")
    text = tenon("debug", "precision", "model.onnx", "--int8", "--max-drop=0.1", *CPU)
    assert kept(text) == ["product2"] and "tenon quantize MODEL --nodes_to_exclude=product2" in text
    assert distances(text)["no layer"] > 0.5 > 0.1 > distances(text)["1 layer"]
    text = tenon("debug", "precision", "model.onnx", "--int8", "--stronglyTyped", "--max-drop=0.1", *CPU)
    assert kept(text) == ["product2"]


def test_ranges_that_clip(tenon, tmp_path: Path):
    """Implicit quantization: of a tensor with a range a hundredth of its numbers."""
    model = Model()
    for i in range(4):
        model.product(f"product{i}")
    model.save(tmp_path / "model.onnx")
    ranges = {"x": 1, "product0_out": 0.02, "product1_out": 3, "product2_out": 4, "y": 4}
    cache = "".join(f"{name}: {np.float32(r / 127).view(np.uint32):08x}\n" for name, r in ranges.items())
    (tmp_path / "ranges.cache").write_text("TRT-101600-MinMaxCalibration\n" + cache)
    text = tenon("debug", "precision", "model.onnx", "--int8", "--calib=ranges.cache", *CPU)
    assert kept(text) == ["product1"]
    assert "--int8 --calib=ranges.cache --device=-1 --precisionConstraints=obey --layerPrecisions=product1:fp32" in text


def test_a_check_command(tenon, tmp_path: Path):
    cancelling(tmp_path / "model.onnx")
    tenon("build", "model.onnx", "-o", "exact.plan", *CPU)
    check = f"echo checked >> log; {tenon.program} compare tenon_debug.plan exact.plan --tolerance=0.02 --device=-1"
    text = tenon("debug", "precision", "model.onnx", "--bf16", "--hide-fail-output", *CPU, f"--check={check}")
    assert "cancels" in kept(text) and "distance" not in text
    trials = re.findall(r"^ +(\d+) +\d+ of \d+  (?:passes|fails)$", text, re.M)
    assert len((tmp_path / "log").read_text().split()) == len(trials) > 3
    assert not (tmp_path / "tenon_debug.plan").exists()


@pytest.mark.parametrize("flags, status, passes", [
    ([], 0, True), ([], 3, False), (["--fail-code=4"], 3, True), (["--fail-code=3,4"], 3, False), (["--ignore-fail-code=3"], 3, True),
    (["--fail-regex=wro+ng"], 0, False), (["--fail-regex=good"], 3, True), (["--fail-code=3", "--fail-regex=good"], 3, True)])
def test_what_a_check_commands_end_means(tenon, tmp_path: Path, flags: list[str], status: int, passes: bool):
    """As in Polygraphy. A command that always fails is not about precision."""
    overflowing(tmp_path / "model.onnx")
    (tmp_path / "check.sh").write_text(f"test -s other.plan && echo wrong >&2; exit {status}\n")
    words = ["debug", "precision", "model.onnx", "--bf16", "--iter-artifact=other.plan", *flags, *CPU, "--check", "sh", "check.sh"]
    text = tenon(*words, status=0 if passes else 5)
    assert ("may compute in bf16" in text) == passes and ("E-504" in text) != passes
    assert ("wrong" in text) != passes and not (tmp_path / "other.plan").exists()


def test_against_the_model_before_it_was_quantized(tenon, tmp_path: Path):
    quantized(tmp_path / "model.onnx", coarse=0.02)
    overflowing(tmp_path / "other.onnx")
    assert "may compute in int8" in tenon("debug", "precision", "model.onnx", "--int8", *CPU)
    text = tenon("debug", "precision", "model.onnx", "--int8", "--against=other.onnx", *CPU, status=5)
    assert "E-504" in text and "all 4 layers in fp32" in text


@pytest.mark.parametrize("words, error", [
    (["precision", "model.onnx"], "E-107"), (["accuracy", "model.onnx", "--fp16"], "E-100"),
    (["precision", "model.onnx", "--fp16", "--mode=random"], "E-104"), (["precision", "model.onnx", "--fp16", "-p", "float16"], "E-107"),
    (["precision", "model.onnx", "--int8", "--by=rounding"], "E-105"), (["precision", "model.onnx", "--fp16", "--by=rounding", "-o", "p"], "E-105"),
    (["precision", "model.onnx", "--fp16", "--tolerance=1", "--max-drop=1"], "E-105"),
    (["precision", "model.onnx", "--bf16", "--check", "no_such_program"], "E-115"),
    (["precision", "model.onnx", "--bf16", "--fail-regex=(", "--check", "true"], "E-104"),
    (["precision", "model.onnx", "--bf16", "--fail-code=x", "--check", "true"], "E-104")])
def test_requests_that_are_refused(tenon, tmp_path: Path, words: list[str], error: str):
    overflowing(tmp_path / "model.onnx")
    assert error in tenon("debug", *words, status=1)
