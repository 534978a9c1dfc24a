"""Tensors that a program changes: buffers, which its plan takes ahead of the inputs, and inputs. The plan gives their new values
ahead of the results."""
from __future__ import annotations

import torch
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

_CHANGES = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)


class State:
    """Of an exported program: as it was traced, and decomposed, where the graph only has functions.

    results: the places of results that are the given tensors themselves, by their numbers behind the new values."""

    def __init__(self, exported, program):
        signature = program.graph_signature
        targets = [spec.target for spec in signature.output_specs if spec.kind in _CHANGES]
        buffers = [spec for spec in signature.input_specs if spec.kind is InputKind.BUFFER and spec.target in targets]
        inputs = [spec.arg.name for spec in signature.input_specs
                  if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)]
        self.names = [spec.arg.name for spec in buffers]
        self.tensors = [program.state_dict[spec.target] if spec.target in program.state_dict else program.constants[spec.target]
                        for spec in buffers]
        places = {name: place for place, name in enumerate([*self.names, *inputs])}
        named = {**places, **{spec.target: place for place, spec in enumerate(buffers)}}
        self.places = [named[target] for target in targets]  # Of each new value, among the buffers and the inputs.
        given = [_given(result) for result in exported.graph.output_node().args[0]]
        self.results = {number: places[name] for number, name in enumerate(given, len(targets)) if name in places}

    def store(self, outputs, given) -> list:
        """Writes the new values into the given tensors, the buffers ahead of the inputs; gives the outputs behind them."""
        for place, value in zip(self.places, outputs):
            given[place].copy_(value)
        return outputs[len(self.places):]


def _given(result):
    """The name of the input that a result is, as it is or behind operators that write into it."""
    while isinstance(result, torch.fx.Node) and result.op == "call_function" and _writes_into_first(result.target):
        result = result.args[0]
    return result.name if isinstance(result, torch.fx.Node) and result.op == "placeholder" else None


def _writes_into_first(operator) -> bool:
    schema = getattr(operator, "_schema", None)
    if schema is None or len(schema.returns) != 1 or not schema.arguments:
        return False
    first, made = schema.arguments[0].alias_info, schema.returns[0].alias_info
    return first is not None and made is not None and first.is_write and first.before_set == made.before_set
