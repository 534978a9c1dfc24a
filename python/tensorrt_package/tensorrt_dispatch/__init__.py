"""The part of TensorRT's Python API that loads and runs plans; building, importing and calibrating are in `tensorrt`."""
import tensorrt as _tensorrt
from tensorrt import *  # noqa: F403
from tensorrt import __version__, nptype, volume  # noqa: F401

# Builders are not offered here.
_BUILDING = ("Builder", "IBuilderConfig", "INetworkDefinition", "OnnxParser", "OnnxParserRefitter", "ParserError",
             "IInt8Calibrator", "IInt8LegacyCalibrator", "IInt8EntropyCalibrator", "IInt8EntropyCalibrator2",
             "IInt8MinMaxCalibrator", "IAlgorithmSelector", "IAlgorithm", "IAlgorithmContext", "IAlgorithmIOInfo",
             "IAlgorithmVariant", "BuilderFlag", "NetworkDefinitionCreationFlag", "OnnxParserFlag", "QuantizationFlag",
             "CalibrationAlgoType", "ITimingCache", "TimingCacheKey", "TimingCacheValue", "IProgressMonitor",
             "get_builder_plugin_registry", "get_nv_onnx_parser_version", "NodeIndices",
             "SubGraphCollection", "tensorrt")
for _name in _BUILDING + tuple(name for name in vars(_tensorrt) if name.startswith("I") and name.endswith("Layer")):
    globals().pop(_name, None)
del _name
