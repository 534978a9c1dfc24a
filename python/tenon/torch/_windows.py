"""Rows of windows and of pictures: pooling over one, two and three axes, resizing, sampling."""
from __future__ import annotations

import math

import torch

from .. import _native as trt
from ._layers import Unsupported, fixed, is_fixed
from ._table import _of, row

_R = trt.ReduceOperation


def _with_a_batch(layers, call, count):
    """With a batch of one in front, where PyTorch has none."""
    x = call["self"]
    return layers.ranked(x, count + 2) if len(x.shape) == count + 1 else x


def _pooled(layers, call, kind, count):
    """Pooling of `count` axes; over one axis as over two, the first of them 1."""
    x, axes = _with_a_batch(layers, call, count), max(2, count)

    def windows(value, rest):
        given = _of(value, count)
        return given if count > 1 else (rest, *given)

    if count == 1:
        x = layers.out(layers.network.add_unsqueeze(x, layers.constant(torch.tensor([2]))))
    layer = layers.network.add_pooling_nd(x, kind, windows(call["kernel_size"], 1))
    layers.out(layer)
    layer.stride_nd = windows(call.get("stride") or call["kernel_size"], 1)
    layer.padding_nd = windows(call.get("padding", 0) or 0, 0)
    if call.get("ceil_mode", False):
        layer.padding_mode = trt.PaddingMode.EXPLICIT_ROUND_UP
    divisor = call.get("divisor_override")
    if kind == trt.PoolingType.AVERAGE:
        layer.average_count_excludes_padding = divisor is None and not call.get("count_include_pad", True)
    made = layers.reshape(layer.get_output(0), call.result.shape)
    if divisor is None:
        return made
    if call.get("ceil_mode", False):
        raise Unsupported("average pooling with a divisor of its own beside ceil_mode")
    factor = math.prod(_of(call["kernel_size"], count)) / divisor
    return layers.elementwise(made, layers.constant(factor, call.result.dtype, len(made.shape)), trt.ElementWiseOperation.PROD)


