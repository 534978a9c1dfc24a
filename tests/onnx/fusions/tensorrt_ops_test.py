"""Operators of TensorRT's own in ONNX files give the numbers that their attributes say."""
import numpy as np
import onnx
import pytest
from numerics import assert_close
from onnx import helper, numpy_helper
from running import Plan, array_for

F32, I32, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.BOOL
NUMBERS = np.arange(1, 65, dtype=np.float32) / 16


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attend(q, k, v, keep=None, weigh=softmax):
    scores = q @ k.swapaxes(-1, -2)
    return weigh(scores if keep is None else np.where(keep, scores, -65504)) @ v


def experts(x, chosen, scores, gate, up, down):
    y = np.zeros_like(x)
    for place in np.ndindex(chosen.shape):
        token, expert = x[place[:-1]], chosen[place]
        g = token @ gate[expert]
        y[place[:-1]] += scores[place] * ((g / (1 + np.exp(-g))) * (token @ up[expert])) @ down[expert]
    return y


def ragged(x, bounds):
    inside = np.arange(x.shape[-1]) < bounds
    return np.where(inside, softmax(np.where(inside, x, -1e30)), 0)


def pooled(x):
    parts = np.stack([x[..., i::2, j::2] for i in range(2) for j in range(2)])
    return 0.75 * parts.max(0) + 0.25 * parts.mean(0)


def quantized_there_and_back(x, block, largest=127.0):
    groups = x.reshape(*x.shape[:-1], -1, block)
    scale = np.abs(groups).max(-1, keepdims=True) / largest
    return (np.round(groups / np.where(scale == 0, 1, scale)) * scale).reshape(x.shape)


SQUARE = np.eye(4, dtype=np.float32)
CAUSAL = np.tril(np.ones((3, 5), bool), 2)
WEIGHTS = np.random.default_rng(3).uniform(-1, 1, (3, 4, 6)).astype(np.float32)
DOWN = np.random.default_rng(4).uniform(-1, 1, (3, 6, 4)).astype(np.float32)
CHOSEN = np.array([[[0, 2], [1, 0]]], np.int32)

# Operator: shapes of the inputs, constants behind them, attributes, and the numbers that come out.
CASES = {
    "TRT_Scale": ([(1, 2, 2, 2)], [NUMBERS[:2], NUMBERS[2:4]], dict(mode="channel", scale=1, shift=1, power=0),
                  lambda x: x * NUMBERS[:2, None, None] + NUMBERS[2:4, None, None]),
    "TRT_Shuffle": ([(2, 3, 4)], [], dict(first_perm=[1, 0, 2], reshape_dims=[0, 8], second_perm=[1, 0], zero_is_placeholder=1),
                    lambda x: x.transpose(1, 0, 2).reshape(3, 8).T),
    "TRT_TopK_Min": ([(3, 7)], [np.array([2], np.int32)], dict(axis=1), lambda x: np.sort(x, 1)[:, :2]),
    "TRT_MatMul": ([(4,), (3, 4)], [], dict(op_0="vector", op_1="transpose"), lambda a, b: a @ b.T),
    "TRT_RaggedSoftmax": ([(2, 5)], [np.array([[3], [5]], np.int32)], {}, lambda x: ragged(x, np.array([[3], [5]]))),
    "TRT_MaxAverageBlendPool": ([(1, 2, 4, 4)], [], dict(kernel_shape=[2, 2], strides=[2, 2], blend=0.25), pooled),
    "TRT_MaxPool": ([(1, 2, 4, 4)], [], dict(kernel_shape=[2, 2], strides=[2, 2]),
                    lambda x: np.stack([x[..., i::2, j::2] for i in range(2) for j in range(2)]).max(0)),
    "TRT_Gather": ([(4, 3)], [np.array([2, 0], np.int32)], dict(axis=0), lambda x: x[[2, 0]]),
    "TRT_Slice": ([(6, 4)], [], dict(start=[5, 1], size=[3, 2], stride=[-2, 1]), lambda x: x[::-2, 1:3]),
    "TRT_Slice of tensors": ([(6, 4)], [np.array(a, np.int32) for a in ([5, 1], [6, 2], [-1, 2])], {}, lambda x: x[::-1, 1::2]),
    "TRT_Resize": ([(1, 1, 2, 2)], [], dict(mode="nearest", coordTransform="asymmetric", resizeSelector="formula", round_mode="floor",
                                            output_dims=[1, 1, 4, 4]), lambda x: x.repeat(2, 2).repeat(2, 3)),
    "TRT_Resize by scales": ([(1, 1, 2, 2)], [], dict(mode="nearest", coordTransform="asymmetric", resizeSelector="formula",
                                                      round_mode="floor", scales=[1.0, 1.0, 2.0, 1.0]), lambda x: x.repeat(2, 2)),
    "TRT_FloorDiv": ([(8,), (8,)], [], {}, lambda x, y: np.floor(x / y)),
    "TRT_Attention": ([(2, 3, 3, 4), (2, 3, 5, 4), (2, 3, 5, 4)], [], dict(causal_kind="lower_right"),
                      lambda q, k, v: attend(q, k, v, CAUSAL)),
    "TRT_Attention with lengths": ([(2, 3, 3, 4), (2, 3, 5, 4), (2, 3, 5, 4)], ["", "", np.array([2, 5], np.int32)], {},
                                   lambda q, k, v: attend(q, k, v, np.arange(5) < np.array([2, 5])[:, None, None, None])),
    "TRT_Attention without softmax": ([(2, 3, 3, 4), (2, 3, 5, 4), (2, 3, 5, 4)], [], dict(TRT_normalization_op="none"),
                                      lambda q, k, v: attend(q, k, v, weigh=lambda s: s)),
    "TRT_QuantizedAttention": ([(2, 3, 3, 4), (2, 3, 5, 4), (2, 3, 5, 4)], ["", np.float32(1 / 127)], dict(normalization_quantize_to_type=3),
                               lambda q, k, v: attend(q / 2, k, v, weigh=lambda s: np.round(softmax(s) * 127) / 127)),
    "TRT_MoE": ([(1, 2, 4)], [CHOSEN, NUMBERS[:4].reshape(1, 2, 2), WEIGHTS, WEIGHTS[::-1].copy(), DOWN], dict(activation_type=1),
                lambda x: experts(x, CHOSEN, NUMBERS[:4].reshape(1, 2, 2), WEIGHTS, WEIGHTS[::-1], DOWN)),
    "DistCollective": ([(3, 4)], [], dict(collective_operation="all_reduce", reduce_op="sum", root=0, nb_rank=1, group_size=1), lambda x: x),
}


