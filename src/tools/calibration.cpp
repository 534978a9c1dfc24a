#include "tools/calibration.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tenon/quantize.h"
#include "tools/exports.h"

namespace tenon::tools {
namespace {

using nvinfer1::CalibrationAlgoType;
using nvinfer1::INetworkDefinition;
using nvinfer1::LayerType;

struct AlgorithmRow {
  std::string_view name;
  CalibrationAlgoType type;
};
constexpr AlgorithmRow kAlgorithms[] = {
    {"EntropyCalibration2", CalibrationAlgoType::kENTROPY_CALIBRATION_2},
    {"EntropyCalibration", CalibrationAlgoType::kENTROPY_CALIBRATION},
    {"MinMaxCalibration", CalibrationAlgoType::kMINMAX_CALIBRATION},
    {"LegacyCalibration", CalibrationAlgoType::kLEGACY_CALIBRATION},
};

/// The maker of the cache, from its first line: "TRT-101600-EntropyCalibration2".
const AlgorithmRow* algorithm_of(std::string_view cache) {
  std::string_view line = cache.substr(0, cache.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!line.starts_with("TRT-")) return nullptr;
  const auto* const found =
      std::ranges::find(kAlgorithms, line.substr(line.rfind('-') + 1), &AlgorithmRow::name);
  return found == std::end(kAlgorithms) ? nullptr : found;
}

/// Has a cache and no batches.
class CacheReader final : public nvinfer1::IInt8Calibrator {
 public:
  CacheReader(std::vector<char> cache, CalibrationAlgoType type)
      : cache_(std::move(cache)), type_(type) {}

  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"IInt8Calibrator", 1, 0};
  }
  int32_t getBatchSize() const noexcept override { return 0; }
  bool getBatch(void**, const char**, int32_t) noexcept override { return false; }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = cache_.size();
    return cache_.data();
  }
  void writeCalibrationCache(const void*, std::size_t) noexcept override {}
  CalibrationAlgoType getAlgorithm() noexcept override { return type_; }

 private:
  std::vector<char> cache_;
  CalibrationAlgoType type_;
};

bool is_quantized(const INetworkDefinition& network) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const LayerType type = network.getLayer(i)->getType();
    if (type == LayerType::kQUANTIZE || type == LayerType::kDEQUANTIZE) return true;
  }
  return false;
}

/// Scales by tensor, as trtexec reads them: lines of a name and the bits of a float in hexadecimal.
std::map<std::string, float> scales_of(std::string_view cache) {
  std::map<std::string, float> scales;
  for (size_t start = 0; start < cache.size();) {
    const size_t end = std::min(cache.find('\n', start), cache.size());
    const std::string_view line = cache.substr(start, end - start);
    start = end + 1;
    const size_t colon = line.rfind(": ");
    uint32_t bits = 0;
    if (colon == std::string_view::npos) continue;
    const char* digits = line.data() + colon + 2;
    const auto [stop, error] = std::from_chars(digits, line.data() + line.size(), bits, 16);
    if (error == std::errc() && stop != digits)
      scales[std::string(line.substr(0, colon))] = std::bit_cast<float>(bits);
  }
  return scales;
}

/// Inputs and outputs that the flags bind as INT8. A network's own integers have no scales.
struct ByteBindings {
  std::vector<nvinfer1::ITensor*> inputs, outputs;
  bool empty() const { return inputs.empty() && outputs.empty(); }
};

ByteBindings byte_bindings(const INetworkDefinition& network, const Arguments& arguments) {
  ByteBindings found;
  const bool inputs = arguments.has(OptionId::inputIOFormats);
  const bool outputs = arguments.has(OptionId::outputIOFormats);
  const auto is_byte = [](const nvinfer1::ITensor& tensor) {
    return tensor.getType() == nvinfer1::DataType::kINT8 && !tensor.dynamicRangeIsSet();
  };
  for (int32_t i = 0; inputs && i < network.getNbInputs(); ++i)
    if (is_byte(*network.getInput(i))) found.inputs.push_back(network.getInput(i));
  for (int32_t i = 0; outputs && i < network.getNbOutputs(); ++i)
    if (is_byte(*network.getOutput(i))) found.outputs.push_back(network.getOutput(i));
  return found;
}

