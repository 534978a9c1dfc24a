#include "numeric.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <random>

#include "ops/table.h"

namespace tenon {
namespace {

SymbolValues pick_symbols(const Graph& graph, std::mt19937_64& random) {
  SymbolValues symbols;
  for (const Value* input : graph.inputs())
    for (const Dim& dim : input->type.shape)
      for (const std::string& name : dim.symbols()) {
        const auto range = graph.symbol_ranges.find(name);
        const int64_t low = range == graph.symbol_ranges.end() ? 1 : range->second.min;
        const int64_t high = range == graph.symbol_ranges.end() ? 4 : range->second.max;
        const int64_t span = std::min<int64_t>(high - low, 3) + 1;
        symbols.try_emplace(name, low + static_cast<int64_t>(random() % span));
      }
  return symbols;
}

Tensor random_tensor(const TensorType& type, const SymbolValues& symbols, std::mt19937_64& random) {
  Extents extents;
  for (const Dim& dim : type.shape) extents.push_back(dim.evaluate(symbols).value_or(1));
  Tensor tensor(type.type, extents);
  std::uniform_real_distribution<double> real(-2, 2);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i,
                           is_real(type.type) ? real(random) : static_cast<double>(random() % 2));
  return tensor;
}

std::string compare_tensors(const Tensor& before, const Tensor& after, double tolerance) {
  if (before.type() != after.type() || before.extents() != after.extents())
    return "type or extents differ";
  double largest = 1;
  for (int64_t i = 0; i < before.count(); ++i)
    if (std::isfinite(before.as_double(i)))
      largest = std::max(largest, std::abs(before.as_double(i)));
  for (int64_t i = 0; i < before.count(); ++i) {
    const double a = before.as_double(i), b = after.as_double(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (!same && !(std::abs(a - b) <= tolerance * largest))
      return fmt::format("element {} is {}, not {}", i, b, a);
  }
  return {};
}

/// Contents of values inside the graph by name.
using NamedValues = std::map<std::string, Tensor>;

ValueObserver collect(NamedValues& values) {
  return [&values](const Value& value, const Tensor& tensor) {
    if (!value.name.empty() && value.producer() != nullptr && value.constant() == nullptr)
      values[value.name] = tensor;
  };
}

/// A name stands for the same contents on both sides, unless its extents or type changed. Integers
/// are never the same as reals.
std::string compare_named(const NamedValues& before, const NamedValues& after, double tolerance) {
  for (const auto& [name, tensor] : after) {
    const auto found = before.find(name);
    if (found != before.end() && is_real(found->second.type()) != is_real(tensor.type()))
      return fmt::format("value '{}': {} in place of {}", name, name_of(tensor.type()),
                         name_of(found->second.type()));
    if (found == before.end() || found->second.extents() != tensor.extents() ||
        found->second.type() != tensor.type())
      continue;
    if (const std::string what = compare_tensors(found->second, tensor, tolerance); !what.empty())
      return fmt::format("value '{}': {}", name, what);
  }
  return {};
}

}  // namespace

std::vector<Tensor> random_inputs(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  const SymbolValues symbols = pick_symbols(graph, random);
  std::vector<Tensor> inputs;
  for (const Value* input : graph.inputs())
    inputs.push_back(random_tensor(input->type, symbols, random));
  return inputs;
}

std::string compare_graphs(const Graph& before, const Graph& after, uint64_t seed,
                           double tolerance) {
  const std::vector<Tensor> inputs = random_inputs(before, seed);
  NamedValues values_before, values_after;
  const auto wanted = evaluate_graph(before, inputs, collect(values_before));
  const auto got = evaluate_graph(after, inputs, collect(values_after));
  if (!wanted.ok()) return "before the pass: " + wanted.error().message;
  if (!got.ok()) return "after the pass: " + got.error().message;
  if (wanted->size() != got->size()) return "the number of outputs differs";
  for (size_t i = 0; i < wanted->size(); ++i)
    if (const std::string what = compare_tensors((*wanted)[i], (*got)[i], tolerance); !what.empty())
      return fmt::format("output {}: {}", i, what);
  return compare_named(values_before, values_after, tolerance);
}

}  // namespace tenon
