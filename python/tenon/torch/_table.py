"""One row an ATen operator: its converter, called with (layers, call), gives a tensor, or a list of them.

`call` has the arguments by name, with tensors as the network has them, `call.meta(name)` PyTorch's description of an
argument, and `call.result`, that of the result. """
from __future__ import annotations

import math

import torch

from .. import _native as trt
from ._layers import Unsupported, fixed, is_fixed, is_negative, plain, type_of

_U, _A, _E, _R = trt.UnaryOperation, trt.ActivationType, trt.ElementWiseOperation, trt.ReduceOperation

UNARY = {"abs": _U.ABS, "exp": _U.EXP, "log": _U.LOG, "sqrt": _U.SQRT, "reciprocal": _U.RECIP, "neg": _U.NEG, "sin": _U.SIN,
         "cos": _U.COS, "tan": _U.TAN, "sinh": _U.SINH, "cosh": _U.COSH, "asin": _U.ASIN, "acos": _U.ACOS, "atan": _U.ATAN,
         "asinh": _U.ASINH, "acosh": _U.ACOSH, "atanh": _U.ATANH, "ceil": _U.CEIL, "floor": _U.FLOOR, "erf": _U.ERF,
         "sign": _U.SIGN, "round": _U.ROUND, "isinf": _U.ISINF, "isnan": _U.ISNAN, "logical_not": _U.NOT,
         "bitwise_not": _U.NOT}
ACTIVATIONS = {"relu": _A.RELU, "sigmoid": _A.SIGMOID, "tanh": _A.TANH}
BINARY = {"add.Tensor": _E.SUM, "add.Scalar": _E.SUM, "sub.Tensor": _E.SUB, "sub.Scalar": _E.SUB, "mul.Tensor": _E.PROD,
          "mul.Scalar": _E.PROD, "div.Tensor": _E.DIV, "div.Scalar": _E.DIV, "pow.Tensor_Tensor": _E.POW,
          "pow.Tensor_Scalar": _E.POW, "pow.Scalar": _E.POW, "maximum.default": _E.MAX, "minimum.default": _E.MIN}
COMPARISONS = {"eq": (_E.EQUAL, False), "ne": (_E.EQUAL, True), "gt": (_E.GREATER, False), "le": (_E.GREATER, True),
               "lt": (_E.LESS, False), "ge": (_E.LESS, True)}
LOGICAL = {"logical_and": _E.AND, "logical_or": _E.OR, "logical_xor": _E.XOR, "bitwise_and": _E.AND, "bitwise_or": _E.OR,
           "bitwise_xor": _E.XOR}
REDUCTIONS = {"sum.dim_IntList": _R.SUM, "mean.dim": _R.AVG, "amax.default": _R.MAX, "amin.default": _R.MIN}

ROWS = {}


def row(*names):
    def keep(function):
        for name in names:
            ROWS[name] = function
        return function

    return keep


def _axes(call, name, rank):
    given = call.get(name)
    if given is None or given == []:
        return list(range(rank))
    return [axis % rank for axis in ([given] if isinstance(given, int) else given)]


def _operands(layers, call, dtype, first="self", second="other"):
    rank = call.result_rank
    return [layers.cast(value, dtype) if call.is_tensor(name) else layers.constant(value, dtype, rank)
            for name, value in ((first, call[first]), (second, call[second]))]


def _real(layers, call):
    """The operand; integers as numbers of the result's type, where that is a floating-point type."""
    return layers.cast(call["self"], call.result.dtype) if call.result.dtype.is_floating_point else call["self"]


def _unary(op):
    return lambda layers, call: layers.unary(_real(layers, call), op)


def _activation(kind):
    return lambda layers, call: layers.activation(_real(layers, call), kind)


_OF_TRUTHS = {_E.SUM: _E.OR, _E.PROD: _E.AND, _E.MAX: _E.OR, _E.MIN: _E.AND}


def _binary(op):
    def convert(layers, call):
        names = ("self", "exponent") if "exponent" in call else ("self", "other")
        left, right = _operands(layers, call, call.result.dtype, *names)
        alpha = call.get("alpha", 1)
        if alpha not in (None, 1):
            right = layers.elementwise(right, layers.constant(alpha, call.result.dtype, len(right.shape)), _E.PROD)
        return layers.elementwise(left, right, _OF_TRUTHS.get(op, op) if call.result.dtype == torch.bool else op)

    return convert


