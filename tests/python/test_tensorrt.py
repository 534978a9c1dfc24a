"""How the module `tensorrt` behaves: sequences, buffers, keywords, lifetimes, values for missing things."""
import copy
import gc
import io
import pickle
import weakref

import numpy as np
import pytest
import tensorrt as trt
from conftest import cpu_config, expected, onnx_model, relu_network
from numerics import assert_close
from test_raised import Memory


def plan_of(logger, **settings):
    builder, network = relu_network(trt, logger)
    config = cpu_config(builder)
    for name, value in settings.items():
        setattr(config, name, value)
    return builder.build_serialized_network(network, config)


def run(context, x):
    y = np.empty((*x.shape[:-1], 16), np.float32)
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(stream_handle=0)
    return y


def test_a_network_is_a_sequence_of_layers(logger):
    builder, network = relu_network(trt, logger)
    assert [layer.type for layer in network] == [trt.LayerType.CONSTANT, trt.LayerType.MATRIX_MULTIPLY,
                                                 trt.LayerType.ACTIVATION]
    assert len(network) == network.num_layers == 3 and network[-1].name == network.get_layer(2).name
    assert [type(layer) for layer in network[1:]] == [trt.ILayer, trt.ILayer]
    with pytest.raises(IndexError):
        network[3]
    assert network.get_layer(3) is None and network.get_input(1) is None
    layer = network[2]
    assert network[2] is layer and network.builder is builder


def test_layers_may_be_given_the_class_that_they_have(logger):
    _, network = relu_network(trt, logger)
    layer = network[1]
    layer.__class__ = trt.IMatrixMultiplyLayer
    layer.op0 = trt.MatrixOperation.NONE
    assert layer.op0 == trt.MatrixOperation.NONE
    assert isinstance(layer, trt.IMatrixMultiplyLayer) and layer.__class__ is trt.IMatrixMultiplyLayer
    layer.__class__ = trt.ILayer
    assert type(layer) is trt.ILayer
    with pytest.raises(TypeError, match="IMatrixMultiplyLayer"):
        layer.__class__ = trt.IConvolutionLayer
    with pytest.raises(TypeError):
        layer.__class__ = int
    added = network.add_activation(network.get_input(0), trt.ActivationType.TANH)
    assert type(added) is trt.IActivationLayer and added.type == trt.ActivationType.TANH


def test_enumerators_are_equal_to_their_own_kind_alone():
    assert trt.ActivationType.RELU != trt.LayerType.CONVOLUTION and trt.DataType.FLOAT != 0
    assert int(trt.DataType.INT8) == 2 and trt.DataType(2) == trt.int8 and trt.BuilderFlag.WEIGHTLESS == trt.BuilderFlag.STRIP_PLAN
    assert trt.Logger.ERROR < trt.Logger.WARNING and trt.ILogger.Severity.INFO >= trt.Logger.INFO
    assert len({trt.float32, trt.DataType.FLOAT, trt.LayerType.CONVOLUTION}) == 2 and str(trt.int8) == "DataType.INT8"
    assert repr(trt.int8) == "<DataType.INT8: 2>" and repr(trt.Logger.ERROR) == "<Severity.ERROR: 1>"


def test_numbers_of_fills_are_told_by_name(logger):
    _, network = relu_network(trt, logger)
    fill = network.add_fill((4,), trt.FillOperation.LINSPACE)
    with pytest.raises(TypeError, match="alpha is one number"):
        fill.alpha = [1000]


def test_enumerations_have_their_entries_by_name():
    """By which tools tell enumerators from other objects."""
    assert getattr(trt.SampleMode.WRAP, "__entries")["CLAMP"][0] == trt.SampleMode.CLAMP


def test_tensors_are_one_object_each(logger):
    _, network = relu_network(trt, logger)
    assert network[1].get_output(0) is network[2].get_input(0)
    assert len({network[1].get_output(0), network[2].get_input(0)}) == 1


