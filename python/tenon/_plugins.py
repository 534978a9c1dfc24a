"""Interfaces of plugins, for applications to implement.

They are Python's, and not classes of the compiled module, so that one class may implement several of them, as plugins of
the third generation do. The compiled module calls objects by the methods' names. Plugins and creators that are not
from Python count as instances too.
"""
from __future__ import annotations

import copy
from abc import ABCMeta
from dataclasses import dataclass

from . import _native


def _wanted(method: str):
    raise NotImplementedError(f"{method}: a class of the application is to override it")


class _Interface(metaclass=ABCMeta):
    """Shared by implementations of the library's interfaces."""

    @property
    def api_language(self):
        return _native.APILanguage.PYTHON


class IPluginCapability(_Interface):
    """Base of the capabilities."""


class IPluginV3(_Interface):
    """A plugin of the third generation: an object that hands out its capabilities, by default itself."""

    def get_capability_interface(self, type):
        return self

    def clone(self):
        return copy.copy(self)

    def destroy(self):
        pass


class IPluginV3OneCore(IPluginCapability):
    """Name, version and namespace of a plugin: attributes."""

    plugin_name = ""
    plugin_version = ""
    plugin_namespace = ""


class IPluginV3OneBuild(IPluginCapability):
    """A plugin's interface for building."""

    DEFAULT_FORMAT_COMBINATION_LIMIT = 100
    num_outputs = 0
    format_combination_limit = DEFAULT_FORMAT_COMBINATION_LIMIT
    metadata_string = None
    timing_cache_id = None

    def configure_plugin(self, in_, out):
        pass

    def get_output_data_types(self, input_types):
        _wanted("IPluginV3OneBuild.get_output_data_types")

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        _wanted("IPluginV3OneBuild.get_output_shapes")

    def supports_format_combination(self, pos, in_out, num_inputs):
        _wanted("IPluginV3OneBuild.supports_format_combination")

    def get_workspace_size(self, in_, out):
        return 0

    def get_valid_tactics(self):
        return []


class IPluginV3OneBuildV2(IPluginV3OneBuild):
    """Building, with outputs that lie where inputs do."""

    def get_aliased_input(self, output_index):
        return -1


class IPluginV3OneRuntime(IPluginCapability):
    """A plugin's interface for running. On a CPU enqueue() gets addresses of host memory and no stream."""

    def on_shape_change(self, in_, out):
        pass

    def set_tactic(self, tactic):
        pass

    def get_fields_to_serialize(self):
        return _native.PluginFieldCollection_([])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        _wanted("IPluginV3OneRuntime.enqueue")

    def attach_to_context(self, resource_context):
        return self.clone()


class IPluginV3QuickCore(IPluginCapability):
    """Name of a plugin that tensorrt.plugin makes."""

    plugin_name = ""
    plugin_version = ""
    plugin_namespace = ""


class IPluginV3QuickBuild(IPluginCapability):
    """Building of a plugin that tensorrt.plugin makes."""


class IPluginV3QuickAOTBuild(IPluginV3QuickBuild):
    """Building of a plugin whose kernels are compiled ahead of time."""


class IPluginV3QuickRuntime(IPluginCapability):
    """Running of a plugin that tensorrt.plugin makes."""


class IPluginV2(_Interface):
    """Base of the second generation."""

    num_outputs = 0
    plugin_type = ""
    plugin_version = ""
    plugin_namespace = ""

    @property
    def tensorrt_version(self):
        major, minor, patch = _native.__version__.split(".")[:3]
        return int(major) * 10000 + int(minor) * 100 + int(patch)

    @property
    def serialization_size(self):
        return len(self.serialize())

    def get_output_shape(self, index, inputs):
        _wanted("IPluginV2.get_output_shape")

    def supports_format(self, dtype, format):
        return False

    def configure_with_format(self, input_shapes, output_shapes, dtype, format, max_batch_size):
        pass

    def initialize(self):
        return 0

    def terminate(self):
        pass

    def get_workspace_size(self, *sizes):
        return 0

    def execute_async(self, batch_size, inputs, outputs, workspace, stream_handle):
        _wanted("IPluginV2.execute_async")

    def serialize(self):
        return b""

    def destroy(self):
        pass

    def clone(self):
        return copy.copy(self)


