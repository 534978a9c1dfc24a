"""The plugin of the third generation that decorated functions become."""
from __future__ import annotations

import inspect
import json

import numpy as np
import tensorrt as trt

from ._ahead import Kernel, wanted_ahead
from ._descriptions import AutoTuneCombination, Shape, SizeTensorDesc, Tensor, TensorDesc
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
        self.tensors = plugin.input_tensor_names
        self._tuned_for, self._combinations, self._configured, self._input_types = None, [], [], None
        self.ahead, self._types, self._kernels = wanted_ahead(plugin, None), None, {}

    def choose(self, aot) -> None:
        """Whether its kernels are compiled ahead of time."""
        self.ahead = wanted_ahead(self.plugin, bool(aot))

    @property
    def num_outputs(self) -> int:
        annotation = inspect.signature(self.plugin.register_func).return_annotation
        parts = getattr(annotation, "__args__", None)
        if parts:
            return len(parts)
        if isinstance(annotation, str) and "uple[" in annotation:
            return annotation.count("TensorDesc")
        return 1

    def _described(self, shapes, types):
        """Descriptions of inputs and outputs."""
        types = types or [trt.float32] * len(shapes)
        inputs = [TensorDesc(shape, kind, trt.TensorFormat.LINEAR)._fix() for shape, kind in zip(shapes, types)]
        outputs = _outputs_of(self.plugin.register_func(**dict(zip(self.tensors, inputs)), **self.attributes))
        if len(outputs) != self.num_outputs:
            raise TypeError(f"{self.plugin.plugin_id}: the function gave {len(outputs)} outputs, and its annotation says "
                            f"{self.num_outputs}")
        for index, output in enumerate(outputs):
            if isinstance(output, SizeTensorDesc):
                output.index = index
        return inputs, outputs

    def _symbolic(self, ranks, fake=False):
        return [ShapeExprs(ShapeExpr(place=(index, axis), fake=fake) for axis in range(rank)) for index, rank in enumerate(ranks)]

    @staticmethod
    def _expressions(shapes):
        """Of the library's: constants where extents are constant."""
        return [ShapeExprs(ShapeExpr(extent.get_constant_value()) if extent.is_constant() else ShapeExpr(place=(index, axis))
                           for axis, extent in enumerate(shape)) for index, shape in enumerate(shapes)]

    def get_output_data_types(self, input_types):
        self._input_types = list(input_types)
        return [output.dtype for output in self._described(self._symbolic(self.ranks, fake=True), input_types)[1]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        outputs = self._described(self._expressions(inputs), self._input_types)[1]
        return [trt.DimsExprs([extent.lower(inputs, expr_builder) for extent in output.shape_expr]) for output in outputs]

    def get_aliased_input(self, output_index):
        """The input that the function let an output lie in (TensorDesc.aliased)."""
        inputs, outputs = self._described(self._symbolic(self.ranks, fake=True), None)
        aliased = outputs[output_index].get_aliased()
        return next((index for index, one in enumerate(inputs) if one is aliased), -1)

    def _alternatives(self, in_out, num_inputs):
        """Pairs: a type and a format for each tensor, and tactics. The function is asked for the network's extents, and once."""
        key = [tuple(desc.desc.dims) for desc in in_out]
        if self.plugin.autotune_func is None:
            types = [desc.desc.type for desc in in_out[:num_inputs]]
            return [([(kind, trt.TensorFormat.LINEAR) for kind in types + self.get_output_data_types(types)], [])]
        if self._tuned_for is None or (key != self._tuned_for and any(-1 in extents for extents in key)):
            self._tuned_for = key
            self._combinations = [(row, combination._tactics) for combination in self._tuned(in_out, num_inputs)
                                  for row in combination.alternatives(len(in_out))]
        return self._combinations

    def _tuned(self, in_out, num_inputs):
        shapes = [ShapeExprs(ShapeExpr(place=(index, axis)) if extent < 0 else ShapeExpr(extent)
                             for axis, extent in enumerate(desc.desc.dims)) for index, desc in enumerate(in_out[:num_inputs])]
        inputs, outputs = self._described(shapes, self._input_types or [desc.desc.type for desc in in_out[:num_inputs]])
        for described, desc in zip((*inputs, *outputs), in_out):
            described.__dict__.update(_shape=Shape(desc), format=desc.desc.format, scale=desc.desc.scale)
        known = {**dict(zip(self.tensors, inputs)), **self.attributes, "outputs": tuple(outputs)}
        result = self._called(self.plugin.autotune_func, known)
        return [result] if isinstance(result, AutoTuneCombination) else result

    def supports_format_combination(self, pos, in_out, num_inputs):
        given = [(desc.desc.type, desc.desc.format) for desc in in_out[:pos + 1]]
        return any(_matches(row, given) for row, _ in self._alternatives(in_out, num_inputs))

    def get_valid_tactics(self):
        chosen = (tactics for row, tactics in self._combinations if _matches(row, self._configured))
        return sorted({int(tactic) for tactics in chosen for tactic in tactics})

    def set_tactic(self, tactic):
        self.tactic = tactic

    def configure_plugin(self, in_out, outputs):
        self._types = [described.desc.type for described in in_out]
        self._configured = [(described.desc.type, described.desc.format) for described in (*in_out, *outputs)]

    def _kernel(self, types) -> Kernel:
        """Compiled for the tactic and the inputs' types; of a plan that was loaded, the one that the build compiled."""
        key = None if None in self._kernels else (self.tactic, *map(str, types))
        if key not in self._kernels:
            shapes = self._symbolic(self.ranks)
            inputs, outputs = self._described(shapes, types)
            known = {**dict(zip(self.tensors, inputs)), **self.attributes, "outputs": tuple(outputs), "tactic": self.tactic}
            self._kernels[key] = Kernel.of(self._called(self.plugin.aot_impl_func, known))
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
        read, written = ([Tensor(desc, address, stream) for desc, address in zip(*pair)]
                         for pair in ((input_desc, inputs), (output_desc, outputs)))
        for output in written:
            output._aliased = next((one for one in read if one.data_ptr == output.data_ptr), None)
        known = {**dict(zip(self.tensors, read)), **self.attributes, "stream": stream, "tactic": self.tactic,
                 "outputs": tuple(written)}
        self._called(self.plugin.impl_func, known)

    def clone(self):
        copy = FunctionPlugin(self.plugin, dict(self.attributes), self.ranks)
        copy.__dict__.update(self.__dict__)
        return copy


def _matches(row, given) -> bool:
    """Whether the first tensors of a row have these types and formats; a row leaves a type open by None."""
    return all(kind in (None, type_) and layout == format_ for (kind, layout), (type_, format_) in zip(row, given))


_MOST_AXES = 8


class Creator(trt.IPluginCreatorV3One):
    """Makes a decorated plugin when a plan is loaded, and for a model's node of its name and namespace."""

    def __init__(self, plugin, space: str, name: str):
        self.plugin, self.name, self.plugin_namespace, self.plugin_version = plugin, name, space, "1"
        self._attributes, self._inputs = plugin.input_attrs, len(plugin.input_tensor_names)
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
