#include "onnx/op_table.h"

#include <unordered_map>
#include <vector>

#include "onnx/importer.h"

namespace tenon::importer {
namespace {

#define TENON_FUNCTION(name) PointwiseFunction::k_##name
constexpr OpRow kRows[] = {
#define ONNX_UNARY(name, first, last, function) \
  {"", #name, first, last, &import_pointwise, TENON_FUNCTION(function)},
#define ONNX_ACTIVATION(name, first, last, function, alpha_name, alpha, beta_name, beta) \
  {"",         #name, first,     last, &import_pointwise, TENON_FUNCTION(function),      \
   alpha_name, alpha, beta_name, beta},
#define ONNX_VARIADIC(name, first, last, function) \
  {"", #name, first, last, &import_variadic, TENON_FUNCTION(function)},
#define ONNX_REDUCE(name, first, last, function)                         \
  {"", #name, first, last, &import_reduce,          TENON_FUNCTION(add), \
   "", 0,     "",    0,    ReduceFunction::function},
#define ONNX_OP(domain, name, first, last, function) {domain, #name, first, last, &function},
#define ONNX_SAME(name, first, last, Struct) \
  {"",                                       \
   #name,                                    \
   first,                                    \
   last,                                     \
   &import_same,                             \
   TENON_FUNCTION(add),                      \
   "",                                       \
   0,                                        \
   "",                                       \
   0,                                        \
   ReduceFunction::kSum,                     \
   false,                                    \
   OpKind::k##Struct},
#define ONNX_LIST_OP(name, first, last, function)                                               \
  {"",  #name, first, last, &function, TENON_FUNCTION(add), "", 0, "", 0, ReduceFunction::kSum, \
   true},
#include "onnx/onnx.def"
};
#undef TENON_FUNCTION

using Index = std::unordered_map<std::string_view, std::vector<const OpRow*>>;

const Index& rows_by_name() {
  static const Index kIndex = [] {
    Index index;
    for (const OpRow& row : kRows) index[row.name].push_back(&row);
    return index;
  }();
  return kIndex;
}

std::string_view standard(std::string_view domain) {
  return domain == "ai.onnx" ? "" : domain;
}

/// Domains of the schema itself: operators that they lack are not taken from others.
bool is_official(std::string_view domain) {
  return domain.empty() || domain.starts_with("ai.onnx.");
}

}  // namespace

std::span<const OpRow> op_rows() {
  return kRows;
}

const OpRow* find_row(std::string_view domain, std::string_view name, int64_t opset) {
  domain = standard(domain);
  const auto found = rows_by_name().find(name);
  if (found == rows_by_name().end()) return nullptr;
  const OpRow* borrowed = nullptr;
  for (const OpRow* row : found->second) {
    const bool in_range = opset == 0 || (row->first <= opset && opset <= row->last);
    if (row->domain == domain && in_range) return row;
    // TensorRT looks at the name only: its own operators are found in any domain, and others by
    // unknown ones, of which ONNX's own come first.
    const bool fits = row->domain == "trt" || !is_official(domain);
    if (fits && (borrowed == nullptr || row->domain != "com.microsoft")) borrowed = row;
  }
  return borrowed;
}

const OpRow* find_any_row(std::string_view domain, std::string_view name) {
  const auto found = rows_by_name().find(name);
  if (found == rows_by_name().end()) return nullptr;
  for (const OpRow* row : found->second)
    if (row->domain == standard(domain)) return row;
  return nullptr;
}

}  // namespace tenon::importer

namespace tenon {

bool supports_operator(std::string_view op_type) {
  for (const importer::OpRow& row : importer::op_rows())
    if (row.name == op_type) return true;
  return false;
}

}  // namespace tenon
