"""Models of models/ with QuantizeLinear and DequantizeLinear around convolutions and products, for measuring: symmetric, one
scale for each activation (the largest number that ONNX Runtime finds in one drawn sample), one for each output channel of
weights. A sum's other operand is quantized where a quantized operator gives the first."""
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools")]
from worker_client import draw  # noqa: E402

LARGEST = {"int8": 127.0, "fp8": 448.0}
TYPES = {"int8": TensorProto.INT8, "fp8": TensorProto.FLOAT8E4M3FN}
OPSET = 19  # The first whose QuantizeLinear gives floats of 8 bits.


def fold_batch_norms(graph: onnx.GraphProto) -> None:
    """Into the convolutions ahead, whose weights are quantized with them."""
    weights = {tensor.name: tensor for tensor in graph.initializer}
    makers = {node.output[0]: node for node in graph.node}
    for node in [node for node in graph.node if node.op_type == "BatchNormalization"]:
        conv = makers.get(node.input[0])
        if conv is None or conv.op_type != "Conv":
            continue
        epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
        scale, bias, mean, variance = (numpy_helper.to_array(weights[name]) for name in node.input[1:5])
        factor = scale / np.sqrt(variance + epsilon)
        kernel = numpy_helper.to_array(weights[conv.input[1]])
        start = numpy_helper.to_array(weights[conv.input[2]]) if len(conv.input) > 2 else 0
        folded = {conv.input[1] + ".folded": kernel * factor.reshape(-1, *[1] * (kernel.ndim - 1)),
                  conv.input[1] + ".bias": (start - mean) * factor + bias}
        graph.initializer.extend(numpy_helper.from_array(array.astype(np.float32), name)
                                 for name, array in folded.items())
        del conv.input[1:]
        conv.input.extend(folded)
        conv.output[0] = node.output[0]
        graph.node.remove(node)


def group_of(node: onnx.NodeProto) -> int:
    return next((a.i for a in node.attribute if a.name == "group"), 1)


def quantized_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Convolutions of one group and products with constant weights."""
    constants = {tensor.name for tensor in graph.initializer}
    return [node for node in graph.node if node.op_type in ("Conv", "MatMul", "Gemm") and node.input[1] in constants
            and node.input[0] not in constants and group_of(node) == 1]


def residuals(graph: onnx.GraphProto, chosen: list[onnx.NodeProto]) -> list[tuple[onnx.NodeProto, int]]:
    """(sum, operand): convolutions add them up on the way."""
    place = {node.output[0]: i for i, node in enumerate(graph.node)}
    given = {node.output[0] for node in chosen if node.op_type == "Conv"}
    constants = {tensor.name for tensor in graph.initializer}
    found = []
    for node in graph.node:
        if node.op_type != "Add" or any(name in constants for name in node.input):
            continue
        fed = [i for i, name in enumerate(node.input) if name in given]
        if fed:
            found.append((node, 1 - max(fed, key=lambda i: place[node.input[i]])))
    return found


def greatest(model: onnx.ModelProto, name: str, tensors: list[str], folder: Path) -> dict[str, float]:
    import onnxruntime
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    present = {value.name for value in probe.graph.output} | {value.name for value in probe.graph.input}
    probe.graph.output.extend(helper.make_empty_tensor_value_info(t) for t in tensors if t not in present)
    file = folder / "probe.onnx"
    onnx.save(probe, file, save_as_external_data=True, location="probe.weights")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    inputs = {value.name: draw(value, name, 1) for value in model.graph.input}
    asked = [tensor for tensor in tensors if tensor not in inputs]
    arrays = dict(zip(asked, session.run(asked, inputs))) | inputs
    return {tensor: float(np.abs(arrays[tensor]).max()) or 1.0 for tensor in tensors}


def quantize(source: Path, target: Path, kind: str) -> Path:
    """`kind`: int8, fp8."""
    model = onnx.load(source)
    graph, name = model.graph, source.stem
    del model.opset_import[:]
    model.opset_import.append(helper.make_opsetid("", OPSET))
    model.ir_version = max(model.ir_version, 9)
    fold_batch_norms(graph)
    chosen = quantized_nodes(graph)
    sums = residuals(graph, chosen)
    tensors = sorted({node.input[0] for node in chosen} | {node.input[i] for node, i in sums})
    target.parent.mkdir(parents=True, exist_ok=True)
    found = greatest(model, name, tensors, target.parent)
    zero = "quantized.zero"
    graph.initializer.append(helper.make_tensor(zero, TYPES[kind], [], [0]))
    before: list[onnx.NodeProto] = []

    def pair(tensor: str, scale: np.ndarray, axis: int | None = None) -> str:
        attributes = {} if axis is None else {"axis": axis}
        point = zero
        if axis is not None:
            point = f"{tensor}.zero"
            graph.initializer.append(helper.make_tensor(point, TYPES[kind], scale.shape, np.zeros(scale.shape)))
        graph.initializer.append(numpy_helper.from_array(scale.astype(np.float32), f"{tensor}.scale"))
        before.append(helper.make_node("QuantizeLinear", [tensor, f"{tensor}.scale", point], [f"{tensor}.q"],
                                       f"{tensor}.quantize", **attributes))
        before.append(helper.make_node("DequantizeLinear", [f"{tensor}.q", f"{tensor}.scale", point],
                                       [f"{tensor}.dq"], f"{tensor}.dequantize", **attributes))
        return f"{tensor}.dq"

    activations = {tensor: pair(tensor, np.asarray(found[tensor] / LARGEST[kind])) for tensor in tensors}
    kernels = {tensor.name: tensor for tensor in graph.initializer}
    done: dict[str, str] = {}
    for node in chosen:
        weights = node.input[1]
        if weights not in done:
            array = numpy_helper.to_array(kernels[weights])
            turned = any(a.name == "transB" and a.i for a in node.attribute)
            axis = 0 if node.op_type == "Conv" or turned else 1
            others = tuple(i for i in range(array.ndim) if i != axis)
            done[weights] = pair(weights, np.maximum(np.abs(array).max(others), 1e-8) / LARGEST[kind], axis)
        node.input[0], node.input[1] = activations[node.input[0]], done[weights]
    for node, i in sums:
        node.input[i] = activations[node.input[i]]
    sort(graph, before)
    onnx.save(model, target, save_as_external_data=True, location=f"{target.stem}.weights")
    return target


def sort(graph: onnx.GraphProto, more: list[onnx.NodeProto]) -> None:
    """Nodes in topological order."""
    waiting = [*graph.node, *more]
    made = {name for node in waiting for name in node.output}
    ordered, there = [], set()
    while waiting:
        ready = [node for node in waiting if all(name not in made or name in there for name in node.input)]
        ordered += ready
        there |= {name for node in ready for name in node.output}
        taken = {id(node) for node in ready}
        waiting = [node for node in waiting if id(node) not in taken]
    copies = []
    for node in ordered:
        copies.append(onnx.NodeProto())
        copies[-1].CopyFrom(node)
    del graph.node[:]
    graph.node.extend(copies)
