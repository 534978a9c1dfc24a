"""`tenon optimize`: what it writes is valid, and ONNX Runtime computes the same from it as from the model. Run by ctest, or:
pytest tests/command_line/optimize_test.py --build build/release [--every]     --every: all of ONNX's own node tests"""
import re
import subprocess
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
         "tensor(bool)": np.bool_, "tensor(double)": np.float64}
TOLERANCE = 1e-4  # Of FP32: sums in another order.

# Node tests whose optimized graphs have no form in ONNX, each with the reason that the command gives.
NO_FORM = {
    **{f"test_center_crop_pad_{kind}_expanded": "is that of no tensor ahead of it"
       for kind in ("crop", "pad", "crop_and_pad", "crop_axes_hwc", "crop_negative_axes_hwc", "crop_axes_chw")},
}
# What ONNX Runtime lacks for the operators that a graph became.
NOT_THERE = {
    "test_ai_onnx_ml_tree_ensemble_set_membership": "Where of bytes",
    **{f"test_{name}": "Conv of doubles, which sums of bytes are" for name in ("convinteger_without_padding", "convinteger_with_padding",
                                                                             "qlinearconv")},
}
# Optimized graphs that compute otherwise, each with the reason.
DIFFERENT = {f"test_mod_float_edge_cases_fmod_0_float{bits}": "x mod an infinity: ONNX has no such operator before opset 28"
             for bits in (16, 32, 64)}


@pytest.fixture
def optimize(pytestconfig, tmp_path: Path):
    program = Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"

    def run(model: Path, *flags: str, status: int | None = 0) -> Path:
        out = tmp_path / f"{Path(model).stem}.out.onnx"
        done = subprocess.run([program, "optimize", model, "-o", out, "--device=-1", *flags], capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        run.text, run.status = done.stdout + done.stderr, done.returncode
        assert status is None or done.returncode == status, run.text
        return out

    return run


def session_of(model: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def shape_model(path: Path) -> Path:
    """Numbers that are extents in a matrix, and extents that data decide."""
    value = helper.make_tensor_value_info
    integers = {"zero": [0], "one": [1], "minus": [-1]}
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["rows"]),
             helper.make_node("Sub", ["rows", "one"], ["last"]), helper.make_node("Unsqueeze", ["last", "one"], ["at"]),
             helper.make_node("ReduceMax", ["x", "zero"], ["most"]), helper.make_node("ScatterND", ["x", "at", "most"], ["y"]),
             helper.make_node("NonZero", ["x"], ["places"]), helper.make_node("Transpose", ["places"], ["turned"], perm=[1, 0]),
             helper.make_node("GatherND", ["x", "turned"], ["found"]), helper.make_node("Unsqueeze", ["found", "one"], ["z"])]
    graph = helper.make_graph(nodes, "extents", [value("x", TensorProto.FLOAT, ["rows", 3])],
                              [value("y", TensorProto.FLOAT, ["rows", 3]), value("z", TensorProto.FLOAT, [None, 1])],
                              [numpy_helper.from_array(np.array(numbers, np.int64), name) for name, numbers in integers.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def test_numbers_of_extents_keep_their_shape_and_follow_their_tensors(optimize, tmp_path: Path):
    model = shape_model(tmp_path / "extents.onnx")
    assert_same(model, optimize(model, "--minShapes=x:1x3", "--optShapes=x:2x3", "--maxShapes=x:5x3"), 5)


def draw(session: onnxruntime.InferenceSession, extents: int = 2) -> dict:
    generator = np.random.default_rng(1)
    values = {}
    for value in session.get_inputs():
        shape = [extent if isinstance(extent, int) else extents for extent in value.shape]
        kind = TYPES[value.type]
        values[value.name] = (generator.integers(0, 50, shape) if np.issubdtype(kind, np.integer)
                              else generator.standard_normal(shape)).astype(kind)
    return values


def assert_same(model: Path, optimized: Path, extents: int = 2):
    before, after = session_of(model), session_of(optimized)
    assert [v.name for v in after.get_inputs()] == [v.name for v in before.get_inputs()]
    assert [v.name for v in after.get_outputs()] == [v.name for v in before.get_outputs()]
    values = draw(before, extents)
    for x, y in zip(before.run(None, values), after.run(None, values)):
        assert x.dtype == y.dtype and x.shape == y.shape
        assert np.abs(x - y).max() <= TOLERANCE * max(1, np.abs(x).max())


def write_two_convolutions(file: Path) -> Path:
    value = helper.make_tensor_value_info
    weights = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3)}
    generator = np.random.default_rng(0)
    nodes = [helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "first", pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["c1"], ["r1"], "relu"),
             helper.make_node("Conv", ["r1", "w2"], ["c2"], "second", pads=[1, 1, 1, 1]),
             helper.make_node("Add", ["c2", "r1"], ["sum"], "sum"),
             helper.make_node("Clip", ["sum", "low", "high"], ["y"], "clip")]
    tensors = [numpy_helper.from_array(generator.standard_normal(s).astype(np.float32), n) for n, s in weights.items()]
    tensors += [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in (("low", 0), ("high", 6))]
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ["batch", 3, 16, 16])],
                              [value("y", TensorProto.FLOAT, ["batch", 8, 16, 16])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def test_regions_are_functions_named_after_them(optimize, tmp_path: Path):
    model = write_two_convolutions(tmp_path / "two.onnx")
    out = optimize(model)
    written = onnx.load(out)
    onnx.checker.check_model(written, full_check=True)
    assert {f.name for f in written.functions} == {"first_relu", "second_sum_clip"}
    assert {n.name for n in written.graph.node if n.domain == "tenon"} == {"first + relu", "second + sum + clip"}
    assert_same(model, out, extents=1)
    assert_same(model, out, extents=3)  # The batch stayed open.
    assert "fused regions" in optimize.text and "netron" in optimize.text


def test_gated_products_are_products_and_halves(optimize, tmp_path: Path):
    value, generator = helper.make_tensor_value_info, np.random.default_rng(2)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["both"], "both"),
             helper.make_node("Split", ["both"], ["a", "b"], "halves", axis=-1, num_outputs=2),
             helper.make_node("Sigmoid", ["a"], ["s"], "sigmoid"), helper.make_node("Mul", ["a", "s"], ["silu"], "silu"),
             helper.make_node("Mul", ["silu", "b"], ["y"], "gate")]
    weights = numpy_helper.from_array(generator.standard_normal((16, 40)).astype(np.float32), "w")
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ["batch", 16])],
                              [value("y", TensorProto.FLOAT, ["batch", 20])], [weights])
    model = tmp_path / "gated.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    out = optimize(model)
    assert {n.op_type for n in onnx.load(out).graph.node} == {"both_gate"}
    assert_same(model, out, extents=3)