def _comparison(op, negated):
    def convert(layers, call):
        left, right = _operands(layers, call, torch.result_type(call.meta("self"), call.meta("other")))
        result = layers.elementwise(left, right, op)
        return layers.unary(result, _U.NOT) if negated else result

    return convert


def _logical(op):
    def convert(layers, call):
        if call.result.dtype != torch.bool:
            return _low_bits(layers, call, op)
        return layers.elementwise(*_operands(layers, call, torch.bool), op)

    return convert


def _low_bits(layers, call, op):
    """An integer's lowest bits: what a division by the next power of two leaves."""
    mask, x = call["other"], call["self"]
    if op != _E.AND or not isinstance(mask, int) or mask < 0 or mask & (mask + 1) or mask >= torch.iinfo(call.result.dtype).max:
        raise Unsupported("bits of integers")
    power = layers.constant(mask + 1, call.result.dtype, max(1, call.result_rank))
    whole = layers.elementwise(x, power, _E.FLOOR_DIV)
    return layers.elementwise(x, layers.elementwise(whole, power, _E.PROD), _E.SUB)


def _reduction(op):
    def convert(layers, call):
        x = layers.cast(call["self"], call.result.dtype)
        return layers.reduce(x, op, _axes(call, "dim", len(x.shape)), call.get("keepdim", False))

    return convert


for _name, _op in UNARY.items():
    ROWS[f"{_name}.default"] = _unary(_op)
for _name, _op in ACTIVATIONS.items():
    ROWS[f"{_name}.default"] = _activation(_op)
for _name, _op in BINARY.items():
    ROWS[_name] = _binary(_op)
for _name, (_op, _negated) in COMPARISONS.items():
    ROWS[f"{_name}.Tensor"] = ROWS[f"{_name}.Scalar"] = _comparison(_op, _negated)
for _name, _op in LOGICAL.items():
    ROWS[f"{_name}.default"] = ROWS[f"{_name}.Tensor"] = ROWS[f"{_name}.Scalar"] = _logical(_op)
for _name, _op in REDUCTIONS.items():
    ROWS[_name] = _reduction(_op)


@row("var_mean.correction")
def _variance_and_mean(layers, call):
    x = call["self"]
    return [_variance(layers, call), layers.reduce(x, _R.AVG, _axes(call, "dim", len(x.shape)), call.get("keepdim", False))]


@row("var.correction")
def _variance(layers, call):
    x = call["self"]
    axes, keep = _axes(call, "dim", len(x.shape)), call.get("keepdim", False)
    correction = call.get("correction")
    extents = [call.meta("self").shape[axis] for axis in axes]
    if correction != 0 and not is_fixed(extents):
        raise Unsupported("a variance with a correction over dynamic extents")
    count = 1 if correction == 0 else math.prod(fixed(extents))
    off = layers.elementwise(x, layers.reduce(x, _R.AVG, axes, True), _E.SUB)
    mean = layers.reduce(layers.elementwise(off, off, _E.PROD), _R.AVG, axes, keep)
    factor = count / max(count - (1 if correction is None else correction), 1e-30)
    return layers.elementwise(mean, layers.constant(factor, call.result.dtype, len(mean.shape)), _E.PROD)


@row("max.dim", "min.dim")
def _extreme(layers, call):
    """Values and indices."""
    x, largest = call["self"], call.name.startswith("max")
    axis = call["dim"] % len(x.shape)
    layer = layers.network.add_topk(x, trt.TopKOperation.MAX if largest else trt.TopKOperation.MIN, 1, 1 << axis)
    return [layers.reshape(layers.out(layer, 0), call.result.shape),
            layers.cast(layers.reshape(layers.out(layer, 1), call.result.shape), torch.int64)]


# Functions of one tensor.

@row("alias.default", "clone.default", "detach.default", "lift_fresh_copy.default", "contiguous.default")
def _same(layers, call):
    return call["self"]


@row("_to_copy.default", "to.dtype")
def _convert_type(layers, call):
    return layers.cast(call["self"], call.result.dtype)


@row("rsqrt.default")
def _rsqrt(layers, call):
    return layers.unary(layers.unary(_real(layers, call), _U.SQRT), _U.RECIP)


@row("silu.default")
def _silu(layers, call):
    return layers.elementwise(call["self"], layers.activation(call["self"], _A.SIGMOID), _E.PROD)


@row("gelu.default")
def _gelu(layers, call):
    return layers.activation(call["self"], _A.GELU_TANH if call.get("approximate") == "tanh" else _A.GELU_ERF)


