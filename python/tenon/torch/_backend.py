"""torch.compile(module, backend="tenon"), and tenon.torch.compile()."""
from __future__ import annotations

import operator
import warnings

import torch

from .._errors import TenonError
from ._convert import Program, Unsupported, name_of
from ._export import traced
from ._graph import Bound, dimensions_of, extent_inputs, fixed_inputs, with_bare_floats
from ._options import options_of
from ._plans import Compiled, Plans


def _device_of(tensors):
    for tensor in tensors:
        if isinstance(tensor, torch.Tensor):
            return str(tensor.device) if tensor.is_cuda else "cpu"
    return None


def compile(module, inputs=None, *, arg_inputs=None, dynamic_shapes=None, **options):
    """A module compiled for the extents of `inputs` (or `arg_inputs`), a tuple of tensors; or what torch.export.export made of
    one, whose example inputs and dynamic extents it has. Raises Unsupported with the operators that cannot be converted.

    dynamic_shapes: as torch.export.export takes them: extents that may change, with their bounds (torch.export.Dim).
    options: as torch.compile's with this backend (docs/python.md lists them); `device`: where the plan runs; None: where the
        inputs are."""
    options, inputs = options_of(options), inputs if inputs is not None else arg_inputs
    if isinstance(module, torch.export.ExportedProgram):
        exported, inputs = module, module.example_inputs[0]
    elif inputs is None:
        raise TypeError("tenon.torch.compile(module, inputs): a module needs example inputs, a tuple of tensors")
    else:
        exported = traced(module.eval(), tuple(inputs), dynamic_shapes=dynamic_shapes)
    program = Program.of(exported, may_change=True)
    stays = [name for name in map(name_of, program.graph.nodes) if options.runs_in_pytorch(name)]
    if stays:
        raise Unsupported(f"torch_executed_ops: {stays[0]} is in the module: use torch.compile, which runs modules in parts")
    plan, results = program.plan(device=options.device or _device_of(inputs), options=options, log_level=options.log_level)
    return Compiled(plan, results, exported.call_spec.out_spec, program.symbols, program.state)


_MOST_CONSTANTS = 128  # Sets of parameters and numbers that a graph is compiled for.
_MOST_NUMBERS = 16  # Of them, sets of numbers: one that each call changes is no constant.


def _number(given):
    """An extent, or a float in its tensor."""
    return given.item() if isinstance(given, torch.Tensor) else int(given)


def _prepared(graph, inputs, options):
    """A call of the graph by its plans; the first of them is built."""
    if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
        raise Unsupported("gradients: run under torch.no_grad() or torch.inference_mode()")
    fixed, extents = fixed_inputs(graph), extent_inputs(graph, inputs)
    left_out = {*fixed, *extents}
    indices = [index for index in range(len(inputs)) if index not in left_out]
    free = [index for index, place in extents.items() if place is None]
    if not indices:
        raise Unsupported("a graph without inputs that are tensors")
    dimensions = dimensions_of(graph, indices)
    dynamic = (tuple(dimensions),) if any(dimensions) else None
    device = options.device or _device_of([inputs[index] for index in indices]) or _device_of(inputs)

    bare = with_bare_floats(graph)

    def plans_for(given, numbers):
        bound = Bound(bare, given, fixed, extents, dict(zip(free, numbers))).eval()

        def export(tensors):
            # Tensors of its own: an export takes away the marks of dynamic extents.
            return traced(bound, tuple(x.detach() for x in tensors), dynamic_shapes=dynamic)

        return Plans(export, device, options)

    # Plans by their constants: parameters, and numbers that are no extents. Dynamo calls one graph with the parameters of
    # several modules of a class.
    known = []

    def prepare(given):
        parameters, numbers = [given[index] for index in fixed], [_number(given[index]) for index in free]
        for theirs, values, plans in known:
            if values == numbers and all(map(operator.is_, theirs, parameters)):
                break
        else:
            if len(known) == _MOST_CONSTANTS:
                raise Unsupported(f"a graph that was compiled for {_MOST_CONSTANTS} sets of parameters and numbers")
            if len({tuple(values) for _, values, _ in known}) == _MOST_NUMBERS:
                raise Unsupported(f"a number that is no extent took {_MOST_NUMBERS} values: give it as a tensor")
            plans = plans_for(given, numbers)
            known.append((parameters, numbers, plans))
        tensors = [given[index] for index in indices]
        return plans(tensors), tensors

    prepare(inputs)

    def run(*given):
        try:
            prepared, tensors = prepare(given)
        except Unsupported as error:
            warnings.warn(f"tenon: a graph runs in PyTorch: {error}", stacklevel=2)
            return graph.forward(*given)
        return prepared(*tensors)

    run.known = known
    return run


def backend(graph, inputs, *, options=None, **more):
    """The backend that torch.compile knows as "tenon". Training, and graphs that cannot be converted, run in PyTorch, which a
    warning tells with the reason.

    options: docs/python.md lists them. A name that is not known is a ValueError."""
    options = options_of({**(options or {}), **more})
    try:
        return _prepared(graph, inputs, options)
    except (Unsupported, TenonError) as error:
        if options.require_full_compilation or options.pass_through_build_failures and isinstance(error, TenonError):
            raise
        warnings.warn(f"tenon: a graph of {len(graph.graph.nodes)} nodes runs in PyTorch: {error}", stacklevel=2)
    except Exception as error:  # noqa: BLE001: a failed export must not end the application
        if options.require_full_compilation:
            raise
        warnings.warn(f"tenon: a graph runs in PyTorch, which could not export it: {error}", stacklevel=2)
    return graph.forward
