"""Classes of the module carry the API's texts."""
import tensorrt as trt


def test_methods_have_the_texts_of_the_table():
    assert "Switches one flag on." in trt.IBuilderConfig.set_flag.__doc__
    assert "Optimizes the network" in trt.Builder.build_serialized_network.__doc__
    assert "which must be empty" in trt.OnnxParser.parse.__doc__


def test_properties_have_them_too():
    assert "least and largest" not in trt.IBuilderConfig.builder_optimization_level.__doc__
    assert "how long builds search" in trt.IBuilderConfig.builder_optimization_level.__doc__
    assert "Returns the number of layers" in trt.INetworkDefinition.num_layers.__doc__


def test_most_methods_of_the_large_classes_are_documented():
    for cls in (trt.IBuilderConfig, trt.ICudaEngine, trt.IExecutionContext, trt.INetworkDefinition):
        names = [name for name in vars(cls) if not name.startswith("_")]
        silent = [name for name in names if len((getattr(cls, name).__doc__ or "").split()) < 6]
        assert len(silent) <= len(names) // 4, (cls, silent)