def test_flags_decide_about_passes_and_extents(optimize, tmp_path: Path):
    model = write_two_convolutions(tmp_path / "two.onnx")
    out = optimize(model, "--disablePass=fuse_epilogue,fuse_pointwise", "--shapes=x:4x3x16x16")
    written = onnx.load(out)
    assert not written.functions
    assert [d.dim_value for d in written.graph.input[0].type.tensor_type.shape.dim] == [4, 3, 16, 16]
    assert_same(model, out, extents=4)


def test_the_result_is_a_model_of_ours_too(optimize, tmp_path: Path):
    model = write_two_convolutions(tmp_path / "two.onnx")
    again = optimize(optimize(model))
    assert_same(model, again)


@pytest.mark.parametrize("activation", ["Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "Softplus", "ThresholdedRelu"])
def test_activations_of_recurrences_are_spelled_as_onnx_does(optimize, tmp_path: Path, activation: str):
    value = helper.make_tensor_value_info
    weights = [numpy_helper.from_array(np.full(shape, 0.25, np.float32), name) for name, shape in (("w", (1, 4, 3)), ("r", (1, 4, 4)))]
    node = helper.make_node("RNN", ["x", "w", "r"], ["y"], hidden_size=4, activations=[activation.lower()], activation_alpha=[0.5],
                            activation_beta=[0.25])
    graph = helper.make_graph([node], "g", [value("x", TensorProto.FLOAT, [5, 2, 3])], [value("y", TensorProto.FLOAT, [5, 1, 2, 4])],
                              weights)
    model = tmp_path / "rnn.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), model)
    [written] = onnx.load(optimize(model)).graph.node
    assert [a.strings for a in written.attribute if a.name == "activations"] == [[activation.encode()]]


def test_a_missing_model_is_named(optimize, tmp_path: Path):
    optimize(tmp_path / "no.onnx", status=2)
    assert "E-201" in optimize.text


class Chain:
    """A model of nodes behind each other, over f32."""

    def __init__(self, extents: list[int]):
        self.nodes, self.weights, self.last, self.extents, self.random = [], [], "x", extents, np.random.default_rng(0)

    def constant(self, values: np.ndarray, type: int | None = None) -> str:
        name = f"k{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(values, name) if type is None
                            else helper.make_tensor(name, type, values.shape, values.flatten().tolist()))
        return name

    def reals(self, *extents: int) -> str:
        return self.constant(self.random.normal(0, 0.3, extents).astype(np.float32))

    def node(self, kind: str, *operands: str, outputs: int = 1, **attributes) -> list[str]:
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(operands), names, f"n{len(self.nodes)}", **attributes))
        self.last = names[0]
        return names

    def then(self, kind: str, *operands: str, **attributes) -> "Chain":
        self.node(kind, self.last, *operands, **attributes)
        return self

    def save(self, path: Path, opset: int) -> Path:
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "g", [value("x", TensorProto.FLOAT, self.extents)], [value(self.last, TensorProto.FLOAT, None)],
                                  self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return path


