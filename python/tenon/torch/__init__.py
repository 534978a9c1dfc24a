"""PyTorch modules as plans.

    fast = torch.compile(module, backend="tenon")          # or
    fast = tenon.torch.compile(module, (x,))

Operators of the exported graph become layers directly; parameters and buffers become constants. Where the graph has
something that cannot be converted, the module runs in PyTorch, and a warning names it and the reason. Extents are those
of the example inputs: other shapes are compiled anew by torch.compile, and refused by tenon.torch.compile's result. """
from ._backend import backend, compile
from ._convert import Unsupported, plan_of

__all__ = ["Unsupported", "backend", "compile", "plan_of"]