@row("leaky_relu.default")
def _leaky_relu(layers, call):
    return layers.activation(call["self"], _A.LEAKY_RELU, alpha=call.get("negative_slope", 0.01))


@row("elu.default")
def _elu(layers, call):
    """scale * (x above 0, else alpha * (exp(input_scale * x) - 1)); SELU has scales."""
    x, scale, inner, alpha = call["self"], call.get("scale", 1), call.get("input_scale", 1), call.get("alpha", 1.0)
    if scale == 1 and inner == 1:
        return layers.activation(x, _A.ELU, alpha=alpha)
    if inner == 1:
        return layers.activation(x, _A.SELU, alpha=alpha, beta=scale)
    number = [layers.constant(value, call.result.dtype, max(1, len(x.shape))) for value in (inner, scale)]
    below = layers.activation(layers.elementwise(layers.elementwise(x, number[0], _E.PROD),
                                                 layers.constant(0, call.result.dtype, max(1, len(x.shape))), _E.MIN), _A.ELU, alpha=alpha)
    return layers.elementwise(layers.elementwise(layers.activation(x, _A.RELU), below, _E.SUM), number[1], _E.PROD)


@row("hardsigmoid.default")
def _hardsigmoid(layers, call):
    return layers.activation(call["self"], _A.HARD_SIGMOID, alpha=1 / 6, beta=0.5)


@row("hardswish.default")
def _hardswish(layers, call):
    gate = layers.activation(call["self"], _A.HARD_SIGMOID, alpha=1 / 6, beta=0.5)
    return layers.elementwise(call["self"], gate, _E.PROD)


@row("hardtanh.default", "clamp.default")
def _clamp(layers, call):
    x = call["self"]
    low, high = (call.get("min_val", -1), call.get("max_val", 1)) if call.name.startswith("hardtanh") \
        else (call.get("min"), call.get("max"))
    for bound, op in ((low, _E.MAX), (high, _E.MIN)):
        if bound is not None:
            x = layers.elementwise(x, layers.constant(bound, call.result.dtype, len(x.shape)), op)
    return x


# Products.

@row("mm.default", "bmm.default", "matmul.default")
def _matmul(layers, call):
    left, right = call["self"], call["mat2"] if "mat2" in call else call["other"]
    if len(left.shape) < 2 or len(right.shape) < 2:
        raise Unsupported("products of vectors")
    return layers.matmul(left, right)


@row("addmm.default")
def _addmm(layers, call):
    if call.get("alpha", 1) != 1 or call.get("beta", 1) != 1:
        raise Unsupported("addmm with factors")
    return layers.elementwise(layers.matmul(call["mat1"], call["mat2"]), call["self"], _E.SUM)


@row("linear.default")
def _linear(layers, call):
    x = layers.matmul(call["input"], call["weight"], transpose_second=True)
    made = x if call.get("bias") is None else layers.elementwise(x, call["bias"], _E.SUM)
    return made if len(made.shape) == call.result_rank else layers.reshape(made, call.result.shape)  # Of a vector.


@row("scaled_dot_product_attention.default")
def _attention(layers, call):
    """Attention of four axes; other ranks are brought to four, and heads that several queries share are repeated."""
    query, key, value, mask = call["query"], call["key"], call["value"], call.get("attn_mask")
    if call.get("dropout_p", 0.0):
        raise Unsupported("attention with dropout")
    rank, width = len(query.shape), plain(call.meta("query").shape[-1])
    if rank > 4:
        if mask is not None and len(mask.shape) > 2:
            raise Unsupported("a mask of its own for each of an attention's more than 4 axes")
        query, key, value = (_leading_axes_as_one(layers, x, call.meta(name)) for x, name in
                             ((query, "query"), (key, "key"), (value, "value")))
    query, key, value = (layers.ranked(x, 4) for x in (query, key, value))
    if call.get("enable_gqa", False):
        heads = fixed((call.meta("query").shape[-3],))[0]
        key, value = (_shared_heads(layers, x, call.meta(name), heads) for x, name in ((key, "key"), (value, "value")))
    scale = call.get("scale") or 1 / math.sqrt(width)
    query = layers.elementwise(query, layers.constant(scale, call.result.dtype, 4), _E.PROD)
    layer = layers.network.add_attention(query, key, value, trt.AttentionNormalizationOp.SOFTMAX,
                                         bool(call.get("is_causal", False)))
    if layer is None:
        raise Unsupported("an attention that the network refuses (see the log)")
    layer.decomposable = True
    if mask is not None:
        layer.mask = layers.ranked(mask, 4)
    made = layer.get_output(0)
    return made if rank == 4 else layers.reshape(made, call.result.shape)


