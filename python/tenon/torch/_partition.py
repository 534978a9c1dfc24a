"""Programs of which a part runs in PyTorch: the operators that can be compiled, in parts as large as there are."""
from __future__ import annotations

import operator
import warnings

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .._errors import TenonError
from ._complex import REAL, of_complex
from ._convert import Program, Unsupported, decomposed, has_row, is_check, is_number, name_of
from ._control import is_control
from ._layers import TYPES


class Block(torch.nn.Module):
    """A part that is compiled. It takes what the part took; constants of it are in the plan. Where a plan for other shapes cannot
    be made, the part runs in PyTorch."""

    def __init__(self, part, plans, taken, single):
        super().__init__()
        self._part, self._plans, self._taken, self._single = part, plans, taken, single

    def forward(self, *given):
        inputs = [given[index] for index in self._taken]
        try:
            run = self._plans(inputs)
        except (Unsupported, TenonError) as error:
            warnings.warn(f"tenon: a part of a graph runs in PyTorch: {error}", stacklevel=2)
            return self._part(*given)
        results = run(*inputs)
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
        if is_control(node):
            return f"{node.target} in a graph that runs in parts"
        if not has_row(node):
            return f"no converter for {node.target}" + (" of complex numbers" if of_complex(node) else "")
        foreign = {value.dtype for near in (node, *node.all_input_nodes) for value in _tensors(near.meta.get("val"))} \
            - TYPES.keys() - REAL.keys()
        if foreign:
            return f"{node.target} of {', '.join(map(str, foreign))}"
        return f"{node.target}: asked for by torch_executed_ops" if self._options.runs_in_pytorch(name) else None


def _tensors(value) -> list:
    return [x for x in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(x, torch.Tensor)]


def _changed(module) -> set[str]:
    """Buffers that the graph writes; their values are those of each run."""
    return {node.args[0].target for node in module.graph.nodes
            if node.target is torch.ops.aten.copy_.default and node.args[0].op == "get_attr"}


def _block(module, node, ranges, build):
    """The compiled part in place of a submodule's call. Raises Unsupported."""
    changed = _changed(module)
    part = getattr(module, node.target)
    placeholders = [inner for inner in part.graph.nodes if inner.op == "placeholder"]
    constants = {inner.name: _attribute(module, given.target) for inner, given in zip(placeholders, node.args)
                 if given.op == "get_attr" and given.target not in changed}
    for inner, given in zip(placeholders, node.args):
        known = _attribute(module, given.target) if given.op == "get_attr" else None
        inner.meta.setdefault("val", given.meta.get("val", known))
    taken = [index for index, inner in enumerate(placeholders)
             if inner.name not in constants and isinstance(inner.meta["val"], torch.Tensor)]
    result = next(inner for inner in part.graph.nodes if inner.op == "output").args[0]
    plans = build(Program(part.graph, constants, ranges))
    plans.build([placeholders[index].meta["val"].shape for index in taken])
    return Block(part, plans, taken, not isinstance(result, (list, tuple)))


def _check_ends(part) -> None:
    """Raises Unsupported for an operator of a part that takes or gives complex numbers, which plans have inside alone."""
    for node in part.graph.nodes:
        leaves = any(user.op == "output" for user in node.users)
        near = [inner for inner in node.all_input_nodes if inner.op == "placeholder"] + [node] * leaves
        foreign = [x.dtype for inner in near for x in _tensors(inner.meta.get("val")) if x.dtype.is_complex]
        if node.op == "call_function" and foreign:
            refused = Unsupported(f"{node.target} of {foreign[0]} beside operators that run in PyTorch")
            refused.node = node.name
            raise refused


def _attribute(module, target):
    for name in target.split("."):
        module = getattr(module, name)
    return module


def partitioned(exported, options, build):
    """A module that runs an exported program in parts, and why some of its operators run in PyTorch: the reasons.

    build: called with a Program, gives its plans. Raises Unsupported where no part is large enough."""
    program, refused = decomposed(exported), {}
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
            blocks = _blocks(fused, program.range_constraints, build, reasons)
        except Unsupported as error:
            if error.node in refused:
                raise
            refused[error.node] = str(error)
            continue
        if not blocks:
            raise Unsupported("; ".join(reasons))
        for name, block in blocks.items():
            setattr(fused, name, block)
        fused.recompile()
        return fused, reasons


def _blocks(fused, ranges, build, reasons) -> dict:
    """The compiled parts by name. A part that cannot be compiled for another reason than one of its operators stays, and the
    reason is put to the others; of an operator, raises Unsupported with its `node`."""
    blocks, calls = {}, [node for node in fused.graph.nodes if node.op == "call_module" and node.target.startswith("fused_")]
    for node in calls:
        _check_ends(getattr(fused, node.target))
    for node in calls:
        try:
            blocks[node.target] = _block(fused, node, ranges, build)
        except Unsupported as error:
            if getattr(error, "node", None) is not None:
                raise
            reasons.append(str(error))
    return blocks


def _reasons(module, support) -> list[str]:
    copies = {"tensors that the graph writes into" for node in module.graph.nodes if node.target is torch.ops.aten.copy_.default}
    return sorted(copies | {support.why_not(node) for node in module.graph.nodes if node.op == "call_function"
                   and node.target is not operator.getitem and not is_number(node) and not is_check(node) and support.why_not(node)})
