#include "ask_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <type_traits>

namespace tenon::getter_walk {
namespace {

using namespace nvinfer1;

std::string in_words(const Dims& dims) {
  return fmt::format("{} axes of {}", dims.nbDims,
                     fmt::join(dims.d, dims.d + std::clamp(dims.nbDims, 0, Dims::MAX_DIMS), ","));
}

/// The network's tensors: its inputs, and the outputs of its layers.
std::set<const ITensor*> tensors_of(const INetworkDefinition& network) {
  std::set<const ITensor*> tensors;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) tensors.insert(network.getInput(i));
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    for (int32_t j = 0; j < network.getLayer(i)->getNbOutputs(); ++j)
      tensors.insert(network.getLayer(i)->getOutput(j));
  return tensors;
}

class Questions {
 public:
  Questions(ILayer& layer, const std::set<const ITensor*>& tensors, std::vector<std::string>& found)
      : layer_(layer), tensors_(tensors), found_(found) {}

  void ask() {
    ask_common();
    ask_own();
    ask_operands();
    ask_weights();
    ask_dims();
  }

 private:
  void complain(std::string_view what) {
    found_.push_back(fmt::format("layer '{}' of type {}: {}",
                                 layer_.getName() == nullptr ? "(null)" : layer_.getName(),
                                 static_cast<int>(layer_.getType()), what));
  }
  void expect(bool condition, std::string_view what) {
    if (!condition) complain(what);
  }

