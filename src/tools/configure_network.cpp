#include "tools/configure.h"
#include "tools/tensor_words.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

using nvinfer1::ILayer;
using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;

using TensorAt = ITensor* (INetworkDefinition::*)(int32_t) const noexcept;

Status set_io_formats(INetworkDefinition& network, TensorAt tensor_at, int32_t count,
                      std::string_view flag, const std::string& text) {
  Result<std::vector<IoFormat>> formats = parse_io_formats(text);
  if (!formats.ok()) return std::move(formats).error().with_context(flag);
  if (formats->size() > 1 && static_cast<int32_t>(formats->size()) != count) {
    return user_error("{}: {} entries for {} tensors; give one for all or one for each", flag,
                      formats->size(), count);
  }
  for (int32_t i = 0; i < count && !formats->empty(); ++i) {
    const IoFormat& format = (*formats)[formats->size() == 1 ? 0 : i];
    ITensor* tensor = (network.*tensor_at)(i);
    tensor->setType(format.type);
    if (tensor->getType() != format.type)
      return user_error("{}: '{}' stays {}; see the error above", flag, tensor->getName(),
                        type_word(tensor->getType()));
    tensor->setAllowedFormats(format.formats);
  }
  return {};
}

/// The value for a layer: the exact name before a pattern.
const NamedText* find_entry(const std::vector<NamedText>& entries, std::string_view name) {
  for (const NamedText& entry : entries) {
    if (entry.name == name) return &entry;
  }
  for (const NamedText& entry : entries) {
    if (matches(entry.name, name)) return &entry;
  }
  return nullptr;
}

Result<nvinfer1::DataType> type_for(std::string_view flag, std::string_view word) {
  const auto type = parse_type(word);
  if (!type) return user_error("{}: '{}' is no type (fp32, fp16, bf16, int8, ...)", flag, word);
  return *type;
}

Status set_layer_precision(ILayer& layer, const NamedText& entry) {
  TENON_ASSIGN(const nvinfer1::DataType type, type_for("--layerPrecisions", entry.text));
  layer.setPrecision(type);
  return {};
}

bool is_real(nvinfer1::DataType type) {
  using enum nvinfer1::DataType;
  return type == kFLOAT || type == kHALF || type == kBF16;
}

/// A pattern means the numbers that a network computes with: shapes and indices, which it matches
/// as well, are left alone, unless they are named.
Status set_layer_outputs(ILayer& layer, const NamedText& entry) {
  const auto words = split_outside_quotes(entry.text, '+');
  const bool is_named = entry.name == layer.getName();
  const auto outputs = static_cast<size_t>(layer.getNbOutputs());
  if (is_named && words.size() > 1 && words.size() != outputs)
    return user_error(
        "--layerOutputTypes: {} types for the {} outputs of '{}'; give one for all or "
        "one for each",
        words.size(), outputs, entry.name);
  for (int32_t i = 0; i < layer.getNbOutputs() && !words.empty(); ++i) {
    const size_t at = std::min<size_t>(i, words.size() - 1);
    TENON_ASSIGN(const nvinfer1::DataType type, type_for("--layerOutputTypes", words[at]));
    if (is_named || !is_real(type) || is_real(layer.getOutputType(i))) layer.setOutputType(i, type);
  }
  return {};
}

bool is_some_layer(const INetworkDefinition& network, std::string_view pattern) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const std::string_view name = network.getLayer(i)->getName();
    if (name == pattern || matches(pattern, name)) return true;
  }
  return false;
}

Status for_layers(INetworkDefinition& network, std::string_view flag, const std::string& text,
                  Status (*apply)(ILayer&, const NamedText&), Console& console) {
  TENON_ASSIGN(const std::vector<NamedText> entries, parse_map(flag, text));
  for (int32_t i = 0; i < network.getNbLayers() && !entries.empty(); ++i) {
    ILayer* layer = network.getLayer(i);
    const NamedText* entry = find_entry(entries, layer->getName());
    if (entry) TENON_TRY(apply(*layer, *entry));
  }
  for (const NamedText& entry : entries)
    if (!is_some_layer(network, entry.name))
      console.warning("{}: no layer is called '{}'", flag, entry.name);
  return {};
}

ITensor* find_tensor(INetworkDefinition& network, std::string_view name) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    for (int32_t o = 0; o < network.getLayer(i)->getNbOutputs(); ++o)
      if (network.getLayer(i)->getOutput(o)->getName() == name)
        return network.getLayer(i)->getOutput(o);
  return nullptr;
}

/// Every tensor that a layer makes and that may be marked.
void mark_all_tensors(INetworkDefinition& network) {
  for (int i = 0; i < network.getNbLayers(); ++i) {
    const nvinfer1::ILayer& layer = *network.getLayer(i);
    if (layer.getType() == nvinfer1::LayerType::kCONSTANT) continue;
    for (int k = 0; k < layer.getNbOutputs(); ++k)
      if (ITensor* tensor = layer.getOutput(k); tensor != nullptr) network.markDebug(*tensor);
  }
}

Status mark_debug_tensors(INetworkDefinition& network, const std::string& names) {
  for (const std::string_view name : split_outside_quotes(names, ',')) {
    if (name == "*") {
      mark_all_tensors(network);
      continue;
    }
    ITensor* tensor = find_tensor(network, name);
    if (tensor == nullptr) return user_error("--markDebug: no layer makes a tensor '{}'", name);
    if (!network.markDebug(*tensor)) return user_error("--markDebug: '{}' was refused", name);
  }
  return {};
}

void warn_unconstrained(const Arguments& arguments, Console& console) {
  constexpr std::pair<OptionId, const char*> kOptions[] = {
      {OptionId::layerPrecisions, "layerPrecisions"},
      {OptionId::layerOutputTypes, "layerOutputTypes"}};
  for (const auto& [id, name] : kOptions)
    if (arguments.has(id))
      console.warning("--{} takes effect only with --precisionConstraints=prefer or obey", name);
}

}  // namespace

Status configure_network(INetworkDefinition& network, const Arguments& arguments,
                         Console& console) {
  TENON_TRY(set_io_formats(network, &INetworkDefinition::getInput, network.getNbInputs(),
                           "--inputIOFormats", arguments.text(OptionId::inputIOFormats)));
  TENON_TRY(set_io_formats(network, &INetworkDefinition::getOutput, network.getNbOutputs(),
                           "--outputIOFormats", arguments.text(OptionId::outputIOFormats)));
  TENON_TRY(mark_debug_tensors(network, arguments.text(OptionId::markDebug)));
  if (arguments.flag(OptionId::markUnfusedTensorsAsDebugTensors))
    network.markUnfusedTensorsAsDebugTensors();
  if (arguments.text(OptionId::precisionConstraints) == "none") {
    warn_unconstrained(arguments, console);
    return {};
  }
  TENON_TRY(for_layers(network, "--layerPrecisions", arguments.text(OptionId::layerPrecisions),
                       set_layer_precision, console));
  return for_layers(network, "--layerOutputTypes", arguments.text(OptionId::layerOutputTypes),
                    set_layer_outputs, console);
}

}  // namespace tenon::tools
