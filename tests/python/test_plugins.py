"""Plugins of both generations that are written in Python: built, run, saved, loaded, and their exceptions."""
import ctypes

import numpy as np
import pytest
import tensorrt as trt
from conftest import cpu_config


class Oops(Exception):
    pass


def view(address, shape):
    """The host memory that a plugin on a CPU is given."""
    count = int(np.prod(shape))
    return np.frombuffer((ctypes.c_float * count).from_address(address), np.float32).reshape(shape)


class Scale(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """y = factor * x."""

    def __init__(self, fields=None, phase=None):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace, self.num_outputs = "Scale", "1", "", 1
        self.factor, self.phase = 1.0, phase
        for field in fields or ():
            if field.name == "factor":
                self.factor = float(field.data[0])

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, exprBuilder):
        shape = trt.DimsExprs(len(inputs[0]))
        for i in range(len(shape)):
            shape[i] = inputs[0][i]
        return [shape]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inp, out):
        pass

    def on_shape_change(self, inp, out):
        pass

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([
            trt.PluginField("factor", np.array([self.factor], np.float32), trt.PluginFieldType.FLOAT32)])

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        if self.factor == 13:
            raise Oops("thirteen")
        view(outputs[0], output_desc[0].dims)[...] = self.factor * view(inputs[0], input_desc[0].dims)

    def attach_to_context(self, context):
        return self.clone()

    def set_tactic(self, tactic):
        pass

    def clone(self):
        cloned = Scale()
        cloned.__dict__.update(self.__dict__)
        return cloned


class ScaleCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "Scale", "1", ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([]), trt.PluginFieldType.FLOAT32)])

    def create_plugin(self, name, fc, phase):
        return Scale(fc, phase)


@pytest.fixture
def creator():
    registry, made = trt.get_plugin_registry(), ScaleCreator()
    assert registry.register_creator(made, "")
    yield made
    assert registry.deregister_creator(made)


def build(plugin, logger, add="add_plugin_v3"):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    layer = network.add_plugin_v3([x], [], plugin) if add == "add_plugin_v3" else network.add_plugin_v2([x], plugin)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return builder.build_serialized_network(network, cpu_config(builder)), layer


def run(plan, logger):
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((2, 3), np.float32)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(0)
    return y


def test_creators_are_found(creator):
    registry = trt.get_plugin_registry()
    assert registry.get_creator("Scale", "1", "") is creator and creator in registry.all_creators
    assert registry.get_creator("Scale", "2") is None and not registry.register_creator(creator)
    assert isinstance(creator, trt.IPluginCreatorInterface)


def test_plugins_of_the_third_generation_run(creator, logger):
    field = trt.PluginField("factor", np.array([3], np.float32), trt.PluginFieldType.FLOAT32)
    plugin = creator.create_plugin("s", trt.PluginFieldCollection([field]), trt.TensorRTPhase.BUILD)
    plan, layer = build(plugin, logger)
    assert layer.plugin is plugin and isinstance(layer, trt.IPluginV3Layer)
    np.testing.assert_array_equal(run(plan, logger), 3 * np.arange(6).reshape(2, 3))


def test_what_plugins_raise_reaches_the_caller(creator):
    quiet = trt.Logger(trt.Logger.INTERNAL_ERROR)
    plugin = Scale()
    plugin.factor = 13.0
    with pytest.raises(Oops, match="thirteen"):
        run(build(plugin, quiet)[0], quiet)

    class Wrong(Scale):
        def get_output_shapes(self, inputs, shape_inputs, exprBuilder):
            raise Oops("shapes")

        def clone(self):
            return Wrong()

    with pytest.raises(Oops, match="shapes"):
        build(Wrong(), quiet)


class Remembering(Scale):
    """Takes the type that it was told of, which its fields do not hold."""

    def get_output_data_types(self, input_types):
        self.type = input_types[0]
        return [self.type]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == self.type and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inp, out):
        self.configured = inp[0].desc.type, out[0].desc.format

    def get_valid_tactics(self):
        assert self.configured == (trt.float32, trt.TensorFormat.LINEAR)
        return [3, 4]

    def clone(self):
        cloned = Remembering()
        cloned.__dict__.update(self.__dict__)
        return cloned


def test_plugins_may_keep_the_types_that_they_were_told(logger):
    class Creator(ScaleCreator):
        def create_plugin(self, name, fc, phase):
            return Remembering(fc, phase)

    registry, creator = trt.get_plugin_registry(), Creator()
    assert registry.register_creator(creator, "")
    try:
        np.testing.assert_array_equal(run(build(Remembering(), logger)[0], logger), np.arange(6).reshape(2, 3))
    finally:
        assert registry.deregister_creator(creator)


class Twice(trt.IPluginV2DynamicExt):
    """y = 2 * x."""

    def __init__(self):
        trt.IPluginV2DynamicExt.__init__(self)
        self.num_outputs, self.plugin_namespace, self.plugin_type, self.plugin_version = 1, "", "Twice", "1"

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, exprBuilder):
        return trt.DimsExprs(inputs[0])

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type == trt.float32

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        view(outputs[0], output_desc[0].dims)[...] = 2 * view(inputs[0], input_desc[0].dims)

    def serialize(self):
        return '{"text": "as JSON has it"}'


class TwiceCreator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "Twice", "1", ""
        self.field_names = trt.PluginFieldCollection([])

    def create_plugin(self, name, fc):
        return Twice()

    def deserialize_plugin(self, name, data):
        assert data == b'{"text": "as JSON has it"}'
        return Twice()


def test_plugins_of_the_second_generation_run(logger):
    registry, creator = trt.get_plugin_registry(), TwiceCreator()
    assert registry.register_creator(creator)
    try:
        assert registry.get_plugin_creator("Twice", "1") is creator
        np.testing.assert_array_equal(run(build(Twice(), logger, "v2")[0], logger), 2 * np.arange(6).reshape(2, 3))
    finally:
        assert registry.deregister_creator(creator)


def test_fields_own_their_data():
    collection = trt.PluginFieldCollection_([trt.PluginField("a", np.array([1, 2], np.int32), trt.PluginFieldType.INT32)])
    assert len(collection) == 1 and collection[0].name == "a" and collection[0].size == 2
    assert list(collection[0].data) == [1, 2]
    collection.append(trt.PluginField("b", b"text", trt.PluginFieldType.CHAR))
    assert collection[1].data.tobytes() == b"text"
    with pytest.raises(IndexError):
        collection[2]
