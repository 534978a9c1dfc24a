"""Runs of a plan."""
from __future__ import annotations

import functools

from . import _device
from ._errors import RunError
from ._native import own


class Outputs(tuple):
    """Results in the plan's order, found by number or by name."""

    def __new__(cls, values, names):
        made = super().__new__(cls, values)
        made.names = names
        return made

    def __getitem__(self, key):
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"the plan has no output '{key}'; its outputs are {', '.join(self.names)}")
            key = self.names.index(key)
        return super().__getitem__(key)

    def asdict(self) -> dict:
        return dict(zip(self.names, self))

    def __repr__(self) -> str:
        return "Outputs(" + ", ".join(f"{name}={value!r}" for name, value in self.asdict().items()) + ")"


def _fail(log, what: str):
    raise RunError("\n".join(dict.fromkeys([what, *log.take()])))


def _ordered(names, inputs, named):
    """Arrays in the plan's order, of those that came in it and those that came by name."""
    if len(inputs) == 1 and isinstance(inputs[0], dict):
        named = {**inputs[0], **named}
        inputs = ()
    missing = [name for name in names[len(inputs):] if name not in named]
    unknown = [name for name in named if name not in names[len(inputs):]]
    if missing or unknown or len(inputs) > len(names):
        raise TypeError(f"the plan's inputs are {', '.join(names)}; missing: {', '.join(missing) or 'none'}; "
                        f"not known: {', '.join(map(str, unknown)) or 'none'}")
    return (*inputs, *(named[name] for name in names[len(inputs):]))


class Session(own.Session):
    """One thread's runs of a plan: `run(*inputs, out=None, stream=None, **named)` calls it with arrays.

    Inputs are arrays of NumPy, PyTorch, CuPy, JAX, or of anything else with DLPack, the buffer protocol or the CUDA array
    interface, in the plan's order or by name. They are read where they lie, and outputs are of the inputs' kind.
    One output comes as an array, several come as Outputs. `out`: arrays to write the outputs into, in order or by name (None:
    one is made). With `reuse=True` the same arrays are written at each run. Python's lock is released during a run. Work on a
    GPU is put on the current stream of the caller's library, or on `stream`: a stream of PyTorch or CuPy, or an address.
    """

    def __init__(self, plan, *, reuse: bool = False, graphs: bool = False):
        context = plan.engine.create_execution_context()
        if context is None:
            plan._log.fail(RunError, "no execution context could be made")
        if graphs:
            own.set_graph_replay(context, True)
        gpu = own.open_gpu(plan._device, plan._log) if own.runs_on_gpu(plan.engine) else None
        # The call is the compiled class's own. Nothing that it is given refers to this object, which would keep itself alive.
        super().__init__(plan.engine, context, gpu, functools.partial(_fail, plan._log),
                         functools.partial(_device.empty_like_kind, gpu), _device.current_stream,
                         functools.partial(_ordered, [tensor.name for tensor in plan.inputs]),
                         functools.partial(Outputs, names=[tensor.name for tensor in plan.outputs]), bool(reuse))
        self._plan, self.context = plan, context