def _leading_axes_as_one(layers, x, description):
    shape = [plain(extent) for extent in description.shape]
    return layers.reshape(x, [math.prod(shape[:-3]), *shape[-3:]])


def _shared_heads(layers, x, description, heads: int):
    """Each head as often as queries share it."""
    shape = [plain(extent) for extent in description.shape]
    have = fixed(shape[-3:-2])[0]
    if have == heads:
        return x
    places = torch.arange(heads, dtype=torch.int64) // (heads // have)
    return layers.out(layers.network.add_gather(x, layers.constant(places), 1))


@row("convolution.default")
def _convolution(layers, call):
    x, weight = call["input"], call.meta("weight")
    spatial, transposed = len(weight.shape) - 2, call["transposed"]
    groups, maps = call["groups"], weight.shape[0] if not call["transposed"] else weight.shape[1] * call["groups"]
    add = layers.network.add_deconvolution_nd if transposed else layers.network.add_convolution_nd
    none = trt.Weights(type_of(weight.dtype))
    kernel, bias = layers.weights_of(call["weight"]), layers.weights_of(call.get("bias"))
    padding, extra = _of(call["padding"], spatial), _of(call["output_padding"], spatial) if transposed else (0,) * spatial
    beyond = any(more > pad for pad, more in zip(padding, extra))  # Elements that no product reaches: the bias alone.
    layer = add(x, maps, tuple(weight.shape[2:]), kernel or none, none if beyond else bias or none)
    layers.out(layer)
    if kernel is None:
        layer.set_input(1, call["weight"])
    if bias is None and call.get("bias") is not None and not beyond:
        layer.set_input(2, call["bias"])
    layer.num_groups = groups
    layer.stride_nd, layer.dilation_nd = _of(call["stride"], spatial), _of(call["dilation"], spatial)
    layer.pre_padding = padding
    layer.post_padding = tuple(max(0, pad - more) for pad, more in zip(padding, extra))
    return _with_elements_beyond(layers, call, layer.get_output(0)) if beyond else layer.get_output(0)


def _with_elements_beyond(layers, call, made):
    """A transposed convolution without its bias: with zeros up to the result's extents, and the bias."""
    rank = len(call.result.shape)
    filled = layers.slice(made, [0] * rank, call.result.shape, [1] * rank, trt.SampleMode.FILL)
    filled.set_input(4, layers.constant(0, call.result.dtype))
    if call.get("bias") is None:
        return filled.get_output(0)
    bias = layers.reshape(call["bias"], (1, -1) + (1,) * (rank - 2))
    return layers.elementwise(filled.get_output(0), bias, _E.SUM)


def _of(value, count):
    values = [value] if isinstance(value, int) else list(value)
    return tuple(values * count if len(values) == 1 else values)


# Normalizations.

@row("native_layer_norm.default", "layer_norm.default")
def _layer_norm(layers, call):
    x = call["input"]
    rank, axes = len(x.shape), len(call["normalized_shape"])
    shape = (1,) * (rank - axes) + tuple(call["normalized_shape"])
    scale = call.get("weight") if call.get("weight") is not None else layers.constant(torch.ones(shape, dtype=call.result.dtype))
    bias = call.get("bias") if call.get("bias") is not None else layers.constant(torch.zeros(shape, dtype=call.result.dtype))
    mask = sum(1 << axis for axis in range(rank - axes, rank))
    layer = layers.network.add_normalization_v2(x, layers.ranked(scale, rank), layers.ranked(bias, rank), mask)
    layers.out(layer)
    layer.epsilon = call["eps"]
    return [layer.get_output(0), None, None]


@row("native_group_norm.default", "group_norm.default")
def _group_norm(layers, call):
    x = call["input"]
    rank, channels, groups = len(x.shape), x.shape[1], call["group"] if "group" in call else call["num_groups"]
    shape = (1, channels) + (1,) * (rank - 2)
    one, zero = torch.ones(shape, dtype=call.result.dtype), torch.zeros(shape, dtype=call.result.dtype)
    scale = layers.constant(one) if call.get("weight") is None else layers.reshape(call["weight"], shape)
    bias = layers.constant(zero) if call.get("bias") is None else layers.reshape(call["bias"], shape)
    # One group is all channels: their axis is one of those that are normalized.
    mask = sum(1 << axis for axis in range(1 if groups == 1 else 2, rank))
    layer = layers.network.add_normalization_v2(x, scale, bias, mask)
    layers.out(layer)
    layer.num_groups, layer.epsilon = groups, call["eps"]
    return [layer.get_output(0), None, None]


