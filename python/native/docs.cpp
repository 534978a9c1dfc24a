// The API's texts by class and attribute, from src/surface/docs.tsv.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "documented.h"

namespace tenon::python {
namespace {

struct Row {
  std::string_view type, attribute;
  const char* text;
};

/// Sorted by class, then attribute, both in lower case.
constexpr Row kRows[] = {
#define TENON_DOC(type, attribute, text) {type, attribute, text},
#include "docs.inc"
};

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return copy;
}

const char* find(std::string_view type, std::string_view attribute) {
  const auto before = [](const Row& row, const std::pair<std::string_view, std::string_view>& key) {
    return std::pair(row.type, row.attribute) < key;
  };
  const Row* row =
      std::lower_bound(std::begin(kRows), std::end(kRows), std::pair(type, attribute), before);
  const bool found = row != std::end(kRows) && row->type == type && row->attribute == attribute;
  return found ? row->text : nullptr;
}

}  // namespace

const char* doc_of(std::string_view type, std::string_view attribute) {
  const std::string own = lower(type), name = lower(attribute);
  // TensorRT's Python names lack the "I" of some classes, and call the parser's OnnxParser.
  const std::string with_i = "i" + own,
                    parser = own.starts_with("onnx") ? "i" + own.substr(4) : own;
  for (const std::string* key : {&own, &with_i, &std::as_const(parser)})
    if (const char* text = find(*key, name)) return text;
  return "";
}

}  // namespace tenon::python
