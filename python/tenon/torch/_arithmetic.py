"""Rows of functions of elements and of reductions that are put together of several layers."""
from __future__ import annotations

import math

import torch

from .. import _native as trt
from ._layers import Unsupported, fixed
from ._table import _axes, _operands, row

_U, _E, _R = trt.UnaryOperation, trt.ElementWiseOperation, trt.ReduceOperation


def _number(layers, value, like):
    """A number of a tensor's type and rank."""
    return layers.constant(torch.tensor(value, dtype=layers.dtype_of(like)), rank=len(like.shape))


def _select(layers, condition, yes, no):
    rank = max(len(x.shape) for x in (condition, yes, no))
    return layers.out(layers.network.add_select(*(layers.ranked(x, rank) for x in (condition, yes, no))))


# Divisions that round.

def _truncated(layers, x):
    """Towards zero."""
    below = layers.elementwise(x, _number(layers, 0, x), _E.LESS)
    return _select(layers, below, layers.unary(x, _U.CEIL), layers.unary(x, _U.FLOOR))


def _quotient(layers, left, right, rounding):
    """Of tensors of one type. FLOOR_DIV rounds down and integers' DIV towards zero, as PyTorch's modes do."""
    if rounding == "floor":
        return layers.elementwise(left, right, _E.FLOOR_DIV)
    quotient = layers.elementwise(left, right, _E.DIV)
    whole = layers.dtype_of(left).is_floating_point and rounding == "trunc"
    return _truncated(layers, quotient) if whole else quotient


@row("div.Tensor_mode", "div.Scalar_mode", "floor_divide.default")
def _rounded_division(layers, call):
    rounding = "floor" if call.name.startswith("floor") else call["rounding_mode"]
    return _quotient(layers, *_operands(layers, call, call.result.dtype), rounding)


@row("remainder.Scalar", "remainder.Tensor", "fmod.Scalar", "fmod.Tensor")
def _remainder(layers, call):
    left, right = _operands(layers, call, call.result.dtype)
    quotient = _quotient(layers, left, right, "floor" if call.name.startswith("remainder") else "trunc")
    return layers.elementwise(left, layers.elementwise(quotient, right, _E.PROD), _E.SUB)


@row("trunc.default")
def _trunc(layers, call):
    return _truncated(layers, call["self"])


@row("round.decimals")
def _rounded_to_digits(layers, call):
    power = _number(layers, 10.0 ** abs(call["decimals"]), call["self"])
    there, back = (_E.PROD, _E.DIV) if call["decimals"] >= 0 else (_E.DIV, _E.PROD)
    return layers.elementwise(layers.unary(layers.elementwise(call["self"], power, there), _U.ROUND), power, back)


# Signs, and the larger of two where one is no number.

def _is_negative(layers, x):
    """Where the sign is minus, at -0 too: there the reciprocal is -inf."""
    zero = _number(layers, 0, x)
    below = layers.elementwise(x, zero, _E.LESS)
    if not layers.dtype_of(x).is_floating_point:
        return below
    return layers.elementwise(below, layers.elementwise(layers.unary(x, _U.RECIP), zero, _E.LESS), _E.OR)


@row("signbit.default")
def _signbit(layers, call):
    return _is_negative(layers, call["self"])


@row("copysign.Tensor", "copysign.Scalar")
def _copysign(layers, call):
    x, sign = _operands(layers, call, call.result.dtype)
    length = layers.unary(x, _U.ABS)
    return _select(layers, _is_negative(layers, sign), layers.unary(length, _U.NEG), length)


@row("fmax.default", "fmin.default")
def _extreme_of_numbers(layers, call):
    x, y = _operands(layers, call, call.result.dtype)
    made = layers.elementwise(x, y, _E.MAX if call.name.startswith("fmax") else _E.MIN)
    if not call.result.dtype.is_floating_point:
        return made
    made = _select(layers, layers.unary(x, _U.ISNAN), y, made)
    return _select(layers, layers.unary(y, _U.ISNAN), x, made)


@row("ldexp.Tensor")
def _ldexp(layers, call):
    x, exponent = _operands(layers, call, call.result.dtype)
    return layers.elementwise(x, layers.unary(layers.elementwise(exponent, _number(layers, math.log(2), x), _E.PROD), _U.EXP), _E.PROD)


# Places of numbers in ascending rows.

