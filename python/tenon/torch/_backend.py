"""torch.compile(module, backend="tenon"), and tenon.torch.compile()."""
from __future__ import annotations

import warnings

import torch
import torch.utils._pytree

from .._errors import TenonError
from ._convert import Unsupported, plan_of


class Compiled:
    """Runs a plan as the module that it was made of."""

    def __init__(self, plan, results, spec=None):
        self.plan, self._results, self._spec = plan, results, spec
        self._session = plan.session()
        self._dtypes = None

    def __call__(self, *inputs):
        tensors = [x.detach().contiguous() for x in inputs if isinstance(x, torch.Tensor)]
        made = self._session(*tensors)
        made = list(made) if isinstance(made, tuple) else [made]
        outputs = [made[value] if kind == "output" else value for kind, value in self._results]
        outputs = [torch.from_numpy(x) if not isinstance(x, torch.Tensor) and hasattr(x, "__array__") else x for x in outputs]
        return torch.utils._pytree.tree_unflatten(outputs, self._spec) if self._spec is not None else tuple(outputs)


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
    program = torch.export.export(module.eval(), tuple(inputs), dynamic_shapes=dynamic_shapes)
    plan, results = plan_of(program, device=device or _device_of(inputs), level=level)
    return Compiled(plan, results, program.call_spec.out_spec)


class _Bound(torch.nn.Module):
    """A graph of dynamo's whose parameters, which it takes as inputs, are its own."""

    def __init__(self, graph, inputs, fixed):
        super().__init__()
        self.graph_module, self._fixed, self._count = graph, {}, len(inputs)
        for index in fixed:
            self.register_buffer(f"fixed_{index}", inputs[index].detach())
            self._fixed[index] = f"fixed_{index}"

    def forward(self, *given):
        rest = iter(given)
        return self.graph_module(*(getattr(self, self._fixed[i]) if i in self._fixed else next(rest)
                                   for i in range(self._count)))


def _fixed_inputs(graph) -> list[int]:
    """Numbers of the inputs that are parameters or buffers."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    return [index for index, node in enumerate(placeholders)
            if "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
            or isinstance(node.meta.get("example_value"), torch.nn.Parameter)]


def backend(graph, inputs, **options):
    """The backend that torch.compile knows as "tenon". Training, and graphs that cannot be converted, run in PyTorch."""
    try:
        if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs):
            raise Unsupported("gradients: run under torch.no_grad() or torch.inference_mode()")
        if not all(isinstance(x, torch.Tensor) for x in inputs):
            raise Unsupported("inputs that are not tensors (dynamic shapes): use torch.compile(..., dynamic=False)")
        fixed = set(_fixed_inputs(graph))
        rest = tuple(x for index, x in enumerate(inputs) if index not in fixed)
        # Dynamo's own tracing is under way, and the export is none of it.
        with torch.no_grad(), torch._guards.tracing(None):
            program = torch.export.export(_Bound(graph, inputs, sorted(fixed)).eval(), rest)
        plan, results = plan_of(program, device=_device_of(rest) or _device_of(inputs), level=options.get("level"))
    except (Unsupported, TenonError) as error:
        warnings.warn(f"tenon: a graph of {len(graph.graph.nodes)} nodes runs in PyTorch: {error}", stacklevel=2)
        return graph.forward
    except Exception as error:  # noqa: BLE001: a failed export must not end the application
        warnings.warn(f"tenon: a graph runs in PyTorch, which could not export it: {error}", stacklevel=2)
        return graph.forward
    compiled = Compiled(plan, results)

    def run(*given):
        return compiled(*(x for index, x in enumerate(given) if index not in fixed))

    run.plan = plan
    return run
