// Any bytes given to the ONNX parser are a network or an error: no crash, no hang, no unbounded memory.
#include <memory>

#include "NvOnnxParser.h"
#include "silent_logger.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static SilentLogger logger;
  static const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  parser->parse(data, size);
  return 0;
}
