#include "change_layers.h"

#include <algorithm>
#include <string>
#include <type_traits>

namespace tenon::onnx_suite {
namespace {

using namespace nvinfer1;
using network::Network;

/// Another value of the type: mostly of the same range.
template <class T> T other_than(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return !value;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>((static_cast<int32_t>(value) + 1) % EnumMax<T>());
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value + T(1));
  } else if constexpr (std::is_same_v<T, nvinfer1::Dims>) {
    for (int32_t i = 0; i < value.nbDims; ++i) ++value.d[i];
    return value;
  } else if constexpr (std::is_same_v<T, Permutation>) {
    std::swap(value.order[0], value.order[1]);
    return value;
  } else if constexpr (std::is_same_v<T, Weights>) {
    return Weights{value.type, nullptr, 0};
  } else {
    return T{};
  }
}

/// A string that a getter gave ends with the next setter.
template <class T> auto kept(T value) {
  if constexpr (std::is_same_v<T, const char*>)
    return std::string(value == nullptr ? "" : value);
  else
    return value;
}
template <class T> const T& given(const T& value) {
  return value;
}
const char* given(const std::string& value) {
  return value.c_str();
}

/// f(set, value) for each attribute of the layer's class.
template <class F> void for_each_attribute(ILayer& layer, F f) {
#define TENON_SETTER(Interface, Name)                 \
  if (auto* typed = dynamic_cast<Interface*>(&layer)) \
    f([typed](const auto& value) { typed->set##Name(value); }, typed->get##Name());
#include "setters.def"
}

void set_common(ILayer& layer) {
  layer.setName(layer.getName());
  layer.setMetadata(layer.getMetadata());
  layer.setNbRanks(layer.getNbRanks());
  for (int32_t i = 0; i < layer.getNbInputs(); ++i)
    if (ITensor* tensor = layer.getInput(i)) layer.setInput(i, *tensor);
  for (int32_t i = 0; i < layer.getNbOutputs(); ++i) {
    ITensor& tensor = *layer.getOutput(i);
    layer.setOutputType(i, layer.getOutputType(i));
    tensor.setName(tensor.getName());
    tensor.setAllowedFormats(tensor.getAllowedFormats());
  }
  if (auto* product = dynamic_cast<IMatrixMultiplyLayer*>(&layer))
    for (const int32_t i : {0, 1}) product->setOperation(i, product->getOperation(i));
  if (auto* resize = dynamic_cast<IResizeLayer*>(&layer)) {
    float scales[nvinfer1::Dims::MAX_DIMS] = {};
    const int32_t count = resize->getScales(nvinfer1::Dims::MAX_DIMS, scales);
    if (count > 0) resize->setScales(scales, count);
  }
}

/// Whether every extent is known: unknown ones (-1) cannot be set.
bool is_settable(const ITensor& input) {
  const nvinfer1::Dims dims = input.getDimensions();
  return dims.nbDims >= 0 &&
         std::all_of(dims.d, dims.d + dims.nbDims, [](int64_t d) { return d >= 0; });
}

void touch_types(ILayer& layer) {
  for (int32_t i = 0; i < layer.getNbOutputs(); ++i) (void)layer.getOutput(i)->getDimensions();
}

}  // namespace

void set_what_is_set(Network& network) {
  network.setName(network.getName());
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    ITensor& input = *network.getInput(i);
    input.setName(input.getName());
    input.setType(input.getType());
    if (is_settable(input)) input.setDimensions(input.getDimensions());
  }
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    ILayer& layer = *network.getLayer(i);
    set_common(layer);
    for_each_attribute(layer, [](auto set, auto value) {
      const auto copy = kept(value);
      set(given(copy));
    });
  }
}

void change_and_restore(Network& network) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    ILayer& layer = *network.getLayer(i);
    for_each_attribute(layer, [&](auto set, auto value) {
      const auto copy = kept(value);
      set(other_than(value));
      touch_types(layer);
      set(given(copy));
      touch_types(layer);
    });
    for (int32_t output = 0; output < layer.getNbOutputs(); ++output) {
      layer.setOutputType(output, nvinfer1::DataType::kFLOAT);
      touch_types(layer);
      layer.resetOutputType(output);
      touch_types(layer);
    }
  }
}

}  // namespace tenon::onnx_suite
