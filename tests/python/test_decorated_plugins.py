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
    with pytest.raises(ValueError, match="not registered"):
        trtp.op.tests.nothing
    with pytest.raises(ValueError, match="registered already"):
        trtp.register("tests::halves")(halves_desc)
    with pytest.raises(ValueError, match="<namespace>::<name>"):
        trtp.register("halves")
    with pytest.raises(TypeError, match="missing"):
        trtp.op.tests.halves()
    with pytest.raises(NotImplementedError, match="upper bound"):
        trtp.size_tensor(1, 2)


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
