"""Arguments that scripts give in other forms than the documentation's, and names that they call beside it."""
import numpy as np
import pytest
import tensorrt as trt

QUIET = trt.Logger(trt.Logger.ERROR)


@pytest.fixture
def network():
    return trt.Builder(QUIET).create_network(0)


@pytest.fixture
def x(network):
    return network.add_input("x", trt.float32, (1, 3, 4, 5))


@pytest.mark.parametrize("value, truth", [(1, True), (0, False), (np.True_, True), (np.False_, False), (True, True), (2, True)])
def test_numbers_are_true_or_false(network, x, value, truth):
    layer = network.add_resize(x)
    layer.exclude_outside = value  # A property.
    assert layer.exclude_outside is truth
    axis = network.add_constant((), np.array(1, np.int32)).get_output(0)
    summed = network.add_cumulative(x, axis, trt.CumulativeOperation.SUM, value, value)  # Arguments.
    assert summed.exclusive is truth and summed.reverse is truth


@pytest.mark.parametrize("value", ["yes", None, 0.5, [1]])
def test_other_objects_are_neither(network, x, value):
    with pytest.raises(TypeError):
        network.add_resize(x).exclude_outside = value


def test_fills_take_numbers_alone(network):
    layer = network.add_fill((4,), trt.FillOperation.LINSPACE, trt.float32)
    layer.alpha = 2
    assert layer.alpha == 2 and layer.is_alpha_beta_int64()
    layer.beta = 0.5
    for value in ([1000], "1", None):
        with pytest.raises(TypeError):
            layer.alpha = value


def test_operands_are_named_alike(network):
    q, k, v = (network.add_input(name, trt.float32, (1, 2, 4, 8)) for name in "qkv")
    attention = network.add_attention(q, k, v, trt.AttentionNormalizationOp.SOFTMAX, False)
    attention.set_input(index=0, tensor=k)
    assert attention.get_input(0).name == "k"


def test_names_that_scripts_call():
    assert trt._itemsize(trt.float16) == 2 and trt._itemsize(trt.int4) == 0.5
    indices = trt.NodeIndices([1, 3, 5])
    indices.append(7)
    indices.extend([9])
    assert list(indices) == [1, 3, 5, 7, 9] and trt.NodeIndices(indices) == indices
    assert list(trt.SubGraphCollection([(indices, True)])) == [(indices, True)]


def test_the_module_of_compiled_classes_has_its_name():
    import tensorrt.tensorrt

    assert trt.tensorrt.ITensor is trt.ITensor and tensorrt.tensorrt.IPluginV3 is trt.IPluginV3