def test_extents_act_as_tuples(logger):
    _, network = relu_network(trt, logger)
    shape = network.get_input(0).shape
    assert shape == (4, 8) and tuple(shape) == (4, 8) and list(shape) == [4, 8] and shape[-1] == 8 and len(shape) == 2
    assert shape != (4, 9) and shape[:1] == (4,) and repr(shape) == "(4, 8)" and hash(shape) == hash((4, 8))
    assert np.zeros(shape).shape == (4, 8) and trt.volume(shape) == 32
    for dims in (trt.Dims((1, 2)), trt.DimsHW(2, 3), trt.Dims3(1, 2, 3)):
        assert pickle.loads(pickle.dumps(dims)) == copy.copy(dims) == dims and type(copy.deepcopy(dims)) is type(dims)
    with pytest.raises(IndexError):
        shape[2]
    with pytest.raises(TypeError):
        trt.Dims([1] * 9)
    with pytest.raises(TypeError):
        network.add_input("z", trt.float32, "ab")
    assert trt.DimsHW(2, 3).w == 3 and trt.Dims3(1, 2, 3) == (1, 2, 3) and trt.Dims([np.int64(3)]) == (3,)
    assert trt.Permutation([1, 0])[0] == 1 and trt.Dims.MAX_DIMS == 8


def test_weights_and_their_arrays(logger):
    array = np.arange(6, dtype=np.float16)
    weights = trt.Weights(array)
    assert weights.dtype == trt.float16 and weights.size == len(weights) == 6 and weights.nbytes == 12
    assert np.shares_memory(weights.numpy(), array)
    assert trt.Weights().size == 0 and trt.Weights(trt.int8).dtype == trt.int8
    assert trt.nptype(trt.float16) == np.float16 and trt.DataType.INT4.itemsize == 0.5
    with pytest.raises(TypeError):
        trt.Weights(np.array(["a"]))


def test_arrays_of_weights_live_as_long_as_the_network(logger):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    network.add_input("x", trt.float32, (1, 3, 8, 8))
    for _ in range(3):  # The kernel is garbage but for the network.
        layer = network.add_convolution_nd(input=network.get_input(0), num_output_maps=4, kernel_shape=(3, 3),
                                           kernel=np.full((4, 3, 3, 3), 2, np.float32))
        layer.bias = np.ones(4, np.float32)
    gc.collect()
    np.full(100_000, 7, np.float32)  # Reuses freed memory.
    layer = network.get_layer(1)
    layer.__class__ = trt.IConvolutionLayer
    assert (layer.kernel == 2).all() and (layer.bias == 1).all() and layer.kernel.shape == (108,)


def test_plans_have_the_buffer_protocol(logger, tmp_path):
    plan = plan_of(logger)
    assert memoryview(plan).nbytes == plan.nbytes == len(bytes(plan)) and np.frombuffer(plan, np.uint8).size == plan.nbytes
    with open(tmp_path / "plan", "wb") as file:
        file.write(plan)
    runtime = trt.Runtime(logger)
    for form in (plan, bytes(plan), bytearray(plan), memoryview(plan), (tmp_path / "plan").read_bytes()):
        assert runtime.deserialize_cuda_engine(form).num_layers > 0
    assert runtime.deserialize_cuda_engine(b"no plan") is None
    with pytest.raises(TypeError):
        runtime.deserialize_cuda_engine(3)


def test_a_run_gives_the_expected_numbers(logger):
    engine = trt.Runtime(logger).deserialize_cuda_engine(serialized_engine=plan_of(logger))
    assert [engine[i] for i in range(engine.num_io_tensors)] == ["x", "y"]
    assert engine.get_tensor_mode("x") == trt.TensorIOMode.INPUT and engine.get_tensor_dtype("y") == trt.float32
    assert engine.get_tensor_shape("x") == (4, 8) and engine.get_tensor_mode("z") == trt.TensorIOMode.NONE
    context = engine.create_execution_context()
    assert context.engine is engine
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    assert_close(run(context, x), expected(x))
    y = np.empty((4, 16), np.float32)
    assert context.execute_v2(bindings=[x.ctypes.data, y.ctypes.data]) and context.infer_shapes() == []
    assert not context.set_input_shape("x", (5, 8)) and not context.execute_v2([0])
    with pytest.raises(TypeError):
        context.set_tensor_address("x")


def test_objects_keep_what_they_need(logger):
    def context():
        return trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger)).create_execution_context()

    made = context()
    gc.collect()
    x = np.ones((4, 8), np.float32)
    assert_close(run(made, x), expected(x))

    class Kept(trt.IProfiler):
        def report_layer_time(self, layer_name, ms):
            pass

    profiler = Kept()
    alive = weakref.ref(profiler, lambda _: None) if hasattr(profiler, "__weakref__") else None
    made.profiler = profiler
    del profiler
    gc.collect()
    assert (alive is None or alive() is not None) and isinstance(made.profiler, Kept)
    made.profiler = None
    assert made.profiler is None


