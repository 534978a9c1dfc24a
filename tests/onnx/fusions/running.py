"""Builds a plan of a small graph, runs it over several shapes, and compares with ONNX Runtime."""
import json
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numerics import assert_close
from worker_client import Worker, files_text


def array_for(value: onnx.ValueInfoProto, symbols: dict) -> np.ndarray:
    random = np.random.default_rng(zlib.crc32(f"{value.name}/{symbols}".encode()))
    shape = [d.dim_value if d.HasField("dim_value") else symbols[d.dim_param] for d in value.type.tensor_type.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if np.issubdtype(dtype, np.floating):
        return random.uniform(-1, 1, shape).astype(dtype)
    drawn = random.integers(0, 2, shape)
    if drawn.ndim and drawn.shape[-1] > 1:
        drawn[..., 0] = 1  # Masks keep something in each row.
    return drawn.astype(dtype)


def shapes_text(model: onnx.ModelProto, symbols: dict) -> str:
    shapes = [(v.name, array_for(v, symbols).shape) for v in model.graph.input]
    return ",".join(f"{name}:{'x'.join(map(str, shape))}" for name, shape in shapes)


def profile(model: onnx.ModelProto, runs: tuple) -> list[str]:
    """One profile over all runs."""
    if not runs[0]:
        return []
    sizes = {symbol: [run[symbol] for run in runs] for symbol in runs[0]}
    bounds = {"min": {s: min(v) for s, v in sizes.items()}, "opt": runs[0], "max": {s: max(v) for s, v in sizes.items()}}
    return [f"--{bound}Shapes={shapes_text(model, symbols)}" for bound, symbols in bounds.items()]


class Plan:
    def __init__(self, worker: Worker, model: onnx.ModelProto, runs: tuple, folder: Path, *options: str):
        self.worker, self.model, self.runs, self.folder = worker, model, runs, folder
        self.file = folder / f"{model.graph.name}.onnx"
        onnx.save(model, self.file)
        words = [f"--onnx={self.file}", "--profilingVerbosity=detailed", *profile(model, runs), *options]
        worker.ask("build", name=model.graph.name, options=words)
        self.layers = json.loads(worker.ask("layers", name=model.graph.name)["layers"])["Layers"]

    def steps(self) -> list[dict]:
        """Nodes that compute something: views cost nothing."""
        return [layer for layer in self.layers if layer.get("TacticName") != "view"]

    def kinds(self) -> list[str]:
        return [layer["Kind"] for layer in self.steps()]

    def outputs(self, inputs: dict, symbols: dict, like: list) -> list[np.ndarray]:
        name = self.model.graph.name
        files = {key: self.folder / f"{key}.bin" for key in inputs}
        for key, array in inputs.items():
            array.tofile(files[key])
        self.worker.ask("bind", name=name, shapes=shapes_text(self.model, symbols), inputs=files_text(files))
        self.worker.ask("run", name=name, count=1)
        results = []
        for value, wanted in zip(self.model.graph.output, like):
            file = self.folder / "out.bin"
            dims = self.worker.ask("save", name=name, tensor=value.name, file=str(file))["dims"]
            results.append(np.fromfile(file, wanted.dtype).reshape(dims))
        return results

    def attention_formats(self) -> list[str]:
        """Formats of the queries, with their element type."""
        return [layer["Inputs"][0]["Format/Datatype"] for layer in self.layers if layer["Kind"] == "mha"]

    def check(self, computation: str = "kKernel", dtype: str | None = None) -> None:
        """All shapes agree with ONNX Runtime, as far as a row of src/ops/numerics.def says."""
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # Its own fusions round activations of products with weights of bytes.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(self.file), options, providers=["CPUExecutionProvider"])
        for symbols in self.runs:
            inputs = {v.name: array_for(v, symbols) for v in self.model.graph.input}
            expected = session.run(None, inputs)
            for actual, wanted in zip(self.outputs(inputs, symbols, expected), expected):
                assert_close(actual, wanted, computation, dtype)
