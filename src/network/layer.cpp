#include "network/layer.h"

#include "network/convert.h"
#include "network/network.h"
#include "ops/structure.h"

namespace tenon::network {

void LayerCore::set_name(const char* name) {
  network_.reporter().guarded_call("setName", [&] {
    if (!permit(name != nullptr, "setName", "a name")) return;
    name_ = name;
    name_nodes();
  });
}

ITensor* LayerCore::operand(int32_t index) const {
  return index < 0 || index >= operand_count() ? nullptr : operands_[static_cast<size_t>(index)];
}

ITensor* LayerCore::result(int32_t index) const {
  return index < 0 || index >= result_count() ? nullptr : results_[static_cast<size_t>(index)];
}

void LayerCore::set_operand(int32_t index, ITensor& tensor) {
  const int32_t most = std::max(most_operands_, operand_count());
  TensorHandle* handle = network_.own(tensor, "setInput");
  if (handle == nullptr) return;
  if (index < 0 || index >= most) {
    network_.reporter().report(
        user_error("layer '{}': setInput requires an index below {}, not {}", name_, most, index));
    return;
  }
  network_.reporter().guarded_call("setInput", [&] {
    if (index >= operand_count()) operands_.resize(static_cast<size_t>(index) + 1);
    if (imported_) nodes_[0]->set_input(index, handle->value());
    operands_[static_cast<size_t>(index)] = handle;
    network_.mark_stale(*this);
  });
}

void LayerCore::set_precision(std::optional<PublicType> type) {
  if (permit(!type || is_valid(*type), "setPrecision", "a data type")) precision_ = type;
}

void LayerCore::set_result_type(int32_t index, std::optional<PublicType> type) {
  const bool strong = network_.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  if (!permit(!strong || !type, "setOutputType", "a network that is not strongly typed")) return;
  if (!permit(index >= 0 && index < result_count(), "setOutputType", "the index of an output") ||
      !permit(!type || is_valid(*type), "setOutputType", "a data type"))
    return;
  if (!network_.reporter().guarded_call("setOutputType",
                                        [&] { result_types_.resize(results_.size()); }))
    return;
  result_types_[static_cast<size_t>(index)] = type;
  network_.mark_stale(*this);
}

bool LayerCore::result_type_is_set(int32_t index) const {
  return index >= 0 && static_cast<size_t>(index) < result_types_.size() &&
         result_types_[static_cast<size_t>(index)].has_value();
}

std::optional<DataType> LayerCore::wanted_type(size_t index, DataType own) const {
  if (!result_type_is_set(static_cast<int32_t>(index))) return std::nullopt;
  const PublicType given = *result_types_[index];
  // Of reals it is a wish: they are computed in INT8 where their range is known, and read as reals.
  const bool real = own == DataType::kFloat32 || is_half(own);
  if (real && given == PublicType::kINT8) return std::nullopt;
  // Types that the surface has no word for are given as FLOAT: set again they change nothing.
  const bool stays = from_public(given) == own || (given == PublicType::kFLOAT && !to_public(own));
  return stays ? std::nullopt : std::optional(from_public(given));
}

std::vector<DataType> LayerCore::casts(size_t index, DataType own) {
  const auto wanted = wanted_type(index, own);
  if (!wanted.has_value()) return {};
  const auto type = layer().getType();
  if (type == nvinfer1::LayerType::kIDENTITY || type == nvinfer1::LayerType::kCAST)
    return {*wanted};
  if (is_real(own) != is_real(*wanted)) return {};
  const bool rounds = is_real(own) && byte_size(*wanted) < byte_size(own);
  return rounds ? std::vector{*wanted, own} : std::vector{*wanted};
}

PublicType LayerCore::result_type(int32_t index) const {
  if (result_type_is_set(index)) return *result_types_[static_cast<size_t>(index)];
  const ITensor* tensor = result(index);
  return tensor == nullptr ? PublicType::kFLOAT : tensor->getType();
}

void LayerCore::set_metadata(const char* metadata) {
  network_.reporter().guarded_call("setMetadata", [&] {
    if (permit(metadata != nullptr, "setMetadata", "a text")) metadata_ = metadata;
  });
}

bool LayerCore::set_ranks(int32_t ranks) {
  return permit(ranks == 1, "setNbRanks",
                "1: it runs on one device, collectives alone among several");
}

Value* LayerCore::in(int index) const {
  return has_operand(index) ? operands_[static_cast<size_t>(index)]->value() : nullptr;
}

std::vector<Value*> LayerCore::all_in() const {
  std::vector<Value*> values;
  for (int i = 0; i < operand_count(); ++i) values.push_back(in(i));
  return values;
}

bool LayerCore::permit(bool condition, const char* method, const char* requirement) const {
  if (!condition)
    network_.reporter().guarded_call(method, [&] {
      network_.reporter().report(
          user_error("layer '{}': {} requires {}", name_, method, requirement));
    });
  return condition;
}

bool LayerCore::editable() const {
  if (fixed_)
    network_.reporter().guarded_call("a setter", [&] {
      network_.reporter().report(unsupported(
          "layer '{}' came with a model and says more than this class can: it cannot be changed",
          name_));
    });
  return !fixed_;
}

void LayerCore::touch() {
  imported_ = false;
  if (state_ != State::kStale) network_.mark_stale(*this);
}

void LayerCore::name_nodes() {
  if (nodes_.empty()) return;
  if (imported_) {  // Casts follow the node.
    nodes_[0]->name = name_;
    for (size_t i = 1; i < nodes_.size(); ++i) nodes_[i]->name = fmt::format("{}.type{}", name_, i);
    return;
  }
  Node* last = nullptr;
  for (Node* node : nodes_)
    if (!node->is<Constant>()) last = node;
  if (last == nullptr) last = nodes_.back();
  int number = 0;
  for (Node* node : nodes_) {
    node->origins = {name_};
    if (node == last)
      node->name = name_;
    else if (!node->is<Constant>() || node->name.empty() || node->output()->name.empty())
      node->name = fmt::format("{}.{}{}", name_, node->op->name(), number++);
  }
}

Value* LayerCore::weights(Emitter& e, const Weights& weights, Extents extents,
                          const char* role) const {
  if (weights.count != element_count(extents) || (weights.values == nullptr && weights.count > 0)) {
    e.fail(user_error("the {} weights hold {} values, {} are needed", role,
                      weights.values == nullptr ? 0 : weights.count, element_count(extents)));
    return nullptr;
  }
  const Tensor* constant = network_.held_weights().find(weights);
  Value* value = e.constant(constant != nullptr ? constant->reshaped(std::move(extents))
                                                : to_tensor(weights, std::move(extents)));
  if (value == nullptr) return nullptr;
  value->name = network_.weights_name(weights, name_, role);
  value->producer()->name = value->name;
  // The types of a model's other layers follow from its own types.
  const bool widen = constant == nullptr && network_.computes_in_32_bits(value->type.type);
  return widen ? e.cast(value, DataType::kFloat32) : value;
}

}  // namespace tenon::network
