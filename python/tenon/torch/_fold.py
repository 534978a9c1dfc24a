"""What a graph computes from constants alone by operators, or in types, that have no layers: PyTorch computes it once."""
from __future__ import annotations

import torch

from ._layers import TYPES
from ._table import ROWS


def folded(graph, constants) -> dict:
    """The values of such nodes, and of those that they are computed from."""
    fixed = _fixed(graph, constants)
    needed = {node for node in fixed if node.op == "call_function" and not _has_layers(node)}
    for node in reversed(fixed):
        if node in needed:
            needed.update(node.all_input_nodes)
    values = {}
    with torch.no_grad():
        for node in fixed:
            if node not in needed:
                continue
            if node.op == "placeholder":
                values[node] = constants[node.name]
                continue
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            values[node] = node.target(*args, **kwargs)
    return {node: value for node, value in values.items() if node.op == "call_function"}


def _fixed(graph, constants) -> list:
    """Nodes whose values are the same in each run, in order."""
    fixed = {}
    for node in graph.nodes:
        is_fixed = node.name in constants if node.op == "placeholder" else \
            _is_repeatable(node) and all(near in fixed for near in node.all_input_nodes)
        if is_fixed:
            fixed[node] = True
    return list(fixed)


def _is_repeatable(node) -> bool:
    """One tensor of fixed extents, without chance."""
    value = node.meta.get("val")
    return (node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload) and isinstance(value, torch.Tensor)
            and torch.Tag.nondeterministic_seeded not in node.target.tags
            and all(isinstance(extent, int) for extent in value.shape))


def _has_layers(node) -> bool:
    near = (node, *node.all_input_nodes)
    return (str(node.target).removeprefix("aten.") in ROWS
            and all(one.meta["val"].dtype in TYPES for one in near if isinstance(one.meta.get("val"), torch.Tensor)))