def model_of(name: str, shapes: list, constants: list, attributes: dict, op: str) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info(f"x{i}", F32, shape) for i, shape in enumerate(shapes)]
    names, initializers = [v.name for v in inputs], []
    for i, array in enumerate(constants):
        if isinstance(array, str):
            names.append("")
            continue
        names.append(f"c{i}")
        initializers.append(numpy_helper.from_array(np.asarray(array), f"c{i}"))
    outputs = ["y", "indices"] if op == "TRT_TopK_Min" else ["y"]
    node = helper.make_node(op, names, outputs, name="node", domain="trt", **attributes)
    graph = helper.make_graph([node], name.replace(" ", "_"), inputs, [helper.make_tensor_value_info("y", F32, None)], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("trt", 1)], ir_version=9)


@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str, worker, tmp_path):
    shapes, constants, attributes, wanted = CASES[name]
    model = model_of(name, shapes, constants, attributes, name.split(" ")[0])
    plan = Plan(worker, model, ({},), tmp_path)
    inputs = {v.name: array_for(v, {}) for v in model.graph.input}
    expected = np.asarray(wanted(*inputs.values()), np.float32)
    actual = plan.outputs(inputs, {}, [expected])[0]
    assert actual.shape == expected.shape
    assert_close(actual, expected, "kKernel", None)


DYNAMIC = {"TRT_DynamicQuantize": dict(block_shape=[1, 8], output_type=3, scale_type=F32)}


@pytest.mark.parametrize("name", DYNAMIC)
def test_blocks_there_and_back(name: str, worker, tmp_path):
    """Scales from the data, and back by these scales."""
    x = helper.make_tensor_value_info("x0", F32, [4, 16])
    nodes = [helper.make_node(name, ["x0"], ["q", "s"], domain="trt", name="q", **DYNAMIC[name]),
             helper.make_node("TRT_BlockDequantize", ["q", "s"], ["y"], domain="trt", name="d", output_dtype=F32, block_shape=[1, 8])]
    graph = helper.make_graph(nodes, name, [x], [helper.make_tensor_value_info("y", F32, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("trt", 1)], ir_version=9)
    plan = Plan(worker, model, ({},), tmp_path)
    inputs = {"x0": array_for(x, {})}
    expected = quantized_there_and_back(inputs["x0"], 8)
    assert_close(plan.outputs(inputs, {}, [expected])[0], expected, "kKernel", None)


@pytest.mark.parametrize("attributes, reason", [(dict(query_form="packed_nhd"), "only padded_bhnd is supported"),
                                                (dict(nb_rank=2), "nb_rank")])
def test_what_is_refused_says_why(attributes: dict, reason: str, worker, tmp_path):
    model = model_of("refused", [(2, 3, 3, 4)] * 3, [], attributes, "TRT_Attention")
    with pytest.raises(Exception, match=reason):
        Plan(worker, model, ({},), tmp_path)
