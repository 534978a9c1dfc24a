"""Every model of models/ agrees with ONNX Runtime: batch 1 and 4, saved and loaded, a dynamic batch from one plan, and
bf16. Run by ctest, or: pytest tests/models --build build/release --models build/models [-k resnet50]"""
import json
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from worker_client import Worker, draw_inputs, files_text, materialized, shapes_text  # noqa: E402

MODELS = sorted(path.stem for path in (ROOT / "models").glob("*.onnx"))

# Two correct libraries differ by up to 1.8e-5 on these models; Winograd convolutions by more.
TOLERANCE = 5e-5
WINOGRAD_TOLERANCE = 5e-4
# Of the error of an evaluation that rounds every tensor to bf16.
BF16_FACTOR = 1.5


def distance(actual: np.ndarray, expected: np.ndarray) -> float:
    assert actual.shape == expected.shape
    return float(np.linalg.norm((actual - expected).ravel().astype(np.float64)) / np.linalg.norm(expected.ravel().astype(np.float64)))


class Case:
    """A model with its inputs and ONNX Runtime's answers."""

    def __init__(self, name: str, models: Path, folder: Path):
        self.name, self.folder = name, folder
        self.model = materialized(name, models)
        self.graph = onnx.load(self.model, load_external_data=False).graph
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        self.session = onnxruntime.InferenceSession(str(self.model), options, providers=["CPUExecutionProvider"])

    def inputs(self, batch: int) -> dict[str, np.ndarray]:
        files = draw_inputs(self.model, batch, self.folder)
        arrays = {}
        for value in self.graph.input:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            shape = [batch if i == 0 else d.dim_value for i, d in enumerate(value.type.tensor_type.shape.dim)]
            arrays[value.name] = np.fromfile(files[value.name], dtype).reshape(shape)
        return arrays

    def expected(self, batch: int) -> list[np.ndarray]:
        return self.session.run(None, self.inputs(batch))

    def actual(self, worker: Worker, batch: int) -> list[np.ndarray]:
        files = draw_inputs(self.model, batch, self.folder)
        worker.ask("bind", name="m", shapes=shapes_text(self.model, batch), inputs=files_text(files))
        worker.ask("run", name="m", count=1)
        outputs = []
        for value in self.graph.output:
            file = self.folder / "output.bin"
            dims = worker.ask("save", name="m", tensor=value.name, file=str(file))["dims"]
            outputs.append(np.fromfile(file, np.float32).reshape(dims))
        return outputs

    def tolerance(self, worker: Worker) -> float:
        return WINOGRAD_TOLERANCE if "winograd" in worker.ask("layers", name="m")["layers"].lower() else TOLERANCE

    def check(self, worker: Worker, batch: int) -> list[np.ndarray]:
        actual, tolerance = self.actual(worker, batch), self.tolerance(worker)
        for a, e, value in zip(actual, self.expected(batch), self.graph.output):
            error = distance(a, e)
            print(f"{self.name} batch {batch} {value.name}: relative L2 {error:.2e}, at most {tolerance:.0e}")
            assert error <= tolerance
        return actual


@pytest.fixture
def case(request, pytestconfig, tmp_path) -> Case:
    return Case(request.param, Path(pytestconfig.getoption("models")).resolve(), tmp_path)


@pytest.fixture
def worker(pytestconfig):
    with Worker(str(Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"), "worker") as started:
        yield started


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("case", MODELS, indirect=True)
def test_built_and_loaded_plans_agree(case: Case, worker: Worker, batch: int):
    options = [f"--onnx={case.model}", f"--shapes={shapes_text(case.model, batch)}"]
    worker.ask("build", name="m", options=options)
    built = case.check(worker, batch)
    plan = str(case.folder / "m.plan")
    worker.ask("save", name="m", plan=plan)
    worker.ask("drop", name="m")
    worker.ask("load", name="m", plan=plan)
    loaded = case.check(worker, batch)
    for a, b in zip(built, loaded):
        assert np.array_equal(a, b), "a loaded plan computes other bits than the one that was saved"


@pytest.mark.parametrize("case", MODELS, indirect=True)
def test_one_plan_serves_a_dynamic_batch(case: Case, worker: Worker):
    bounds = {bound: shapes_text(case.model, batch) for bound, batch in (("min", 1), ("opt", 4), ("max", 8))}
    worker.ask("build", name="m", options=[f"--onnx={case.model}"] + [f"--{b}Shapes={s}" for b, s in bounds.items()])
    for batch in (8, 1, 3):
        case.check(worker, batch)


def steps(worker: Worker, case: Case, *shapes: str) -> int:
    """Steps of the plan that compute something: views cost nothing."""
    worker.ask("build", name="m", options=[f"--onnx={case.model}", "--profilingVerbosity=detailed", "--noSelfCheck", *shapes])
    layers = json.loads(worker.ask("layers", name="m")["layers"])["Layers"]
    worker.ask("drop", name="m")
    return sum(layer["TacticName"] != "view" for layer in layers)


@pytest.mark.parametrize("case", ["bert_base", "gpt2", "lstm_tagger", "vit_b_16"], indirect=True)
def test_a_dynamic_batch_costs_no_steps(case: Case, worker: Worker):
    bounds = [f"--{bound}Shapes={shapes_text(case.model, batch)}" for bound, batch in (("min", 1), ("opt", 4), ("max", 8))]
    assert steps(worker, case, *bounds) <= steps(worker, case, f"--shapes={shapes_text(case.model, 4)}")


def rounded(array: np.ndarray) -> np.ndarray:
    return array.astype(ml_dtypes.bfloat16).astype(np.float32) if array.dtype == np.float32 else array


def with_rounding(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its weights, and the result of every node, rounded to bf16."""
    graph = model.graph
    for initializer in graph.initializer:
        if initializer.data_type == onnx.TensorProto.FLOAT:
            array = rounded(onnx.numpy_helper.to_array(initializer))
            initializer.CopyFrom(onnx.numpy_helper.from_array(array, initializer.name))
    types = {v.name: v.type.tensor_type.elem_type for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    types |= {v.name: v.type.tensor_type.elem_type for v in graph.output}
    nodes = []
    for node in graph.node:
        casts = []
        for i, name in enumerate(node.output):
            if types.get(name) == onnx.TensorProto.FLOAT and node.op_type != "Constant":
                exact, narrow = name + "/exact", name + "/bf16"
                node.output[i] = exact
                casts += [onnx.helper.make_node("Cast", [exact], [narrow], to=onnx.TensorProto.BFLOAT16),
                          onnx.helper.make_node("Cast", [narrow], [name], to=onnx.TensorProto.FLOAT)]
        nodes += [node, *casts]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def bf16_reference(case: Case, batch: int) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # keeps the casts
    file = case.folder / "rounded.onnx"
    onnx.save(with_rounding(onnx.load(case.model)), file, save_as_external_data=True, location="rounded.weights")
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: rounded(array) for name, array in case.inputs(batch).items()})


@pytest.mark.parametrize("case", MODELS, indirect=True)
def test_bf16_is_as_good_as_rounding_every_tensor(case: Case, worker: Worker):
    options = [f"--onnx={case.model}", f"--shapes={shapes_text(case.model, 1)}", "--bf16"]
    worker.ask("build", name="m", options=options)
    exact = case.expected(1)
    for ours, reference, expected in zip(case.actual(worker, 1), bf16_reference(case, 1), exact):
        error, allowed = distance(ours, expected), BF16_FACTOR * distance(reference, expected)
        print(f"{case.name}: bf16 error {error:.2e}, at most {allowed:.2e}")
        assert error <= max(allowed, TOLERANCE)
