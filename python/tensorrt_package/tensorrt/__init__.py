"""TensorRT's Python API, as Tenon offers it.

Every name of TensorRT 10.16's module is here; Tenon's own additions are in the package `tenon`.
"""
import sys

from tenon._native import *  # noqa: F403: the module is the API
from tenon._native import __version__  # noqa: F401
from tenon import _plugins
from tenon._plugins import *  # noqa: F403

_package_name = "tensorrt"


def volume(iterable):
    """The product of extents; 1 for none."""
    result = 1
    for extent in iterable:
        result *= extent
    return result


def nptype(trt_type):
    """NumPy's type of a DataType; TypeError where it has none."""
    import numpy

    names = {"FLOAT": "float32", "HALF": "float16", "INT8": "int8", "INT32": "int32", "INT64": "int64",
             "BOOL": "bool_", "UINT8": "uint8"}
    name = names.get(trt_type.name)
    if name is None:
        raise TypeError(f"NumPy has no type for {trt_type}")
    return getattr(numpy, name)


def _itemsize(trt_type):
    """Bytes that an element takes, DataType.itemsize: scripts call it by this name."""
    return trt_type.itemsize


class NodeIndices(list):
    """Numbers of a model's nodes, as OnnxParser.get_subgraph_nodes() gives them."""


class SubGraphCollection(list):
    """Pairs of a model's nodes and whether they can be taken, as OnnxParser.supports_model() once gave them."""


# The module of compiled classes has a name of its own in TensorRT's package, and programs name classes by it
# (trt.tensorrt.ITensor); here both are one.
tensorrt = sys.modules[__name__ + ".tensorrt"] = sys.modules[__name__]

for _alias in ("own",):
    globals().pop(_alias, None)
del _alias, _plugins, sys
