"""Rows of operators that pick, repeat, and replace elements."""
from __future__ import annotations

import torch

from .. import _native as trt
from .._native import own
from ._layers import Unsupported, fixed, is_fixed, plain
from ._table import row

_E = trt.ElementWiseOperation


def _gather(layers, x, indices, axis):
    return layers.out(layers.network.add_gather(x, indices, axis))


# Views.

@row("as_strided.default")
def _as_strided(layers, call):
    """Steps between elements, which a network has none of: what they pick from a tensor whose elements lie in order."""
    meta, shape = call.meta("self"), call.result.shape
    moved = [extent for extent, mine, theirs in zip(shape, call.meta("self").stride(), call["stride"])
             if extent != 1 and mine != theirs]
    if tuple(meta.shape) == tuple(shape) and not moved and not call.get("storage_offset"):
        return call["self"]
    if not is_fixed(shape) or not meta.is_contiguous():
        raise Unsupported("steps between elements of dynamic extents, or of elements that do not lie in order")
    places = torch.zeros((), dtype=torch.int64) + (call.get("storage_offset") or 0)
    for extent, step in zip(fixed(shape), call["stride"]):
        places = places[..., None] + torch.arange(extent) * step
    return _gather(layers, layers.reshape(call["self"], (meta.numel(),)), layers.constant(places), 0)


@row("unfold.default")
def _unfold(layers, call):
    """Windows along an axis; their elements are the last axis."""
    x, meta, size, step = call["self"], call.meta("self"), call["size"], call["step"]
    axis = call["dimension"] % len(meta.shape)
    count = plain(call.result.shape[axis])
    if not isinstance(count, int):
        raise Unsupported("windows along a dynamic extent")
    places = torch.arange(count)[:, None] * step + torch.arange(size)
    windows = _gather(layers, x, layers.constant(places), axis)  # ..., count, size, ...
    order = list(range(len(meta.shape) + 1))
    order.append(order.pop(axis + 1))
    return layers.permute(windows, order)


@row("flip.default")
def _flip(layers, call):
    x, shape = call["self"], [plain(extent) for extent in call.result.shape]
    axes = {axis % len(shape) for axis in call["dims"]}
    starts = [extent - 1 if axis in axes else 0 for axis, extent in enumerate(shape)]
    return layers.slice(x, starts, shape, [-1 if axis in axes else 1 for axis in range(len(shape))])


@row("roll.default")
def _roll(layers, call):
    x, shape = call["self"], [plain(extent) for extent in call.result.shape]
    if not call.get("dims"):
        raise Unsupported("rolling all elements as one row")
    starts = [0] * len(shape)
    for axis, shift in zip(call["dims"], call["shifts"]):
        extent = shape[axis % len(shape)]
        starts[axis % len(shape)] = (extent - shift) % extent if isinstance(extent, int) else extent - shift
    layer = layers.slice(x, starts, shape, [1] * len(shape), trt.SampleMode.WRAP)
    return layer.get_output(0)


@row("repeat.default")
def _repeat(layers, call):
    shape = call.result.shape
    x = layers.ranked(call["self"], len(shape))
    layer = layers.slice(x, [0] * len(shape), shape, [1] * len(shape), trt.SampleMode.WRAP)
    return layer.get_output(0)


@row("diagonal.default")
def _diagonal(layers, call):
    meta, offset = call.meta("self"), call.get("offset", 0)
    rank = len(meta.shape)
    first, second = call.get("dim1", 0) % rank, call.get("dim2", 1) % rank
    rows, columns = fixed((meta.shape[first], meta.shape[second]))
    count = plain(call.result.shape[-1])
    rest = [axis for axis in range(rank) if axis not in (first, second)]
    x = layers.permute(call["self"], rest + [first, second])
    lead = [plain(meta.shape[axis]) for axis in rest]
    places = torch.arange(count) * (columns + 1) + (offset if offset >= 0 else -offset * columns)
    return _gather(layers, layers.reshape(x, (*lead, rows * columns)), layers.constant(places), len(rest))