@row("_native_batch_norm_legit_no_training.default")
def _batch_norm(layers, call):
    """(x - mean) / sqrt(variance + eps) * weight + bias; statistics are constants, which a build folds."""
    x, rank, dtype = call["input"], len(call["input"].shape), call.result.dtype
    shape = (1, x.shape[1]) + (1,) * (rank - 2)

    def channels(name):
        return layers.reshape(layers.cast(call[name], torch.float32), shape)

    eps = layers.constant(call["eps"], torch.float32, rank)
    scale = layers.unary(layers.unary(layers.elementwise(channels("running_var"), eps, _E.SUM), _U.SQRT), _U.RECIP)
    if call.get("weight") is not None:
        scale = layers.elementwise(scale, channels("weight"), _E.PROD)
    shift = layers.unary(layers.elementwise(channels("running_mean"), scale, _E.PROD), _U.NEG)
    if call.get("bias") is not None:
        shift = layers.elementwise(shift, channels("bias"), _E.SUM)
    scaled = layers.elementwise(x, layers.cast(scale, dtype), _E.PROD)
    return [layers.elementwise(scaled, layers.cast(shift, dtype), _E.SUM), None, None]


@row("_softmax.default", "softmax.int")
def _softmax(layers, call):
    layer = layers.network.add_softmax(layers.cast(call["self"], call.result.dtype))
    layer.axes = 1 << (call["dim"] % len(call["self"].shape))
    return layer.get_output(0)


@row("_log_softmax.default", "log_softmax.int")
def _log_softmax(layers, call):
    return layers.unary(_softmax(layers, call), _U.LOG)


# Movement.

@row("view.default", "_unsafe_view.default", "reshape.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default",
     "flatten.using_ints")
def _reshape(layers, call):
    return layers.reshape(call["self"], call.result.shape)


@row("permute.default")
def _permute(layers, call):
    rank = len(call["self"].shape)
    return layers.permute(call["self"], [axis % rank for axis in call["dims"]])


@row("transpose.int")
def _transpose(layers, call):
    order = list(range(len(call["self"].shape)))
    first, second = call["dim0"], call["dim1"]
    order[first], order[second] = order[second], order[first]
    return layers.permute(call["self"], order)


@row("t.default")
def _t(layers, call):
    return layers.permute(call["self"], [1, 0]) if len(call["self"].shape) == 2 else call["self"]


@row("expand.default")
def _expand(layers, call):
    shape = [plain(extent) for extent in call.result.shape]
    x = layers.ranked(call["self"], len(shape))
    step = [0 if have == 1 and not (isinstance(want, int) and want == 1) else 1 for have, want in zip(tuple(x.shape), shape)]
    return layers.slice(x, [0] * len(shape), shape, step) if 0 in step else x


@row("slice.Tensor")
def _slice(layers, call):
    x, step = call["self"], call.get("step", 1)
    rank, axis = len(x.shape), call.get("dim", 0) % len(x.shape)
    extent, start = plain(call.meta("self").shape[axis]), plain(call.get("start") or 0)
    if isinstance(extent, int) and isinstance(start, int):
        start = max(0, start + extent if start < 0 else min(start, extent))
    elif is_negative(start):
        start = start + extent
    starts, steps = [0] * rank, [1] * rank
    starts[axis], steps[axis] = start, step
    return layers.slice(x, starts, call.result.shape, steps)


@row("select.int")
def _select(layers, call):
    x, sizes = call["self"], list(call.meta("self").shape)
    rank, axis, index = len(sizes), call["dim"] % len(sizes), plain(call["index"])
    starts = [0] * rank
    starts[axis] = index + sizes[axis] if is_negative(index) else index
    sizes[axis] = 1
    return layers.reshape(layers.slice(x, starts, sizes, [1] * rank), call.result.shape)


@row("split_with_sizes.default", "split.Tensor", "chunk.default")
def _split(layers, call):
    x, axis, at, parts = call["self"], call.get("dim", 0) % len(call["self"].shape), 0, []
    for part in call.results:
        starts = [0] * len(x.shape)
        starts[axis] = at
        at += part.shape[axis]
        parts.append(layers.slice(x, starts, part.shape, [1] * len(x.shape)))
    return parts


