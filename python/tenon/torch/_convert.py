"""Exported programs to plans."""
from __future__ import annotations

import operator

import torch

from .. import _native as trt
from .._build_device import device_number
from .._errors import BuildError, Log
from .._native import own
from .._plan import Plan
from .._timing_cache import save_cache, use_cache
from ._fold import folded
from ._layers import Layers, Unsupported, plain
from ._memory import Allocator
from ._options import options_of
from ._ranges import Extent, places_of_symbols, ranges_of
from ._state import State
from . import _arithmetic, _detection, _indexing, _recurrent, _windows  # noqa: F401: tables of rows
from ._table import ROWS
from ._control import CONTROL, bodies_of, is_control
from ._complex import COMPLEX_ROWS, Pair, complex_constant, is_complex, of_complex  # Behind the other rows, which it takes.

# Operators that stay whole where PyTorch would take them apart: layers of their own are faster.
_WHOLE = ("scaled_dot_product_attention.default", "linear.default", "silu.default", "hardswish.default",
          "hardsigmoid.default", "softplus.default", "adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default",
          "adaptive_avg_pool3d.default", "avg_pool1d.default", "max_pool1d.default", "max_pool2d.default",
          "max_pool3d.default", "upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec",
          "lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input",
          "upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec", "upsample_bicubic2d.vec")


_STRONG = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)


class Call:
    """One call of an operator, its tensors as the network has them."""

    def __init__(self, node, tensors):
        self.node, self.name = node, str(node.target).removeprefix("aten.")
        names = [argument.name for argument in node.target._schema.arguments]
        self._raw = {**dict(zip(names, node.args)), **node.kwargs}
        self._values = {name: self.operands(value, tensors) for name, value in self._raw.items()}
        meta = node.meta.get("val")
        self.results = list(meta) if isinstance(meta, (list, tuple)) else [meta]
        self.result = self.results[0]
        self.result_rank = len(self.result.shape)

    @classmethod
    def operands(cls, value, tensors):
        """An argument, or several, with tensors as the network has them."""
        if isinstance(value, torch.fx.Node):
            return value.meta["val"] if is_number(value) else tensors.get(value) if value.op == "get_attr" else tensors[value]
        if isinstance(value, (list, tuple)):
            return [cls.operands(item, tensors) for item in value]
        return value

    @property
    def names(self):
        return self._values.keys()

    def __contains__(self, name):
        return name in self._values

    def __getitem__(self, name):
        return self._values[name]

    def get(self, name, otherwise=None):
        return self._values.get(name, otherwise)

    def is_tensor(self, name) -> bool:
        return isinstance(self._raw[name], torch.fx.Node) and not is_number(self._raw[name])

    def meta(self, name):
        """PyTorch's description of a tensor argument, or of each of several; the value of another."""
        value = self._raw[name]
        if isinstance(value, (list, tuple)):
            return [item.meta["val"] if isinstance(item, torch.fx.Node) else item for item in value]
        return value.meta["val"] if isinstance(value, torch.fx.Node) else value

    def evaluate(self):
        """The result of an operator that reads no tensors' elements."""
        def plain(value):
            return torch.empty(value.meta["val"].shape, dtype=value.meta["val"].dtype) \
                if isinstance(value, torch.fx.Node) else value

        keep = {name: value for name, value in self._raw.items() if name not in ("device", "layout", "pin_memory")}
        return self.node.target(*(plain(value) for value in self.node.args), **{
            name: value for name, value in keep.items() if name in self.node.kwargs})


