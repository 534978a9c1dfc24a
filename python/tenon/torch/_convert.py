"""Exported programs to plans."""
from __future__ import annotations

import operator

import torch

from .. import _native as trt
from .._build import device_number
from .._errors import BuildError, Log
from .._native import own
from .._plan import Plan
from ._layers import Layers, Unsupported, is_fixed, plain
from ._table import ROWS

# Operators that stay whole where PyTorch would take them apart: layers of their own are faster.
_WHOLE = ("scaled_dot_product_attention.default", "linear.default", "silu.default", "hardswish.default",
          "hardsigmoid.default", "upsample_nearest2d.vec", "upsample_bilinear2d.vec")


class Call:
    """One call of an operator, its tensors as the network has them."""

    def __init__(self, node, tensors):
        self.node, self.name = node, str(node.target).removeprefix("aten.")
        names = [argument.name for argument in node.target._schema.arguments]
        self._raw = {**dict(zip(names, node.args)), **node.kwargs}
        self._values = {name: self._network(value, tensors) for name, value in self._raw.items()}
        meta = node.meta.get("val")
        self.results = list(meta) if isinstance(meta, (list, tuple)) else [meta]
        self.result = self.results[0]
        self.result_rank = len(self.result.shape)

    @classmethod
    def _network(cls, value, tensors):
        if isinstance(value, torch.fx.Node):
            return value.meta["val"] if _is_number(value) else tensors[value]
        if isinstance(value, (list, tuple)):
            return [cls._network(item, tensors) for item in value]
        return value

    def __contains__(self, name):
        return name in self._values

    def __getitem__(self, name):
        return self._values[name]

    def get(self, name, otherwise=None):
        return self._values.get(name, otherwise)

    def is_tensor(self, name) -> bool:
        return isinstance(self._raw[name], torch.fx.Node) and not _is_number(self._raw[name])

    def meta(self, name):
        """PyTorch's description of a tensor argument; the value of another."""
        value = self._raw[name]
        return value.meta["val"] if isinstance(value, torch.fx.Node) else value

    def evaluate(self):
        """The result of an operator that reads no tensors' elements."""
        def plain(value):
            return torch.empty(value.meta["val"].shape, dtype=value.meta["val"].dtype) \
                if isinstance(value, torch.fx.Node) else value

        keep = {name: value for name, value in self._raw.items() if name not in ("device", "layout", "pin_memory")}
        return self.node.target(*(plain(value) for value in self.node.args), **{
            name: value for name, value in keep.items() if name in self.node.kwargs})


