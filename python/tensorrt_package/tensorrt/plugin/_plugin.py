"""The plugin of the third generation that decorated functions become."""
from __future__ import annotations

import inspect
import json

import numpy as np
import tensorrt as trt

from ._ahead import Kernel, wanted_ahead
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
        self.ahead, self._types, self._kernels = wanted_ahead(plugin, None), None, {}

    def choose(self, aot) -> None:
        """Whether its kernels are compiled ahead of time."""
        self.ahead = wanted_ahead(self.plugin, bool(aot))

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
        return self._called(self.plugin.autotune, known)

    def supports_format_combination(self, pos, in_out, num_inputs):
        if self.plugin.autotune is None:
            self._combinations = None
        given = [(desc.desc.type, desc.desc.format) for desc in in_out[:pos + 1]]
        return any(all(kind in (None, type_) and layout == format_ for (kind, layout), (type_, format_) in zip(row, given))
                   for row in self._alternatives(len(in_out), in_out, num_inputs))

    def get_valid_tactics(self):
        if self.plugin.autotune is None:
            return []
        return sorted({int(tactic) for combination in self._asked() for tactic in combination._tactics})

    def set_tactic(self, tactic):
        self.tactic = tactic

    def configure_plugin(self, in_out, outputs):
        self._types = [described.desc.type for described in in_out]

    def _kernel(self, types) -> Kernel:
        """Compiled for the tactic and the inputs' types; of a plan that was loaded, the one that the build compiled."""
        key = None if None in self._kernels else (self.tactic, *map(str, types))
        if key not in self._kernels:
            shapes = self._symbolic(self.ranks)
            known = {name: TensorDesc(shape, kind, trt.TensorFormat.LINEAR)
                     for name, shape, kind in zip(self.tensors, shapes, types)}
            known.update(self.attributes, outputs=tuple(self._described(shapes, types)), tactic=self.tactic)
            self._kernels[key] = Kernel.of(self._called(self.plugin.aot_impl, known))
        return self._kernels[key]

    @staticmethod
    def _called(function, known):
        """With the arguments that it has parameters for."""
        wanted = inspect.signature(function).parameters
        return function(**{name: value for name, value in known.items() if name in wanted})

    def get_fields_to_serialize(self):
        values = {name: _plain(value) for name, value in self.attributes.items()}
        stored = {"values": values, "ranks": self.ranks}
        if self.ahead and self._types is not None:
            stored["kernel"] = self._kernel(self._types).stored()
        text = json.dumps(stored).encode()
        return trt.PluginFieldCollection([trt.PluginField(_FIELD, text, trt.PluginFieldType.CHAR)])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        if self.ahead:
            kernel = self._kernel([desc.type for desc in input_desc])
            kernel.launch(inputs, outputs, [tuple(desc.dims) for desc in input_desc], stream)
            return
        known = {name: Tensor(desc, address) for name, desc, address in zip(self.tensors, input_desc, inputs)}
        known.update(self.attributes, stream=stream, tactic=self.tactic,
                     outputs=tuple(Tensor(desc, address) for desc, address in zip(output_desc, outputs)))
        self._called(self.plugin.impl, known)

    def clone(self):
        copy = FunctionPlugin(self.plugin, dict(self.attributes), self.ranks)
        copy.tactic, copy.ahead, copy._types, copy._kernels = self.tactic, self.ahead, self._types, self._kernels
        return copy


_MOST_AXES = 8


class Creator(trt.IPluginCreatorV3One):
    """Makes a decorated plugin when a plan is loaded, and for a model's node of its name and namespace."""

    def __init__(self, plugin, space: str, name: str):
        self.plugin, self.name, self.plugin_namespace, self.plugin_version = plugin, name, space, "1"
        parameters = inspect.signature(plugin.register).parameters.values()
        self._attributes = {one.name: one.annotation for one in parameters if "TensorDesc" not in str(one.annotation)
                            and one.annotation is not inspect.Parameter.empty}
        self._inputs = len(parameters) - len(self._attributes)
        self.field_names = trt.PluginFieldCollection([trt.PluginField(field, b"", trt.PluginFieldType.CHAR)
                                                      for field in (_FIELD, *self._attributes, "aot")])

    def create_plugin(self, name, field_collection, phase):
        given = {field.name: field.data for field in field_collection}
        if _FIELD not in given:
            return self._of_node(given)
        stored = json.loads(given[_FIELD].tobytes())
        values = {key: _restored(value) for key, value in stored["values"].items()}
        made = FunctionPlugin(self.plugin, values, stored["ranks"])
        if "kernel" in stored:
            made.ahead, made._kernels[None] = True, Kernel.restored(stored["kernel"])
        return made

    def _of_node(self, given):
        """Of a model's node: attributes by their names. How many axes its inputs have is not told."""
        missing = [name for name in self._attributes if name not in given]
        if missing:
            raise ValueError(f"plugin '{self.plugin.plugin_id}': the node has no attribute {', '.join(missing)}")
        values = {name: _of_field(given[name], kind) for name, kind in self._attributes.items()}
        made = FunctionPlugin(self.plugin, values, [_MOST_AXES] * self._inputs)
        if "aot" in given and "aot" not in self._attributes:
            made.choose(_of_field(given["aot"], bool))
        return made


def _of_field(data, kind):
    """A field's value as the annotation has it."""
    if kind in (str, "str"):
        return data.tobytes().decode() if hasattr(data, "tobytes") else str(data)
    if kind in (bytes, "bytes"):
        return data.tobytes()
    if kind in (int, float, bool, "int", "float", "bool"):
        number = np.asarray(data).reshape(-1)[0].item()
        return {"int": int, "float": float, "bool": bool}[getattr(kind, "__name__", kind)](number)
    return np.array(data)
