#include "api/quantized_operands.h"

#include <fmt/ranges.h>

#include "ops/ops.h"

namespace tenon::api {
namespace {

/// Names that a line lists before it only counts.
constexpr size_t kMostNames = 6;

}  // namespace

bool has_products(const Node& node) {
  return node.is<Conv>() || node.is<Deconv>() || node.is<MatMul>() || node.is<Attention>() ||
         node.is<Rnn>();
}

const Node* dequantize_of(const Value* value) {
  while (value != nullptr && value->producer() != nullptr) {
    const Node* node = value->producer();
    if (node->is<Dequantize>()) return node;
    if (!node->is<Transpose>() && !node->is<Reshape>() && !node->is<Cast>() &&
        !node->is<Identity>())
      return nullptr;
    value = node->input(0);
  }
  return nullptr;
}

tenon::DataType quantized_type(const Value* value) {
  const Node* node = dequantize_of(value);
  if (node != nullptr) return node->input(0)->type.type;
  return value == nullptr ? tenon::DataType::kFloat32 : value->type.type;
}

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < names.size() && i < kMostNames; ++i)
    shown.push_back(fmt::format("'{}'", names[i]));
  const std::string text = fmt::format("{}", fmt::join(shown, ", "));
  return names.size() > kMostNames ? fmt::format("{} and {} more", text, names.size() - kMostNames)
                                   : text;
}

}  // namespace tenon::api
