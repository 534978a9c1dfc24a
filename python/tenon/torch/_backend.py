"""torch.compile(module, backend="tenon"), and tenon.torch.compile()."""
from __future__ import annotations

import warnings

import torch
import torch.utils._pytree

from .._errors import TenonError
from ._convert import Program, Unsupported
from ._ranges import number_of


class Compiled:
    """Runs a plan as the module that it was made of."""

    def __init__(self, plan, results, spec=None, symbols=None):
        self.plan, self._results, self._spec = plan, results, spec
        self._symbols = symbols or {}
        self._session = plan.session()

    def __call__(self, *inputs):
        tensors = [self._ready(x) for x in inputs if isinstance(x, torch.Tensor)]
        made = self._session(*tensors)
        made = list(made) if isinstance(made, tuple) else [made]
        outputs = [self._result(kind, value, made, tensors) for kind, value in self._results]
        return torch.utils._pytree.tree_unflatten(outputs, self._spec) if self._spec is not None else tuple(outputs)

    @staticmethod
    def _ready(x):
        x = x.detach().contiguous()
        return x.float() if x.dtype == torch.float64 and x.dim() == 0 else x

    def _result(self, kind, value, made, inputs):
        if kind == "constant":
            return value
        if kind == "extent":
            return value.of({symbol: inputs[number].shape[axis] for symbol, (number, axis) in self._symbols.items()})
        array = made[value]
        return torch.from_numpy(array) if not isinstance(array, torch.Tensor) and hasattr(array, "__array__") else array


def _device_of(tensors):
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            return str(tensor.device) if tensor.is_cuda else "cpu"
    return None


def compile(module, inputs, *, dynamic_shapes=None, device=None, level=None):
    """A module compiled for the extents of `inputs`, a tuple of tensors. Raises Unsupported with the operators that
    cannot be converted.

    dynamic_shapes: as torch.export.export takes them: extents that may change, with their bounds (torch.export.Dim).
    device: where the plan runs; None: where the inputs are."""
    exported = torch.export.export(module.eval(), tuple(inputs), dynamic_shapes=dynamic_shapes)
    program = Program(exported)
    plan, results = program.plan(device=device or _device_of(inputs), level=level)
    return Compiled(plan, results, exported.call_spec.out_spec, program.symbols)


class _Bound(torch.nn.Module):
    """A graph of dynamo's whose parameters, which it takes as inputs, are its own, and whose extents are its inputs'."""

    def __init__(self, graph, inputs, fixed, extents, numbers):
        super().__init__()
        self.graph_module, self._fixed, self._count, self._extents = graph, {}, len(inputs), extents
        self._numbers = numbers
        for index in fixed:
            self.register_buffer(f"fixed_{index}", inputs[index].detach())
            self._fixed[index] = f"fixed_{index}"

    def forward(self, *given):
        rest = iter(given)
        all_given = [getattr(self, self._fixed[i]) if i in self._fixed else None if i in self._extents else next(rest)
                     for i in range(self._count)]
        for index, place in self._extents.items():
            all_given[index] = self._numbers[index] if place is None else all_given[place[0]].shape[place[1]]
        return self.graph_module(*all_given)


def _placeholders(graph) -> list:
    return [node for node in graph.graph.nodes if node.op == "placeholder"]


def _fixed_inputs(graph) -> list[int]:
    """Numbers of the inputs that are parameters or buffers."""
    return [index for index, node in enumerate(_placeholders(graph))
            if "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
            or isinstance(node.meta.get("example_value"), torch.nn.Parameter)]


def _symbols(graph) -> dict:
    """The range of each symbol of dynamo's that is an extent of an input."""
    ranges = {}
    for node in _placeholders(graph):
        value = node.meta.get("example_value")
        for extent in value.shape if isinstance(value, torch.Tensor) else ():
            if isinstance(extent, torch.SymInt):
                for symbol in extent.node.expr.free_symbols:
                    ranges[symbol] = extent.node.shape_env.var_to_range.get(symbol)
    return ranges


def _extent_inputs(graph, inputs) -> dict:
    """Of each input that is an extent and no tensor: a tensor's number, and the axis that has this extent; of a number that is
    no tensor's extent, None."""
    descriptions = [node.meta.get("example_value") for node in _placeholders(graph)]
    places = {}
    for number, value in enumerate(descriptions):
        for axis, extent in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(extent, torch.SymInt):
                places.setdefault(extent.node.expr, (number, axis))
    found = {}
    for index, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            continue
        description = descriptions[index]
        found[index] = places.get(description.node.expr) if isinstance(description, torch.SymInt) else None
    return found