def test_onnx_models_are_parsed_and_errors_found(logger):
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(onnx_model().SerializeToString()) and parser.num_errors == 0
    assert network.get_input(0).shape == (-1, 8) and parser.supports_operator("Conv")
    bad = trt.OnnxParser(builder.create_network(0), trt.Logger(trt.Logger.INTERNAL_ERROR))
    assert not bad.parse(b"nonsense") and bad.num_errors == 1
    error = bad.get_error(0)
    assert isinstance(error.code(), trt.ErrorCode) and error.desc() and str(error)
    with pytest.raises(IndexError):
        bad.get_error(1)
    bad.clear_errors()
    assert bad.num_errors == 0


def test_profiles_and_dynamic_shapes(logger):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    assert trt.OnnxParser(network, logger).parse(onnx_model().SerializeToString())
    config, profile = cpu_config(builder), builder.create_optimization_profile()
    profile.set_shape("x", min=(1, 8), opt=(4, 8), max=(16, 8))
    assert [tuple(shape) for shape in profile.get_shape("x")] == [(1, 8), (4, 8), (16, 8)] and profile.get_shape("z") == []
    assert config.add_optimization_profile(profile) == 0 and config.num_optimization_profiles == 1
    engine = builder.build_engine_with_config(network, config)
    assert [tuple(shape) for shape in engine.get_tensor_profile_shape("x", 0)] == [(1, 8), (4, 8), (16, 8)]
    context = engine.create_execution_context()
    for batch in (1, 16):
        x = np.random.default_rng(batch).standard_normal((batch, 8)).astype(np.float32)
        assert_close(run(context, x), expected(x))
    assert not context.set_input_shape("x", (17, 8))


def test_settings_keep_their_values(logger):
    config = trt.Builder(logger).create_builder_config()
    config.set_flag(trt.BuilderFlag.FP16)
    assert config.get_flag(trt.BuilderFlag.FP16) and config.flags & (1 << int(trt.BuilderFlag.FP16))
    config.clear_flag(flag=trt.BuilderFlag.FP16)
    config.builder_optimization_level = 2
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 20)
    assert config.get_memory_pool_limit(pool=trt.MemoryPoolType.WORKSPACE) == 1 << 20
    assert config.builder_optimization_level == 2 and not config.get_flag(trt.BuilderFlag.FP16)
    assert config.progress_monitor is None and config.int8_calibrator is None and config.algorithm_selector is None


def test_timing_caches_are_made_used_and_written(logger):
    builder, network = relu_network(trt, logger)
    config = cpu_config(builder)
    cache = config.create_timing_cache(b"")
    assert config.set_timing_cache(cache, ignore_mismatch=False)
    assert builder.build_serialized_network(network, config)
    data = config.get_timing_cache().serialize()
    assert data.nbytes > 0 and config.create_timing_cache(data).combine(cache, True)
    with pytest.raises(ValueError):
        trt.TimingCacheKey.parse("0x12")
    key = trt.TimingCacheKey.parse("0x" + "0a" * 16)
    assert str(key) == "0x" + "0a" * 16


def test_the_inspector_and_engine_facts(logger):
    engine = trt.Runtime(logger).deserialize_cuda_engine(
        plan_of(logger, profiling_verbosity=trt.ProfilingVerbosity.DETAILED))
    inspector = engine.create_engine_inspector()
    text = inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    assert text.startswith("{") and inspector.get_layer_information(0, trt.LayerInformationFormat.ONELINE)
    assert engine.num_optimization_profiles >= 1 and engine.device_memory_size_v2 >= 0
    assert engine.serialize().nbytes > 0 and not engine.refittable
    assert engine.get_tensor_format("x") == trt.TensorFormat.LINEAR
    assert engine.get_tensor_format_desc("x", 0) == "Row major linear FP32 format (kLINEAR)"


