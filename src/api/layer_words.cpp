#include "api/layer_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/ascii.h"
#include "ops/ops.h"
#include "plan/concrete_graph.h"

namespace tenon::api {
namespace {

struct Row {
  OpKind kind;
  std::string_view layer_type, parameter_type;
  int rank;
};
constexpr Row kRows[] = {
#define TENON_LAYER_TYPE(Op, layer_type, parameter_type, parameters, rank) \
  {Op::kKind, layer_type, parameter_type, rank},
#include "api/layer_types.def"
};
constexpr int kUsualRank = 4;

const Row* row_of(const Node& node) {
  const auto found = std::ranges::find(kRows, node.kind(), &Row::kind);
  return found == std::end(kRows) ? nullptr : found;
}

int rank_of(const Node& node) {
  const Row* row = row_of(node);
  return row == nullptr ? kUsualRank : row->rank;
}

struct FormatRow {
  tenon::DataType type;
  const char *linear, *channels_last, *word;
};
/// Phrases of TensorRT's, one for each type and layout; types that have none there have their word.
constexpr FormatRow kFormats[] = {
    {tenon::DataType::kFloat32, "Row major linear FP32", "Channel major FP32 format", "Float"},
    {tenon::DataType::kFloat16, "Row major linear FP16 format", "Channel major FP16 format",
     "Half"},
    {tenon::DataType::kBFloat16, "Row major linear BFloat16 format",
     "Channel major BFloat16 format", "BFloat16"},
    {tenon::DataType::kInt8, "Row major Int8 format", "Channel major Int8 format", "Int8"},
    {tenon::DataType::kUInt8, "Row major linear UInt8 format", "Channel major UInt8 format",
     "UInt8"},
    {tenon::DataType::kInt32, "Row major linear Int32", "Channel major Int32 format", "Int32"},
    {tenon::DataType::kInt64, "Row major linear Int64 format", "Channel major Int64 format",
     "Int64"},
    {tenon::DataType::kBool, "Row major linear BOOL", "Channel major BOOL", "Bool"},
    {tenon::DataType::kFloat8E4M3, "Row major linear FP8 format", "Channel major FP8 format",
     "FP8"},
    {tenon::DataType::kFloat64, "Double", "Double", "Double"},
    {tenon::DataType::kInt16, "Int16", "Int16", "Int16"},
    {tenon::DataType::kUInt16, "UInt16", "UInt16", "UInt16"},
    {tenon::DataType::kUInt32, "UInt32", "UInt32", "UInt32"},
    {tenon::DataType::kUInt64, "UInt64", "UInt64", "UInt64"},
    {tenon::DataType::kFloat8E8M0, "E8M0", "E8M0", "E8M0"},
    {tenon::DataType::kFloat4E2M1, "FP4E2M1", "FP4E2M1", "FP4E2M1"},
    {tenon::DataType::kInt4, "Int4", "Int4", "Int4"},
};

const FormatRow* format_of(tenon::DataType type) {
  const auto found = std::ranges::find(kFormats, type, &FormatRow::type);
  return found == std::end(kFormats) ? nullptr : found;
}

/// TensorRT's phrases name the multiple for this type alone.
const char* channels_last_bfloat16(const TensorType& type) {
  const bool known = type.shape.size() > 1 && type.shape[1].is_constant();
  const int64_t channels = known ? type.shape[1].constant() : 1;
  if (channels % 8 == 0) return "Channel major BFloat16 format where channel % 8 == 0";
  if (channels % 4 == 0) return "Channel major BFloat16 format where channel % 4 == 0";
  if (channels % 2 == 0) return "Channel major BFloat16 format where channel % 2 == 0";
  return format_of(type.type)->channels_last;
}

}  // namespace

const Node& anchor_of(const Node& node) {
  if (!node.is<Fused>()) return node;
  const Node* best = nullptr;
  for (const auto& inner : node.bodies[0]->nodes()) {
    const Node& anchor = anchor_of(*inner);
    if (best == nullptr || rank_of(anchor) > rank_of(*best)) best = &anchor;
  }
  return best == nullptr || rank_of(*best) == 0 ? node : *best;
}

LayerWords words_of(const Node& node, const Node& anchor) {
  if (node.tactic == kViewTactic) return {"NoOp", "NoOp"};
  if (const Row* row = row_of(anchor))
    return {std::string(row->layer_type), std::string(row->parameter_type)};
  const std::string name = camel_case(anchor.op->name());
  return {name, name};
}

std::string kind_of(const Node& node) {
  const Node& anchor = anchor_of(node);
  if (anchor.is<Attention>()) return "mha";
  return node.is<Fused>() ? fmt::format("Fused({})", anchor.op->name())
                          : std::string(node.op->name());
}

std::string camel_case(std::string_view words) {
  std::string name;
  bool begins = true;
  for (const char c : words) {
    if (c != '_') name += begins ? to_upper(c) : c;
    begins = c == '_';
  }
  return name;
}

const char* format_description(const TensorType& type) {
  const FormatRow* row = format_of(type.type);
  if (row == nullptr) return "Unknown format";
  if (type.layout != Layout::kChannelsLast) return row->linear;
  return type.type == tenon::DataType::kBFloat16 ? channels_last_bfloat16(type)
                                                 : row->channels_last;
}

std::string_view type_word(tenon::DataType type) {
  const FormatRow* row = format_of(type);
  return row == nullptr ? name_of(type) : std::string_view(row->word);
}

}  // namespace tenon::api
