#include "ops/operation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <unordered_map>

namespace tenon {
namespace {

/// Prints attributes; of tensors only type and extents.
class AttributePrinter final : public AttributeVisitor {
 public:
  explicit AttributePrinter(std::string& out) : out_(out) {}
  void visit(std::string_view name, bool& v) override { add(name, v); }
  void visit(std::string_view name, int64_t& v) override { add(name, v); }
  void visit(std::string_view name, double& v) override { add(name, v); }
  void visit(std::string_view name, std::string& v) override { add(name, v); }
  void visit(std::string_view name, DataType& v) override { add(name, name_of(v)); }
  void visit(std::string_view name, std::vector<int64_t>& v) override {
    add(name, fmt::format("{}", fmt::join(v, ",")));
  }
  void visit(std::string_view name, std::vector<double>& v) override {
    add(name, fmt::format("{}", fmt::join(v, ",")));
  }
  void visit(std::string_view name, std::vector<std::string>& v) override {
    add(name, fmt::format("{}", fmt::join(v, ",")));
  }
  void visit(std::string_view name, Tensor& v) override {
    add(name, fmt::format("{}", fmt::join(v.extents(), "x")));
  }
  void visit_enum(std::string_view name, int& v, std::span<const std::string_view> names) override {
    add(name, names[v]);
  }

 private:
  template <class T> void add(std::string_view name, const T& value) {
    fmt::format_to(std::back_inserter(out_), " {}={}", name, value);
  }
  std::string& out_;
};

}  // namespace

void add_operation_text(std::string& out, const Operation& operation) {
  out += operation.name();
  AttributePrinter printer(out);
  operation.visit_attributes(printer);
  for (const auto& body : operation.bodies()) {
    out += " {";
    std::unordered_map<const Value*, size_t> numbers;
    for (const Value* input : body->inputs()) numbers.emplace(input, numbers.size());
    for (const auto& inner : body->nodes()) {
      add_operation_text(out, *inner);
      for (const Value* input : inner->inputs())
        fmt::format_to(std::back_inserter(out), " %{}",
                       input == nullptr ? -1 : static_cast<int>(numbers[input]));
      for (const Value* output : inner->outputs()) numbers.emplace(output, numbers.size());
      out += ";";
    }
    for (const Value* output : body->outputs())
      fmt::format_to(std::back_inserter(out), " ->%{}", numbers[output]);
    out += "}";
  }
}

}  // namespace tenon