def test_engines_are_refitted(logger):
    builder, network = relu_network(trt, logger)
    network[0].name = "w"
    config = cpu_config(builder)
    config.set_flag(trt.BuilderFlag.REFIT)
    engine = builder.build_engine_with_config(network, config)
    refitter = trt.Refitter(engine, logger)
    names = refitter.get_all_weights()
    assert len(names) == 1 and refitter.get_weights_prototype(names[0]).size == 128
    assert refitter.set_named_weights(names[0], np.zeros((8, 16), np.float32)) and refitter.refit_cuda_engine()
    assert (run(engine.create_execution_context(), np.ones((4, 8), np.float32)) == 0).all()
    with pytest.warns(DeprecationWarning), trt.Refitter(engine, logger) as again:  # As scripts for TensorRT 8 have it.
        assert again.get_all_weights() == names


def test_streams_carry_plans(logger):
    class Writer(trt.IStreamWriter):
        def __init__(self):
            trt.IStreamWriter.__init__(self)
            self.data = io.BytesIO()

        def write(self, data):
            return self.data.write(data)

    class Reader(trt.IStreamReader):
        def __init__(self, data):
            trt.IStreamReader.__init__(self)
            self.data = io.BytesIO(data)

        def read(self, size):
            return self.data.read(size)

    builder, network = relu_network(trt, logger)
    writer = Writer()
    assert builder.build_serialized_network_to_stream(network, cpu_config(builder), writer)
    engine = trt.Runtime(logger).deserialize_cuda_engine(Reader(writer.data.getvalue()))
    assert engine.num_io_tensors == 2


def test_contexts_managers_warn_that_they_are_deprecated(logger):
    with pytest.warns(DeprecationWarning):
        with trt.Builder(logger) as builder, builder.create_network(0) as network:
            assert network.num_layers == 0


def test_lean_and_dispatch_have_no_builder():
    import tensorrt_dispatch
    import tensorrt_lean

    for module in (tensorrt_lean, tensorrt_dispatch):
        assert module.Runtime is trt.Runtime and not hasattr(module, "Builder") and not hasattr(module, "OnnxParser")


def test_addresses_and_streams_are_what_int_makes_a_number_of(logger):
    """As PyCUDA's memory and the streams of CUDA's Python bindings are."""
    class Made:
        def __init__(self, number):
            self.number = number

        def __int__(self):
            return self.number

    engine = trt.Runtime(logger).deserialize_cuda_engine(plan_of(logger))
    context = engine.create_execution_context()
    x, y = np.ones((4, 8), np.float32), np.zeros((4, 16), np.float32)
    assert context.set_tensor_address("x", Made(x.ctypes.data)) and context.set_tensor_address("y", np.uint64(y.ctypes.data))
    assert context.execute_async_v3(Made(0)) and context.execute_v2([Made(x.ctypes.data), y.ctypes.data])
    assert_close(y, expected(x))
    for wrong in (1.5, np.float32(1), "1", None, -1, Made("no number")):
        with pytest.raises(TypeError):
            context.set_tensor_address("x", wrong)

    class Allocator(Memory):
        def allocate(self, size, alignment, flags):
            return Made(super().allocate(size, alignment, flags))

    runtime = trt.Runtime(logger)
    runtime.gpu_allocator = allocator = Allocator()
    engine = runtime.deserialize_cuda_engine(plan_of(logger))
    context = engine.create_execution_context()
    assert context.execute_v2([x.ctypes.data, y.ctypes.data]) and allocator.blocks


def test_constants_without_elements(logger):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (3, 6))
    empty = network.add_constant((3, 0), trt.Weights(trt.float32)).get_output(0)
    joined = network.add_concatenation([empty, x, empty])
    joined.axis = 1
    joined.get_output(0).name = "y"
    network.mark_output(joined.get_output(0))
    engine = builder.build_engine_with_config(network, cpu_config(builder))
    x, y = np.ones((3, 6), np.float32), np.zeros((3, 6), np.float32)
    assert engine.create_execution_context().execute_v2([x.ctypes.data, y.ctypes.data]) and (y == 1).all()


