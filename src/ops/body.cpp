#include "ops/body.h"

#include <fmt/format.h>

#include <set>

#include "ops/table.h"

namespace tenon {
namespace {

void note_symbols(const std::vector<Dim>& dims, std::set<std::string>& symbols) {
  for (const Dim& dim : dims)
    for (std::string& symbol : dim.symbols()) symbols.insert(std::move(symbol));
}

/// Symbols of results that follow from data, not from the operands' extents and elements.
std::set<std::string> symbols_made_in(const Graph& body) {
  std::set<std::string> made;
  for (const auto& node : body.nodes()) {
    std::set<std::string> given, found;
    for (const Value* input : node->inputs()) {
      if (input == nullptr) continue;
      note_symbols(input->type.shape, given);
      if (input->elements.has_value()) note_symbols(*input->elements, given);
    }
    for (const Value* output : node->outputs()) note_symbols(output->type.shape, found);
    std::ranges::set_difference(found, given, std::inserter(made, made.end()));
  }
  return made;
}

}  // namespace

Status expect_bodies(const InferContext& context, int count) {
  const int given = static_cast<int>(context.node().bodies.size());
  if (given == count) return {};
  return context.fail(fmt::format("{} bodies are expected, not {}", count, given));
}

Status expect_body(const InferContext& context, const Graph& body, int inputs, int outputs) {
  const int given_inputs = static_cast<int>(body.inputs().size());
  const int given_outputs = static_cast<int>(body.outputs().size());
  if (inputs >= 0 && given_inputs != inputs)
    return context.fail(
        fmt::format("the body \"{}\" takes {} inputs, not {}", body.name, given_inputs, inputs));
  if (outputs >= 0 && given_outputs != outputs)
    return context.fail(
        fmt::format("the body \"{}\" gives {} outputs, not {}", body.name, given_outputs, outputs));
  return {};
}

void pass_input(const InferContext& context, int index, Value& body_input) {
  if (!context.has_input(index)) return;
  body_input.type.type = context.input(index).type;
  body_input.type.shape = context.shape(index);
  body_input.elements = context.elements(index);
}

void share_symbols(const Graph& outer, Graph& body) {
  const auto note = [&body](const Dim& dim) {
    for (std::string& symbol : dim.symbols())
      body.symbol_ranges.emplace(std::move(symbol), Range{});
  };
  for (const auto& [symbol, range] : outer.symbol_ranges) body.symbol_ranges[symbol] = range;
  for (const Value* input : outer.inputs())
    for (const Dim& extent : input->type.shape) note(extent);
}

Status infer_body(InferContext& context, Graph& body) {
  Graph& outer = context.mutable_node().graph();
  share_symbols(outer, body);
  const Status status = infer_graph(body);
  for (const auto& [symbol, range] : body.symbol_ranges) outer.symbol_ranges.emplace(symbol, range);
  if (status.ok()) return {};
  return Error(status.error()).with_context(fmt::format("in \"{}\"", context.node().name));
}

Shape shape_around(InferContext& context, const Graph& body, const Value& output) {
  Shape shape = output.type.shape;
  std::optional<std::set<std::string>> made;
  for (Dim& extent : shape) {
    if (extent.is_constant() || extent.as_symbol().has_value()) continue;
    if (!made.has_value()) made = symbols_made_in(body);
    const std::vector<std::string> symbols = extent.symbols();
    if (std::ranges::any_of(symbols, [&](const std::string& s) { return made->contains(s); }))
      extent = context.data_dependent(Dim(extent.range(body.symbol_ranges).max));
  }
  return shape;
}

}  // namespace tenon
