#include "api/algorithm.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "kernels/strides.h"
#include "network/convert.h"

namespace tenon::api {
namespace {

nvinfer1::Dims dims_under(const Value& value, const SymbolValues& symbols) {
  Extents extents;
  for (const Dim& dim : value.type.shape) extents.push_back(dim.evaluate(symbols).value_or(-1));
  return network::to_dims(extents);
}

/// Positive, for tools that write it in decimal.
int64_t number_of(std::string_view text) {
  return text.empty() ? 0 : static_cast<int64_t>(XXH3_64bits(text.data(), text.size()) >> 1);
}

}  // namespace

LayerOperands operands_of(const Node& node) {
  LayerOperands operands;
  for (const Value* input : node.inputs())
    if (input != nullptr && input->constant() == nullptr) operands.push_back(input);
  for (const Value* output : node.outputs()) operands.push_back(output);
  return operands;
}

AlgorithmContext::AlgorithmContext(const LayerChoices& layer, const ProfileEnds& ends)
    : name_(layer.node.name) {
  for (const Value* value : operands_of(layer.node))
    shapes_.push_back({dims_under(*value, ends.least), network::to_dims(layer.graph.extents(value)),
                       dims_under(*value, ends.most)});
  inputs_ = static_cast<int32_t>(shapes_.size() - layer.node.outputs().size());
}

nvinfer1::Dims AlgorithmContext::getDimensions(int32_t index,
                                               nvinfer1::OptProfileSelector select) const noexcept {
  if (index < 0 || index >= static_cast<int32_t>(shapes_.size())) return {-1, {}};
  const Shapes& shapes = shapes_[static_cast<size_t>(index)];
  switch (select) {
    case nvinfer1::OptProfileSelector::kMIN: return shapes.least;
    case nvinfer1::OptProfileSelector::kOPT: return shapes.usual;
    case nvinfer1::OptProfileSelector::kMAX: return shapes.most;
  }
  return {-1, {}};
}

/// Types that the surface has no word for lie inside a network alone.
AlgorithmIOInfo::AlgorithmIOInfo(const Operand& operand)
    : type_(network::to_public(operand.type).value_or(nvinfer1::DataType::kFLOAT)),
      strides_(network::to_dims(Extents(strides_of(operand)))) {}

AlgorithmVariant::AlgorithmVariant(std::string_view tactic)
    : implementation_(number_of(split_tactic(tactic).name)),
      tactic_(number_of(split_tactic(tactic).config)) {}

AlgorithmChoice::AlgorithmChoice(const LayerChoices& layer, const Candidate& candidate)
    : variant_(candidate.tactic),
      milliseconds_(static_cast<float>(std::max(candidate.milliseconds, 0.0))),
      workspace_(candidate.workspace) {
  for (const Value* value : operands_of(layer.node))
    operands_.push_back(std::make_unique<AlgorithmIOInfo>(layer.graph.operand(value)));
}

const nvinfer1::IAlgorithmIOInfo* AlgorithmChoice::getAlgorithmIOInfoByIndex(
    int32_t index) const noexcept {
  const bool is_there = index >= 0 && index < static_cast<int32_t>(operands_.size());
  return is_there ? operands_[static_cast<size_t>(index)].get() : nullptr;
}

}  // namespace tenon::api
