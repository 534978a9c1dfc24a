#include "onnx/layer_hints.h"

#include <algorithm>

#include "onnx/node_importer.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

constexpr const char *kPrecision = "trt_layer_precision", *kLeast = "trt_outputs_range_min",
                     *kGreatest = "trt_outputs_range_max", *kPlaces = "trt_outputs_loc";
constexpr const char* kAttributes[] = {kPrecision, kLeast, kGreatest, kPlaces};

void check_lists(NodeImporter& node, const LayerHint& hint) {
  const auto outputs = static_cast<size_t>(node.output_count());
  if (hint.least.size() != hint.greatest.size() || hint.least.size() > outputs)
    node.fail(ImportCode::kInvalidNode,
              fmt::format("{} and {} have {} and {} numbers for {} outputs", kLeast, kGreatest,
                          hint.least.size(), hint.greatest.size(), outputs));
  for (const std::string& place : hint.places)
    if (place != "device" && place != "host")
      node.fail(ImportCode::kInvalidNode,
                fmt::format("{} is '{}': use device or host", kPlaces, place));
}

}  // namespace

std::optional<LayerHint> read_hint(NodeImporter& node) {
  const bool given =
      std::ranges::any_of(kAttributes, [&](const char* name) { return node.has(name); });
  if (!given) return std::nullopt;
  LayerHint hint;
  hint.node = node.node().name();
  if (node.has(kPrecision)) hint.precision = node.type_attribute(kPrecision, DataType::kFloat32);
  hint.least = node.real_list(kLeast);
  hint.greatest = node.real_list(kGreatest);
  hint.places = node.text_list(kPlaces);
  check_lists(node, hint);
  return hint;
}

}  // namespace tenon::importer
