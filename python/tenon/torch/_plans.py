"""Plans and their runs, as PyTorch calls them."""
from __future__ import annotations

import threading
import warnings

import torch
import torch.utils._pytree

from ._convert import Program, Unsupported, name_of
from ._partition import partitioned
from ._ranges import hint_of, served


class Compiled:
    """Runs a plan as the module that it was made of."""

    def __init__(self, plan, results, spec=None, symbols=None, state=None):
        self.plan, self.results, self.spec, self.state = plan, results, spec, state
        self._symbols = symbols or {}
        self._all_outputs = list(results) == [("output", index) for index in range(len(results))]

    def __call__(self, *inputs):
        given = [x for x in inputs if isinstance(x, torch.Tensor)]
        if self.state is not None:
            given[:0] = self.state.tensors
        made = self.plan(*map(_ready, given))  # In this thread's own session.
        if not isinstance(made, tuple):
            made = (made,)
        if self._all_outputs:
            outputs = [_tensor(array) for array in made]
        else:
            outputs = [self._result(kind, value, made, given) for kind, value in self.results]
        if self.state is not None:
            outputs = self.state.store(outputs, given)
        return torch.utils._pytree.tree_unflatten(outputs, self.spec) if self.spec is not None else tuple(outputs)

    def _result(self, kind, value, made, given):
        if kind == "constant":
            return value
        if kind == "given":
            return given[value]
        if kind == "extent":
            return value.of({symbol: given[number].shape[axis] for symbol, (number, axis) in self._symbols.items()})
        return _tensor(made[value])


def _ready(x):
    """A tensor as plans take it: without a gradient, its elements side by side, numbers as float32."""
    if x.requires_grad:
        x = x.detach()
    if not x.is_contiguous():
        x = x.contiguous()
    return x.float() if x.dtype is torch.float64 and x.dim() == 0 else x


def _tensor(array):
    if isinstance(array, torch.Tensor) or not hasattr(array, "__array__"):
        return array
    if array.dtype.name == "bfloat16":  # Of ml_dtypes, which PyTorch does not know.
        return torch.from_numpy(array.view("uint16")).view(torch.bfloat16)
    return torch.from_numpy(array)


class Runs:
    """Runs for the shapes that came so far, of which each serves a range."""

    MOST = 16

    def __init__(self):
        self._made = []  # (ranges of the inputs, their run), the last used first.
        self._last, self._lock = (None, None), threading.Lock()

    @property
    def ranges(self) -> list:
        """The least, best and most shape of each input, of each plan."""
        return [ranges for ranges, _ in self._made]

    @property
    def runs(self) -> list:
        return [run for _, run in self._made]

    def __call__(self, inputs):
        """The run for inputs of such shapes."""
        shapes = [x.shape for x in inputs]
        before, run = self._last  # Most calls have the shapes of the one before.
        if shapes != before:
            with self._lock:
                run = self._found(inputs, shapes)
            self._last = shapes, run
        return run

    def _found(self, inputs, shapes):
        shapes = [tuple(shape) for shape in shapes]
        for place, (ranges, run) in enumerate(self._made):
            if all(_inside(shape, three) for shape, three in zip(shapes, ranges)):
                if place:
                    self._made.insert(0, self._made.pop(place))
                return run
        if len(self._made) == self.MOST:
            raise Unsupported(f"a graph that was compiled for {self.MOST} ranges of shapes")
        # Dynamo's own tracing may be under way, and none of this is a part of it.
        with torch.no_grad(), torch._guards.tracing(None):
            self._made.insert(0, self._new(inputs, shapes))
        return self._made[0][1]

    def _new(self, inputs, shapes):
        """The ranges and the run for inputs of other shapes."""
        raise NotImplementedError


def _whole(program, device, options, shapes=None):
    plan, results = program.plan(device=device, shapes=shapes, options=options, log_level=options.log_level)
    return program.input_ranges, Compiled(plan, results, symbols=program.symbols, state=program.state)


class PartPlans(Runs):
    """Plans of one part of a graph."""

    def __init__(self, program, device, options):
        super().__init__()
        self._program, self._device, self._options = program, device, options

    def run(self, *inputs):
        return self(inputs)(*inputs)

    def build(self, shapes):
        """The first plan ahead of the first run, for shapes as PyTorch describes them; for extents that only a run tells, the
        layers alone, so that what has none is found. Raises Unsupported."""
        hints = [tuple(map(hint_of, shape)) for shape in shapes]
        if any(None in shape for shape in hints):
            self._program.check()
        else:
            self._found(None, hints)

    def _new(self, inputs, shapes):
        return _whole(self._program, self._device, self._options, shapes)


class Plans(Runs):
    """Plans of one graph, for the shapes that came so far. Most graphs need one; where an extent without a bound outgrows the
    plan, or where the export works with one extent alone, another is made when it is needed. A graph that cannot be compiled as
    a whole runs in parts, each of which has plans of its own."""

    def __init__(self, export, device, options):
        """export: gives a torch.export.ExportedProgram for inputs."""
        super().__init__()
        self._export, self._device, self._options, self._program = export, device, options, None

    def _new(self, inputs, shapes):
        if self._program is not None and self._program.takes(shapes):
            return _whole(self._program, self._device, self._options, shapes)
        exported = self._export(inputs)
        try:
            program = Program.of(exported, may_change=True)
            stays = sorted({name for name in map(name_of, program.graph.nodes) if self._options.runs_in_pytorch(name)})
            if stays:
                raise Unsupported(", ".join(stays) + ": asked for by torch_executed_ops")
            made = _whole(program, self._device, self._options, shapes)
        except Unsupported:
            if self._options.require_full_compilation:
                raise
            return served(exported, shapes), self._in_parts(exported)
        self._program = program
        return made

    def _in_parts(self, exported):
        module, reasons = partitioned(exported, self._options, lambda program: PartPlans(program, self._device, self._options))
        warnings.warn(f"tenon: parts of a graph run in PyTorch: {'; '.join(reasons)}", stacklevel=2)
        return module


def _inside(shape, three) -> bool:
    return len(shape) == len(three[0]) and all(least <= extent <= most for least, extent, most in zip(three[0], shape, three[2]))
