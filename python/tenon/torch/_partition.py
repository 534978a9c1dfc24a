"""Programs of which a part runs in PyTorch: the operators that can be compiled, in parts as large as there are."""
from __future__ import annotations

import operator

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from ._convert import Program, Unsupported, is_number, name_of, decomposed
from ._layers import TYPES
from ._table import ROWS


class Block(torch.nn.Module):
    """A part that is compiled. It takes what the part took; constants of it are in the plan."""

    def __init__(self, run, taken, single):
        super().__init__()
        self._run_plan, self._taken, self._single = run, taken, single

    def forward(self, *given):
        results = self._run_plan(*(given[index] for index in self._taken))
        return results[0] if self._single else results


class _Support(OperatorSupportBase):
    """The operators that have a row, but those that were refused, by the reason."""

    def __init__(self, options, refused):
        self._options, self._refused = options, refused

    def is_node_supported(self, submodules, node):
        if node.op != "call_function" or is_number(node) or node.name in self._refused:
            return False
        return node.target is operator.getitem or self.why_not(node) is None

    def why_not(self, node):
        name = name_of(node)
        if node.name in self._refused:
            return self._refused[node.name]
        if name not in ROWS:
            return f"no converter for {node.target}"
        foreign = {value.dtype for near in (node, *node.all_input_nodes) for value in _tensors(near.meta.get("val"))} - TYPES.keys()
        if foreign:
            return f"{node.target} of {', '.join(map(str, foreign))}"
        return f"{node.target}: asked for by torch_executed_ops" if self._options.runs_in_pytorch(name) else None


def _tensors(value) -> list:
    return [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, torch.Tensor)]


def _is_fixed(graph) -> bool:
    return not any(isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool)) or any(
        isinstance(extent, torch.SymInt) for extent in getattr(node.meta.get("val"), "shape", ())) for node in graph.nodes)


def _block(module, node, build):
    """The compiled part in place of a submodule's call."""
    part = getattr(module, node.target)
    placeholders = [inner for inner in part.graph.nodes if inner.op == "placeholder"]
    constants = {inner.name: _attribute(module, given.target) for inner, given in zip(placeholders, node.args)
                 if given.op == "get_attr"}
    for inner, given in zip(placeholders, node.args):
        inner.meta.setdefault("val", given.meta.get("val"))
    taken = [index for index, inner in enumerate(placeholders) if inner.name not in constants]
    result = next(inner for inner in part.graph.nodes if inner.op == "output").args[0]
    return Block(build(Program(part.graph, constants, {})), taken, not isinstance(result, (list, tuple)))


def _attribute(module, target):
    for name in target.split("."):
        module = getattr(module, name)
    return module


def partitioned(exported, options, build):
    """A module that runs an exported program in parts, and why some of its operators run in PyTorch: the reasons.

    build: called with a Program, gives its runs. Raises Unsupported where no part is large enough."""
    program, refused = decomposed(exported), {}
    if not _is_fixed(program.graph):
        raise Unsupported("parts of graphs with dynamic extents")
    while True:
        module = program.module()
        support = _Support(options, refused)
        partitioner = CapabilityBasedPartitioner(module, support, allows_single_node_partition=True)
        parts = [part for part in partitioner.propose_partitions() if len(part.nodes) >= options.min_block_size]
        if not parts:
            raise Unsupported("; ".join(_reasons(module, support)) or "parts below min_block_size operators")
        reasons = _reasons(module, support)
        fused = partitioner.fuse_partitions(parts)
        try:
            blocks = {node.target: _block(fused, node, build) for node in fused.graph.nodes
                      if node.op == "call_module" and node.target.startswith("fused_")}
        except Unsupported as error:
            if getattr(error, "node", None) is None or error.node in refused:
                raise
            refused[error.node] = str(error)
            continue
        for name, block in blocks.items():
            setattr(fused, name, block)
        fused.recompile()
        return fused, reasons


def _reasons(module, support) -> list[str]:
    return sorted({support.why_not(node) for node in module.graph.nodes if node.op == "call_function"
                   and node.target is not operator.getitem and not is_number(node) and support.why_not(node)})