/// They need scales ahead of any calibration: those of the cache.
Status take_scales(const ByteBindings& bindings, const std::string& file, std::string_view cache) {
  const std::map<std::string, float> scales = scales_of(cache);
  for (const auto* tensors : {&bindings.inputs, &bindings.outputs})
    for (nvinfer1::ITensor* tensor : *tensors) {
      const auto found = scales.find(tensor->getName());
      if (found == scales.end())
        return user_error("--calib={}: the calibration cache has no scale for '{}', which is INT8",
                          file, tensor->getName());
      const float range = 127 * found->second;
      tensor->setDynamicRange(-range, range);
    }
  return {};
}

/// As trtexec has them without --calib: times are meaningful, results are not.
void make_up_ranges(const ByteBindings& bindings, Console& console) {
  constexpr float kInputs = 2, kOutputs = 4;
  for (nvinfer1::ITensor* tensor : bindings.inputs) tensor->setDynamicRange(-kInputs, kInputs);
  for (nvinfer1::ITensor* tensor : bindings.outputs) tensor->setDynamicRange(-kOutputs, kOutputs);
  if (!bindings.empty())
    console.warning(
        "INT8 inputs get the made-up range -{} to {} and INT8 outputs -{} to {}, since there is no "
        "--calib: times are meaningful, results are not",
        kInputs, kInputs, kOutputs, kOutputs);
}

/// Without the file trtexec calibrates by random numbers.
bool is_missing(const std::string& file) {
  std::error_code ignored;
  return !std::filesystem::exists(file, ignored) && !ignored;
}

}  // namespace

Result<std::unique_ptr<nvinfer1::IInt8Calibrator>> give_int8_ranges(
    INetworkDefinition& network, nvinfer1::IBuilderConfig& config, const Arguments& arguments,
    Console& console) {
  std::unique_ptr<nvinfer1::IInt8Calibrator> calibrator;
  const std::string file = arguments.text(OptionId::calib);
  const ByteBindings bindings =
      is_quantized(network) ? ByteBindings() : byte_bindings(network, arguments);
  if (file.empty()) make_up_ranges(bindings, console);
  if (!config.getFlag(nvinfer1::BuilderFlag::kINT8)) {
    if (!file.empty() && bindings.empty())
      console.warning("--calib has no effect without --int8 or --best");
    if (!file.empty() && !bindings.empty()) {
      TENON_ASSIGN(const std::vector<char> cache, read_file(file));
      TENON_TRY(take_scales(bindings, file, {cache.data(), cache.size()}));
    }
    return calibrator;
  }
  if (is_quantized(network)) {
    if (!file.empty())
      console.warning(
          "--calib has no effect: the model has QuantizeLinear and DequantizeLinear, "
          "whose scales are used");
    return calibrator;
  }
  if (file.empty()) {
    setRandomCalibration(config, true);
    return calibrator;
  }
  if (is_missing(file)) {
    if (!bindings.empty())
      return user_error(
          "--calib={}: there is no such file, and INT8 inputs and outputs need the scales of a "
          "calibration cache; without --calib they get made-up ones",
          file);
    console.warning(
        "--calib={}: there is no such file: ranges are made up by a run with random inputs, as "
        "trtexec does. Times are meaningful, results are not",
        file);
    setRandomCalibration(config, true);
    return calibrator;
  }
  TENON_ASSIGN(std::vector<char> cache, read_file(file));
  TENON_TRY(take_scales(bindings, file, {cache.data(), cache.size()}));
  const AlgorithmRow* algorithm = algorithm_of({cache.data(), cache.size()});
  if (algorithm == nullptr)
    return user_error(
        "--calib={}: the first line is not of the form 'TRT-101600-EntropyCalibration2'", file);
  calibrator = std::make_unique<CacheReader>(std::move(cache), algorithm->type);
  config.setInt8Calibrator(calibrator.get());
  return calibrator;
}

}  // namespace tenon::tools
