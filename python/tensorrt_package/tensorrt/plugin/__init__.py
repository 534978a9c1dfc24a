"""Plugins as decorated functions.

    @tensorrt.plugin.register("sample::scale")
    def scale_desc(x: tensorrt.plugin.TensorDesc, factor: float) -> tensorrt.plugin.TensorDesc:
        return x.like()

    @tensorrt.plugin.impl("sample::scale")
    def scale(x: tensorrt.plugin.Tensor, factor: float, outputs, stream):
        ...

    network.add_plugin(tensorrt.plugin.op.sample.scale(tensor, factor=2.0))

A function of aot_impl() compiles a kernel ahead of time (PTX, of Triton's compiler or NVRTC's): add_plugin(..., aot=True) takes it,
and so do plugins that have nothing else. Plans hold it with its launch, and runs call no function of the plugin's.
"""
from tensorrt import KernelLaunchParams

from ._descriptions import AutoTuneCombination, Shape, SizeTensorDesc, Tensor, TensorDesc, from_shape_expr, size_tensor
from ._expressions import (ShapeExpr, ShapeExprs, SizeTensorShapeExpr, SymExpr, SymExprImpl, SymExprs, SymInt8, SymInt16,
                           SymInt32, SymIntExpr, SymIntExprs, cdiv, max, min)
from ._lib import PluginDef, aot_impl, autotune, impl, op, register

__all__ = ["AutoTuneCombination", "KernelLaunchParams", "PluginDef", "Shape", "ShapeExpr", "ShapeExprs", "SizeTensorDesc",
           "SizeTensorShapeExpr", "SymExpr", "SymExprImpl", "SymExprs", "SymInt16", "SymInt32", "SymInt8", "SymIntExpr",
           "SymIntExprs", "Tensor", "TensorDesc", "aot_impl", "autotune", "cdiv", "from_shape_expr", "impl", "max", "min",
           "op", "register", "size_tensor"]