@row("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def _average_pool(layers, call):
    return _pooled(layers, call, trt.PoolingType.AVERAGE, int(call.name.partition("pool")[2][0]))


@row("max_pool1d.default", "max_pool2d.default", "max_pool3d.default", "max_pool2d_with_indices.default",
     "max_pool3d_with_indices.default")
def _max_pool(layers, call):
    count = int(call.name.partition("pool")[2][0])
    if any(step != 1 for step in _of(call.get("dilation", 1) or 1, count)):
        return [_with_steps(layers, call, count), None]
    return [_pooled(layers, call, trt.PoolingType.MAX, count), None]


@row("adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default",
     "_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default")
def _adaptive_pool(layers, call):
    """Means over windows that share the extents out."""
    x, count = call["self"], int(call.name.partition("pool")[2][0])
    wanted, rank = _of(call["output_size"], count), len(call["self"].shape)
    if all(extent == 1 for extent in wanted):
        return layers.reduce(x, _R.AVG, list(range(rank - count, rank)), True)
    for axis, (extent, parts) in enumerate(zip(fixed(call.meta("self").shape[-count:]), wanted), start=rank - count):
        if extent != parts:
            x = _averaged(layers, x, axis, extent, parts, call.result.dtype)
    return x


def _averaged(layers, x, axis, extent: int, parts: int, dtype):
    """Along one axis, which becomes two: windows, and their elements, the last of which repeats where a window is shorter than
    others, and shares its share. No product of matrices, so that numbers are not rounded for one."""
    windows = [range(part * extent // parts, -(-(part + 1) * extent // parts)) for part in range(parts)]
    most = max(map(len, windows))
    places = torch.tensor([[min(window.start + i, window.stop - 1) for i in range(most)] for window in windows])
    shares = torch.tensor([[1 / len(window) / (1 if i < len(window) - 1 else most - len(window) + 1) for i in range(most)]
                           for window in windows], dtype=dtype)
    taken = layers.out(layers.network.add_gather(x, layers.constant(places), axis))
    shares = layers.constant(shares.reshape(parts, most, *(1,) * (len(x.shape) - axis - 1)))
    return layers.reduce(layers.elementwise(taken, shares, trt.ElementWiseOperation.PROD), _R.SUM, [axis + 1], False)


@row("adaptive_max_pool2d.default", "adaptive_max_pool3d.default")
def _adaptive_max_pool(layers, call):
    """The most of windows that share the extents out, one axis after the other."""
    x, count = call["self"], int(call.name.partition("pool")[2][0])
    extents = fixed(call.meta("self").shape[-count:])
    for axis, (extent, parts) in enumerate(zip(extents, _of(call["output_size"], count)), start=len(x.shape) - count):
        windows = [range(part * extent // parts, -(-(part + 1) * extent // parts)) for part in range(parts)]
        x = _most_of(layers, x, axis, windows)
    return [x, None]


def _most_of(layers, x, axis: int, windows):
    """The most of each window along an axis; a shorter one's last element repeats."""
    longest = max(map(len, windows))
    places = torch.tensor([[window[min(i, len(window) - 1)] for i in range(longest)] for window in windows])
    taken = layers.out(layers.network.add_gather(x, layers.constant(places), axis))
    return layers.reduce(taken, _R.MAX, [axis + 1], False)


def _with_steps(layers, call, count):
    """Max pooling whose windows take every second element, or fewer: by the windows' elements that lie in the picture."""
    x, steps, sizes = call["self"], _of(call["dilation"], count), _of(call["kernel_size"], count)
    strides, padding = _of(call.get("stride") or call["kernel_size"], count), _of(call.get("padding", 0) or 0, count)
    extents = fixed(call.meta("self").shape)
    for i, axis in enumerate(range(len(x.shape) - count, len(x.shape))):
        starts = [part * strides[i] - padding[i] for part in range(fixed(call.result.shape)[axis])]
        x = _most_of(layers, x, axis, [[place for place in range(start, start + sizes[i] * steps[i], steps[i]) if 0 <= place < extents[axis]]
                                       for start in starts])
    return x


_MODES = {"nearest": trt.InterpolationMode.NEAREST, "bicubic": trt.InterpolationMode.CUBIC}
_RESIZED = tuple(f"upsample_{name}.{overload}" for overload in ("vec", "default") for name in (
    "nearest1d", "nearest2d", "nearest3d", "linear1d", "bilinear2d", "trilinear3d", "bicubic2d"))


def _scales(call, count):
    """The factors, where a call gives them: PyTorch computes coordinates by them, and not by the extents that they round to."""
    names = ("scales",) if count == 1 else ("scales_d", "scales_h", "scales_w")[-count:]
    given = call.get("scale_factors") or [call.get(name) for name in names]
    return list(given) if all(given) and not call.get("align_corners", False) else []


@row(*_RESIZED)
def _upsample(layers, call):
    layer = layers.network.add_resize(call["input"] if "input" in call else call["self"])
    layers.out(layer)
    if scales := _scales(call, len(call.result.shape) - 2):
        layer.scales = [1, 1, *scales]
    elif is_fixed(call.result.shape):
        layer.shape = fixed(call.result.shape)
    else:
        layer.set_input(1, layers.extents(call.result.shape))
    kind = call.name.partition(".")[0].removeprefix("upsample_")[:-2]
    layer.resize_mode = _MODES.get(kind, trt.InterpolationMode.LINEAR)
    transformation = trt.ResizeCoordinateTransformation
    layer.coordinate_transformation = transformation.ALIGN_CORNERS if call.get("align_corners", False) \
        else transformation.ASYMMETRIC if kind == "nearest" else transformation.HALF_PIXEL
    if kind == "nearest":
        layer.nearest_rounding = trt.ResizeRoundMode.FLOOR
    if kind == "bicubic":
        layer.cubic_coeff = -0.75
    return layer.get_output(0)


@row("_upsample_bilinear2d_aa.default", "_upsample_bicubic2d_aa.default", "_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa.vec")
def _smooth_upsample(layers, call):
    """A product with a matrix for each axis: the resized unit matrix."""
    x, mode, (height, width) = call["input" if "input" in call else "self"], "bilinear" if "linear" in call.name else "bicubic", call.result.shape[2:]
    rows, columns = fixed((call.meta("input" if "input" in call else "self").shape)[2:])

    def weights(extent, wanted):
        unit = torch.eye(extent)[None, None]
        made = torch.nn.functional.interpolate(unit, (extent, wanted), mode=mode, antialias=True, align_corners=call["align_corners"])
        return layers.constant(made.to(call.result.dtype))

    across = layers.matmul(x, weights(columns, *fixed((width,))))
    down = layers.matmul(layers.permute(across, [0, 1, 3, 2]), weights(rows, *fixed((height,))))
    return layers.permute(down, [0, 1, 3, 2])


@row("grid_sampler_2d.default")
def _grid_sampler(layers, call):
    x, grid = call["input"], call["grid"]
    if (call["interpolation_mode"], call["padding_mode"]) == (2, 1):
        x, grid = _with_a_border(layers, call)
    layer = layers.network.add_grid_sample(x, grid)
    layers.out(layer)
    modes = trt.InterpolationMode.LINEAR, trt.InterpolationMode.NEAREST, trt.InterpolationMode.CUBIC
    layer.interpolation_mode = modes[call["interpolation_mode"]]
    layer.sample_mode = (trt.SampleMode.FILL, trt.SampleMode.CLAMP, trt.SampleMode.REFLECT)[call["padding_mode"]]
    layer.align_corners = call["align_corners"]
    return layer.get_output(0)


def _with_a_border(layers, call):
    """A picture with two elements more on each side, and the same places in it. PyTorch repeats the border for each element that a
    cubic weight meets, and not for the place: two elements beyond, these are the same."""
    shape, dtype = fixed(call.meta("input").shape), call.result.dtype
    wide = (*shape[:2], shape[2] + 4, shape[3] + 4)
    x = layers.slice(call["input"], (0, 0, -2, -2), wide, [1] * 4, trt.SampleMode.CLAMP).get_output(0)
    less = int(call["align_corners"])  # The grid's -1 and 1 are centers of elements, else their outer edges.
    scale = torch.tensor([(have - less) / (have + 4 - less) for have in (shape[3], shape[2])], dtype=dtype)
    return x, layers.elementwise(call["grid"], layers.constant(scale.reshape(1, 1, 1, 2)), trt.ElementWiseOperation.PROD)
