"""tensorrt.plugin: plugins as decorated functions."""
import ctypes
import json
from typing import Tuple

import numpy as np
import pytest
import tensorrt as trt
import tensorrt.plugin as trtp
from conftest import cpu_config, has_gpu


@trtp.register("tests::scaled_sum")
def scaled_sum_desc(x: trtp.TensorDesc, y: trtp.TensorDesc, factor: float, table: np.ndarray) -> trtp.TensorDesc:
    return x.like()


@trtp.impl("tests::scaled_sum")
def scaled_sum(x: trtp.Tensor, y: trtp.Tensor, factor: float, table: np.ndarray, outputs: Tuple[trtp.Tensor], stream: int):
    if factor == 13:
        raise ArithmeticError("thirteen")
    outputs[0].numpy()[...] = factor * (x.numpy() + y.numpy()) + table.sum()


@trtp.register("tests::halves")
def halves_desc(x: trtp.TensorDesc) -> Tuple[trtp.TensorDesc, trtp.TensorDesc]:
    rows, columns = x.shape_expr
    first, second = x.like(), x.like()
    first.shape_expr[1] = trtp.cdiv(columns, 2)
    second.shape_expr[1] = columns - trtp.cdiv(columns, 2)
    return first, second


@trtp.impl("tests::halves")
def halves(x, outputs, stream):
    left = outputs[0].shape[1]
    outputs[0].numpy()[...] = x.numpy()[:, :left]
    outputs[1].numpy()[...] = x.numpy()[:, left:]


@trtp.autotune("tests::halves")
def halves_autotune(x, outputs):
    combination = trtp.AutoTuneCombination()
    combination.pos([0, 1, 2], "FP32|FP16", "LINEAR")
    return [combination]


SAME_MEMORY = []


@trtp.register("tests::add_in_place")
def add_in_place_desc(x: trtp.TensorDesc, delta: int) -> trtp.TensorDesc:
    return x.aliased()


@trtp.impl("tests::add_in_place")
def add_in_place(x: trtp.Tensor, delta: int, outputs: Tuple[trtp.Tensor], stream: int):
    SAME_MEMORY.append(x.data_ptr == outputs[0].data_ptr)
    outputs[0].numpy()[...] += delta


def run(network_of, logger, inputs, outputs):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    tensors = [network.add_input(f"x{i}", trt.float32, x.shape) for i, x in enumerate(inputs)]
    layer = network.add_plugin(network_of(*tensors))
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    plan = builder.build_serialized_network(network, cpu_config(builder))
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    results = [np.zeros(shape, np.float32) for shape in outputs]
    for i, x in enumerate(inputs):
        context.set_tensor_address(f"x{i}", x.ctypes.data)
    for i, y in enumerate(results):
        context.set_tensor_address(f"y{i}", y.ctypes.data)
    assert context.execute_async_v3(0)
    return results


def test_functions_run_as_plugins(logger):
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    table = np.array([1, 2], np.int32)
    result, = run(lambda a, b: trtp.op.tests.scaled_sum(a, b, factor=2.0, table=table), logger, [x, y], [(2, 3)])
    np.testing.assert_array_equal(result, 2 * (x + y) + 3)


def test_extents_are_expressions_and_outputs_several(logger):
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    left, right = run(lambda a: trtp.op.tests.halves(a), logger, [x], [(2, 3), (2, 2)])
    np.testing.assert_array_equal(np.hstack([left, right]), x)


def test_outputs_may_lie_where_an_input_does(logger):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    result, = run(lambda a: trtp.op.tests.add_in_place(a, delta=3), logger, [x], [(2, 3)])
    assert SAME_MEMORY and all(SAME_MEMORY)
    np.testing.assert_array_equal(result, np.arange(6).reshape(2, 3) + 3)


def test_what_functions_raise_reaches_the_caller():
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ArithmeticError, match="thirteen"):
        run(lambda a, b: trtp.op.tests.scaled_sum(a, b, factor=13.0, table=np.zeros(1)),
            trt.Logger(trt.Logger.INTERNAL_ERROR), [x, x], [(2, 3)])


def test_mistakes_are_named(logger):
    with pytest.raises(AttributeError, match="not registered"):
        trtp.op.tests.nothing
    assert hasattr(trtp.op.tests, "halves") and not hasattr(trtp.op.tests, "nothing")
    with pytest.raises(ValueError, match="registered already"):
        trtp.register("tests::halves")(halves_desc)
    with pytest.raises(ValueError, match="<namespace>::<name>"):
        trtp.register("halves")
    with pytest.raises(TypeError, match="missing"):
        trtp.op.tests.halves()


