"""Talks to workers: processes that answer one line of JSON for each line of JSON, `tenon worker` and
bench/rival_worker.py. Also draws inputs for a model, the same in every process."""
import json
import os
import subprocess
import threading
import zlib
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
LARGEST_INDEX = 4999  # integer inputs are indices into tables of at least this many rows


class WorkerError(RuntimeError):
    pass


class Worker:
    def __init__(self, *command: str, gpu: str | None = None):
        """`gpu`: the only one that it sees."""
        environment = None if gpu is None else {**os.environ, "CUDA_VISIBLE_DEVICES": gpu}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, command: str, **arguments) -> dict:
        try:
            self.process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"the worker ended with status {self.process.wait()} while it was asked to {command}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"{command}: {answer['error']} {answer.get('log', '')}".strip())
        return answer

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def materialized(name: str, folder: Path) -> Path:
    """The model with its weights, which are written when they are not there."""
    if not (folder / f"{name}.onnx").exists() or not (folder / f"{name}.weights").exists():
        import sys

        sys.path.insert(0, str(ROOT / "models"))
        from materialize import materialize

        materialize(name, folder)
    return folder / f"{name}.onnx"


def draw_inputs(model: Path, batch: int, folder: Path, index: int = 0) -> dict[str, Path]:
    """Raw files of random inputs; symbolic extents become `batch`. Each `index` is another draw."""
    graph = onnx.load(model, load_external_data=False).graph
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for value in graph.input:
        files[value.name] = folder / f"{model.stem}.{value.name}.{batch}{f'.{index}' if index else ''}.bin"
        written = files[value.name].with_suffix(f".{threading.get_ident()}")
        draw(value, model.stem, batch, index, largest_index(graph, value.name)).tofile(written)
        written.replace(files[value.name])  # others may be reading it
    return files


def shape_of(value: onnx.ValueInfoProto, batch: int) -> list[int]:
    return [d.dim_value if d.HasField("dim_value") else batch for d in value.type.tensor_type.shape.dim]


def largest_index(graph: onnx.GraphProto, name: str) -> int:
    """Of an input's integers: the last row of the tables that they, or casts of them, choose from."""
    rows = {t.name: t.dims[0] for t in graph.initializer if t.dims}
    names, largest = {name}, LARGEST_INDEX
    for node in graph.node:
        if node.op_type in ("Cast", "Identity") and node.input[0] in names:
            names.update(node.output)
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        if node.op_type == "Gather" and axis == 0 and node.input[1] in names and node.input[0] in rows:
            largest = min(largest, rows[node.input[0]] - 1)
    return largest


def draw(value: onnx.ValueInfoProto, model: str, batch: int, index: int = 0, largest: int = LARGEST_INDEX) -> np.ndarray:
    seed = f"{model}/{value.name}/{batch}" + (f"/{index}" if index else "")
    random = np.random.default_rng(zlib.crc32(seed.encode()))
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    shape = shape_of(value, batch)
    if np.issubdtype(dtype, np.floating):
        return random.uniform(-1, 1, shape).astype(dtype)
    return random.integers(0, largest + 1, shape).astype(dtype)


def shapes_text(model: Path, batch: int) -> str:
    """--shapes for a model: input:4x3x224x224,..."""
    graph = onnx.load(model, load_external_data=False).graph
    return ",".join(f"{v.name}:{'x'.join(map(str, shape_of(v, batch)))}" for v in graph.input)


def files_text(files: dict[str, Path]) -> str:
    return ",".join(f"{name}:{file}" for name, file in files.items())
