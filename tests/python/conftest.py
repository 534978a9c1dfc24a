"""Models that several tests use."""
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))  # For numerics.


def on_threads(count, work):
    """Calls work(0) to work(count - 1), each on a thread of its own, and waits for all of them."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def relu_network(trt, logger, shape=(4, 8)):
    """A builder with a network of one product and one activation."""
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, shape)
    weights = network.add_constant((shape[-1], 16), np.linspace(-1, 1, shape[-1] * 16, dtype=np.float32).reshape(-1, 16))
    product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, weights.get_output(0), trt.MatrixOperation.NONE)
    activation = network.add_activation(product.get_output(0), trt.ActivationType.RELU)
    activation.get_output(0).name = "y"
    network.mark_output(activation.get_output(0))
    return builder, network


def cpu_config(builder):
    """A configuration for plans that read and write the host's memory, also where there is a GPU."""
    import tenon

    config = builder.create_builder_config()
    tenon.set_device(config, "cpu")
    return config


def onnx_model(shape=("batch", 8)):
    """y = relu(x w) with a dynamic batch."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "product"), helper.make_node("Relu", ["m"], ["y"], "relu")]
    graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, (shape[0], 16))], [weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def expected(x):
    return np.maximum(x @ np.linspace(-1, 1, 128, dtype=np.float32).reshape(8, 16), 0)


@pytest.fixture
def logger():
    import tensorrt as trt

    return trt.Logger(trt.Logger.ERROR)


def has_gpu() -> bool:
    from tenon import _native as trt

    return trt.own.open_gpu(trt.own.DEFAULT_DEVICE, trt.Logger(trt.Logger.INTERNAL_ERROR)) is not None


def with_cuda_runtime() -> dict:
    """The environment of a program that loads CUDA's run time: on machines without a GPU the stand-in's."""
    from tenon import cpu_tools

    return dict(os.environ) if has_gpu() else {**os.environ, "LD_LIBRARY_PATH": str(cpu_tools.FOLDER)}