def _padded(layers, call, mode):
    pad, rank = list(call["padding"]), len(call["self"].shape)
    starts = [0] * rank
    for i in range(len(pad) // 2):
        starts[rank - 1 - i] = -pad[2 * i]
    return layers.slice(call["self"], starts, call.result.shape, [1] * rank, mode).get_output(0)


@row("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def _reflection_pad(layers, call):
    return _padded(layers, call, trt.SampleMode.REFLECT)


@row("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def _replication_pad(layers, call):
    return _padded(layers, call, trt.SampleMode.CLAMP)


# Elements by tensors of indices.

def _from_the_end(layers, index, extent):
    """Negative indices count from the end."""
    index = layers.cast(index, torch.int64)
    rank = max(1, len(index.shape))
    index = layers.ranked(index, rank)
    below = layers.elementwise(index, layers.constant(0, torch.int64, rank), _E.LESS)
    moved = layers.elementwise(index, layers.constant(extent, torch.int64, rank), _E.SUM)
    return layers.out(layers.network.add_select(below, moved, index))


def _common_shape(shapes):
    """The shape of several tensors side by side; extents of one are repeated."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(plain(extent) for extent in shape) for shape in shapes]
    return [next((extent for extent in column if not (isinstance(extent, int) and extent == 1)), 1) for column in zip(*padded)]


def _repeated(layers, x, shape):
    """With extents of one repeated up to a shape."""
    x = layers.ranked(x, len(shape))
    step = [0 if have == 1 and not (isinstance(want, int) and want == 1) else 1 for have, want in zip(tuple(x.shape), shape)]
    return layers.slice(x, [0] * len(shape), shape, step) if 0 in step else x


def _places(layers, call):
    """The axes that tensors index, and their indices as one tensor, the axes' side by side."""
    given = [(axis, index) for axis, index in enumerate(call["indices"]) if index is not None]
    if any(index.dtype == trt.bool for _, index in given):
        raise Unsupported("indexing by booleans: the number of elements depends on the data")
    extents = call.meta("self").shape
    descriptions = [description for description in call.meta("indices") if description is not None]
    shape = _common_shape([description.shape for description in descriptions]) or [1]
    columns = []
    for axis, index in given:
        index = _repeated(layers, _from_the_end(layers, index, plain(extents[axis])), shape)
        columns.append(layers.reshape(index, (*shape, 1)))
    last = layers.network.add_concatenation(columns)
    last.axis = len(shape)
    scalar = all(len(description.shape) == 0 for description in descriptions)
    return [axis for axis, _ in given], layers.out(last), 0 if scalar else len(shape)


def _together(axes) -> bool:
    return axes == list(range(axes[0], axes[0] + len(axes)))


@row("index.Tensor")
def _index(layers, call):
    given = [(axis, index) for axis, index in enumerate(call["indices"]) if index is not None]
    if len(given) == 1 and given[0][1].dtype != trt.bool:
        return _gather(layers, call["self"], given[0][1], given[0][0])
    axes, places, rank = _places(layers, call)
    rest = [axis for axis in range(len(call["self"].shape)) if axis not in axes]
    x = layers.permute(call["self"], axes + rest)
    made = layers.out(layers.network.add_gather_v2(x, places, trt.GatherMode.ND))
    if rank and rest and _together(axes):  # The indices' axes stand where the first indexed one was.
        count = axes[0]
        order = list(range(rank, rank + count)) + list(range(rank)) + list(range(rank + count, rank + len(rest)))
        made = layers.permute(made, order)
    return layers.reshape(made, call.result.shape)


def _scattered(layers, x, places, values, mode, axis=0, update=own.ScatterUpdate.REPLACE):
    layer = layers.network.add_scatter(x, places, values, mode)
    layers.out(layer)
    if mode == trt.ScatterMode.ELEMENT:
        layer.axis = axis
    own.set_scatter_update(layer, update)
    return layer.get_output(0)


@row("index_put.default")
def _index_put(layers, call):
    values, shape = layers.cast(call["values"], call.result.dtype), call.result.shape
    given, adds = [index for index in call["indices"] if index is not None], call.get("accumulate", False)
    if len(given) == 1 and given[0].dtype == trt.bool and not adds:
        return _masked_put(layers, call, values)
    axes, places, rank = _places(layers, call)
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    indexed = _common_shape([x.shape for x in call.meta("indices") if x is not None]) or [1]
    behind = [shape[axis] for axis in rest]
    if rank and _together(axes):  # The values' axes stand where the first indexed one was; they are needed in front.
        values = _repeated(layers, values, [*shape[:axes[0]], *indexed, *shape[axes[-1] + 1:]])
        indexed_axes = list(range(axes[0], axes[0] + rank))
        order = indexed_axes + [axis for axis in range(rank + len(rest)) if axis not in indexed_axes]
        values = values if order == sorted(order) else layers.permute(values, order)
    else:
        values = _repeated(layers, values, [*indexed, *behind])
    order = axes + rest
    x = call["self"] if order == sorted(order) else layers.permute(call["self"], order)
    update = own.ScatterUpdate.ADD if adds else own.ScatterUpdate.REPLACE
    made = _scattered(layers, x, places, values, trt.ScatterMode.ND, update=update)
    return made if order == sorted(order) else layers.permute(made, [order.index(axis) for axis in range(len(order))])


def _masked_put(layers, call, values):
    """Elements that a mask tells, replaced by one value."""
    mask, rank = call["indices"][0], len(call.result.shape)
    if call["indices"][0] is None or call.meta("values").numel() != 1:
        raise Unsupported("index_put by booleans with several values")
    mask = layers.reshape(mask, (*call.meta("indices")[0].shape, *(1,) * (rank - len(mask.shape))))
    values = layers.reshape(values, (1,) * rank)
    return layers.out(layers.network.add_select(mask, values, call["self"]))


def _along(layers, axis, places, shape):
    """Indices along one axis, for a tensor of a shape."""
    view = [1] * len(shape)
    view[axis] = len(places)
    return _repeated(layers, layers.constant(places.reshape(view)), shape)


@row("slice_scatter.default")
def _slice_scatter(layers, call):
    x, source, shape = call["self"], layers.cast(call["src"], call.result.dtype), call.meta("src").shape
    axis = call.get("dim", 0) % len(shape)
    extent = fixed(call.result.shape[axis:axis + 1])[0]
    places = torch.arange(extent)[call.get("start"):call.get("end"):call.get("step", 1)]
    if len(places) == extent:
        return source
    return _scattered(layers, x, _along(layers, axis, places, shape), source, trt.ScatterMode.ELEMENT, axis)


@row("select_scatter.default")
def _select_scatter(layers, call):
    axis, source = call["dim"] % len(call.result.shape), layers.cast(call["src"], call.result.dtype)
    shape = [plain(extent) for extent in call.result.shape]
    place, shape[axis] = torch.arange(fixed(call.result.shape[axis:axis + 1])[0])[call["index"]], 1
    return _scattered(layers, call["self"], _along(layers, axis, place.reshape(1), shape), layers.reshape(source, shape),
                      trt.ScatterMode.ELEMENT, axis)


_UPDATES = {"sum": own.ScatterUpdate.ADD, "add": own.ScatterUpdate.ADD, "prod": own.ScatterUpdate.MULTIPLY,
            "multiply": own.ScatterUpdate.MULTIPLY, "amin": own.ScatterUpdate.MIN, "amax": own.ScatterUpdate.MAX}


@row("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce", "scatter_add.default", "scatter_reduce.two")
def _scatter(layers, call):
    shape, have, axis = call.meta("index").shape, call.meta("self").dtype, call["dim"] % max(1, len(call.meta("self").shape))
    asked = "add" if call.name.startswith("scatter_add") else call.get("reduce")
    if asked == "mean" and not have.is_floating_point:
        raise Unsupported("scatter by mean of integers")
    if "value" in call:
        source = layers.filled(call["value"], shape, have)
    else:
        source = layers.slice(layers.cast(call["src"], have), [0] * len(shape), shape, [1] * len(shape))

    def scattered(x, values, update):
        return _scattered(layers, x, call["index"], values, trt.ScatterMode.ELEMENT, axis, update)

    x = call["self"]
    if asked is not None and not call.get("include_self", True):
        x = scattered(x, layers.filled(_neutral(asked, have), shape, have), own.ScatterUpdate.REPLACE)
    made = scattered(x, source, own.ScatterUpdate.ADD if asked == "mean" else _UPDATES.get(asked, own.ScatterUpdate.REPLACE))
    if asked != "mean":
        return made
    count = layers.filled(1, call.result.shape, have)
    if not call.get("include_self", True):
        count = scattered(count, layers.filled(0, shape, have), own.ScatterUpdate.REPLACE)
    count = scattered(count, layers.filled(1, shape, have), own.ScatterUpdate.ADD)
    return layers.elementwise(made, count, _E.DIV)


def _neutral(reduction: str, dtype):
    """The number that a reduction may begin with."""
    if reduction in ("amin", "amax"):
        least, most = (-torch.inf, torch.inf) if dtype.is_floating_point else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        return most if reduction == "amin" else least
    return int(reduction in ("prod", "multiply"))


# Embeddings by bags: each index adds its row to the bag that it lies in.

_BAG_MODES = ("sum", "mean", "amax")


def _bags(layers, call):
    """For each index the number of its bag: how many bags begin up to there, less one."""
    offsets, count = layers.cast(call["offsets"], torch.int64), call.result.shape[0]
    if call.get("include_last_offset", False):
        offsets = layers.slice(offsets, [0], [count], [1])
    places = layers.constant(torch.arange(fixed(call.meta("indices").shape)[0])[:, None])
    begins = layers.reshape(offsets, [1, count])
    later = layers.cast(layers.elementwise(begins, places, _E.GREATER), torch.int64)
    begun = layers.elementwise(layers.constant(1, torch.int64, 2), later, _E.SUB)
    total = layers.reduce(begun, trt.ReduceOperation.SUM, [1], True)
    return layers.elementwise(total, layers.constant(1, torch.int64, 2), _E.SUB)


@row("_embedding_bag_forward_only.default", "_embedding_bag.default")
def _embedding_bag(layers, call):
    """The bags' sums, means or most. Their other results are for gradients."""
    mode, dtype, shape = _BAG_MODES[call.get("mode", 0)], call.result.dtype, call.result.shape
    bags, indices = _bags(layers, call), call["indices"]
    rows = _gather(layers, call["weight"], indices, 0)
    if call.get("per_sample_weights") is not None:
        rows = layers.elementwise(rows, layers.reshape(call["per_sample_weights"], [call.meta("indices").shape[0], 1]), _E.PROD)
    empty = _neutral(mode, dtype)
    ones = layers.filled(1, [call.meta("indices").shape[0], 1], dtype)
    if call.get("padding_idx", -1) >= 0:
        padding = layers.elementwise(layers.reshape(indices, [call.meta("indices").shape[0], 1]),
                                     layers.constant(call["padding_idx"], layers.dtype_of(indices), 2), _E.EQUAL)
        rows = layers.out(layers.network.add_select(padding, layers.constant(empty, dtype, 2), rows))
        ones = layers.out(layers.network.add_select(padding, layers.constant(0, dtype, 2), ones))
    update = own.ScatterUpdate.MAX if mode == "amax" else own.ScatterUpdate.ADD
    made = _scattered(layers, layers.filled(empty, shape, dtype), bags, rows, trt.ScatterMode.ND, update=update)
    if mode == "sum":
        return [made, None, None, None]
    count = _scattered(layers, layers.filled(0, [shape[0], 1], dtype), bags, ones, trt.ScatterMode.ND, update=own.ScatterUpdate.ADD)
    one = layers.constant(1, dtype, 2)
    if mode == "mean":
        return [layers.elementwise(made, layers.elementwise(count, one, _E.MAX), _E.DIV), None, None, None]
    has_any = layers.elementwise(count, layers.constant(0, dtype, 2), _E.GREATER)
    return [layers.out(layers.network.add_select(has_any, made, layers.constant(0, dtype, 2))), None, None, None]


@row("copy.default")
def _copy(layers, call):
    return _repeated(layers, layers.cast(call["src"], call.result.dtype), [plain(extent) for extent in call.result.shape])


@row("empty.memory_format", "fill.Scalar", "new_zeros.default", "new_ones.default", "empty_like.default")
def _filled(layers, call):
    """Memory without contents is zeros here."""
    value = call["value"] if "value" in call else int("ones" in call.name)
    return layers.filled(value, call.result.shape, call.result.dtype)
