"""Rows of torchvision's operators, by plugins that are nodes of the library's own."""
from __future__ import annotations

import numpy
import torch

from .. import _native as trt
from ._layers import Unsupported
from ._table import row


def _field(name: str, value):
    real = any(isinstance(item, float) for item in (value if isinstance(value, list) else [value]))
    data = numpy.atleast_1d(numpy.asarray(value, numpy.float32 if real else numpy.int32))
    return trt.PluginField(name, data, trt.PluginFieldType.FLOAT32 if real else trt.PluginFieldType.INT32)


def _plugin(layers, name: str, version: str, tensors, **fields):
    trt.init_libnvinfer_plugins(None, "")
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    if creator is None:
        raise Unsupported(f"the plugin {name} {version}, which is not registered")
    collection = trt.PluginFieldCollection_([_field(*item) for item in fields.items()])
    plugin = creator.create_plugin(name, collection, trt.TensorRTPhase.BUILD)
    return layers.out(layers.network.add_plugin_v3(tensors, [], plugin))


@row("torchvision.roi_align.default")
def _roi_align(layers, call):
    """Boxes have the number of their picture in front."""
    boxes, count = call["rois"], call.meta("rois").shape[0]
    pictures = layers.cast(layers.reshape(layers.slice(boxes, [0, 0], [count, 1], [1, 1]), [count]), torch.int32)
    corners = layers.slice(boxes, [0, 1], [count, 4], [1, 1])
    return _plugin(layers, "ROIAlign_TRT", "2", [call["input"], corners, pictures],
                   coordinate_transformation_mode=int(call["aligned"]), mode=1, output_height=call["pooled_height"],
                   output_width=call["pooled_width"], sampling_ratio=max(0, call["sampling_ratio"]),
                   spatial_scale=float(call["spatial_scale"]))


@row("torchvision.deform_conv2d.default")
def _deformed_convolution(layers, call):
    offset = call["offset"]
    if call["use_mask"]:
        mask = call["mask"]
    else:
        shape = call.meta("offset").shape
        mask = layers.filled(1, [shape[0], shape[1] // 2, *shape[2:]], call.result.dtype)
    made = _plugin(layers, "ModulatedDeformConv2d", "2", [call["input"], offset, mask, call["weight"]],
                   stride=[call["stride_h"], call["stride_w"]], padding=[call["pad_h"], call["pad_w"]],
                   dilation=[call["dilation_h"], call["dilation_w"]], group=call["groups"], deformable_group=call["offset_groups"])
    bias = layers.reshape(call["bias"], [1, call.meta("weight").shape[0], 1, 1])
    return layers.elementwise(made, bias, trt.ElementWiseOperation.SUM)
