"""The PyTorch form of each ONNX operator of the shared models: OPERATORS maps its name to a function that takes the
node's inputs and attributes. Inputs that are parameters (shapes, axes, ...) come as lists of ints: see STATIC."""
import operator

import torch
import torch.nn.functional as F

TYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float16, 11: torch.float64}

# Positions of inputs that must be known when the graph is imported.
STATIC = {"Reshape": [1], "Expand": [1], "Slice": [1, 2, 3, 4], "Unsqueeze": [1], "Squeeze": [1], "Split": [1],
          "ReduceMean": [1], "ReduceSum": [1], "Resize": [1, 2, 3], "Range": [0, 1, 2], "CumSum": [1]}


def conv(x, weight, bias=None, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group=1, **_):
    assert pads[:2] == pads[2:], "padding on one side only"
    return F.conv2d(x, weight, bias, strides, pads[:2], dilations, group)


def max_pool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), ceil_mode=0, **_):
    assert pads[:2] == pads[2:], "padding on one side only"
    return F.max_pool2d(x, kernel_shape, strides, pads[:2], dilations, bool(ceil_mode))


def batch_norm(x, scale, bias, mean, variance, epsilon=1e-5, **_):
    return F.batch_norm(x, mean, variance, scale, bias, False, 0.0, epsilon)


def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5, **_):
    return F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def instance_norm(x, scale, bias, epsilon=1e-5):
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    assert alpha == 1 and beta == 1 and not transA, "a scaled product"
    if transB:
        return F.linear(a, b, c)
    return torch.addmm(c, a, b) if c is not None else torch.mm(a, b)


def divide(a, b):
    whole = all(isinstance(x, torch.Tensor) and not x.is_floating_point() for x in (a, b))
    return torch.div(a, b, rounding_mode="trunc") if whole else a / b


def gather(data, indices, axis=0):
    if axis == 0 and data.dim() == 2 and data.is_floating_point():
        return F.embedding(indices, data)
    if indices.dim() == 0:
        return torch.index_select(data, axis, indices.reshape(1)).squeeze(axis)
    picked = torch.index_select(data, axis, indices.flatten())
    return picked.reshape(*data.shape[:axis], *indices.shape, *data.shape[axis:][1:])


def gather_nd(data, indices, batch_dims=0):
    assert batch_dims == 0, "batches of indices"
    return data[tuple(indices.unbind(-1))]


def reshape(x, shape, allowzero=0):
    return x.reshape([x.shape[i] if extent == 0 and not allowzero else extent for i, extent in enumerate(shape)])


def slices(x, starts, ends, axes=None, steps=None):
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis = axes[i] if axes else i
        step = steps[i] if steps else 1
        assert step > 0, "a slice that runs backwards"
        extent = x.shape[axis]
        span = slice(max(min(start, extent), -extent), max(min(end, extent), -extent), step)
        x = x[(slice(None),) * (axis % x.dim()) + (span,)]
    return x


def squeeze(x, axes=None):
    return x.squeeze(tuple(axes)) if axes else x.squeeze()


def unsqueeze(x, axes):
    for axis in sorted(a % (x.dim() + len(axes)) for a in axes):
        x = x.unsqueeze(axis)
    return x


def expand(x, shape):
    return x.expand(torch.broadcast_shapes(x.shape, shape))


def split(x, sizes=None, axis=0, num_outputs=None):
    return torch.split(x, sizes or -(-x.shape[axis] // num_outputs), axis)


def reduce_with(function):
    def reduce(x, axes=None, keepdims=1, **_):
        return function(x, axes or list(range(x.dim())), bool(keepdims))

    return reduce


def resize(x, roi=None, scales=None, sizes=None, mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric", **_):
    assert (mode, nearest_mode, coordinate_transformation_mode) == ("nearest", "floor", "asymmetric"), mode
    return F.interpolate(x, sizes[2:] if sizes else None, None if sizes else scales[2:], "nearest")


def hard_sigmoid(x, alpha=0.2, beta=0.5):
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return F.hardsigmoid(x)
    return (x * alpha + beta).clamp(0, 1)


def cumulative_sum(x, axis, exclusive=0, reverse=0):
    assert not exclusive and not reverse, "another kind of cumulative sum"
    return x.cumsum(axis if isinstance(axis, int) else axis[0])


def attention(q, keys, v, mask=None, scale=1.0):
    """Fused by torch_graph.py: `keys` come transposed, as the product of an ONNX graph wants them."""
    return F.scaled_dot_product_attention(q, keys.transpose(-1, -2), v, attn_mask=mask, scale=scale)


def group_norm(x, scale, bias, groups=1, epsilon=1e-5):
    return F.group_norm(x, groups, scale.flatten(), bias.flatten(), epsilon)


def lstm_output(result, directions=1):
    """ONNX: sequence x directions x batch x hidden; PyTorch: sequence x batch x (directions hidden)."""
    y, (h, c) = result
    return y.reshape(*y.shape[:-1], directions, -1).transpose(1, 2), h, c


OPERATORS = {
    "Add": operator.add, "Sub": operator.sub, "Mul": operator.mul, "Div": divide, "Pow": operator.pow,
    "And": torch.logical_and, "Not": torch.logical_not, "Equal": torch.eq, "Max": torch.maximum, "IsNaN": torch.isnan,
    "Where": torch.where, "Relu": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Erf": torch.erf,
    "HardSwish": F.hardswish, "HardSigmoid": hard_sigmoid, "MatMul": torch.matmul, "Gemm": gemm, "Conv": conv,
    "MaxPool": max_pool, "BatchNormalization": batch_norm, "LayerNormalization": layer_norm,
    "InstanceNormalization": instance_norm, "Gather": gather, "GatherND": gather_nd, "Reshape": reshape,
    "GatherElements": lambda x, indices, axis=0: torch.gather(x, axis, indices), "Slice": slices, "Squeeze": squeeze,
    "Unsqueeze": unsqueeze, "Expand": expand, "Split": split, "Resize": resize, "CumSum": cumulative_sum,
    "Concat": lambda *x, axis: torch.cat(x, axis), "Softmax": lambda x, axis=-1: torch.softmax(x, axis),
    "Transpose": lambda x, perm: x.permute(perm), "ReduceMean": reduce_with(torch.mean),
    "ReduceSum": reduce_with(torch.sum), "Cast": lambda x, to, **_: x.to(TYPES[to]),
    "Range": lambda start, end, step: torch.arange(start, end, step), "Attention": attention, "GroupNorm": group_norm,
}