def test_plugins_tell_their_functions_and_parameters():
    """As PyTorch's exporter for TensorRT reads them."""
    from tensorrt.plugin._lib import QDP_REGISTRY

    plugin = trtp.op.tests.scaled_sum
    assert QDP_REGISTRY["tests::scaled_sum"] is plugin and plugin.plugin_id == "tests::scaled_sum"
    assert plugin.input_tensor_names == ["x", "y"] and plugin.input_attrs == {"factor": float, "table": np.ndarray}
    assert plugin.impl_func is scaled_sum and plugin.aot_impl_func is None


def test_expressions_fold_constants():
    four = trtp.ShapeExpr(4)
    assert (four + 2 - 1).constant_value() == 5 and trtp.cdiv(four, 3).constant_value() == 2
    assert trtp.max(four, 9).constant_value() == 9 and trtp.min(3, four).constant_value() == 3
    assert trtp.ShapeExprs([2, 3]).numel().constant_value() == 6 and trtp.cdiv(7, 2) == 4


PTX = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry shifted(.param .u64 x, .param .u32 count, .param .u64 y)
{
  .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .f32 %f<2>;
  mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r0, %r1, %r2;
  ld.param.u32 %r4, [count]; setp.ge.s32 %p, %r3, %r4; @%p bra DONE;
  ld.param.u64 %d0, [x]; cvta.to.global.u64 %d0, %d0; mul.wide.s32 %d1, %r3, 4; add.s64 %d0, %d0, %d1; ld.global.f32 %f0, [%d0];
  add.f32 %f0, %f0, 0f40400000;
  ld.param.u64 %d2, [y]; cvta.to.global.u64 %d2, %d2; add.s64 %d2, %d2, %d1; st.global.f32 [%d2], %f0;
DONE:
  ret;
}
"""
COMPILED = []


@trtp.register("tests::shifted")
def shifted_desc(x: trtp.TensorDesc, block: int) -> trtp.TensorDesc:
    return x.like()


@trtp.aot_impl("tests::shifted")
def shifted_ahead(x: trtp.TensorDesc, block: int, outputs: Tuple[trtp.TensorDesc], tactic: int):
    COMPILED.append((x.dtype, tactic, outputs[0].dtype))
    count, launch = x.shape_expr.numel(), trtp.KernelLaunchParams()
    launch.grid_x, launch.block_x = trtp.cdiv(count, block), block
    return "shifted", PTX, launch, trtp.SymIntExprs.from_tuple([trtp.SymInt32(count)])


def shifted_plan(logger, shape=(3, 5)):
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    layer = network.add_plugin(trtp.op.tests.shifted(network.add_input("x", trt.float32, shape), block=4), aot=True)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return builder.build_serialized_network(network, cpu_config(builder))


def test_kernels_compiled_ahead_of_time(logger):
    """They lie in the plan, with the launch as expressions of extents."""
    COMPILED.clear()
    context = trt.Runtime(logger).deserialize_cuda_engine(shifted_plan(logger)).create_execution_context()
    assert COMPILED == [(trt.float32, 0, trt.float32)]
    if not has_gpu():
        keep = [np.ones((3, 5), np.float32) for _ in range(2)]
        assert all(context.set_tensor_address(name, x.ctypes.data) for name, x in zip("xy", keep))
        with pytest.raises(RuntimeError, match="NVIDIA GPUs alone: give impl"):
            context.execute_async_v3(0)
        return
    torch = pytest.importorskip("torch")
    x, y = torch.arange(15.0, device="cuda").reshape(3, 5), torch.zeros(3, 5, device="cuda")
    assert context.set_tensor_address("x", x.data_ptr()) and context.set_tensor_address("y", y.data_ptr())
    assert context.execute_async_v3(torch.cuda.current_stream().cuda_stream)
    assert torch.equal(y, x + 3) and len(COMPILED) == 1


def test_kernels_ahead_of_time_are_kept_as_text():
    from tensorrt.plugin._ahead import Kernel

    launch = trtp.KernelLaunchParams(grid_x=trtp.cdiv(trtp.ShapeExpr(place=(0, 1)) * 2, 3), block_x=32)
    kernel = Kernel.of((b"name", "text", launch, [trtp.SymInt8(3), trtp.SymInt32(trtp.ShapeExpr(place=(1, 0)) - 1), 7]))
    kernel = Kernel.restored(json.loads(json.dumps(kernel.stored())))
    shapes = [(4, 5), (9,)]
    assert (kernel.name, kernel.text) == ("name", b"text")
    assert kernel.sizes["grid_x"].evaluate(shapes) == 4 and kernel.sizes["block_x"].evaluate(shapes) == 32
    assert [(width, expression.evaluate(shapes)) for width, expression in kernel.arguments] == [
        (ctypes.c_int8, 3), (ctypes.c_int32, 8), (ctypes.c_int32, 7)]


def test_nodes_of_models_become_decorated_plugins(logger):
    onnx = pytest.importorskip("onnx")

    def parsed(**attributes):
        node = onnx.helper.make_node("scaled_sum", ["x", "y"], ["z"], plugin_namespace="tests", **attributes)
        values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (2, 3)) for name in "xyz"]
        graph = onnx.helper.make_graph([node], "one", values[:2], values[2:])
        network = trt.Builder(logger).create_network(0)
        opset = onnx.helper.make_opsetid("", 16)
        return trt.OnnxParser(network, logger).parse(onnx.helper.make_model(graph, opset_imports=[opset]).SerializeToString()), network

    good, network = parsed(factor=2.0, table=[1, 2], aot=0)
    assert good and network.num_layers == 1
    context = trt.Runtime(logger).deserialize_cuda_engine(trt.Builder(logger).build_serialized_network(
        network, cpu_config(trt.Builder(logger)))).create_execution_context()
    x, y, z = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    assert all(context.set_tensor_address(name, array.ctypes.data) for name, array in zip("xyz", (x, y, z)))
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(z, 2 * (x + y) + 3)
    with pytest.raises(ValueError, match="no attribute table"):
        parsed(factor=2.0)


def test_combinations_of_types_and_formats():
    """`|` ties tensors together, `*` leaves each its choice."""
    float32, half = trt.float32, trt.float16
    linear, hwc = trt.TensorFormat.LINEAR, trt.TensorFormat.HWC
    tied = trtp.AutoTuneCombination("FP32|FP16, FP32|FP16").alternatives(2)
    assert tied == [[(float32, linear)] * 2, [(half, linear)] * 2]
    free = trtp.AutoTuneCombination("FP32, FP16", "LINEAR*HWC").alternatives(2)
    assert free == [[(float32, first), (half, second)] for first in (linear, hwc) for second in (linear, hwc)]
    with pytest.raises(ValueError, match="3 tensors has 2 types"):
        trtp.AutoTuneCombination("FP32, FP16").alternatives(3)
    placed = trtp.AutoTuneCombination()
    placed.pos([0, 1], "FP32|FP16", "LINEAR")
    placed.pos(pos=2, io_types="INT8*INT64")
    wanted = [[first, first, (last, linear)] for first in ((float32, linear), (half, linear)) for last in (trt.int8, trt.int64)]
    assert placed.alternatives(3) == wanted
    with pytest.raises(ValueError, match="types of tensor 1 were given before"):
        placed.pos([1], "FP32")
    with pytest.raises(ValueError, match="names tensor 2, and the plugin has 2"):
        placed.alternatives(2)
    with pytest.raises(ValueError, match="no DataType 'FP31'"):
        trtp.AutoTuneCombination("FP31").alternatives(1)
    both = trtp.AutoTuneCombination("FP32, FP32", tactics=[1])
    both.pos([2], "INT32")
    assert both.alternatives(3) == [[(float32, linear)] * 2 + [(trt.int32, linear)]]


def test_what_a_plugin_lacks_is_named(logger):
    network = trt.Builder(logger).create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    with pytest.raises(ValueError, match="'tests::shifted' has no impl"):
        network.add_plugin(trtp.op.tests.shifted(x, block=4), aot=False)
    with pytest.raises(ValueError, match="'tests::halves' has no aot_impl"):
        network.add_plugin(trtp.op.tests.halves(x), aot=True)
    combination = trtp.AutoTuneCombination("FP32, FP32")
    combination.tactics([2, 1])
    assert combination._tactics == [2, 1]


@trtp.register("tests::positive")
def positive_desc(x: trtp.TensorDesc, columns: int) -> Tuple[trtp.TensorDesc, trtp.TensorDesc]:
    count = trtp.size_tensor(x.shape_expr.numel() // 2, x.shape_expr.numel())
    count.dtype = trt.int64
    return trtp.from_shape_expr((count.expr(), columns), dtype=trt.float32), count


@trtp.impl("tests::positive")
def positive(x, columns: int, outputs, stream):
    found = x.numpy()[x.numpy() > 0]
    assert outputs[0].is_data_dependent and outputs[0].ndim == 2 and not outputs[1].is_data_dependent
    taken = outputs[0].aliased((len(found), columns))
    assert taken.get_aliased() is outputs[0] and taken.is_aliased
    taken.numpy()[...] = found[:, None]
    outputs[1].numpy()[...] = len(found)


@pytest.mark.skipif(has_gpu(), reason="its memory is the host's")
def test_size_tensors_say_how_large_an_output_is(logger):
    """Plugins find out an extent while they run."""
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    layer = network.add_plugin(trtp.op.tests.positive(network.add_input("x", trt.float32, (3, 4)), columns=2))
    for name, tensor in (("y", layer.get_output(0)), ("count", layer.get_output(1))):
        tensor.name = name
        network.mark_output(tensor)
    assert tuple(layer.get_output(0).shape) == (-1, 2) and layer.get_output(1).dtype == trt.int64
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, cpu_config(builder)))
    context = engine.create_execution_context()
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    y, count = np.zeros((12, 2), np.float32), np.zeros((), np.int64)

    class Allocator(trt.IOutputAllocator):
        def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
            return y.ctypes.data

        def notify_shape(self, tensor_name, shape):
            self.shape = tuple(shape)

    allocator = Allocator()
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("count", count.ctypes.data)
    context.set_output_allocator("y", allocator)
    assert context.execute_async_v3(0)
    found = x[x > 0]
    assert count == len(found) and allocator.shape == (len(found), 2)
    np.testing.assert_array_equal(y[:count], np.stack([found, found], 1))


def test_extents_of_size_tensors_take_part_in_no_operation():
    count = trtp.size_tensor(trtp.ShapeExpr(4), 9)
    assert count.is_size_tensor and count.expr().is_size_tensor and not count.expr().is_constant
    assert (count.opt.constant_value(), count.upper_bound.constant_value()) == (4, 9)
    for operation in (lambda: count.expr() + 1, lambda: trtp.ShapeExpr(2) - count.expr(), lambda: trtp.max(3, count.expr())):
        with pytest.raises(ValueError, match="no operation"):
            operation()


def test_shapes_are_changed_and_counted():
    shape = trtp.Shape((2, 3))
    shape[1] += 4
    assert shape == (2, 7) and shape.numel() == 14 and str(shape) == "Shape(2, 7)" and not shape.is_dynamic
    with pytest.raises(ValueError, match="no opt"):
        shape.opt
    dynamic = trtp.Shape((2, -1))
    assert dynamic.is_dynamic
    with pytest.raises(ValueError, match="not known"):
        dynamic.numel()
    with pytest.raises(AttributeError, match="no max"):
        dynamic.max
    extents = trtp.ShapeExprs.from_tuple((2, trtp.ShapeExpr(3)))
    extents[0] = 5
    assert extents.numel().constant_value() == 15 and all(isinstance(one, trtp.ShapeExpr) for one in extents)
    with pytest.raises(ValueError, match="not 1.5"):
        extents[0] = 1.5
    with pytest.raises(ValueError, match="8 extents at most"):
        trtp.ShapeExprs(9)


SEEN = []


@trtp.register("tests::watched")
def watched_desc(x: trtp.TensorDesc, gain: int) -> trtp.TensorDesc:
    rows = x.shape_expr[0]
    SEEN.append(("fake",) if rows.is_fake else (rows.is_constant, x.shape_expr[1].constant_value()))
    assert not x.has_shape and x.has_shape_expr and not x.is_aliased
    with pytest.raises(ValueError, match="like"):
        x.dtype = trt.float16
    return x.like()


@trtp.autotune("tests::watched")
def watched_autotune(x: trtp.TensorDesc, gain: int, outputs: Tuple[trtp.TensorDesc]) -> trtp.AutoTuneCombination:
    assert x.has_shape and x.ndim == 2 and outputs[0].shape == x.shape and x.format == trt.TensorFormat.LINEAR
    SEEN.append(("tuned", x.is_dynamic, gain, tuple(x.shape)))
    return trtp.AutoTuneCombination("FP32, FP32", "LINEAR", [5, 3])


@trtp.impl("tests::watched")
def watched(x: trtp.Tensor, gain: int, outputs: Tuple[trtp.Tensor], stream: int, tactic: int):
    assert (x.strides, x.is_aliased, x.numel()) == ((3, 1), False, x.shape[0] * 3)
    SEEN.append(tactic)
    outputs[0].numpy()[...] = x.numpy() * gain


@pytest.mark.skipif(has_gpu(), reason="its memory is the host's")
def test_functions_see_extents_as_far_as_they_are_known(logger):
    SEEN.clear()
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    layer = network.add_plugin(trtp.op.tests.watched(network.add_input("x", trt.float32, (-1, 3)), gain=7))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config, profile = cpu_config(builder), builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), (2, 3), (4, 3))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    assert {("fake",), (False, 3), ("tuned", True, 7, (-1, 3)), ("tuned", False, 7, (2, 3)), 3, 5} <= set(SEEN)
    x, y = np.arange(9, dtype=np.float32).reshape(3, 3), np.zeros((3, 3), np.float32)
    context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y, x * 7)
