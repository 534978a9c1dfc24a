#include "tools/outputs.h"

#include <algorithm>
#include <memory>

#include "tools/exports.h"
#include "tools/file_names.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

constexpr size_t kValuesInLine = 16;

void print_values(const OutputValues& output, Console& console) {
  console.requested("{}: ({})", output.name, output.dimensions);
  std::string line;
  for (size_t i = 0; i < output.values.size(); ++i) {
    line += fmt::format("{}{}", line.empty() ? "" : " ", output.text_at(i));
    if ((i + 1) % kValuesInLine != 0 && i + 1 < output.values.size()) continue;
    console.requested("{}", line);
    line.clear();
  }
}

Status write_raw(const Binding& binding, FileNames& names, Console& console) {
  const std::string file = fmt::format("{}.{}.{}.{}.raw", names.stem(binding.name),
                                       binding.is_input ? "input" : "output",
                                       dims_text(binding.dims), type_word(binding.type));
  const int64_t bytes = std::max<int64_t>(bytes_of(binding.dims, binding.type), 0);
  TENON_TRY(write_file(file, std::span<const char>(binding.memory.data(), bytes)));
  console.requested("Wrote {} to {}", binding.name, file);
  return {};
}

}  // namespace

Status write_outputs(const Runner& runner, const Arguments& arguments, Console& console) {
  std::vector<OutputValues> outputs;
  FileNames names;
  const bool wanted = arguments.flag(OptionId::dumpOutput) || arguments.has(OptionId::exportOutput);
  for (const auto& binding : runner.bindings()) {
    if (wanted && !binding->is_input) outputs.push_back(binding->values());
    if (arguments.flag(OptionId::dumpRawBindingsToFile))
      TENON_TRY(write_raw(*binding, names, console));
  }
  if (arguments.flag(OptionId::dumpOutput)) {
    console.requested("Output Tensors:");
    for (const OutputValues& output : outputs) print_values(output, console);
  }
  if (!arguments.has(OptionId::exportOutput)) return {};
  return write_file(arguments.text(OptionId::exportOutput), outputs_json(outputs));
}

Status write_layer_information(const nvinfer1::ICudaEngine& engine,
                               const nvinfer1::IExecutionContext* context,
                               const Arguments& arguments, Console& console) {
  using nvinfer1::LayerInformationFormat;
  if (!arguments.flag(OptionId::dumpLayerInfo) && !arguments.has(OptionId::exportLayerInfo))
    return {};
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(engine.createEngineInspector());
  if (!inspector) return internal_error("the engine inspector could not be made");
  if (context != nullptr) inspector->setExecutionContext(context);
  if (arguments.flag(OptionId::dumpLayerInfo)) {
    console.requested("Layer Information:");
    console.requested("{}", inspector->getEngineInformation(LayerInformationFormat::kONELINE));
  }
  if (!arguments.has(OptionId::exportLayerInfo)) return {};
  return write_file(arguments.text(OptionId::exportLayerInfo),
                    std::string(inspector->getEngineInformation(LayerInformationFormat::kJSON)));
}

void print_optimization_profiles(const nvinfer1::ICudaEngine& engine, Console& console) {
  using nvinfer1::OptProfileSelector;
  console.requested("Optimization Profile Information:");
  for (int32_t profile = 0; profile < engine.getNbOptimizationProfiles(); ++profile) {
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != nvinfer1::TensorIOMode::kINPUT) continue;
      const auto shape = [&](OptProfileSelector selector) {
        return dims_text(engine.getProfileShape(name, profile, selector));
      };
      console.requested("Optimization Profile {}: input {}, min {}, opt {}, max {}", profile, name,
                        shape(OptProfileSelector::kMIN), shape(OptProfileSelector::kOPT),
                        shape(OptProfileSelector::kMAX));
    }
  }
}

}  // namespace tenon::tools