@row("bucketize.Tensor", "searchsorted.Tensor")
def _places_in_order(layers, call):
    """How many numbers of the row are below each, or not above."""
    is_right, sorter = call.get("right", False) or call.get("side") == "right", call.get("sorter")
    row_name, name = ("boundaries", "self") if call.name.startswith("bucketize") else ("sorted_sequence", "self")
    if sorter is not None:
        raise Unsupported("searches by a sorter")
    dtype = torch.promote_types(call.meta(row_name).dtype, call.meta(name).dtype)
    x, steps = layers.cast(call[name], dtype), layers.cast(call[row_name], dtype)
    shape, count = list(call.meta(name).shape), call.meta(row_name).shape[-1]
    lead = [1] * len(shape) if len(call.meta(row_name).shape) == 1 else [*shape[:-1], 1]
    x, steps = layers.reshape(x, [*shape, 1]), layers.reshape(steps, [*lead, count])
    beyond = layers.elementwise(steps, x, _E.GREATER if is_right else _E.LESS)
    if is_right:
        beyond = layers.unary(beyond, _U.NOT)
    counted = layers.reduce(layers.cast(beyond, torch.int32), _R.SUM, [len(shape)], False)
    return layers.cast(counted, call.result.dtype)


# Bits of integers.

@row("__lshift__.Tensor", "__rshift__.Tensor", "bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor")
def _shifted_by_tensors(layers, call):
    """Powers of two from a table, since a power of numbers rounds."""
    x, count = _operands(layers, call, call.result.dtype)
    bits = torch.iinfo(call.result.dtype).bits - 1
    powers = layers.constant(2 ** torch.arange(bits, dtype=call.result.dtype))
    power = layers.out(layers.network.add_gather(powers, count, 0))
    return layers.elementwise(x, power, _E.PROD if "l" in call.name.partition("shift")[0] else _E.FLOOR_DIV)


@row("__lshift__.Scalar", "__rshift__.Scalar", "bitwise_left_shift.Tensor_Scalar", "bitwise_right_shift.Tensor_Scalar")
def _shifted(layers, call):
    """By a number: products with powers of two, and quotients by them, rounded down."""
    count = call["other"]
    if not isinstance(count, int) or not 0 <= count < torch.iinfo(call.result.dtype).bits - 1:
        raise Unsupported(f"a shift by {count}")
    x, power = call["self"], layers.constant(2 ** count, call.result.dtype, max(1, call.result_rank))
    return layers.elementwise(x, power, _E.PROD if "l" in call.name.partition("shift")[0] else _E.FLOOR_DIV)


@row("fake_quantize_per_tensor_affine_cachemask.default", "fake_quantize_per_channel_affine_cachemask.default",
     "fake_quantize_per_tensor_affine.default", "fake_quantize_per_channel_affine.default")
def _fake_quantized(layers, call):
    """Rounded to a grid and back. Its second result, which elements were inside, is for gradients."""
    x, axis = call["self"], call.get("axis")

    def parameter(name):
        if not call.is_tensor(name):
            return _number(layers, float(call[name]), x)
        value = layers.cast(call[name], torch.float32)
        rank = max(1, len(x.shape))
        return layers.reshape(value, [call.meta(name).shape[0] if i == axis else 1 for i in range(rank)] if axis is not None else [1] * rank)

    scale, zero = parameter("scale"), parameter("zero_point")
    steps = layers.elementwise(layers.unary(layers.elementwise(x, scale, _E.DIV), _U.ROUND), zero, _E.SUM)
    for bound, op in (("quant_min", _E.MAX), ("quant_max", _E.MIN)):
        steps = layers.elementwise(steps, _number(layers, float(call[bound]), x), op)
    made = layers.elementwise(layers.elementwise(steps, zero, _E.SUB), scale, _E.PROD)
    return [made, None] if "cachemask" in call.name else made


# Logarithms and exponentials.

def _log1p(layers, x):
    """log(1 + x). Where x is small, the digits that the sum loses come back by the factor x / ((1 + x) - 1)."""
    one = _number(layers, 1.0, x)
    above = layers.elementwise(x, one, _E.SUM)
    log, lost = layers.unary(above, _U.LOG), layers.elementwise(above, one, _E.SUB)
    exact = layers.elementwise(log, layers.elementwise(x, lost, _E.DIV), _E.PROD)
    exact = _select(layers, layers.elementwise(above, one, _E.EQUAL), x, exact)
    small = layers.elementwise(layers.unary(x, _U.ABS), _number(layers, 0.5, x), _E.LESS)
    return _select(layers, small, exact, log)


@row("log1p.default")
def _logarithm_of_one_plus(layers, call):
    return _log1p(layers, layers.cast(call["self"], call.result.dtype))


