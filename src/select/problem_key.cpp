#include "select/problem_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace tenon {
namespace {

/// Constants up to this many elements are axes, pads, steps, zero points.
constexpr int64_t kFewElements = 16;

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
  template <class T>
  void add(std::string_view name, const T& value) {
    fmt::format_to(std::back_inserter(out_), " {}={}", name, value);
  }
  std::string& out_;
};

/// Kernels look at few integers before they take a problem, and loop as these say.
void add_constant(std::string& out, const Tensor& constant) {
  out += 'c';
  if (!is_integer(constant.type()) || !constant.defined() || constant.count() > kFewElements)
    return;
  fmt::format_to(std::back_inserter(out), "({})", fmt::join(constant.to_int64s(), ","));
}

void add_operand(std::string& out, const Operand& operand) {
  if (!operand.present) {
    out += " -";
    return;
  }
  fmt::format_to(
      std::back_inserter(out), " {}[{}]{}{}", name_of(operand.type),
      fmt::join(operand.extents, "x"), operand.layout == Layout::kChannelsLast ? "@nhwc" : "",
      operand.dense() ? std::string() : fmt::format("/{}", fmt::join(operand.strides, ",")));
  if (operand.constant != nullptr) add_constant(out, *operand.constant);
  if (operand.alignment < 16) fmt::format_to(std::back_inserter(out), "/{}B", operand.alignment);
}

void add_operation(std::string& out, const Operation& operation) {
  out += operation.name();
  AttributePrinter printer(out);
  operation.visit_attributes(printer);
  for (const auto& body : operation.bodies()) {
    out += " {";
    std::unordered_map<const Value*, size_t> numbers;
    for (const Value* input : body->inputs()) numbers.emplace(input, numbers.size());
    for (const auto& inner : body->nodes()) {
      add_operation(out, *inner);
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

}  // namespace

std::string problem_key(const Problem& problem) {
  const DeviceProperties& device = problem.device->properties();
  std::string key =
      fmt::format("{}|{}|{}|units={}|threads={}|tf32={}|", device.name, device.architecture,
                  device.libraries, device.compute_units, problem.threads, problem.numerics.tf32);
  if (!problem.numerics.winograd) key += "no winograd|";
  if (!problem.numerics.strassen) key += "no strassen|";
  if (limits_shared_memory(problem)) key += fmt::format("shared={}|", problem.shared_memory);
  if (problem.isa_limit != Problem{}.isa_limit) key += fmt::format("isa={}|", problem.isa_limit);
  if (!problem.packed.empty()) key += "packed|";
  if (std::ranges::any_of(problem.inputs, &Operand::uniform_rows)) key += "uniform|";
  add_operation(key, problem.operation);
  key += "|";
  for (const Operand& input : problem.inputs) add_operand(key, input);
  key += " ->";
  for (const Operand& output : problem.outputs) add_operand(key, output);
  return key;
}

std::string timing_prefix(const std::string& problem, const Tactic& tactic) {
  return fmt::format("{}|{}v{}{{", problem, tactic.name, tactic.version);
}

std::string timing_key(const std::string& problem, const Tactic& tactic,
                       const std::string& config) {
  return timing_prefix(problem, tactic) + config + "}";
}

}  // namespace tenon
