"""Dynamo's graphs as modules that torch.export takes."""
from __future__ import annotations

import copy

import torch

from ._ranges import number_of


class Bound(torch.nn.Module):
    """A graph of dynamo's whose parameters, which it takes as inputs, are its own, and whose extents are its inputs'."""

    def __init__(self, graph, inputs, fixed, extents, numbers):
        super().__init__()
        self.graph_module, self._fixed, self._count, self._extents = graph, {}, len(inputs), extents
        self._numbers = numbers
        for index in fixed:
            # A buffer that the graph changes and gives is the caller's object, by which its plans are found again.
            given = inputs[index]
            self.register_buffer(f"fixed_{index}", given.detach() if given.requires_grad else given)
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


def fixed_inputs(graph) -> list[int]:
    """Numbers of the inputs that are parameters or buffers."""
    return [index for index, node in enumerate(_placeholders(graph))
            if "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
            or isinstance(node.meta.get("example_value"), torch.nn.Parameter)]


def float_inputs(graph) -> list[int]:
    """Numbers of the inputs that are Python's floats: dynamo wraps them in tensors, which the graph opens."""
    return [index for index, node in enumerate(_placeholders(graph))
            if isinstance(value := node.meta.get("example_value"), torch.Tensor) and value.dtype == torch.float64 and value.shape == ()
            and node.users and all(_opens(user) for user in node.users)]


def _opens(node) -> bool:
    return node.op == "call_method" and node.target == "item"


def with_bare_floats(graph):
    """The same graph, which takes floats where dynamo's takes tensors around them."""
    floats = float_inputs(graph)
    if not floats:
        return graph
    bare = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
    nodes = _placeholders(bare)
    for node in (nodes[index] for index in floats):
        for user in list(node.users):
            user.replace_all_uses_with(node)
            bare.graph.erase_node(user)
    bare.recompile()
    return bare


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


def extent_inputs(graph, inputs) -> dict:
    """Of each input that is an extent and no tensor: a tensor's number, and the axis that has this extent; of a number that is
    no tensor's extent, a float among them, None."""
    descriptions = [node.meta.get("example_value") for node in _placeholders(graph)]
    places = {}
    for number, value in enumerate(descriptions):
        for axis, extent in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
            if isinstance(extent, torch.SymInt):
                places.setdefault(extent.node.expr, (number, axis))
    found = dict.fromkeys(float_inputs(graph))
    for index, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            continue
        description = descriptions[index]
        found[index] = places.get(description.node.expr) if isinstance(description, torch.SymInt) else None
    return found


def dimensions_of(graph, indices) -> list:
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
