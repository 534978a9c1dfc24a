#!/usr/bin/env python3
"""Exported files without their weights, which are found again in a module of the same seed: an export takes long, and
the files without weights are small.

usage: zoo_graphs.py FOLDER [PATTERN...]    FOLDER/NAME.EXPORTER.onnx (of `zoo.py export`) to FOLDER/graphs/NAME.onnx

A weight that is a parameter, its transpose, or that with its rows scaled (the exporter joins convolutions with
normalizations) is taken from the module. Other weights of products are drawn from 256 values that the file keeps.
"""
import fnmatch
import sys
import zlib
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "bench")]

LEAST = 512  # elements of a weight that does not travel
KEPT = 256
DRAWN = "drawn"
PRODUCTS = ("Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU")


def parameters_of(net) -> dict[str, np.ndarray]:
    return {name: x.detach().numpy() for name, x in [*net.named_parameters(), *net.named_buffers()]}


def sources_of(parameters: dict[str, np.ndarray]) -> dict[tuple, str]:
    """By contents: the origin of a weight."""
    sources = {}
    for name, x in parameters.items():
        if x.ndim == 2:
            sources[x.T.shape, zlib.crc32(np.ascontiguousarray(x.T))] = f"transposed {name}"
        sources[x.shape, zlib.crc32(np.ascontiguousarray(x))] = f"same {name}"
    return sources


def scales_of(array: np.ndarray, parameters: dict[str, np.ndarray]) -> tuple[str, np.ndarray] | None:
    """The parameter and the factor of each of its rows."""
    rows = array.reshape(len(array), -1)
    for name, x in parameters.items():
        if x.shape != array.shape:
            continue
        columns = x.reshape(len(x), -1)
        scales = (rows * columns).sum(1) / (columns * columns).sum(1)
        if np.abs(columns * scales[:, None] - rows).max() <= 1e-5 * np.abs(rows).max():
            return name, scales.astype(np.float32)
    return None


def strip(model: onnx.ModelProto, parameters: dict[str, np.ndarray]) -> None:
    sources = sources_of(parameters)
    of_products = {name for node in model.graph.node if node.op_type in PRODUCTS for name in node.input}
    for weight in model.graph.initializer:
        array = onnx.numpy_helper.to_array(weight)
        if array.size < LEAST or array.dtype != np.float32:
            continue
        source = sources.get((array.shape, zlib.crc32(np.ascontiguousarray(array))))
        if source is None and weight.name not in of_products:
            continue  # masks and tables of positions
        kept = np.zeros(0, np.float32)
        if source is None and (scaled := scales_of(array, parameters)):
            source, kept = f"scaled {scaled[0]}", scaled[1]
        elif source is None:
            source, kept = DRAWN, np.random.default_rng(1).choice(array.flatten(), KEPT)
        weight.raw_data, weight.doc_string = kept.tobytes(), source


def fill(model: onnx.ModelProto, parameters: dict[str, np.ndarray]) -> None:
    for weight in model.graph.initializer:
        if not weight.doc_string:
            continue
        kind, _, name = weight.doc_string.partition(" ")
        kept = np.frombuffer(weight.raw_data, np.float32)
        if kind == DRAWN:
            array = np.random.default_rng(zlib.crc32(weight.name.encode())).choice(kept, tuple(weight.dims))
        elif kind == "scaled":
            array = parameters[name] * kept.reshape(-1, *[1] * (parameters[name].ndim - 1))
        else:
            array = parameters[name].T if kind == "transposed" else parameters[name]
        weight.raw_data, weight.doc_string = np.ascontiguousarray(array).tobytes(), ""


def main() -> int:
    import zoo
    import zoo_models

    folder, patterns = Path(sys.argv[1]), sys.argv[2:] or ["*"]
    (folder / "graphs").mkdir(exist_ok=True)
    for file in sorted(folder.glob("*.onnx")):
        name = file.name.split(".")[0]
        if any(fnmatch.fnmatch(name, p) for p in patterns):
            model = onnx.load(file)
            strip(model, parameters_of(zoo.calibrated(zoo_models.MODELS[name])[0]))
            onnx.save(model, folder / f"graphs/{name}.onnx")
            drawn = [w for w in model.graph.initializer if w.doc_string == DRAWN]
            print(f"{name}: {model.ByteSize() // 1024} KiB, {len(drawn)} of {len(model.graph.initializer)} drawn", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
