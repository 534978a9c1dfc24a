"""Evaluates nodes one at a time with ONNX Runtime: the results that a random model is held to, free of fusions.

Half precision is emulated: operands widened to float32, results rounded, as kernels that sum in float32 do."""
import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
OPSET = 24


class Rejected(Exception):
    """The runtime has no such node, or the operands do not fit."""


def type_of(array: np.ndarray) -> int:
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def is_real(array: np.ndarray) -> bool:
    return array.dtype in HALVES or array.dtype.kind == "f"


def widened(array: np.ndarray) -> np.ndarray:
    return np.asarray(array).astype(np.float32) if array.dtype in HALVES else array


def captured(node: onnx.NodeProto) -> list[str]:
    """Names that the node's bodies read from around it."""
    names = []
    for attribute in node.attribute:
        if not attribute.HasField("g"):
            continue
        known = {v.name for v in attribute.g.input} | {v.name for v in attribute.g.initializer}
        for inner in attribute.g.node:
            names += [n for n in [*inner.input, *captured(inner)] if n and n not in known]
            known.update(inner.output)
        names += [v.name for v in attribute.g.output if v.name not in known]
    return list(dict.fromkeys(names))


def in_float(node: onnx.NodeProto):
    """The node with float32 in place of a half precision that an attribute asks for, and that type."""
    types = {helper.np_dtype_to_tensor_dtype(dtype): dtype for dtype in HALVES}
    for attribute in node.attribute:
        if attribute.name == "to" and attribute.i in types:
            changed = onnx.NodeProto.FromString(node.SerializeToString())
            next(a for a in changed.attribute if a.name == "to").i = onnx.TensorProto.FLOAT
            return changed, types[attribute.i]
        if attribute.name == "value" and attribute.t.data_type in types and node.op_type == "ConstantOfShape":
            changed = onnx.NodeProto.FromString(node.SerializeToString())
            number = numpy_helper.to_array(attribute.t).astype(np.float32)
            next(a for a in changed.attribute if a.name == "value").t.CopyFrom(numpy_helper.from_array(number))
            return changed, types[attribute.t.data_type]
    return node, None


class Session:
    """One node, made for operands of these types."""

    def __init__(self, node: onnx.NodeProto, operands: dict[str, np.ndarray]):
        self.names = list(operands)
        self.half = next((a.dtype for a in operands.values() if a.dtype in HALVES), None)
        node, made = in_float(node)
        self.half = made or self.half
        inputs = [helper.make_tensor_value_info(name, type_of(widened(a)), [None] * a.ndim) for name, a in operands.items()]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output]
        graph = helper.make_graph([node], "node", inputs, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Rejected(str(error)) from error

    def run(self, operands: dict[str, np.ndarray]) -> list[np.ndarray]:
        try:
            results = self.session.run(None, {n: widened(operands[n]) for n in self.names})
        except Exception as error:
            raise Rejected(str(error)) from error
        with np.errstate(over="ignore"):
            return [np.asarray(r).astype(self.half if self.half is not None and np.asarray(r).dtype == np.float32 else np.asarray(r).dtype)
                    for r in results]


def disturbed(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """As another order of sums may leave it: off by the rounding of the type, relative to the tensor's size."""
    if not is_real(array) or array.size == 0:
        return array
    step = {2: 2.0**-10 if array.dtype == np.float16 else 2.0**-7, 4: 2.0**-22, 8: 2.0**-22}[array.dtype.itemsize]
    wide = array.astype(np.float64)
    finite = np.where(np.isfinite(wide), wide, 0)
    size = np.abs(wide) + 0.5 * np.sqrt(np.mean(finite**2))
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(wide + step * size * random.uniform(-1, 1, array.shape)).astype(array.dtype)
