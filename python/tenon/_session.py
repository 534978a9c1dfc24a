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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _fail(log, what: str):
    raise RunError("\n".join(dict.fromkeys([what, *log.take()])))


class Session:
    """One thread's runs of a plan: call it with arrays.

    Inputs are arrays of NumPy, PyTorch, CuPy, JAX, or of anything else with DLPack, the buffer protocol or the CUDA array
    interface, in the plan's order or by name. They are read where they lie, and outputs are of the inputs' kind.
    One output comes as an array, several come as Outputs. With `reuse=True` the same arrays are written at each run.
    Python's lock is released during a run. Work on a GPU is put on the current stream of the caller's library.
    """

    def __init__(self, plan, *, reuse: bool = False, graphs: bool = False):
        self._plan, self._reuse = plan, reuse
        context = plan.engine.create_execution_context()
        if context is None:
            plan._log.fail(RunError, "no execution context could be made")
        self.context = context
        if graphs:
            own.set_graph_replay(context, True)
        self._on_gpu = own.runs_on_gpu(plan.engine)
        gpu = own.open_gpu(plan._device, plan._log) if self._on_gpu else None
        # Neither refers to this object: the compiled session would keep it, and itself, alive.
        self._native = own.Session(plan.engine, context, gpu, functools.partial(_fail, plan._log),
                                   functools.partial(_device.empty_like_kind, gpu), _device.current_stream)
        self._run = self._native.run
        self._input_names = [tensor.name for tensor in plan.inputs]
        self._output_names = [tensor.name for tensor in plan.outputs]
        self._kept = None

    def _ordered(self, inputs, named):
        if len(inputs) == 1 and isinstance(inputs[0], dict):
            named = {**inputs[0], **named}
            inputs = ()
        missing = [name for name in self._input_names[len(inputs):] if name not in named]
        unknown = [name for name in named if name not in self._input_names[len(inputs):]]
        if missing or unknown or len(inputs) > len(self._input_names):
            raise TypeError(f"the plan's inputs are {', '.join(self._input_names)}; missing: "
                            f"{', '.join(missing) or 'none'}; not known: {', '.join(unknown) or 'none'}")
        return (*inputs, *(named[name] for name in self._input_names[len(inputs):]))

    def __call__(self, *inputs, out=None, stream: int | None = None, **named):
        """Runs the plan. `out`: arrays to write the outputs into, in order or by name (None: one is made)."""
        if named or (len(inputs) == 1 and type(inputs[0]) is dict):
            inputs = self._ordered(inputs, named)
        if out is None:
            out = self._kept
        elif isinstance(out, dict):
            out = [out.get(name) for name in self._output_names]
        elif not isinstance(out, (list, tuple)):
            out = [out]
        if out is not None and len(out) != len(self._output_names):
            raise TypeError(f"the plan has {_count(len(self._output_names), 'output')}, and "
                            f"{_count(len(out), 'array')} {'was' if len(out) == 1 else 'were'} given")
        try:
            results = self._run(inputs, out, stream)
        except ValueError:
            if out is None or out is not self._kept:
                raise
            self._kept = None  # Another shape than the last run's: the kept arrays do not fit.
            results = self._run(inputs, None, stream)
        if self._reuse and self._kept is None:
            self._kept = [result if fixed else None for result, fixed in zip(results, self._native.fixed())]
        return results[0] if len(results) == 1 else Outputs(results, self._output_names)
