"""Networks in notebooks: a row a layer."""
from __future__ import annotations

from html import escape

from . import _native as trt
from ._table import Table

MOST_ROWS = 200


def _tensors(count, tensor_at) -> str:
    tensors = [tensor_at(index) for index in range(count)]
    return ", ".join(f"{tensor.name} {tensor.dtype.name.lower()} {tuple(tensor.shape)}" for tensor in tensors if tensor is not None)


def to_html(network) -> str:
    """Its inputs, outputs and first layers."""
    layers = [network.get_layer(index) for index in range(min(network.num_layers, MOST_ROWS))]
    rows = [{"layer": layer.name, "type": layer.type.name, "inputs": _tensors(layer.num_inputs, layer.get_input),
             "outputs": _tensors(layer.num_outputs, layer.get_output)} for layer in layers]
    rest = f"<p>and {network.num_layers - len(rows)} more layers</p>" if network.num_layers > len(rows) else ""
    ends = f"{_tensors(network.num_inputs, network.get_input)} → {_tensors(network.num_outputs, network.get_output)}"
    return (f"<p>Network {escape(network.name)}, {network.num_layers} layers: {escape(ends)}</p>"
            f"{Table(['layer', 'type', 'inputs', 'outputs'], rows)._repr_html_()}{rest}")


trt.INetworkDefinition._repr_html_ = to_html
