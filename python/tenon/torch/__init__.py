"""PyTorch modules as plans.

    fast = torch.compile(module, backend="tenon")          # or
    fast = tenon.torch.compile(module, (x,))

Operators of the exported graph become layers directly; parameters and buffers become constants. Operators that cannot be
converted run in PyTorch, the others in parts around them, and a warning names them and the reason. """
from torch._dynamo import list_backends, register_backend

from ._backend import backend, compile
from ._convert import Unsupported, plan_of
from ._files import load, save
from ._memory import Allocator
from ._plans import Compiled

__all__ = ["Allocator", "Compiled", "Unsupported", "backend", "compile", "load", "plan_of", "save"]

if "tenon" not in list_backends(exclude_tags=()):  # The package's entry point says it too, where it is installed.
    register_backend(backend, name="tenon")