def brain_convolutions() -> Chain:
    chain = Chain([1, 3, 16, 16])
    chain.then("Conv", chain.reals(8, 3, 3, 3), pads=[1] * 4).then("Softplus").then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    chain.then("ConvTranspose", chain.reals(8, 4, 2, 2), strides=[2, 2]).then("Elu").then("AveragePool", kernel_shape=[2, 2])
    return chain.then("InstanceNormalization", chain.reals(4), chain.reals(4)).then("HardSwish").then("GlobalAveragePool")


def brain_functions() -> Chain:
    chain = Chain([4, 32])
    for kind in ("Mish", "Softsign", "Round", "Atan", "Selu", "HardSigmoid"):
        chain.then("MatMul", chain.reals(32, 32)).then(kind)
    return chain


def brain_recurrence() -> Chain:
    chain = Chain([5, 2, 16])
    return chain.then("LSTM", chain.reals(1, 64, 16), chain.reals(1, 64, 16), hidden_size=16)


def small_numbers(type: int) -> Chain:
    """Rounded numbers, joined, cut and gathered: passes have all that on bytes, behind which these are dequantized."""
    chain = Chain([4, 8])
    scale, zero = chain.constant(np.float32(0.05)), chain.constant(np.zeros(()), type)
    halves = []
    for weights in (chain.reals(8, 8), chain.reals(8, 8)):
        chain.last = "x"
        chain.then("MatMul", weights).then("QuantizeLinear", scale, zero).then("DequantizeLinear", scale, zero)
        halves.append(chain.last)
    chain.last = chain.node("Concat", *halves, axis=1)[0]
    chain.then("Slice", chain.constant(np.array([1])), chain.constant(np.array([15])), chain.constant(np.array([1])))
    chain.then("Gather", chain.constant(np.array([3, 1, 2])), axis=0).then("Transpose", perm=[1, 0])
    chain.last = chain.node("Split", chain.last, outputs=2, axis=0, num_outputs=2)[1]
    return chain.then("MatMul", chain.reals(3, 5))


def small_weights(type: int) -> Chain:
    """Weights of a few bits in two parts."""
    chain = Chain([4, 16])
    low, high = (0, 15) if type == TensorProto.UINT4 else (-7, 7)
    scale, zero = chain.constant(np.full(24, 0.1, np.float32)), chain.constant(np.zeros(24), type)
    parts = []
    for _ in range(2):
        numbers = chain.constant(chain.random.integers(low, high, (8, 24)), type)
        parts += chain.node("DequantizeLinear", numbers, scale, zero, axis=1)
    [weights] = chain.node("Concat", *parts, axis=0)
    chain.last = "x"
    return chain.then("MatMul", weights)


CHECKED = {
    "bf16 convolutions": (brain_convolutions, 18, ["--bf16"]), "bf16 functions": (brain_functions, 18, ["--bf16"]),
    "bf16 recurrence": (brain_recurrence, 18, ["--bf16"]), "bf16 unfused": (brain_convolutions, 18, ["--bf16", "--noFuse=*"]),
    "fp16": (brain_convolutions, 18, ["--fp16"]),
    **{f"{name} {flags or 'all passes'}": (lambda type=type: small_numbers(type), 21, flags.split())
       for name, type in (("e4m3", TensorProto.FLOAT8E4M3FN), ("e5m2", TensorProto.FLOAT8E5M2), ("int4", TensorProto.INT4))
       for flags in ("", "--disablePass=sink_dequantize", "--bf16")},
    **{f"weights of {name} {flags or 'all passes'}": (lambda type=type: small_weights(type), 21, flags.split())
       for name, type in (("int4", TensorProto.INT4), ("uint4", TensorProto.UINT4))
       for flags in ("", "--disablePass=fold_constants,sink_dequantize,unpack_weights")},
}


@pytest.mark.parametrize("name", CHECKED)
def test_the_result_is_valid_onnx(optimize, tmp_path: Path, name: str):
    """Types are in operators that take them, in the model's opset."""
    make, opset, flags = CHECKED[name]
    model = make().save(tmp_path / "m.onnx", opset)
    onnx.checker.check_model(onnx.load(model), full_check=True)
    out = optimize(model, *flags)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    has_brain = "--bf16" in flags or "--fp16" in flags  # FP16 is BF16 on CPUs.
    [version] = {entry.version for entry in onnx.load(out).opset_import if entry.domain == ""}
    assert version == (22 if name.startswith(("bf16", "fp16")) else 21)
    if not has_brain:
        assert_same(model, out)


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v3_large", "unet_block", "lstm_tagger", "yolo_s"])
@pytest.mark.parametrize("flag", ["--bf16", "--fp16"])
def test_whole_models_are_valid_onnx(optimize, pytestconfig, name: str, flag: str):
    folder = Path(pytestconfig.getoption("build")).resolve().parent / "models"
    if not (folder / f"{name}.onnx").exists():
        pytest.skip(f"{folder} has no {name}")
    onnx.checker.check_model(onnx.load(optimize(folder / f"{name}.onnx", flag)), full_check=True)


