"""Each pattern gives ONNX Runtime's results over all its shapes, from one plan. Run by ctest, or:
pytest tests/onnx/patterns --build build/release [-k resize]"""
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import microsoft  # noqa: E402, F401
from numerics import assert_close  # noqa: E402
from patterns import PATTERNS, TWINS  # noqa: E402
from worker_client import Worker, files_text  # noqa: E402


@pytest.fixture(scope="module")
def worker(pytestconfig):
    with Worker(str(Path(pytestconfig.getoption("build")).resolve() / "bin/tenon"), "worker") as started:
        yield started


def array_for(value: onnx.ValueInfoProto, symbols: dict, salt: str) -> np.ndarray:
    random = np.random.default_rng(zlib.crc32(f"{salt}/{value.name}".encode()))
    shape = [d.dim_value if d.HasField("dim_value") else symbols[d.dim_param] for d in value.type.tensor_type.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if np.issubdtype(dtype, np.floating):
        return random.uniform(-1, 1, shape).astype(dtype)
    return random.integers(0, 4, shape).astype(dtype)


def parsed(name: str, twin: bool = False) -> onnx.ModelProto:
    opset, text, _ = PATTERNS[name]
    text = TWINS.get(name, text) if twin else text
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "pkg.torch": 1, "com.microsoft": 1]>{text}')
    inputs = list(model.graph.input)
    del model.graph.input[:]
    for value in inputs:
        if value.name.startswith("w_"):
            weights = array_for(value, {}, name)
            model.graph.initializer.append(onnx.numpy_helper.from_array(weights, value.name))
        else:
            model.graph.input.append(value)
    return model


def shapes_of(model: onnx.ModelProto, symbols: dict) -> str:
    arrays = [(v.name, array_for(v, symbols, "")) for v in model.graph.input]
    return ",".join(f"{name}:{'x'.join(map(str, array.shape))}" for name, array in arrays)


def bounds(runs: tuple) -> list[str]:
    """One profile over all runs."""
    sizes = {symbol: [run[symbol] for run in runs] for symbol in runs[0]}
    return [("min", {s: min(v) for s, v in sizes.items()}), ("opt", runs[0]), ("max", {s: max(v) for s, v in sizes.items()})]


def run(worker: Worker, model: onnx.ModelProto, inputs: dict, symbols: dict, folder: Path, outputs: list) -> list:
    files = {name: folder / f"{name}.bin" for name in inputs}
    for name, array in inputs.items():
        array.tofile(files[name])
    worker.ask("bind", name="m", shapes=shapes_of(model, symbols), inputs=files_text(files))
    worker.ask("run", name="m", count=1)
    results = []
    for name, dtype in outputs:
        dims = worker.ask("save", name="m", tensor=name, file=str(folder / "out.bin"))["dims"]
        results.append(np.fromfile(folder / "out.bin", dtype).reshape(dims))
    return results


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern(name: str, worker: Worker, tmp_path: Path):
    model, runs = parsed(name), PATTERNS[name][2]
    onnx.save(model, tmp_path / "m.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    reference = parsed(name, twin=True).SerializeToString()
    session = onnxruntime.InferenceSession(reference, options, providers=["CPUExecutionProvider"])
    words = [f"--onnx={tmp_path / 'm.onnx'}"]
    if runs[0]:
        words += [f"--{bound}Shapes={shapes_of(model, symbols)}" for bound, symbols in bounds(runs)]
    worker.ask("build", name="m", options=words)
    for symbols in runs:
        inputs = {value.name: array_for(value, symbols, name + str(symbols)) for value in model.graph.input}
        expected = session.run(None, inputs)
        outputs = [(value.name, array.dtype) for value, array in zip(model.graph.output, expected)]
        for actual, wanted in zip(run(worker, model, inputs, symbols, tmp_path, outputs), expected):
            assert_close(actual, wanted)
