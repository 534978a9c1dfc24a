#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "NvOnnxParser.h"
#include "models.h"

namespace tenon {

/// Keeps errors and warnings.
class Log final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) text += std::string(message) + "\n";
  }
  std::string text;
};

/// A parser into an empty network.
class ParserTest : public testing::Test {
 protected:
  ParserTest()
      : builder(nvinfer1::createInferBuilder(log)),
        network(builder->createNetworkV2(0)),
        parser(nvonnxparser::createParser(*network, log)) {}

  bool parse(const ModelBuilder& model) {
    bytes = model.bytes();
    return parser->parse(bytes.data(), bytes.size());
  }

  Log log;
  std::unique_ptr<nvinfer1::IBuilder> builder;
  std::unique_ptr<nvinfer1::INetworkDefinition> network;
  std::unique_ptr<nvonnxparser::IParser> parser;
  std::string bytes;
};

/// y = x + w, four elements.
inline ModelBuilder sum_with_weights() {
  ModelBuilder model;
  model.input("x", {4}).output("y");
  auto& weights = model.weight("w", {4});
  for (int i = 0; i < 4; ++i) weights.add_float_data(static_cast<float>(i));
  model.node("Add", {"x", "w"}, {"y"}).set_name("sum");
  return model;
}

}  // namespace tenon