def _is_number(node) -> bool:
    """Extents, and numbers that are computed from them."""
    return isinstance(node.meta.get("val"), (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def _is_check(node) -> bool:
    """Calls without a result: PyTorch's assertions about extents, which the plan's profile stands for."""
    return node.op == "call_function" and node.meta.get("val") is None


def _decomposed(program):
    table = torch.export.default_decompositions()
    for name in _WHOLE:
        packet, overload = name.split(".")
        whole = getattr(getattr(torch.ops.aten, packet), overload)
        if whole in table:
            del table[whole]
    return program.run_decompositions(table)


def _constants(program):
    """Parameters, buffers and lifted tensors by the name of their placeholder."""
    signature, found = program.graph_signature, {}
    for name, target in {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                         **getattr(signature, "inputs_to_lifted_tensor_constants", {})}.items():
        found[name] = program.state_dict[target] if target in program.state_dict else program.constants[target]
    if getattr(signature, "buffers_to_mutate", None) or getattr(signature, "user_inputs_to_mutate", None):
        raise Unsupported("a module that changes its buffers or its inputs")
    return found


def _missing(graph) -> list[str]:
    return sorted({str(node.target) for node in graph.nodes if node.op == "call_function"
                   and not _is_number(node) and not _is_check(node) and node.target is not operator.getitem and str(node.target).removeprefix("aten.") not in ROWS})


def _add_nodes(program, layers):
    """Layers of all nodes; gives PyTorch's descriptions of the inputs by name, and the outputs."""
    tensors, constants, inputs, outputs = {}, _constants(program), {}, []
    for node in program.graph.nodes:
        if _is_number(node) and node.op != "placeholder" or _is_check(node):
            continue
        if node.op == "placeholder" and node.name in constants:
            tensors[node] = layers.constant(constants[node.name])
        elif node.op == "placeholder":
            value = node.meta["val"]
            if not isinstance(value, torch.Tensor):
                raise Unsupported(f"the input '{node.name}', which is no tensor")
            tensors[node], inputs[node.name] = layers.input(node.name, value), value
        elif node.op == "call_function" and node.target is operator.getitem:
            tensors[node] = tensors[node.args[0]][node.args[1]]
        elif node.op == "call_function":
            call = Call(node, tensors)
            try:
                made = ROWS[call.name](layers, call)
            except Unsupported as error:
                raise Unsupported(f"{node.target} ({node.name}): {error}") from None
            several = isinstance(node.meta.get("val"), (list, tuple))
            tensors[node] = made if several == isinstance(made, list) else made[0] if isinstance(made, list) else [made]
        elif node.op == "output":
            outputs = [_output(value, tensors) for value in node.args[0]]
    return inputs, outputs


def _output(value, tensors):
    if not isinstance(value, torch.fx.Node):
        return value
    if _is_number(value):
        raise Unsupported(f"the result '{value.name}', which is a number and no tensor")
    return tensors[value]


def _bounds(expression, ranges, hint: int) -> tuple[int, int, int]:
    """The least, best and most of an extent."""
    least, most = ({symbol: getattr(ranges[symbol], end) for symbol in expression.free_symbols if symbol in ranges}
                   for end in ("lower", "upper"))
    ends = [expression.xreplace(values) for values in (least, most)]
    if not all(end.is_Integer for end in ends):
        raise Unsupported(f"an extent without a bound: give torch.export.Dim(..., min=, max=) for {expression}")
    return int(ends[0]), min(max(hint, int(ends[0])), int(ends[1])), int(ends[1])


def _ranges(program, inputs) -> dict:
    """The least, best and most shape of each dynamic input; the best is that of the example it was exported with."""
    found = {}
    for name, value in inputs.items():
        shape = [plain(extent) for extent in value.shape]
        if is_fixed(shape):
            continue
        bounds = [(extent,) * 3 if isinstance(extent, int) else
                  _bounds(extent.node.expr, program.range_constraints, extent.node.hint) for extent in shape]
        found[name] = tuple(zip(*bounds))
    return found


def add_program(network, program) -> tuple[list, dict, Layers]:
    """Adds a torch.export.ExportedProgram to a network. Gives for each of its results the number of the output, or a
    constant; the shapes of dynamic inputs (least, best, most) by name; and the objects that must be kept until the plan
    is built.

    Raises Unsupported with the operators that cannot be converted, all at once."""
    program = _decomposed(program)
    missing = _missing(program.graph)
    if missing:
        raise Unsupported("no converter for " + ", ".join(missing))
    layers = Layers(network)
    inputs, outputs = _add_nodes(program, layers)
    results = []
    for index, output in enumerate(outputs):
        if not isinstance(output, trt.ITensor):
            results.append(("constant", output))
            continue
        # An output that is an input, or another output, needs a tensor of its own.
        output = network.add_identity(output).get_output(0)
        output.name = f"output_{index}"
        network.mark_output(output)
        results.append(("output", network.num_outputs - 1))
    return results, _ranges(program, inputs), layers


def plan_of(program, *, device=None, level=None, log_level: str = "error") -> tuple[Plan, list]:
    """The plan of a torch.export.ExportedProgram, and for each of its results the number of the plan's output, or a constant.

    Raises Unsupported with the operators that cannot be converted, all at once."""
    log = Log(log_level)
    builder = trt.Builder(log)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    results, ranges, layers = add_program(network, program)
    config = builder.create_builder_config()
    if level is not None:
        config.builder_optimization_level = level
    if not own.set_build_device(config, device_number(device)):
        log.fail(BuildError, f"there is no device '{device}'")
    if ranges:
        profile = builder.create_optimization_profile()
        for name, shapes in ranges.items():
            profile.set_shape(name, *shapes)
        config.add_optimization_profile(profile)
    data = builder.build_serialized_network(network, config)
    del layers  # It kept the constants.
    if data is None:
        log.fail(BuildError, "the plan could not be built")
    return Plan(data=data), results
