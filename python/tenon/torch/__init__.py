"""PyTorch modules as plans.

    fast = torch.compile(module, backend="tenon")          # or
    fast = tenon.torch.compile(module, (x,))

Operators of the exported graph become layers directly; parameters and buffers become constants. Operators that cannot be
converted run in PyTorch, the others in parts around them, and a warning names them and the reason. """
from ._backend import backend, compile
from ._convert import Unsupported, plan_of
from ._files import load, save
from ._memory import Allocator
from ._plans import Compiled

__all__ = ["Allocator", "Compiled", "Unsupported", "backend", "compile", "load", "plan_of", "save"]
