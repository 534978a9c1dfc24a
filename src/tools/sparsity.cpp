#include "tools/sparsity.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>

namespace tenon::tools {
namespace {

using namespace nvinfer1;

constexpr int64_t kGroup = 4, kZeros = 2;

/// Numbers of one axis, as [outer, extent, inner].
struct Axis {
  int64_t outer = 1, extent = 1, inner = 1;
};

/// Bits without the sign are in the order of magnitudes.
template <class Bits> void prune(Bits* bits, const Axis& axis) {
  constexpr auto kMagnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
  for (int64_t first = 0; first < axis.outer * axis.extent; first += kGroup)
    for (int64_t i = 0; i < axis.inner; ++i) {
      std::array<Bits*, kGroup> group;
      for (int64_t k = 0; k < kGroup; ++k) group[k] = bits + (first + k) * axis.inner + i;
      std::stable_sort(group.begin(), group.end(), [](const Bits* a, const Bits* b) {
        return (*a & kMagnitude) < (*b & kMagnitude);
      });
      for (int64_t k = 0; k < kZeros; ++k) *group[k] = 0;
    }
}

int64_t size_of(DataType type) {
  if (type == DataType::kFLOAT) return 4;
  return type == DataType::kHALF || type == DataType::kBF16 ? 2 : 0;
}

/// A pruned copy; nothing where the weights have another type or the axis has no groups of four.
std::unique_ptr<std::vector<char>> pruned(const Weights& weights, const Axis& axis) {
  const int64_t size = size_of(weights.type);
  if (size == 0 || weights.values == nullptr || axis.extent % kGroup != 0 ||
      axis.outer * axis.extent * axis.inner != weights.count)
    return nullptr;
  auto copy = std::make_unique<std::vector<char>>(static_cast<size_t>(weights.count * size));
  std::memcpy(copy->data(), weights.values, copy->size());
  if (size == 4)
    prune(reinterpret_cast<uint32_t*>(copy->data()), axis);
  else
    prune(reinterpret_cast<uint16_t*>(copy->data()), axis);
  return copy;
}

/// The one axis of the constant.
Axis axis_of(const Dims& dims, int32_t axis) {
  Axis result;
  for (int32_t i = 0; i < dims.nbDims; ++i)
    (i < axis ? result.outer : i == axis ? result.extent : result.inner) *= dims.d[i];
  return result;
}

class Pruner {
 public:
  explicit Pruner(INetworkDefinition& network) {
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
      for (int32_t k = 0; k < network.getLayer(i)->getNbOutputs(); ++k)
        layers_[network.getLayer(i)->getOutput(k)] = network.getLayer(i);
  }

  /// Whether its weights have the pattern now.
  bool prune_convolution(IConvolutionLayer& layer) {
    if (layer.getNbInputs() > 1)
      return prune_constant(layer.getInput(1), layer.getKernelSizeNd().nbDims + 1);
    const Weights weights = layer.getKernelWeights();
    Axis axis;
    axis.outer = layer.getNbOutputMaps();
    const Dims kernel = layer.getKernelSizeNd();
    for (int32_t i = 0; i < kernel.nbDims; ++i) axis.inner *= kernel.d[i];
    axis.extent = weights.count / std::max<int64_t>(axis.outer * axis.inner, 1);
    auto copy = pruned(weights, axis);
    if (copy == nullptr) return false;
    layer.setKernelWeights({weights.type, copy->data(), weights.count});
    owned_.push_back(std::move(copy));
    return true;
  }
  bool prune_product(IMatrixMultiplyLayer& layer) {
    const bool turned = layer.getOperation(1) == MatrixOperation::kTRANSPOSE;
    return layer.getInput(1)->getDimensions().nbDims >= 2 &&
           prune_constant(layer.getInput(1), turned ? 1 : 2);
  }
  OwnedWeights take() { return std::move(owned_); }

 private:
  /// The constant that is a tensor but for its type and for axes of one element in front.
  IConstantLayer* constant_of(const ITensor* tensor) const {
    const auto found = layers_.find(tensor);
    if (found == layers_.end()) return nullptr;
    ILayer& layer = *found->second;
    if (layer.getType() == LayerType::kCONSTANT) return static_cast<IConstantLayer*>(&layer);
    const bool keeps_order = layer.getType() == LayerType::kCAST ||
                             layer.getType() == LayerType::kIDENTITY ||
                             (layer.getType() == LayerType::kSHUFFLE &&
                              only_adds_axes(static_cast<IShuffleLayer&>(layer)));
    return keeps_order ? constant_of(layer.getInput(0)) : nullptr;
  }
  static bool only_adds_axes(const IShuffleLayer& shuffle) {
    const Dims from = shuffle.getInput(0)->getDimensions(),
               to = shuffle.getOutput(0)->getDimensions();
    const int32_t added = to.nbDims - from.nbDims;
    const Permutation first = shuffle.getFirstTranspose(), second = shuffle.getSecondTranspose();
    bool same = added >= 0;
    for (int32_t i = 0; same && i < to.nbDims; ++i)
      same = second.order[i] == i && to.d[i] == (i < added ? 1 : from.d[i - added]) &&
             (i < added || first.order[i - added] == i - added);
    return same;
  }

  /// The axis is counted from the last one, which is 1.
  bool prune_constant(const ITensor* tensor, int32_t axis) {
    IConstantLayer* const constant = constant_of(tensor);
    if (constant == nullptr) return false;
    const Weights weights = constant->getWeights();
    const Dims dims = constant->getDimensions();
    auto copy = pruned(weights, axis_of(dims, dims.nbDims - axis));
    if (copy == nullptr) return false;
    constant->setWeights({weights.type, copy->data(), weights.count});
    owned_.push_back(std::move(copy));
    return true;
  }

  std::map<const ITensor*, ILayer*> layers_;
  OwnedWeights owned_;
};

}  // namespace

OwnedWeights force_sparsity(INetworkDefinition& network, Console& console) {
  Pruner pruner(network);
  int products = 0, done = 0;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    ILayer& layer = *network.getLayer(i);
    const bool convolution = layer.getType() == LayerType::kCONVOLUTION;
    if (!convolution && layer.getType() != LayerType::kMATRIX_MULTIPLY) continue;
    ++products;
    done += convolution ? pruner.prune_convolution(static_cast<IConvolutionLayer&>(layer))
                        : pruner.prune_product(static_cast<IMatrixMultiplyLayer&>(layer));
  }
  console.info(
      "--sparsity=force: weights of {} of {} convolutions and products were changed to have two of "
      "each four zero; results are those of other weights",
      done, products);
  return pruner.take();
}

}  // namespace tenon::tools
