"""The plugin of the third generation that decorated functions become."""
from __future__ import annotations

import inspect
import json

import numpy as np
import tensorrt as trt

from ._descriptions import SizeTensorDesc, Tensor, TensorDesc
from ._expressions import ShapeExpr, ShapeExprs

_FIELD = "attributes"


def _outputs_of(result) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _plain(value):
    """Attributes as JSON has them."""
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.name}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    return value.item() if isinstance(value, np.generic) else value


def _restored(value):
    if isinstance(value, dict) and "array" in value:
        return np.array(value["array"], value["dtype"])
    return bytes.fromhex(value["bytes"]) if isinstance(value, dict) and "bytes" in value else value


class FunctionPlugin(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuildV2, trt.IPluginV3OneRuntime):
    """Calls the functions of a PluginDef."""

    def __init__(self, plugin, attributes, ranks):
        self.plugin, self.attributes, self.ranks = plugin, attributes, ranks
        self.plugin_namespace, _, self.plugin_name = plugin.plugin_id.partition("::")
        self.plugin_version = "1"
        self.tactic = 0
        names = list(inspect.signature(plugin.register).parameters)
        self.tensors = [name for name in names if name not in attributes]
        self._combinations = None

    @property
    def num_outputs(self) -> int:
        annotation = inspect.signature(self.plugin.register).return_annotation
        parts = getattr(annotation, "__args__", None)
        if parts:
            return len(parts)
        if isinstance(annotation, str) and "uple[" in annotation:
            return annotation.count("TensorDesc")
        return 1

    def _described(self, shapes, types):
        """The outputs' descriptions."""
        inputs = {}
        for index, name in enumerate(self.tensors):
            inputs[name] = TensorDesc(shapes[index], types[index] if types else trt.float32, trt.TensorFormat.LINEAR)
            inputs[name]._index = index
        outputs = _outputs_of(self.plugin.register(**inputs, **self.attributes))
        if len(outputs) != self.num_outputs:
            raise TypeError(f"{self.plugin.plugin_id}: the function gave {len(outputs)} outputs, and its annotation says "
                            f"{self.num_outputs}")
        if any(isinstance(output, SizeTensorDesc) for output in outputs):
            raise NotImplementedError(f"{self.plugin.plugin_id}: size tensors are not supported")
        return outputs

    def _symbolic(self, ranks):
        return [ShapeExprs(ShapeExpr(place=(index, axis)) for axis in range(rank)) for index, rank in enumerate(ranks)]

    def get_output_data_types(self, input_types):
        outputs = self._described(self._symbolic(self.ranks), input_types)
        return [output.dtype for output in outputs]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        outputs = self._described(self._symbolic([len(shape) for shape in inputs]), None)
        return [trt.DimsExprs([extent.lower(inputs, expr_builder) for extent in output.shape_expr]) for output in outputs]

    def get_aliased_input(self, output_index):
        """The input that the function let an output lie in (TensorDesc.aliased)."""
        aliased = self._described(self._symbolic(self.ranks), None)[output_index].get_aliased()
        return -1 if aliased is None else aliased

    def _alternatives(self, count, in_out, num_inputs):
        if self._combinations is None:
            if self.plugin.autotune is None:
                types = [desc.desc.type for desc in in_out[:num_inputs]]
                types += self.get_output_data_types(types)
                self._combinations = [[(kind, trt.TensorFormat.LINEAR) for kind in types]]
            else:
                self._combinations = [row for combination in self._asked() for row in combination.alternatives(count)]
        return self._combinations

    def _asked(self):
        described = {name: TensorDesc() for name in self.tensors}
        known = {**described, **self.attributes, "outputs": tuple(TensorDesc() for _ in range(self.num_outputs))}
        wanted = inspect.signature(self.plugin.autotune).parameters
        return self.plugin.autotune(**{name: value for name, value in known.items() if name in wanted})

    def supports_format_combination(self, pos, in_out, num_inputs):
        if self.plugin.autotune is None:
            self._combinations = None
        given = [(desc.desc.type, desc.desc.format) for desc in in_out[:pos + 1]]
        return any(all(kind in (None, type_) and layout == format_ for (kind, layout), (type_, format_) in zip(row, given))
                   for row in self._alternatives(len(in_out), in_out, num_inputs))

    def get_valid_tactics(self):
        if self.plugin.autotune is None:
            return []
        return sorted({int(tactic) for combination in self._asked() for tactic in combination.tactics})

    def set_tactic(self, tactic):
        self.tactic = tactic

    def get_fields_to_serialize(self):
        values = {name: _plain(value) for name, value in self.attributes.items()}
        text = json.dumps({"values": values, "ranks": self.ranks}).encode()
        return trt.PluginFieldCollection([trt.PluginField(_FIELD, text, trt.PluginFieldType.CHAR)])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        known = {name: Tensor(desc, address) for name, desc, address in zip(self.tensors, input_desc, inputs)}
        known.update(self.attributes, stream=stream, tactic=self.tactic,
                     outputs=tuple(Tensor(desc, address) for desc, address in zip(output_desc, outputs)))
        wanted = inspect.signature(self.plugin.impl).parameters
        self.plugin.impl(**{name: value for name, value in known.items() if name in wanted})

    def clone(self):
        copy = FunctionPlugin(self.plugin, dict(self.attributes), self.ranks)
        copy.tactic = self.tactic
        return copy


class Creator(trt.IPluginCreatorV3One):
    """Makes a decorated plugin again when a plan is loaded."""

    def __init__(self, plugin, space: str, name: str):
        self.plugin, self.name, self.plugin_namespace, self.plugin_version = plugin, name, space, "1"
        self.field_names = trt.PluginFieldCollection([trt.PluginField(_FIELD, b"", trt.PluginFieldType.CHAR)])

    def create_plugin(self, name, field_collection, phase):
        for field in field_collection:
            if field.name == _FIELD:
                stored = json.loads(field.data.tobytes())
                values = {key: _restored(value) for key, value in stored["values"].items()}
                return FunctionPlugin(self.plugin, values, stored["ranks"])
        raise ValueError(f"plugin '{self.plugin.plugin_id}': the field '{_FIELD}' is missing")