@row("cat.default")
def _cat(layers, call):
    parts = [layers.cast(part, call.result.dtype) for part in call["tensors"] if tuple(part.shape) != (0,)]
    layer = layers.network.add_concatenation(parts)
    layer.axis = call.get("dim", 0) % len(parts[0].shape)
    return layer.get_output(0)


@row("embedding.default")
def _embedding(layers, call):
    return layers.out(layers.network.add_gather(call["weight"], call["indices"], 0))


@row("index_select.default")
def _index_select(layers, call):
    return layers.out(layers.network.add_gather(call["self"], call["index"], call["dim"] % len(call["self"].shape)))


@row("gather.default")
def _gather(layers, call):
    layer = layers.network.add_gather_v2(call["self"], call["index"], trt.GatherMode.ELEMENT)
    layer.axis = call["dim"] % len(call["self"].shape)
    return layer.get_output(0)


@row("where.self")
def _where(layers, call):
    rank, dtype = call.result_rank, call.result.dtype
    condition, first, second = call["condition"], *_operands(layers, call, dtype)
    ranked = [layers.ranked(x, rank) for x in (condition, first, second)]
    return layers.out(layers.network.add_select(*ranked))


@row("masked_fill.Scalar")
def _masked_fill(layers, call):
    rank, dtype = call.result_rank, call.result.dtype
    ranked = [layers.ranked(x, rank) for x in (call["mask"], layers.constant(call["value"], dtype, rank), call["self"])]
    return layers.out(layers.network.add_select(*ranked))


@row("constant_pad_nd.default")
def _pad(layers, call):
    x, pad = call["self"], list(call["pad"])
    rank = len(x.shape)
    starts = [0] * rank
    for i in range(len(pad) // 2):
        starts[rank - 1 - i] = -pad[2 * i]
    layer = layers.slice(x, starts, call.result.shape, [1] * rank, trt.SampleMode.FILL)
    layer.set_input(4, layers.constant(call.get("value", 0) or 0, call.result.dtype))
    return layer.get_output(0)


@row("full.default", "full_like.default", "zeros.default", "ones.default", "scalar_tensor.default", "zeros_like.default",
     "ones_like.default")
def _filled(layers, call):
    """Tensors without tensor operands are made once, where their extents are known."""
    if is_fixed(call.result.shape):
        return layers.constant(call.evaluate())
    value = call["fill_value"] if "fill_value" in call else int(call.name.startswith("ones"))
    return layers.filled(value, call.result.shape, call.result.dtype)


@row("empty.memory_format", "empty_permuted.default", "empty_strided.default", "empty_like.default", "new_empty.default")
def _without_elements_yet(layers, call):
    """Whatever lies there: zeros."""
    return layers.filled(0, call.result.shape, call.result.dtype)


@row("arange.start_step", "arange.default", "arange.start")
def _counted(layers, call):
    if is_fixed(call.result.shape):
        return layers.constant(call.evaluate())
    start, step, dtype = plain(call.get("start", 0)), plain(call.get("step", 1)), call.result.dtype
    ones = layers.filled(1, call.result.shape, torch.int64)
    axis = layers.constant(torch.tensor(0, dtype=torch.int32))
    counted = layers.out(layers.network.add_cumulative(ones, axis, trt.CumulativeOperation.SUM, True, False))
    scaled = layers.elementwise(layers.cast(counted, dtype), layers.constant(step, dtype, 1), _E.PROD)
    return layers.elementwise(scaled, layers.constant(start, dtype, 1), _E.SUM)


@row("cumsum.default")
def _cumsum(layers, call):
    axis = layers.constant(torch.tensor(call["dim"] % len(call["self"].shape), dtype=torch.int32))
    x = layers.cast(call["self"], call.result.dtype)
    return layers.out(layers.network.add_cumulative(x, axis, trt.CumulativeOperation.SUM, False, False))


@row("topk.default")
def _topk(layers, call):
    axis = call.get("dim", -1) % len(call["self"].shape)
    kind = trt.TopKOperation.MAX if call.get("largest", True) else trt.TopKOperation.MIN
    layer = layers.network.add_topk(call["self"], kind, call["k"], 1 << axis)
    return [layers.out(layer, 0), layers.cast(layers.out(layer, 1), torch.int64)]