def is_number(node) -> bool:
    """Extents, and numbers that are computed from them."""
    return isinstance(node.meta.get("val"), (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def name_of(node) -> str:
    """An operator's name as the table has it."""
    return str(node.target).removeprefix("aten.")


def is_check(node) -> bool:
    """Calls without a result: PyTorch's assertions about extents, which the plan's profile stands for."""
    return node.op == "call_function" and node.meta.get("val") is None


def decomposed(program):
    table = torch.export.default_decompositions()
    for name in _WHOLE:
        packet, overload = name.split(".")
        whole = getattr(getattr(torch.ops.aten, packet), overload)
        if whole in table:
            del table[whole]
    return program.run_decompositions(table)


def _constants(program, state):
    """Parameters, buffers and lifted tensors by the name of their placeholder, but those of the state."""
    signature, found = program.graph_signature, {}
    for name, target in {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
                         **getattr(signature, "inputs_to_lifted_tensor_constants", {})}.items():
        if name not in state.names:
            found[name] = program.state_dict[target] if target in program.state_dict else program.constants[target]
    return found


def has_row(node) -> bool:
    return is_control(node) or name_of(node) in (COMPLEX_ROWS if of_complex(node) else ROWS)


def _missing(graph, values) -> list[str]:
    """Operators without a converter, those of bodies too."""
    nodes = [node for node in graph.nodes if node.op == "call_function" and node not in values and not is_number(node)
             and not is_check(node) and node.target is not operator.getitem]
    inside = [name for node in nodes if is_control(node) for body in bodies_of(node) for name in _missing(body, folded(body, {}))]
    return sorted({str(node.target) for node in nodes if not has_row(node)}.union(inside))


def _name_layers(network, first: int, node, within: str) -> None:
    """Layers from the `first` on have the node's name behind that of the module that it is of: "encoder.0/linear_3". Those of
    bodies have their names already."""
    stack = list(node.meta.get("nn_module_stack", {}).values())
    name = within + (f"{stack[-1][0]}/{node.name}" if stack and stack[-1][0] else node.name)
    mine = [network[index] for index in range(first, network.num_layers) if not network[index].name.startswith(f"{name}/")]
    for index, layer in enumerate(mine):
        layer.name = name if len(mine) == 1 else f"{name}:{index}"


def _add_nodes(graph, constants, values, layers):
    """Layers of all nodes, constants for those whose `values` are known; gives PyTorch's descriptions of the inputs by name, and
    the outputs."""
    tensors, inputs = {}, {}
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        if node.name in constants:
            if not all(user in values or is_check(user) for user in node.users):
                tensors[node] = _constant(layers, constants[node.name])
            continue
        value = node.meta["val"]
        if value is None or isinstance(value, (int, float, bool, str)) or is_number(node):
            continue  # A constant of PyTorch's, or a number that is computed from extents.
        if not isinstance(value, torch.Tensor):
            raise Unsupported(f"the input '{node.name}', which is no tensor")
        tensors[node], inputs[node.name] = layers.input(node.name, value), value
    return inputs, _add_calls(graph, values, tensors, layers)


def _constant(layers, value):
    return complex_constant(layers, value) if value.is_complex() else layers.constant(value)


def _add_calls(graph, values, tensors, layers, within: str = "") -> list:
    """Layers of all nodes behind the inputs, whose `tensors` are given; gives the outputs. `within`: ahead of the layers' names."""
    for node in graph.nodes:
        if node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            return [_output(value, tensors) for value in results]
        if node.op != "call_function" or is_number(node) or is_check(node):
            continue
        if node in values:
            if not all(user in values or is_check(user) for user in node.users):
                tensors[node] = _constant(layers, values[node])
        elif node.target is operator.getitem:
            tensors[node] = _picked(node, tensors)
        else:
            tensors[node] = _made(node, tensors, layers, within)
    return []


def _made(node, tensors, layers, within):
    """The tensor of an operator's call, or a list of them."""
    first = layers.network.num_layers
    try:
        if is_control(node):
            made = CONTROL[str(node.target)](layers, Call.operands(node.args, tensors), _bodies(node, layers, within))
        else:
            call = Call(node, tensors)
            made = (COMPLEX_ROWS if is_complex(call) else ROWS)[call.name](layers, call)
        _name_layers(layers.network, first, node, within)
    except (Unsupported, ValueError, TypeError, KeyError) as error:
        refused = Unsupported(f"{node.target} ({node.name}): {error}")
        refused.node = node.name
        raise refused from error
    several = isinstance(node.meta.get("val"), (list, tuple))
    return made if several == isinstance(made, list) else made[0] if isinstance(made, list) else [made]


def _bodies(node, layers, within) -> list:
    """Functions that add the layers of a node's graphs."""
    def adds(graph):
        def add(given):
            placeholders = [inner for inner in graph.nodes if inner.op == "placeholder"]
            return _add_calls(graph, folded(graph, {}), dict(zip(placeholders, given)), layers, f"{within}{node.name}/")

        return add

    return [adds(graph) for graph in bodies_of(node)]


def _picked(node, tensors):
    """One of an operator's results."""
    of, index = node.args
    if tensors[of][index] is None and node.users:
        refused = Unsupported(f"{of.target} ({of.name}): its result {index}")
        refused.node = of.name
        raise refused
    return tensors[of][index]


def _output(value, tensors):
    if not isinstance(value, torch.fx.Node):
        return value
    if isinstance(tensors.get(value), Pair):
        raise Unsupported(f"the result {value.name} of {value.meta['val'].dtype}")
    return Extent(value) if is_number(value) else tensors[value]


class Program:
    """A graph in operators that the table knows. Its plans differ by the ranges of its inputs' extents."""

    def __init__(self, graph, constants, ranges, state=None):
        """constants: tensors by the names of their placeholders. ranges: of symbols. state: None for a graph that changes
        nothing."""
        self.graph, self.state, self._constants, self._ranges = graph, state, constants, ranges
        self._values = folded(graph, constants)
        missing = _missing(graph, self._values)
        if missing:
            raise Unsupported("no converter for " + ", ".join(missing))
        self._inputs = [node.meta["val"] for node in graph.nodes if node.op == "placeholder"
                        and node.name not in constants and isinstance(node.meta["val"], torch.Tensor)]
        self._kept = len(state.names) if state else 0  # Of the inputs, the first ones.

    @classmethod
    def of(cls, exported, may_change: bool = False):
        """The program of a torch.export.ExportedProgram. Raises Unsupported with the operators that have no converter, all
        at once. may_change: whether the caller stores new values of buffers and inputs, and gives back inputs that are
        results."""
        program = decomposed(exported)
        state = State(exported, program)
        if state.places and not may_change:
            raise Unsupported("a module that changes its buffers or its inputs")
        return cls(program.graph, _constants(program, state), program.range_constraints, state if may_change else None)

    def takes(self, shapes) -> bool:
        """Whether the program was traced for such shapes, whatever the ranges of its last plan."""
        return all(extent == known or not isinstance(plain(known), int)
                   for shape, value in zip(shapes, self._inputs[self._kept:]) for extent, known in zip(shape, value.shape))

    def check(self) -> None:
        """Raises Unsupported where an operator, or an extent, has no layers."""
        inputs, _ = _add_nodes(self.graph, self._constants, self._values, Layers(trt.Builder(Log("error")).create_network(_STRONG)))
        places = places_of_symbols(inputs)
        for value in inputs.values():
            for extent in map(plain, value.shape):
                if not isinstance(extent, int) and not extent.node.expr.free_symbols <= places.keys():
                    raise Unsupported(f"the extent {extent}, which is no input's")

    def add_to(self, network, shapes=None) -> tuple[list, dict, Layers]:
        """Adds the program to a network. Gives for each of its results the number of the output, the place of a given
        tensor, an Extent, or a constant; the shapes of dynamic inputs (least, best, most) by name; and the objects that must be kept until the plan is built.
        `shapes`: of its inputs; extents without a bound then reach as far as these need."""
        layers = Layers(network)
        inputs, outputs = _add_nodes(self.graph, self._constants, self._values, layers)
        self.symbols = places_of_symbols(inputs)
        if shapes is not None:
            shapes = [tuple(value.shape) for value in self._inputs[:self._kept]] + list(shapes)
        ranges, results = ranges_of(self._ranges, inputs, shapes), []
        self.input_ranges = [ranges.get(name, (tuple(value.shape),) * 3) for name, value in inputs.items()][self._kept:]
        given = self._given(outputs)
        for index, output in enumerate(outputs):
            if index in given:
                results.append(("given", given[index]))
                continue
            if not isinstance(output, trt.ITensor):
                results.append(("extent" if isinstance(output, Extent) else "constant", output))
                continue
            # An output that is an input, or another output, needs a tensor of its own.
            output = network.add_identity(output).get_output(0)
            output.name = f"output_{index}"
            network.mark_output(output)
            results.append(("output", network.num_outputs - 1))
        return results, ranges, layers

    def _given(self, outputs) -> dict:
        """The places of results that are given tensors; none where the network would be left without an output."""
        given = self.state.results if self.state is not None else {}
        computed = [index for index, output in enumerate(outputs) if isinstance(output, trt.ITensor) and index not in given]
        return given if computed else {}

    def plan(self, *, device=None, log_level: str = "error", shapes=None, options=None) -> tuple[Plan, list]:
        """A plan, and for each of the program's results the number of the plan's output, an Extent, or a constant."""
        log = Log(log_level)
        builder = trt.Builder(log)
        weak = options is not None and options.enabled_precisions
        network = builder.create_network(0 if weak else _STRONG)
        results, ranges, layers = self.add_to(network, shapes)
        config = builder.create_builder_config()
        if not own.set_build_device(config, device_number(device)):
            log.fail(BuildError, f"there is no device '{device}'")
        if options is not None:
            options.configure(config)
            if options.timing_cache_path:
                use_cache(config, options.timing_cache_path)
        if ranges:
            profile = builder.create_optimization_profile()
            for name, three in ranges.items():
                profile.set_shape(name, *three)
            config.add_optimization_profile(profile)
        data = builder.build_serialized_network(network, config)
        del layers  # It kept the constants.
        if data is None:
            log.fail(BuildError, "the plan could not be built")
        if options is not None and options.timing_cache_path:
            save_cache(config, options.timing_cache_path)
        allocator = Allocator(device) if options is not None and options.torch_allocator else None
        return Plan(data=data, allocator=allocator), results


def add_program(network, program) -> tuple[list, dict, Layers]:
    """Adds a torch.export.ExportedProgram to a network, as Program.add_to does.

    Raises Unsupported with the operators that cannot be converted, all at once."""
    return Program.of(program).add_to(network)


def plan_of(program, *, device=None, level=None, log_level: str = "error") -> tuple[Plan, list]:
    """The plan of a torch.export.ExportedProgram, and for each of its results the number of the plan's output, an Extent, or a
    constant.

    Raises Unsupported with the operators that cannot be converted, all at once."""
    return Program.of(program).plan(device=device, log_level=log_level, options=options_of({"level": level}))
