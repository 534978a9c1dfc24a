"""Modules to exported programs."""
from __future__ import annotations

import inspect

import torch

from ._layers import Unsupported


def is_model(model) -> bool:
    return isinstance(model, (torch.nn.Module, torch.export.ExportedProgram))


def traced(module, inputs, named=None, *, dynamic_shapes=None) -> torch.export.ExportedProgram:
    """torch.export.export without its assertions about types: inside of torch.autocast these are recorded ahead of the casts, and
    fail when the program is decomposed."""
    program = torch.export.export(module, inputs, named, dynamic_shapes=dynamic_shapes)
    for graph_module in program.graph_module.modules():
        for node in list(graph_module.graph.nodes) if isinstance(graph_module, torch.fx.GraphModule) else ():
            if node.target is torch.ops.aten._assert_tensor_metadata.default:
                graph_module.graph.erase_node(node)
    return program


def _triples(shapes) -> dict:
    return {name: [tuple(given)] * 3 if all(isinstance(extent, int) for extent in given) else [tuple(one) for one in given]
            for name, given in shapes.items()}


def _dimension(least: int, most: int):
    """A dynamic extent. PyTorch finds out itself which ones are the same."""
    return torch.export.Dim.AUTO(min=least, max=most)


def _example(module, name: str, shape, dynamic) -> torch.Tensor:
    """Zeros of the best shape; dynamic extents of 0 and 1 are traced as 2, since PyTorch takes those two for fixed."""
    real = [x for x in (*module.parameters(), *module.buffers()) if x.is_floating_point()]
    dtype, device = (real[0].dtype, real[0].device) if real else (torch.float32, "cpu")
    return torch.zeros([max(2, extent) if axis in dynamic else extent for axis, extent in enumerate(shape)],
                       dtype=dtype, device=device)


def exported(module, inputs=None, shapes=None, dynamic_shapes=None) -> torch.export.ExportedProgram:
    """The exported program of a module: by example inputs, or by the shapes of its arguments, which then are tensors of the
    module's own type. Where the least and most of an extent differ, it is dynamic."""
    if isinstance(module, torch.export.ExportedProgram):
        return module
    names = list(inspect.signature(module.forward).parameters)
    triples = _triples(shapes or {})
    unknown = [name for name in triples if name not in names]
    if unknown:
        raise ValueError(f"shapes: the module's forward has no argument {', '.join(map(repr, unknown))}, "
                         f"but {', '.join(names)}")
    ranges = {name: {axis: _dimension(least, most) for axis, (least, _, most) in enumerate(zip(*three)) if least != most}
              for name, three in triples.items()}
    if inputs is None:
        if not triples:
            raise TypeError("a module needs inputs=(x, ...), or shapes={\"x\": (1, 8), ...} by the names of forward's arguments")
        given = {name: _example(module, name, three[1], ranges[name]) for name, three in triples.items()}
    else:
        given = dict(zip(names, inputs if isinstance(inputs, (tuple, list)) else (inputs,)))
    if dynamic_shapes is None:
        dynamic_shapes = {name: ranges.get(name) or None for name in given}
    with torch.no_grad():
        program = traced(module.eval(), (), given, dynamic_shapes=dynamic_shapes)
    _check(program, ranges)
    return program


def _check(program, ranges) -> None:
    """That extents which are to be dynamic are."""
    for node in program.graph.nodes:
        for axis in ranges.get(node.name, ()) if node.op == "placeholder" else ():
            if isinstance(node.meta["val"].shape[axis], int):
                raise Unsupported(f"input '{node.name}' with a dynamic axis {axis}: the module works with the extent "
                                  f"{node.meta['val'].shape[axis]} alone")
