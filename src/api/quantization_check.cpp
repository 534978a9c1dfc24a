#include "api/quantization_check.h"

#include <functional>

#include "ops/math.h"

namespace tenon::api {
namespace {

struct Row {
  BuilderFlag flag;
  const char* name;
  std::function<bool(tenon::DataType)> is;
};

const std::vector<Row>& rows() {
  using enum tenon::DataType;
  static const std::vector<Row> kRows = {
      {BuilderFlag::kINT8, "INT8", [](auto type) { return type == kInt8 || type == kUInt8; }},
      {BuilderFlag::kFP8, "FP8", [](auto type) { return is_real(type) && byte_size(type) == 1; }},
      {BuilderFlag::kINT4, "INT4", [](auto type) { return type == kInt4 || type == kUInt4; }}};
  return kRows;
}

/// Quantize and Dequantize nodes of such a type.
int count(const Graph& graph, const Row& row) {
  int found = 0;
  for (const auto& node : graph.nodes()) {
    if (node->is<Quantize>() && row.is(node->output()->type.type)) ++found;
    if (node->is<Dequantize>() && row.is(node->input(0)->type.type)) ++found;
    for (const auto& body : node->bodies) found += count(*body, row);
  }
  return found;
}

}  // namespace

void report_quantization(const BuilderConfig& config, const Graph& graph, bool integers,
                         Logger& logger) {
  for (const Row& row : rows()) {
    if (!config.getFlag(row.flag)) continue;
    if (const int found = count(graph, row); found > 0) {
      logger.info("{}: scales come from the network's {} QuantizeLinear and DequantizeLinear nodes",
                  row.name, found);
      if (row.flag != BuilderFlag::kINT8 || !integers)
        logger.info(
            "{}: values are rounded as these nodes say; convolutions and products compute with the "
            "rounded values in floating point, for want of kernels",
            row.name);
      continue;
    }
    logger.warning(
        "{} is allowed, but no layer uses it: the network has no QuantizeLinear and "
        "DequantizeLinear of that type, and networks are not calibrated here. All layers stay in "
        "floating point. Quantize the model first, for instance with onnxruntime.quantization "
        "(format QDQ) or NVIDIA's Model Optimizer",
        row.name);
  }
  if (config.getInt8Calibrator() != nullptr)
    logger.warning(
        "setInt8Calibrator has no effect: networks are not calibrated, scales come from "
        "QuantizeLinear and DequantizeLinear");
}

}  // namespace tenon::api