@row("expm1.default")
def _exponential_minus_one(layers, call):
    """exp(x) - 1, where x is small as 2 t / (1 - t) with t = tanh(x / 2)."""
    x = layers.cast(call["self"], call.result.dtype)
    one = _number(layers, 1.0, x)
    t = layers.activation(layers.elementwise(x, _number(layers, 0.5, x), _E.PROD), trt.ActivationType.TANH)
    exact = layers.elementwise(layers.elementwise(t, _number(layers, 2.0, x), _E.PROD), layers.elementwise(one, t, _E.SUB), _E.DIV)
    small = layers.elementwise(layers.unary(x, _U.ABS), one, _E.LESS)
    return _select(layers, small, exact, layers.elementwise(layers.unary(x, _U.EXP), one, _E.SUB))


@row("log2.default", "log10.default")
def _other_logarithm(layers, call):
    x = layers.unary(layers.cast(call["self"], call.result.dtype), _U.LOG)
    return layers.elementwise(x, _number(layers, 1 / math.log(2 if "2" in call.name else 10), x), _E.PROD)


@row("exp2.default")
def _exp2(layers, call):
    x = layers.cast(call["self"], call.result.dtype)
    return layers.unary(layers.elementwise(x, _number(layers, math.log(2), x), _E.PROD), _U.EXP)


@row("atan2.default")
def _atan2(layers, call):
    """The angle of (other, self): atan of the quotient, moved by pi in the left half plane."""
    y, x = _operands(layers, call, call.result.dtype)
    angle = layers.unary(layers.elementwise(y, x, _E.DIV), _U.ATAN)
    zero, pi = _number(layers, 0.0, angle), _number(layers, math.pi, angle)
    below = layers.elementwise(y, zero, _E.LESS)
    turned = _select(layers, below, layers.elementwise(angle, pi, _E.SUB), layers.elementwise(angle, pi, _E.SUM))
    angle = _select(layers, layers.elementwise(x, zero, _E.LESS), turned, angle)
    on_axis = layers.elementwise(x, zero, _E.EQUAL)
    upright = layers.elementwise(layers.unary(y, _U.SIGN), _number(layers, math.pi / 2, angle), _E.PROD)
    return _select(layers, on_axis, upright, angle)


@row("clamp.Tensor")
def _clamp_by_tensors(layers, call):
    x = layers.cast(call["self"], call.result.dtype)
    for name, op in (("min", _E.MAX), ("max", _E.MIN)):
        if call.get(name) is not None:
            x = layers.elementwise(x, layers.cast(call[name], call.result.dtype), op)
    return x


# Functions of a network's layers that one layer stands for, where PyTorch would take them apart.

@row("softplus.default")
def _softplus(layers, call):
    """log(1 + exp(beta x)) / beta; PyTorch takes x itself above a threshold, from 20 on the same to the last digit."""
    x, beta, threshold = call["self"], call.get("beta", 1.0), call.get("threshold", 20.0)
    made = layers.activation(x, trt.ActivationType.SOFTPLUS, alpha=1 / beta, beta=beta)
    if threshold >= 20:
        return made
    return _select(layers, layers.elementwise(x, _number(layers, threshold / beta, x), _E.GREATER), x, made)


# Reductions.

def _whole(layers, x):
    """As one axis, where it has none."""
    return layers.reshape(x, (1,)) if len(x.shape) == 0 else x