def test_the_same_build_gives_the_same_bytes(logger):
    """With the times that an earlier build measured, and although the self-check has no time for all regions."""
    def build(cache):
        builder = trt.Builder(logger)
        network, config = builder.create_network(0), cpu_config(builder)
        x, random = network.add_input("x", trt.float32, (1, 16, 48, 48)), np.random.default_rng(0)
        for i in range(40):
            size = 3 if i % 2 else 1
            kernel = (random.standard_normal((16, 16, size, size)) / 16).astype(np.float32)
            layer = network.add_convolution_nd(x, 16, (size, size), kernel)
            layer.padding_nd = (size // 2, size // 2)
            x = network.add_activation(layer.get_output(0), trt.ActivationType.TANH).get_output(0)
        network.mark_output(x)
        cache = cache or config.create_timing_cache(b"")
        assert config.set_timing_cache(cache, ignore_mismatch=False)
        return bytes(builder.build_serialized_network(network, config)), cache

    first, cache = build(None)
    for _ in range(3):
        assert build(cache)[0] == first


def test_extents_behind_loops_are_those_of_the_first_values(logger):
    """A recurrence keeps its extents, also where its next value is of another input's batch."""
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x, h = network.add_input("x", trt.float32, (-1, 3, 2)), network.add_input("h", trt.float32, (-1, 2))
    loop = network.add_loop()
    trips = network.add_constant((), np.array([3], np.int32)).get_output(0)
    loop.add_trip_limit(trips, trt.TripLimit.COUNT)
    rows, state = loop.add_iterator(x, 1, False), loop.add_recurrence(h)
    following = network.add_elementwise(rows.get_output(0), state.get_output(0), trt.ElementWiseOperation.SUM).get_output(0)
    state.set_input(1, following)
    last, every = (loop.add_loop_output(one, kind, axis) for one, kind, axis in (
        (state.get_output(0), trt.LoopOutput.LAST_VALUE, 0), (following, trt.LoopOutput.CONCATENATE, 1)))
    every.set_input(1, trips)
    for name, layer in (("last", last), ("every", every)):
        layer.get_output(0).name = name
        network.mark_output(layer.get_output(0))
    config, profile = cpu_config(builder), builder.create_optimization_profile()
    profile.set_shape("x", (1, 3, 2), (2, 3, 2), (4, 3, 2))
    profile.set_shape("h", (1, 2), (2, 2), (4, 2))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    assert context.set_input_shape("x", (4, 3, 2)) and context.set_input_shape("h", (4, 2))
    assert tuple(context.get_tensor_shape("last")) == (4, 2) and tuple(context.get_tensor_shape("every")) == (4, 3, 2)
    arrays = {"x": np.arange(24, dtype=np.float32).reshape(4, 3, 2), "h": np.ones((4, 2), np.float32),
              "last": np.zeros((4, 2), np.float32), "every": np.zeros((4, 3, 2), np.float32)}
    assert all(context.set_tensor_address(name, array.ctypes.data) for name, array in arrays.items())
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(arrays["every"], 1 + np.cumsum(arrays["x"], 1))
    np.testing.assert_array_equal(arrays["last"], arrays["every"][:, -1])


def test_numbers_of_fills_may_be_of_two_kinds(logger):
    layer = trt.Builder(logger).create_network(0).add_fill((4,), trt.FillOperation.LINSPACE, trt.float32)
    layer.alpha, layer.beta = 2, 0.5
    assert (layer.alpha, layer.beta) == (2, 0.5)


@pytest.mark.parametrize("dtype", (trt.float32, trt.float16))
def test_caches_are_updated_where_they_lie(logger, dtype):
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    inputs = [network.add_input(name, own, shape) for name, own, shape in (
        ("cache", dtype, (2, 1, 4, 2)), ("update", dtype, (2, 1, 1, 2)), ("at", trt.int32, (2,)))]
    layer = network.add_kv_cache_update(*inputs, trt.KVCacheMode.LINEAR)
    layer.get_output(0).name = "kept"
    network.mark_output(layer.get_output(0))
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, cpu_config(builder)))
    assert engine.get_aliased_input_tensor("kept") == "cache" and engine.get_aliased_input_tensor("cache") is None
    kind = trt.nptype(dtype)
    cache, update = np.arange(16, dtype=kind).reshape(2, 1, 4, 2), -np.ones((2, 1, 1, 2), kind)
    places, wanted = np.array([3, 0], np.int32), cache.copy()
    wanted[0, :, 3], wanted[1, :, 0] = -1, -1
    context = engine.create_execution_context()
    for name, array in (("cache", cache), ("kept", cache), ("update", update), ("at", places)):
        assert context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(cache, wanted)