class IPluginV2Ext(IPluginV2):
    """Second generation with output types."""

    def get_output_data_type(self, index, input_types):
        return input_types[0]

    def configure_plugin(self, *operands):
        pass

    def attach_to_context(self, cudnn, cublas, allocator):
        pass

    def detach_from_context(self):
        pass


class IPluginV2DynamicExtBase(IPluginV2Ext):
    """Base of plugins for dynamic shapes."""


class IPluginV2DynamicExt(IPluginV2DynamicExtBase):
    """A plugin of the second generation for dynamic shapes, the one kind that networks take."""

    FORMAT_COMBINATION_LIMIT = 100

    def get_output_datatype(self, index, input_types):
        _wanted("IPluginV2DynamicExt.get_output_datatype")

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        _wanted("IPluginV2DynamicExt.get_output_dimensions")

    def get_serialization_size(self):
        return len(self.serialize())

    def configure_plugin(self, in_, out):
        pass

    def supports_format_combination(self, pos, in_out, num_inputs):
        _wanted("IPluginV2DynamicExt.supports_format_combination")

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        _wanted("IPluginV2DynamicExt.enqueue")


class IPluginCreatorInterface(_Interface):
    """Base of all creators."""


class IPluginCreator(IPluginCreatorInterface):
    """Makes plugins of the second generation."""

    name = ""
    plugin_version = ""
    plugin_namespace = ""
    field_names = None

    def create_plugin(self, name, field_collection):
        _wanted("IPluginCreator.create_plugin")

    def deserialize_plugin(self, name, serialized_plugin):
        _wanted("IPluginCreator.deserialize_plugin")


class IPluginCreatorV3One(IPluginCreatorInterface):
    """Makes plugins of the third generation."""

    name = ""
    plugin_version = ""
    plugin_namespace = ""
    field_names = None

    def create_plugin(self, name, field_collection, phase):
        _wanted("IPluginCreatorV3One.create_plugin")


class IPluginCreatorV3Quick(IPluginCreatorInterface):
    """Makes plugins of tensorrt.plugin."""

    name = ""
    plugin_version = ""
    plugin_namespace = ""
    field_names = None

    def create_plugin(self, name, namespace, field_collection, phase, quick_plugin_creation_request):
        _wanted("IPluginCreatorV3Quick.create_plugin")


class IPluginResource(_Interface):
    """Something that plugins share by a key in the registry."""

    def release(self):
        return 0

    def clone(self):
        return copy.copy(self)


class ISymExpr:
    """An integer that depends on the extents of a plugin's inputs."""

    def __init__(self, type=None, dtype=None, expr=None):
        self.type, self.dtype, self.expr = type, dtype, expr


class ISymExprs:
    """Further arguments of a kernel."""

    def __init__(self, count: int = 0):
        self._items = [None] * count

    @property
    def nbSymExprs(self):  # noqa: N802: the surface's name
        return len(self._items)

    @nbSymExprs.setter
    def nbSymExprs(self, count: int):  # noqa: N802
        self._items = (self._items + [None] * count)[:count]

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        return self._items[index]

    def __setitem__(self, index, value):
        self._items[index] = value


@dataclass
class KernelLaunchParams:
    """The grid, the blocks and the shared memory of a kernel."""

    grid_x: object = 1
    grid_y: object = 1
    grid_z: object = 1
    block_x: object = 1
    block_y: object = 1
    block_z: object = 1
    shared_mem: object = 0


IPluginV3.register(_native._NativePluginV3)
IPluginCapability.register(_native._NativePluginCapability)
IPluginV2.register(_native._NativePluginV2)
IPluginCreator.register(_native._NativePluginCreator)
IPluginCreatorV3One.register(_native._NativePluginCreatorV3One)
IPluginResource.register(_native._NativePluginResource)

_CLASSES = [value for value in list(globals().values()) if isinstance(value, type) and value.__module__ == __name__
            and not value.__name__.startswith("_")]
for _class in _CLASSES:
    _class.__module__ = "tensorrt"
__all__ = [_class.__name__ for _class in _CLASSES]
