"""Arguments have the names that TensorRT's documentation gives them, and are taken by name."""
import numpy as np
import pytest
import tensorrt as trt
from conftest import cpu_config

QUIET = trt.Logger(trt.Logger.ERROR)
F32 = trt.float32
NONE = trt.MatrixOperation.NONE


@pytest.fixture
def made():
    builder = trt.Builder(logger=QUIET)
    network = builder.create_network(flags=0)
    x = network.add_input(name="x", dtype=F32, shape=(1, 4, 8, 8))
    return builder, network, x


def ones(*shape):
    return np.ones(shape, np.float32)


# Of each method of a network: its arguments, with "x" for the input [1, 4, 8, 8] and callables for what depends on it.
def constant(network, *shape, value=1.0, dtype=np.float32):
    return network.add_constant(shape=shape, weights=np.full(shape, value, dtype)).get_output(index=0)


LAYERS = {
    "add_activation": dict(input="x", type=trt.ActivationType.RELU),
    "add_unary": dict(input="x", op=trt.UnaryOperation.ABS),
    "add_elementwise": dict(input1="x", input2="x", op=trt.ElementWiseOperation.SUM),
    "add_convolution_nd": dict(input="x", num_output_maps=2, kernel_shape=(3, 3), kernel=ones(2, 4, 3, 3), bias=ones(2)),
    "add_deconvolution_nd": dict(input="x", num_output_maps=2, kernel_shape=(3, 3), kernel=ones(4, 2, 3, 3), bias=ones(2)),
    "add_pooling_nd": dict(input="x", type=trt.PoolingType.MAX, window_size=(2, 2)),
    "add_lrn": dict(input="x", window=3, alpha=1.0, beta=0.5, k=1.0),
    "add_scale": dict(input="x", mode=trt.ScaleMode.UNIFORM, shift=ones(1), scale=ones(1), power=ones(1)),
    "add_scale_nd": dict(input="x", mode=trt.ScaleMode.CHANNEL, shift=ones(4), scale=ones(4), power=ones(4), channel_axis=1),
    "add_softmax": dict(input="x"),
    "add_concatenation": dict(inputs=["x", "x"]),
    "add_shuffle": dict(input="x"),
    "add_slice": dict(input="x", start=(0, 0, 0, 0), shape=(1, 2, 2, 2), stride=(1, 1, 1, 1)),
    "add_reduce": dict(input="x", op=trt.ReduceOperation.SUM, axes=4, keep_dims=True),
    "add_topk": dict(input="x", op=trt.TopKOperation.MAX, k=2, axes=8),
    "add_gather": dict(input="x", indices=lambda n: constant(n, 2, value=0, dtype=np.int32), axis=1),
    "add_gather_v2": dict(input="x", indices=lambda n: constant(n, 2, value=0, dtype=np.int32), mode=trt.GatherMode.DEFAULT),
    "add_matrix_multiply": dict(input0="x", op0=NONE, input1="x", op1=NONE),
    "add_select": dict(condition=lambda n: constant(n, 1, 4, 8, 8, value=True, dtype=bool), then_input="x", else_input="x"),
    "add_identity": dict(input="x"),
    "add_cast": dict(input="x", to_type=trt.float16),
    "add_shape": dict(input="x"),
    "add_resize": dict(input="x"),
    "add_padding_nd": dict(input="x", pre_padding=(1, 1), post_padding=(0, 0)),
    "add_parametric_relu": dict(input="x", slopes=lambda n: constant(n, 1, 4, 1, 1)),
    "add_einsum": dict(inputs=["x", "x"], equation="abcd,abcd->abcd"),
    "add_quantize": dict(input="x", scale=lambda n: constant(n, value=0.1), output_type=trt.int8),
    "add_non_zero": dict(input="x"),
    "add_scatter": dict(data="x", indices=lambda n: constant(n, 1, 1, 1, 1, value=0, dtype=np.int32),
                        updates=lambda n: constant(n, 1, 1, 1, 1), mode=trt.ScatterMode.ELEMENT),
    "add_grid_sample": dict(input="x", grid=lambda n: constant(n, 1, 2, 2, 2)),
    "add_normalization": dict(input="x", scale=lambda n: constant(n, 1, 4, 1, 1), bias=lambda n: constant(n, 1, 4, 1, 1), axesMask=12),
    "add_one_hot": dict(indices=lambda n: constant(n, 3, value=0, dtype=np.int32), values=lambda n: constant(n, 2),
                        depth=lambda n: constant(n, value=2, dtype=np.int32), axis=0),
    "add_fill": dict(shape=(2,), op=trt.FillOperation.LINSPACE, output_type=F32),
    "add_cumulative": dict(input="x", axis=lambda n: constant(n, value=0, dtype=np.int32), op=trt.CumulativeOperation.SUM,
                           exclusive=False, reverse=True),
    "add_unsqueeze": dict(input="x", axes=lambda n: constant(n, 1, value=0, dtype=np.int64)),
    "add_squeeze": dict(input="x", axes=lambda n: constant(n, 1, value=0, dtype=np.int64)),
    "add_assertion": dict(condition=lambda n: constant(n, 1, value=True, dtype=bool), message="text"),
    "add_attention": dict(query="x", key="x", value="x", norm_op=trt.AttentionNormalizationOp.SOFTMAX, causal=False),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_take_their_arguments_by_name(made, name):
    _, network, x = made

    def value(given):
        if isinstance(given, list):
            return [value(item) for item in given]
        return x if isinstance(given, str) and given == "x" else given(network) if callable(given) and not isinstance(given, type) else given

    layer = getattr(network, name)(**{key: value(given) for key, given in LAYERS[name].items()})
    assert layer is not None and (name == "add_assertion" or layer.get_output(index=0) is not None)


def test_builds_and_runs_take_their_arguments_by_name(made):
    builder, network, x = made
    layer = network.add_activation(input=x, type=trt.ActivationType.RELU)
    layer.set_input(index=0, tensor=x)
    y = layer.get_output(index=0)
    y.name = "y"
    network.mark_output(tensor=y)
    assert network.get_input(index=0) is x and network.get_output(index=0) is y and network.get_layer(index=0) is not None
    config, profile = cpu_config(builder), builder.create_optimization_profile()
    profile.set_shape(input="x", min=(1, 4, 8, 8), opt=(1, 4, 8, 8), max=(1, 4, 8, 8))
    config.set_flag(flag=trt.BuilderFlag.FP16)
    config.set_memory_pool_limit(pool=trt.MemoryPoolType.WORKSPACE, pool_size=1 << 20)
    assert config.get_memory_pool_limit(pool=trt.MemoryPoolType.WORKSPACE) == 1 << 20 and config.get_flag(flag=trt.BuilderFlag.FP16)
    config.set_tactic_sources(tactic_sources=config.get_tactic_sources())
    assert config.set_timing_cache(cache=config.create_timing_cache(serialized_timing_cache=b""), ignore_mismatch=False)
    plan = builder.build_serialized_network(network=network, config=config)
    engine = trt.Runtime(logger=QUIET).deserialize_cuda_engine(serialized_engine=plan)
    assert engine.get_tensor_name(index=0) == "x" and engine.get_tensor_mode(name="x") == trt.TensorIOMode.INPUT
    assert tuple(engine.get_tensor_shape(name="x")) == (1, 4, 8, 8) and engine.get_tensor_dtype(name="y") == F32
    assert engine.get_tensor_format(name="x", profile_index=0) == trt.TensorFormat.LINEAR
    context = engine.create_execution_context(strategy=trt.ExecutionContextAllocationStrategy.STATIC)
    a, b = ones(1, 4, 8, 8), np.zeros((1, 4, 8, 8), np.float32)
    assert context.set_input_shape(name="x", shape=(1, 4, 8, 8))
    assert context.set_tensor_address(name="x", memory=a.ctypes.data) and context.set_tensor_address(name="y", memory=b.ctypes.data)
    assert context.execute_async_v3(stream_handle=0) and (b == 1).all()
    assert context.get_tensor_address(name="y") == b.ctypes.data and tuple(context.get_tensor_strides(name="x")) == (256, 64, 8, 1)
    inspector = engine.create_engine_inspector()
    assert inspector.get_layer_information(layer_index=0, format=trt.LayerInformationFormat.ONELINE)


def test_missing_things_are_none(made):
    """Names and numbers that there are none of."""
    builder, network, x = made
    assert network.add_shuffle(x).get_input(1) is None and network.add_unary(x, trt.UnaryOperation.ABS).get_output(1) is None
    assert network.error_recorder is None and builder.error_recorder is None and cpu_config(builder).progress_monitor is None
    with pytest.raises(IndexError):
        network[99]
    assert trt.get_plugin_registry().get_creator("no such plugin", "1", "") is None
    assert cpu_config(builder).int8_calibrator is None
    with pytest.raises(TypeError):
        network.add_input(name="z", dtype="float32", shape=(1,))