@row("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def _any_or_all(layers, call):
    x = _whole(layers, layers.cast(layers.cast(call["self"], torch.bool), torch.int32))
    op = _R.MAX if call.name.startswith("any") else _R.MIN
    made = layers.reduce(x, op, _axes(call, "dim", len(x.shape)), call.get("keepdim", False))
    return layers.cast(layers.reshape(made, call.result.shape), torch.bool)


@row("sum.default", "mean.default", "max.default", "min.default", "prod.default", "prod.dim_int")
def _over_all(layers, call):
    x = _whole(layers, layers.cast(call["self"], call.result.dtype))
    op = {"sum": _R.SUM, "mean": _R.AVG, "max": _R.MAX, "min": _R.MIN, "prod": _R.PROD}[call.name.partition(".")[0]]
    return layers.reduce(x, op, _axes(call, "dim", len(x.shape)), call.get("keepdim", False))


@row("argmax.default", "argmin.default")
def _place_of_extreme(layers, call):
    x, dim = call["self"], call.get("dim")
    if dim is None:
        x, dim = layers.reshape(x, (-1,) if -1 in tuple(x.shape) else (math.prod(tuple(x.shape)),)), 0
    kind = trt.TopKOperation.MAX if call.name.startswith("argmax") else trt.TopKOperation.MIN
    layer = layers.network.add_topk(x, kind, 1, 1 << (dim % len(x.shape)))
    return layers.cast(layers.reshape(layers.out(layer, 1), call.result.shape), torch.int64)


@row("sort.default", "sort.stable")
def _sort(layers, call):
    x, dim = call["self"], call.get("dim", -1) % len(call["self"].shape)
    extent = tuple(x.shape)[dim]
    if extent < 0:
        raise Unsupported("sorting along a dynamic extent")
    kind = trt.TopKOperation.MAX if call.get("descending", False) else trt.TopKOperation.MIN
    layer = layers.network.add_topk(x, kind, extent, 1 << dim)
    return [layers.out(layer, 0), layers.cast(layers.out(layer, 1), torch.int64)]


@row("kthvalue.default", "median.dim", "median.default")
def _picked_by_rank(layers, call):
    """Of equal elements PyTorch may give the place of any."""
    x = layers.reshape(call["self"], (-1,)) if call.name == "median.default" else call["self"]
    axis = call.get("dim", -1) % len(x.shape)
    extent = tuple(x.shape)[axis] if "dim" in call or "k" in call else call.meta("self").numel()
    if not isinstance(extent, int) or extent < 0:
        raise Unsupported("a median of a dynamic extent")
    count = call["k"] if "k" in call else (extent + 1) // 2
    layer = layers.network.add_topk(x, trt.TopKOperation.MIN, count, 1 << axis)
    last = layers.constant(torch.tensor([count - 1]))
    picked = [layers.reshape(layers.out(layers.network.add_gather(layers.out(layer, i), last, axis)), call.result.shape) for i in (0, 1)]
    return picked[0] if call.name == "median.default" else [picked[0], layers.cast(picked[1], torch.int64)]


# Cumulative functions.

def _cumulated(layers, x, axis: int, shape, function):
    """Each element with all ahead of it: in steps that double their reach. `function`: of two tensors."""
    extents = list(fixed(shape))
    extent, reach = extents[axis], 1
    while reach < extent:
        def part(start, count, of):
            starts, sizes = [0] * len(extents), list(extents)
            starts[axis], sizes[axis] = start, count
            return layers.slice(of, starts, sizes, [1] * len(extents))

        joined = layers.network.add_concatenation(
            [part(0, reach, x), function(part(reach, extent - reach, x), part(0, extent - reach, x))])
        joined.axis = axis
        x, reach = layers.out(joined), 2 * reach
    return x


@row("cumprod.default", "logcumsumexp.default")
def _cumulative_values(layers, call):
    x, axis = layers.cast(call["self"], call.result.dtype), call["dim"] % len(call["self"].shape)

    def function(first, second):
        if call.name.startswith("cumprod"):
            return layers.elementwise(first, second, _E.PROD)
        most = layers.elementwise(first, second, _E.MAX)
        least = layers.elementwise(first, second, _E.MIN)
        ratio = layers.unary(layers.elementwise(least, most, _E.SUB), _U.EXP)
        return layers.elementwise(most, _log1p(layers, ratio), _E.SUM)

    return _cumulated(layers, x, axis, call.result.shape, function)


@row("cummax.default", "cummin.default")
def _cumulative_extreme(layers, call):
    """Values, and the last places where they are: elements that are as large as all ahead of them are places of their own."""
    x, shape = call["self"], fixed(call.result.shape)
    axis = call["dim"] % len(shape)
    op = _E.MAX if call.name.startswith("cummax") else _E.MIN
    values = _cumulated(layers, x, axis, shape, lambda first, second: layers.elementwise(first, second, op))
    view = [1] * len(shape)
    view[axis] = shape[axis]
    places = layers.constant(torch.arange(shape[axis]).reshape(view))
    mine = layers.cast(layers.elementwise(x, values, _E.EQUAL), torch.int64)
    places = layers.elementwise(mine, places, _E.PROD)
    return [values, _cumulated(layers, places, axis, shape, lambda first, second: layers.elementwise(first, second, _E.MAX))]


@row("_pdist_forward.default")
def _distances_of_pairs(layers, call):
    """Of all pairs of rows."""
    rows, power, dtype = fixed(call.meta("self").shape)[0], call.get("p", 2.0), call.result.dtype
    if power not in (1.0, 2.0):
        raise Unsupported(f"distances of the power {power}")
    first, second = (layers.out(layers.network.add_gather(call["self"], layers.constant(places), 0))
                     for places in torch.triu_indices(rows, rows, 1))
    off = layers.elementwise(first, second, _E.SUB)
    if power == 1.0:
        return layers.reduce(layers.unary(off, _U.ABS), _R.SUM, [1], False)
    return layers.unary(layers.reduce(layers.elementwise(off, off, _E.PROD), _R.SUM, [1], False), _U.SQRT)


@row("_trilinear.default")
def _trilinear(layers, call):
    """The sum over some axes of a product of three tensors, each with further axes of 1."""
    product = None
    for name, expand in (("i1", "expand1"), ("i2", "expand2"), ("i3", "expand3")):
        shape = list(call.meta(name).shape)
        for axis in sorted(call[expand]):
            shape.insert(axis, 1)
        x = layers.reshape(call[name], shape)
        product = x if product is None else layers.elementwise(product, x, _E.PROD)
    axes = list(call["sumdim"])
    return layers.reduce(product, _R.SUM, axes, False)


@row("_native_batch_norm_legit.no_stats")
def _normalized_by_batch(layers, call):
    """(x - mean) / sqrt(variance + eps) over all axes but the channels'."""
    x, rank, dtype = call["input"], len(call["input"].shape), call.result.dtype
    axes = [axis for axis in range(rank) if axis != 1]
    off = layers.elementwise(x, layers.reduce(x, _R.AVG, axes, True), _E.SUB)
    variance = layers.reduce(layers.elementwise(off, off, _E.PROD), _R.AVG, axes, True)
    deviation = layers.unary(layers.elementwise(variance, _number(layers, call["eps"], x), _E.SUM), _U.SQRT)
    made = layers.elementwise(off, deviation, _E.DIV)
    for name, op in (("weight", _E.PROD), ("bias", _E.SUM)):
        if call.get(name) is not None:
            by_channel = layers.reshape(layers.cast(call[name], dtype), (1, -1) + (1,) * (rank - 2))
            made = layers.elementwise(made, by_channel, op)
    return [made, None, None]


# Norms and distances.

def _norm(layers, x, power, axes, keep: bool):
    """Of numbers of a floating-point type; a power of 0 counts those that are not 0."""
    length = layers.unary(x, _U.ABS)
    if math.isinf(power):
        return layers.reduce(length, _R.MAX if power > 0 else _R.MIN, axes, keep)
    if power == 0:
        return layers.reduce(layers.unary(length, _U.SIGN), _R.SUM, axes, keep)
    if power == 1:
        return layers.reduce(length, _R.SUM, axes, keep)
    raised = layers.elementwise(x, x, _E.PROD) if power == 2 else layers.elementwise(length, _number(layers, power, x), _E.POW)
    total = layers.reduce(raised, _R.SUM, axes, keep)
    return layers.unary(total, _U.SQRT) if power == 2 else layers.elementwise(total, _number(layers, 1 / power, total), _E.POW)


@row("linalg_vector_norm.default")
def _vector_norm(layers, call):
    x = _whole(layers, layers.cast(call["self"], call.result.dtype))
    made = _norm(layers, x, call.get("ord", 2), _axes(call, "dim", len(x.shape)), call.get("keepdim", False))
    return made if len(made.shape) == call.result_rank else layers.reshape(made, call.result.shape)


@row("_cdist_forward.default")
def _distances(layers, call):
    """Of each row of one matrix to each of another."""
    first, second = (layers.network.add_unsqueeze(call[name], layers.constant(torch.tensor([axis], dtype=torch.int64)))
                     for name, axis in (("x1", call.result_rank - 1), ("x2", call.result_rank - 2)))
    off = layers.elementwise(layers.out(first), layers.out(second), _E.SUB)
    return _norm(layers, off, call["p"], [call.result_rank], False)


@row("histc.default")
def _counts_by_range(layers, call):
    """Elements from each edge to the next; those at the last edge are the last range's, those beyond the ends no range's."""
    x, bins, low, high = call["self"], call.get("bins", 100), call.get("min", 0), call.get("max", 0)
    if low == high:
        raise Unsupported("a histogram between the least and the largest element")
    x, edges = layers.reshape(x, (1, -1)), layers.constant(torch.linspace(low, high, bins + 1, dtype=call.result.dtype).reshape(-1, 1))
    ends = _number(layers, float(high), x)
    inside = _negated(layers, layers.elementwise(x, ends, _E.GREATER))
    reached = layers.elementwise(_negated(layers, layers.elementwise(x, edges, _E.LESS)), inside, _E.AND)
    counted = layers.reduce(layers.cast(reached, torch.int32), _R.SUM, [1], False)  # From each edge on.
    first, beyond = (layers.slice(counted, [start], [bins], [1]) for start in (0, 1))
    last = torch.zeros(bins, dtype=torch.int32)
    last[-1] = 1
    beyond = layers.elementwise(beyond, layers.constant(1 - last), _E.PROD)
    return layers.cast(layers.elementwise(first, beyond, _E.SUB), call.result.dtype)


def _negated(layers, x):
    return layers.unary(x, _U.NOT)


# Products of groups.

def _count_up_to(layers, ends, places):
    """How many of the ends, a row, are not above each place, a column."""
    reached = _negated(layers, layers.elementwise(layers.reshape(ends, (1, -1)), layers.reshape(places, (-1, 1)), _E.GREATER))
    return layers.reduce(layers.cast(reached, torch.int32), _R.SUM, [1], False)


def _of_rows(layers, x, weight, offsets, rows: int):
    """Products of few rows: by matrices that are gathered, one for each."""
    group = _count_up_to(layers, offsets, layers.constant(torch.arange(rows, dtype=torch.int32)))
    chosen = layers.out(layers.network.add_gather(weight, group, 0))
    return layers.matmul(layers.reshape(x, (rows, 1, -1)), chosen)


def _of_segments(layers, x, weight, offsets, rows: int, groups: int):
    """Products of more rows than groups. Tiles of rows, as many as groups, are cut where a group ends: each segment lies in one
    tile and one group, and is a product of its tile with its group's matrix. No more than twice as much is computed as needed."""
    height = -(-rows // groups)
    tiles, width = -(-rows // height), tuple(x.shape)[1]
    numbers = lambda values: layers.constant(torch.as_tensor(values, dtype=torch.int32))  # noqa: E731
    joined = lambda parts: layers.out(layers.network.add_concatenation(parts))  # noqa: E731
    inner = layers.cast(layers.slice(offsets, [0], [groups - 1], [1]), torch.int32)
    cuts = joined([inner, numbers([height * tile for tile in range(1, tiles)])]) if tiles > 1 else inner
    count = groups + tiles - 2
    cuts = layers.out(layers.network.add_topk(cuts, trt.TopKOperation.MIN, count, 1))
    starts = joined([numbers([0]), cuts])
    tile = layers.elementwise(layers.elementwise(starts, numbers([height]), _E.FLOOR_DIV), numbers([tiles - 1]), _E.MIN)
    padded = layers.slice(x, [0, 0], [tiles * height, width], [1, 1], trt.SampleMode.FILL)
    padded.set_input(4, layers.constant(0, layers.dtype_of(x)))
    of_tile = layers.out(layers.network.add_gather(layers.reshape(padded.get_output(0), (tiles, height, width)), tile, 0))
    of_group = layers.out(layers.network.add_gather(weight, _count_up_to(layers, inner, starts), 0))
    made = layers.reshape(layers.matmul(of_tile, of_group), ((count + 1) * height, -1))
    segment = _count_up_to(layers, cuts, numbers(range(rows)))
    place = layers.elementwise(layers.elementwise(segment, numbers([height]), _E.PROD), numbers([row % height for row in range(rows)]), _E.SUM)
    return layers.out(layers.network.add_gather(made, place, 0))


@row("_grouped_mm.default", "transformers.grouped_mm_fallback.default")
def _grouped_products(layers, call):
    """Each row of a matrix by the matrix of its group, which ends at an offset."""
    names = ("self", "mat2") if "mat2" in call else ("input", "weight")
    x, weight, offsets = call[names[0]], call[names[1]], call.get("offs")
    if len(x.shape) != 2 or len(weight.shape) != 3 or offsets is None:
        raise Unsupported("grouped products of other operands than a matrix and a stack of matrices")
    rows, groups = (fixed(call.meta(name).shape)[0] for name in names)
    made = _of_rows(layers, x, weight, offsets, rows) if rows <= groups else layers.matmul(x, layers.reshape(weight, tuple(weight.shape)[1:])) \
        if groups == 1 else _of_segments(layers, x, weight, offsets, rows, groups)
    made = layers.cast(layers.reshape(made, call.result.shape), call.result.dtype)
    return made if call.get("bias") is None else layers.elementwise(made, call["bias"], _E.SUM)
