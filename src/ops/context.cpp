#include "ops/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace tenon {
namespace {

/// Expressions larger than this are not worth carrying as contents of shape tensors.
constexpr int64_t kMaxElementSize = 256;

std::string type_text(const TensorType& type) {
  return fmt::format("{}{}", name_of(type.type), to_string(type.shape));
}

std::string describe(const Node& node) {
  std::string text;
  for (const Value* input : node.inputs()) {
    if (!text.empty()) text += ", ";
    text += input == nullptr ? "_" : type_text(input->type);
  }
  return fmt::format("node \"{}\" ({}({}))", node.name, node.op->name(), text);
}

/// Symbols that stand alone in the output types and come from none of the inputs, in the order in
/// which an inference made them: they are numbered.
std::vector<std::string> own_symbols(const Node& node) {
  std::set<std::string> foreign;
  for (const Value* input : node.inputs()) {
    if (input == nullptr) continue;
    for (const Dim& extent : input->type.shape)
      for (std::string& symbol : extent.symbols()) foreign.insert(std::move(symbol));
    if (!input->elements) continue;
    for (const Dim& element : *input->elements)
      for (std::string& symbol : element.symbols()) foreign.insert(std::move(symbol));
  }
  std::vector<std::string> own;
  for (const Value* output : node.outputs()) {
    for (const Dim& extent : output->type.shape) {
      const auto symbol = extent.as_symbol();
      if (symbol && node.graph().symbol_ranges.contains(*symbol) && !foreign.contains(*symbol) &&
          std::find(own.begin(), own.end(), *symbol) == own.end())
        own.push_back(*symbol);
    }
  }
  std::sort(own.begin(), own.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return own;
}

}  // namespace

InferContext::InferContext(Node& node, std::span<const Tensor* const> known)
    : node_(node), known_(known), symbols_(own_symbols(node)) {}

const Tensor* InferContext::constant(int index) const {
  if (index < static_cast<int>(known_.size()) && known_[index] != nullptr) return known_[index];
  const Tensor* tensor = has_input(index) ? node_.input(index)->constant() : nullptr;
  // A plan may have left the contents out.
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

std::optional<std::vector<Dim>> InferContext::elements(int index) const {
  if (const Tensor* tensor = constant(index)) {
    if (is_real(tensor->type()) || tensor->count() > kMaxKnownElements) return std::nullopt;
    const std::vector<int64_t> values = tensor->to_int64s();
    return std::vector<Dim>(values.begin(), values.end());
  }
  if (!has_input(index)) return std::nullopt;
  return node_.input(index)->elements;
}

std::optional<std::vector<int64_t>> InferContext::integers(int index) const {
  // Constants may be longer than the shape values that are carried as expressions.
  if (const Tensor* tensor = constant(index))
    return is_real(tensor->type()) ? std::nullopt : std::optional(tensor->to_int64s());
  const auto known = elements(index);
  if (!known || !is_constant(*known)) return std::nullopt;
  return constants(*known);
}

void InferContext::set_output(int index, DataType type, Shape shape) {
  Value& output = *node_.output(index);
  output.type.type = type;
  output.type.shape = std::move(shape);
  output.elements.reset();
}

void InferContext::set_elements(int index, std::vector<Dim> elements) {
  const bool small = elements.size() <= kMaxKnownElements &&
                     std::all_of(elements.begin(), elements.end(),
                                 [](const Dim& d) { return d.size() <= kMaxElementSize; });
  if (small) node_.output(index)->elements = std::move(elements);
}

Dim InferContext::data_dependent(const Dim& bound) {
  SymbolRanges& ranges = node_.graph().symbol_ranges;
  const Range range{0, std::max<int64_t>(bound.range(ranges).max, 0)};
  if (next_symbol_ == symbols_.size())
    symbols_.push_back(*node_.graph().fresh_symbol(range).as_symbol());
  const std::string& symbol = symbols_[next_symbol_++];
  ranges[symbol] = range;
  return Dim::symbol(symbol);
}

void InferContext::name_own_extents() {
  if (next_symbol_ == 0) return;
  std::set<std::string> hidden(symbols_.begin(), symbols_.begin() + next_symbol_);
  for (const Value* output : node_.outputs())
    for (const Dim& extent : output->type.shape)
      if (const auto symbol = extent.as_symbol()) hidden.erase(*symbol);
  std::set<std::string> renamed;
  for (Value* output : node_.outputs()) {
    for (Dim& extent : output->type.shape) {
      const std::vector<std::string> names = extent.symbols();
      const auto name = std::find_if(names.begin(), names.end(),
                                     [&](const std::string& n) { return hidden.contains(n); });
      if (name == names.end()) continue;
      const Range range = extent.range(node_.graph().symbol_ranges);
      // The symbol takes the place of its first expression, so that inferring again finds it there.
      if (renamed.insert(*name).second) {
        node_.graph().symbol_ranges[*name] = {std::max<int64_t>(range.min, 0), range.max};
        extent = Dim::symbol(*name);
      } else {
        extent = data_dependent(Dim(range.max));
      }
    }
  }
}

Result<int64_t> InferContext::axis(int64_t axis, int rank) const {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return fail(fmt::format("axis {} is outside [{}, {})", axis, -rank, rank));
}

Error InferContext::fail(std::string_view what) const {
  return user_error("{}: {}", describe(node_), what);
}

EvalContext::EvalContext(const Node& node, std::span<const Tensor* const> inputs)
    : node_(node), inputs_(inputs.begin(), inputs.end()), outputs_(node.outputs().size()) {}

Tensor& EvalContext::make_output(int index, DataType type, Extents extents) {
  outputs_[index] = Tensor(type, std::move(extents));
  return outputs_[index];
}

Error EvalContext::fail(std::string_view what) const {
  std::string text;
  for (const Tensor* input : inputs_) {
    if (!text.empty()) text += ", ";
    text += input == nullptr ? "_" : type_text({input->type(), to_shape(input->extents())});
  }
  return user_error("node \"{}\" ({}({})): {}", node_.name, node_.op->name(), text, what);
}

}  // namespace tenon