  // One answer, by its type.
  void check(const char* method, const char* text) {
    expect(text != nullptr, fmt::format("{} gives null", method));
  }
  void check(const char* method, const Dims& dims) {
    const bool fits = dims.nbDims >= -1 && dims.nbDims <= Dims::MAX_DIMS;
    expect(fits, fmt::format("{} gives {} axes", method, dims.nbDims));
  }
  void check(const char* method, const Weights& weights) {
    const bool fits = weights.count >= 0 && (weights.values != nullptr) == (weights.count > 0);
    expect(fits, fmt::format("{} gives {} values at {}", method, weights.count, weights.values));
    expect(is_known(weights.type), fmt::format("{} gives no type", method));
  }
  void check(const char* method, const Permutation& value) {
    for (const int32_t axis : value.order)
      expect(axis >= 0 && axis < Dims::MAX_DIMS, fmt::format("{} gives axis {}", method, axis));
  }
  void check(const char* method, const ILoop* loop) {
    if (loop == nullptr) return complain(fmt::format("{} gives null", method));
    check("ILoop::getName", loop->getName());
  }
  void check(const char* method, const IIfConditional* conditional) {
    if (conditional == nullptr) return complain(fmt::format("{} gives null", method));
    check("IIfConditional::getName", conditional->getName());
  }
  void check(const char* method, IAttention* attention) {
    if (attention == nullptr) return complain(fmt::format("{} gives null", method));
    check("IAttention::getName", attention->getName());
    check("IAttention::getMetadata", attention->getMetadata());
    for (int32_t i = 0; i < attention->getNbInputs(); ++i)
      expect(i > 2 || attention->getInput(i) != nullptr, "IAttention::getInput gives null");
    for (int32_t i = 0; i < attention->getNbOutputs(); ++i)
      expect(attention->getOutput(i) != nullptr, "IAttention::getOutput gives null");
    check("IAttention::getNormalizationOperation", attention->getNormalizationOperation());
    (void)attention->getMask(), (void)attention->getNormalizationQuantizeScale();
    (void)attention->getCausal(), (void)attention->getDecomposable();
  }
  void check(const char* method, IPluginV2& plugin) {
    check(method, plugin.getPluginType());
    check(method, plugin.getPluginVersion());
    check(method, plugin.getPluginNamespace());
    expect(plugin.getNbOutputs() == layer_.getNbOutputs(), "the plugin has other outputs");
  }
  void check(const char* method, IPluginV3& plugin) {
    auto* core =
        static_cast<IPluginV3OneCore*>(plugin.getCapabilityInterface(PluginCapabilityType::kCORE));
    auto* build = static_cast<IPluginV3OneBuild*>(
        plugin.getCapabilityInterface(PluginCapabilityType::kBUILD));
    if (core == nullptr || build == nullptr)
      return complain(fmt::format("{} gives a plugin without kCORE or kBUILD", method));
    expect(core->getPluginName() != nullptr && *core->getPluginName() != '\0',
           "the plugin has no name");
    check(method, core->getPluginVersion());
    check(method, core->getPluginNamespace());
    expect(build->getNbOutputs() == layer_.getNbOutputs(), "the plugin has other outputs");
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void check(const char* method, T value) {
    expect(!std::isnan(static_cast<double>(value)), fmt::format("{} gives NaN", method));
  }
  template <class T>
  requires std::is_enum_v<T>
  void check(const char* method, T value) {
    expect(is_known(value),
           fmt::format("{} gives {}, which is no word", method, static_cast<int>(value)));
  }
  template <class T> static bool is_known(T value) {
    return static_cast<int32_t>(value) >= 0 && static_cast<int32_t>(value) < EnumMax<T>();
  }

  void ask_common() {
    check("getName", static_cast<const char*>(layer_.getName()));
    check("getMetadata", static_cast<const char*>(layer_.getMetadata()));
    check("getPrecision", layer_.getPrecision());
    expect(layer_.getNbRanks() >= 1, "no rank");
    expect(layer_.getInput(-1) == nullptr && layer_.getInput(layer_.getNbInputs()) == nullptr &&
               layer_.getOutput(-1) == nullptr &&
               layer_.getOutput(layer_.getNbOutputs()) == nullptr,
           "it has tensors beyond its number");
    for (int32_t i = 0; i < layer_.getNbOutputs(); ++i) {
      if (layer_.getOutput(i) == nullptr) return complain(fmt::format("output {} is null", i));
      check("getOutputType", layer_.getOutputType(i));
      expect(layer_.getOutputType(i) == layer_.getOutput(i)->getType(), "types differ");
      ask_tensor(*layer_.getOutput(i));
    }
  }

  void ask_tensor(const ITensor& tensor) {
    check("ITensor::getName", tensor.getName());
    check("ITensor::getType", tensor.getType());
    check("ITensor::getLocation", tensor.getLocation());
    const Dims dims = tensor.getDimensions();
    check("ITensor::getDimensions", dims);
    for (int32_t i = 0; i < dims.nbDims; ++i) {
      expect(dims.d[i] >= -1, fmt::format("'{}' has {}", tensor.getName(), in_words(dims)));
      (void)tensor.getDimensionName(i);
    }
    expect(tensor.getAllowedFormats() != 0, "a tensor of no format");
    expect(tensor.isShapeTensor() || tensor.isExecutionTensor(), "a tensor of no kind");
  }

  /// Through the class that the type names, as programs do.
  void ask_own() {
    switch (layer_.getType()) {
#define TENON_LAYER_CLASS(type, Interface)                                                 \
  case LayerType::type:                                                                    \
    if (dynamic_cast<Interface*>(&layer_) == nullptr) return complain("of another class"); \
    break;
#include "layer_classes.def"
#undef TENON_LAYER_CLASS
      default: return complain("a type without a class");
    }
#define TENON_GETTER(Interface, method)                \
  if (auto* typed = dynamic_cast<Interface*>(&layer_)) \
    check(#Interface "::" #method, typed->method());
#include "getters.def"
    if (const auto* product = dynamic_cast<IMatrixMultiplyLayer*>(&layer_))
      for (const int32_t i : {0, 1}) check("getOperation", product->getOperation(i));
  }

  /// Only operands that the class says may be absent are null; the others are of this network.
  void ask_operands() {
    for (int32_t i = 0; i < layer_.getNbInputs(); ++i) {
      const ITensor* tensor = layer_.getInput(i);
      if (tensor == nullptr)
        expect(i > 0, "the first input is null");
      else
        expect(tensors_.contains(tensor),
               fmt::format("input {}, '{}', is of no layer of the network", i, tensor->getName()));
    }
  }

  static int64_t count(const Dims& dims) {
    int64_t result = 1;
    for (int32_t i = 0; i < dims.nbDims; ++i) result *= dims.d[i];
    return result;
  }

  template <class Convolution> void ask_convolution(const Convolution& layer, int64_t channels) {
    const Weights kernel = layer.getKernelWeights(), bias = layer.getBiasWeights();
    const Dims size = layer.getKernelSizeNd();
    expect(layer.getStrideNd().nbDims == size.nbDims &&
               layer.getDilationNd().nbDims == size.nbDims &&
               layer.getPrePadding().nbDims == size.nbDims &&
               layer.getPostPadding().nbDims == size.nbDims,
           "strides, dilations and padding are not of the kernel's axes");
    const int64_t wanted = layer.getNbOutputMaps() * channels / layer.getNbGroups() * count(size);
    if (kernel.count > 0 && channels > 0)
      expect(kernel.count == wanted, fmt::format("{} weights, not {}", kernel.count, wanted));
    if (kernel.count == 0)
      expect(layer.getNbInputs() > 1 && layer.getInput(1) != nullptr, "neither weights nor tensor");
    else
      expect(layer.getNbInputs() < 2 || layer.getInput(1) == nullptr, "weights and a tensor");
    if (bias.count > 0) expect(bias.count == layer.getNbOutputMaps(), "another number of biases");
  }

  void ask_weights() {
    const Dims x = layer_.getNbInputs() > 0 && layer_.getInput(0) != nullptr
                       ? layer_.getInput(0)->getDimensions()
                       : Dims{-1, {}};
    const int64_t channels = x.nbDims > 1 ? x.d[1] : -1;
    if (const auto* layer = dynamic_cast<IConvolutionLayer*>(&layer_))
      ask_convolution(*layer, channels);
    if (const auto* layer = dynamic_cast<IDeconvolutionLayer*>(&layer_))
      ask_convolution(*layer, channels);
    if (const auto* layer = dynamic_cast<IConstantLayer*>(&layer_))
      expect(layer->getWeights().count == count(layer->getDimensions()),
             "weights of another count than the dimensions");
    if (const auto* layer = dynamic_cast<IScaleLayer*>(&layer_))
      for (const Weights& weights : {layer->getShift(), layer->getScale()})
        expect(layer->getNbInputs() > 1 || weights.count == channels, "no weight for each channel");
  }

  /// Attributes of extents are of the tensors' axes, or unknown (nbDims -1).
  void ask_dims() {
    if (layer_.getNbOutputs() == 0 || layer_.getNbInputs() == 0 || layer_.getInput(0) == nullptr)
      return;
    const int32_t in = layer_.getInput(0)->getDimensions().nbDims;
    const int32_t out = layer_.getOutput(0)->getDimensions().nbDims;
    const auto fits = [](const Dims& dims, int32_t axes) {
      return dims.nbDims == -1 || dims.nbDims == axes;
    };
    if (const auto* layer = dynamic_cast<ISliceLayer*>(&layer_)) {
      const int32_t axes = layer->getAxes().nbDims >= 0 ? layer->getAxes().nbDims : in;
      expect(
          fits(layer->getStart(), axes) && fits(layer->getSize(), axes) &&
              fits(layer->getStride(), axes),
          fmt::format("start, size and stride of {}, {}, {} axes for {}", layer->getStart().nbDims,
                      layer->getSize().nbDims, layer->getStride().nbDims, axes));
    }
    if (const auto* layer = dynamic_cast<IShuffleLayer*>(&layer_))
      expect(fits(layer->getReshapeDimensions(), out), "a reshape to other axes");
    if (const auto* layer = dynamic_cast<IResizeLayer*>(&layer_)) {
      expect(fits(layer->getOutputDimensions(), out), "a resize to other axes");
      float scales[Dims::MAX_DIMS] = {};
      const int32_t scale_count = layer->getScales(Dims::MAX_DIMS, scales);
      expect(scale_count == -1 || scale_count == in, "scales of other axes");
    }
    if (const auto* layer = dynamic_cast<IFillLayer*>(&layer_))
      expect(fits(layer->getDimensions(), out), "a fill of other axes");
    if (const auto* layer = dynamic_cast<IPoolingLayer*>(&layer_))
      expect(layer->getWindowSizeNd().nbDims == in - 2 && layer->getStrideNd().nbDims == in - 2,
             "a window of other axes");
  }

  ILayer& layer_;
  const std::set<const ITensor*>& tensors_;
  std::vector<std::string>& found_;
};

}  // namespace

std::vector<std::string> ask(const INetworkDefinition& network) {
  std::vector<std::string> found;
  const std::set<const ITensor*> tensors = tensors_of(network);
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    Questions(*network.getLayer(i), tensors, found).ask();
  for (int32_t i = 0; i < network.getNbOutputs(); ++i)
    if (!tensors.contains(network.getOutput(i)))
      found.push_back(fmt::format("output {} is of no layer of the network", i));
  return found;
}

}  // namespace tenon::getter_walk
