#include "tools/calibration.h"

#include <algorithm>
#include <iterator>
#include <string>

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

}  // namespace

Result<std::unique_ptr<nvinfer1::IInt8Calibrator>> give_int8_ranges(
    INetworkDefinition& network, nvinfer1::IBuilderConfig& config, const Arguments& arguments,
    Console& console) {
  std::unique_ptr<nvinfer1::IInt8Calibrator> calibrator;
  const std::string file = arguments.text(OptionId::calib);
  if (!config.getFlag(nvinfer1::BuilderFlag::kINT8)) {
    if (!file.empty()) console.warning("--calib has no effect without --int8 or --best");
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
  TENON_ASSIGN(std::vector<char> cache, read_file(file));
  const AlgorithmRow* algorithm = algorithm_of({cache.data(), cache.size()});
  if (algorithm == nullptr)
    return user_error(
        "--calib={}: the first line is not of the form 'TRT-101600-EntropyCalibration2'", file);
  calibrator = std::make_unique<CacheReader>(std::move(cache), algorithm->type);
  config.setInt8Calibrator(calibrator.get());
  return calibrator;
}

}  // namespace tenon::tools