def _dimensions(graph, indices) -> list:
    """For torch.export: which extents of the inputs vary, with dynamo's ranges."""
    ranges, made, nodes = _symbols(graph), [], _placeholders(graph)
    for index in indices:
        axes = {}
        for axis, extent in enumerate(nodes[index].meta["example_value"].shape):
            if isinstance(extent, torch.SymInt) and not extent.node.expr.is_number:
                axes[axis] = _dimension(ranges.get(extent.node.expr))
        made.append(axes or None)
    return made


def _dimension(known):
    if known is None:
        return torch.export.Dim.AUTO
    return torch.export.Dim.AUTO(min=number_of(known.lower), max=number_of(known.upper))


class Plans:
    """Plans of one graph, for the shapes that came so far. Most graphs need one; where an extent without a bound outgrows the
    plan, or where the export works with one extent alone, another is made when it is needed."""

    MOST = 16

    def __init__(self, export, build):
        self._export, self._build = export, build
        self._made = []  # (shapes or ranges, program, compiled), the last used first.
        self._general = None

    def __call__(self, inputs):
        shapes = [tuple(x.shape) for x in inputs]
        for place, (ranges, compiled) in enumerate(self._made):
            if all(_inside(shape, three) for shape, three in zip(shapes, ranges)):
                if place:
                    self._made.insert(0, self._made.pop(place))
                return compiled
        if len(self._made) == self.MOST:
            raise Unsupported(f"a graph that was compiled for {self.MOST} ranges of shapes")
        self._made.insert(0, self._new(inputs, shapes))
        return self._made[0][1]

    def _new(self, inputs, shapes):
        if self._general is None or not self._general.takes(shapes):
            self._general = Program(self._export(inputs))
        program = self._general
        plan, results = self._build(program, shapes)
        return program.input_ranges, Compiled(plan, results, symbols=program.symbols)


def _inside(shape, three) -> bool:
    return len(shape) == len(three[0]) and all(least <= extent <= most for least, extent, most in zip(three[0], shape, three[2]))


def _prepared(graph, inputs, options):
    """A call of the graph by its plans; the first of them is built."""
    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        raise Unsupported("gradients: run under torch.no_grad() or torch.inference_mode()")
    fixed, extents = _fixed_inputs(graph), _extent_inputs(graph, inputs)
    left_out = {*fixed, *extents}
    indices = [index for index in range(len(inputs)) if index not in left_out]
    free = [index for index, place in extents.items() if place is None]
    if not indices:
        raise Unsupported("a graph without inputs that are tensors")
    dimensions = _dimensions(graph, indices)
    given_axes = (tuple(dimensions),) if any(dimensions) else None
    device = _device_of([inputs[index] for index in indices]) or _device_of(inputs)

    def plans_for(numbers):
        bound = _Bound(graph, inputs, fixed, extents, dict(zip(free, numbers))).eval()

        def export(tensors):
            # Dynamo's own tracing is under way, and the export is none of it.
            with torch.no_grad(), torch._guards.tracing(None):
                return torch.export.export(bound, tuple(tensors), dynamic_shapes=given_axes)

        return Plans(export, lambda program, shapes: program.plan(device=device, level=options.get("level"), shapes=shapes))

    plans = {}  # By the numbers that are no extents: each is a constant of its plans.

    def compiled_for(given):
        numbers = tuple(int(given[index]) for index in free)
        if numbers not in plans:
            if len(plans) == Plans.MOST:
                raise Unsupported(f"a graph that was compiled for {Plans.MOST} values of its numbers")
            plans[numbers] = plans_for(numbers)
        tensors = [given[index] for index in indices]
        return plans[numbers](tensors), tensors

    compiled_for(inputs)

    def run(*given):
        try:
            compiled, tensors = compiled_for(given)
        except Unsupported as error:
            warnings.warn(f"tenon: a graph runs in PyTorch: {error}", stacklevel=2)
            return graph.forward(*given)
        return compiled(*tensors)

    run.plans = plans
    return run


def backend(graph, inputs, **options):
    """The backend that torch.compile knows as "tenon". Training, and graphs that cannot be converted, run in PyTorch."""
    try:
        return _prepared(graph, inputs, options.get("options") or options)
    except (Unsupported, TenonError) as error:
        warnings.warn(f"tenon: a graph of {len(graph.graph.nodes)} nodes runs in PyTorch: {error}", stacklevel=2)
    except Exception as error:  # noqa: BLE001: a failed export must not end the application
        warnings.warn(f"tenon: a graph runs in PyTorch, which could not export it: {error}", stacklevel=2)
    return graph.forward
