"""Rows of recurrent layers: one layer for all steps of each."""
from __future__ import annotations

import torch

from .._native import own
from ._layers import Unsupported
from ._table import row

_CELLS = {"lstm": own.RecurrentCell.LSTM, "gru": own.RecurrentCell.GRU, "rnn_tanh": own.RecurrentCell.TANH,
          "rnn_relu": own.RecurrentCell.RELU}
# The library's order of gates, by PyTorch's: input, forget, cell, output; reset, update, new.
_ORDERS = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn_tanh": (0,), "rnn_relu": (0,)}


def _ordered(kind, tensor):
    parts = tensor.chunk(len(_ORDERS[kind]))
    return torch.cat([parts[gate] for gate in _ORDERS[kind]])


def _weights(layers, kind, parameters, has_biases):
    """Operands of one layer: weights of inputs, of states, and biases, each of all directions."""
    tensors = [[layers.tensor_of(made) for made in of_direction] for of_direction in parameters]
    if any(tensor is None for of_direction in tensors for tensor in of_direction):
        raise Unsupported("recurrent layers with weights that are computed")
    sides = [torch.stack([_ordered(kind, of_direction[side]) for of_direction in tensors]) for side in (0, 1)]
    if has_biases:
        biases = torch.stack([torch.cat([_ordered(kind, bias) for bias in of_direction[2:]]) for of_direction in tensors])
    else:
        biases = torch.zeros(len(tensors), 2 * sides[0].shape[1], dtype=sides[0].dtype)
    return [layers.constant(tensor) for tensor in (*sides, biases)]


def _states_of(layers, states, shape, place, directions):
    """The first states of one layer, of those of all."""
    return [layers.slice(state, (place * directions, 0, 0), (directions, *shape[1:]), (1, 1, 1)) for state in states]


@row("lstm.input", "gru.input", "rnn_tanh.input", "rnn_relu.input")
def _recurrence(layers, call):
    kind, given = call.name.partition(".")[0], call["hx"]
    if call["train"] and call["dropout"]:
        raise Unsupported("recurrent layers with dropout")
    directions, count, per = 2 if call["bidirectional"] else 1, call["num_layers"], 4 if call["has_biases"] else 2
    parameters = call["params"]
    if len(parameters) != count * directions * per:
        raise Unsupported("recurrent layers with projections")
    states = given if isinstance(given, list) else [given]
    shape = (call.meta("hx")[0] if isinstance(given, list) else call.meta("hx")).shape
    swap = (1, 0, 2) if call["batch_first"] else (0, 1, 2)
    extents = [call.result.shape[axis] for axis in swap]
    x, last = layers.permute(call["input"], swap) if call["batch_first"] else call["input"], []
    for place in range(count):
        first = place * directions * per
        mine = [parameters[first + at * per:first + (at + 1) * per] for at in range(directions)]
        operands = [x, *_weights(layers, kind, mine, call["has_biases"]), *_states_of(layers, states, shape, place, directions)]
        layer = own.add_recurrence(layers.network, _CELLS[kind], operands)
        x = layers.reshape(layers.permute(layers.out(layer), (0, 2, 1, 3)), extents)
        last.append([layers.out(layer, 1 + index) for index in range(len(states))])
    ends = [parts[0] if count == 1 else _joined(layers, parts) for parts in zip(*last)]
    return [layers.permute(x, swap) if call["batch_first"] else x, *ends]


def _joined(layers, parts):
    layer = layers.network.add_concatenation(list(parts))
    layer.axis = 0
    return layers.out(layer)
