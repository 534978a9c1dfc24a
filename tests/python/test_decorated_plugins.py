"""tensorrt.plugin: plugins as decorated functions."""
from typing import Tuple

import numpy as np
import pytest
import tensorrt as trt
import tensorrt.plugin as trtp


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
    combination.pos([0, 1, 2], "FP32|FP16, LINEAR")
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
    plan = builder.build_serialized_network(network, builder.create_builder_config())
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