def test_opsets_of_brain_floats_are_those_of_the_schemas():
    """The table of src/onnx/export_types.cpp."""
    source = (Path(__file__).resolve().parents[2] / "src/onnx/export_types.cpp").read_text()
    table = {name: int(opset) for name, opset in re.findall(r'{"(\w+)", (\d+)}', source)}
    first, usual = {}, set()
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain or schema.deprecated or not (schema.inputs or schema.outputs):
            continue
        operands = [schema.outputs[0]] if schema.name == "OneHot" or not schema.inputs else [schema.inputs[0]]
        if "tensor(bfloat16)" not in operands[0].types:
            continue
        first[schema.name] = min(first.get(schema.name, 99), schema.since_version)
    usual = {name for name, opset in first.items() if opset <= 21}
    assert {name: first[name] for name in table} == table and not usual & set(table)
    assert {name for name, opset in first.items() if opset == 22} == {name for name, opset in table.items() if opset == 22}


@pytest.mark.parametrize("name", ["dlrm", "lstm_tagger", "mobilenet_v3_large", "resnet18", "unet_block", "yolo_s"])
def test_whole_models_compute_the_same(optimize, pytestconfig, name: str):
    folder = Path(pytestconfig.getoption("build")).resolve().parent / "models"
    if not (folder / f"{name}.onnx").exists():
        pytest.skip(f"{folder} has no {name}")
    assert_same(folder / f"{name}.onnx", optimize(folder / f"{name}.onnx"), extents=1)


def node_cases(every: bool) -> list:
    """ONNX's node tests: all, or the first of each operator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    if every:
        return found
    first = {}
    for case in found:
        first.setdefault(case.model.graph.node[-1].op_type, case)
    return list(first.values())


def pytest_generate_tests(metafunc):
    if "case" in metafunc.fixturenames:
        found = node_cases(metafunc.config.getoption("every"))
        metafunc.parametrize("case", found, ids=[case.name for case in found])


def runs(model: Path) -> bool:
    try:
        session_of(model)
    except Exception:  # noqa: BLE001: whatever keeps ONNX Runtime from it
        return False
    return True


def has_arrays(case) -> bool:
    values = [value for given, expected in case.data_sets for value in (*given, *expected)]
    return "bf" not in case.name and not any(value is None or isinstance(value, (list, onnx.TensorProto)) for value in values)


def run_with(session: onnxruntime.InferenceSession, values: dict) -> list:
    """Inputs in the session's own types: parsers of the surface read doubles as floats."""
    wanted = {value.name: TYPES.get(value.type) for value in session.get_inputs()}
    return session.run(None, {name: np.asarray(value, wanted[name]) for name, value in values.items() if name in wanted})


def are_close(case, expected: list, found: list) -> bool:
    return all(np.asarray(x).shape == y.shape and np.allclose(np.asarray(x).astype(np.float64), y.astype(np.float64), equal_nan=True,
                                                             rtol=max(case.rtol, 1e-3), atol=max(case.atol, 1e-4))
               for x, y in zip(expected, found))


def is_random(case) -> bool:
    return any(word in case.name for word in ("bernoulli", "training_dropout", "random"))


def test_nodes_compute_the_same(optimize, tmp_path: Path, case):
    model = tmp_path / "case.onnx"
    onnx.save(case.model, model)
    out = optimize(model, status=None)
    if optimize.status == 2:
        pytest.skip("the model is not imported")
    if case.name in NO_FORM:
        assert optimize.status == 3 and NO_FORM[case.name] in " ".join(optimize.text.split())
        return
    assert optimize.status == 0, optimize.text
    if not runs(out):
        assert case.name in NOT_THERE or "bf" in case.name or not runs(model), "ONNX Runtime runs the model, but not the optimized one"
        pytest.skip("ONNX Runtime has no such operator")
    if is_random(case):
        return
    if not has_arrays(case):
        pytest.skip("data of a type that numpy does not have, or of sequences")
    session, same = session_of(out), []
    for given, expected in case.data_sets:
        values = dict(zip((value.name for value in case.model.graph.input), given))
        found = run_with(session, values)
        # ONNX Runtime deviates from ONNX in some operators: then the model itself does.
        same.append(are_close(case, expected, found) or runs(model) and are_close(case, run_with(session_of(model), values), found))
    assert all(same) != (case.name in DIFFERENT)
