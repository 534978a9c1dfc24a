"""Tenon: builds fast plans of neural networks, and runs them on NVIDIA GPUs and CPUs.

    import numpy, tenon
    plan = tenon.build("model.onnx")
    plan.save("model.plan")
    run = tenon.load("model.plan").session()
    y = run(numpy.ones((1, 3, 224, 224), "float32"))

The module `tensorrt` of the package `tenon-tensorrt` offers the same library with TensorRT's own names.
"""
from . import _network  # noqa: F401: networks show themselves in notebooks
from ._build import build, set_device
from ._compare import compare
from ._errors import BuildError, LoadError, RunError, TenonError
from ._plan import Plan, TensorInfo, load
from ._session import Outputs, Session
from ._table import Table

__version__ = "0.1.0"
__all__ = ["build", "compare", "load", "BuildError", "LoadError", "Outputs", "Plan", "RunError", "Session", "Table",
           "TenonError", "TensorInfo", "set_device", "__version__"]
