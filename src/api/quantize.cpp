#include "tenon/quantize.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>

#include "api/builder_config.h"
#include "base/draft_file.h"
#include "base/guard.h"
#include "base/printable.h"
#include "network/convert.h"
#include "network/report.h"
#include "quantizer/calibration_cache.h"
#include "quantizer/onnx_quantizer.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) words.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

Result<std::vector<std::string>> patterns(const char* text, const char* option) {
  std::vector<std::string> words = split(text, ',');
  for (const std::string& word : words) try {
      const std::regex expression(word);
    } catch (const std::regex_error& error) {
      return user_error("{}: '{}' is no regular expression: {}", option, word, error.what());
    }
  return words;
}

/// "ids:1x128,mask:1x128"
Result<std::map<std::string, Extents>> parse_shapes(const char* text) {
  std::map<std::string, Extents> shapes;
  for (const std::string& entry : split(text, ',')) {
    const size_t colon = entry.rfind(':');
    if (colon == std::string::npos)
      return user_error("shapes: '{}' is not of the form input:1x128", entry);
    Extents& extents = shapes[entry.substr(0, colon)];
    for (const std::string& word : split(std::string_view(entry).substr(colon + 1), 'x')) {
      int64_t extent = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), extent);
      if (error != std::errc() || end != word.data() + word.size() || extent < 0)
        return user_error("shapes: '{}' in '{}' is no extent", word, entry);
      extents.push_back(extent);
    }
  }
  return shapes;
}

bool is_empty(const nvinfer1::Dims& dims) {
  return dims.nbDims > 0 && dims.nbDims <= nvinfer1::Dims::MAX_DIMS &&
         std::find(dims.d, dims.d + dims.nbDims, 0) != dims.d + dims.nbDims;
}

Result<Tensor> to_tensor(const QuantizeData& data) {
  if (data.input != nullptr && is_empty(data.dims))
    return user_error("the calibration data for '{}' are empty", data.input);
  if (data.input == nullptr || data.values == nullptr || data.dims.nbDims < 1 ||
      data.dims.nbDims > nvinfer1::Dims::MAX_DIMS)
    return user_error("calibration data needs an input's name, values and at least one axis");
  TENON_ASSIGN(Tensor tensor,
               Tensor::create(network::from_public(data.type), network::to_extents(data.dims)));
  std::memcpy(tensor.mutable_bytes(), data.values, static_cast<size_t>(tensor.byte_count()));
  return tensor;
}

Result<QuantizeMode> mode_of(const char* word) {
  constexpr std::pair<std::string_view, QuantizeMode> kModes[] = {
      {"int8", QuantizeMode::kInt8}, {"fp8", QuantizeMode::kFp8}, {"int4", QuantizeMode::kInt4}};
  for (const auto& [name, mode] : kModes)
    if (name == word) return mode;
  return user_error("quantize mode '{}' is not one of int8, fp8, int4", word);
}

Result<QuantizeSettings> settings_of(const QuantizeOptions& options) {
  QuantizeSettings settings;
  TENON_ASSIGN(settings.mode, mode_of(options.mode));
  const auto method = range_method_by_name(options.method);
  if (!method.has_value())
    return user_error("calibration method '{}' is not one of max, entropy, percentile, mse",
                      options.method);
  settings.method = *method;
  if (!(options.percentile > 0 && options.percentile <= 100))
    return user_error("percentile {} is not above 0 and at most 100", options.percentile);
  settings.percentile = options.percentile / 100;
  settings.per_channel = options.perChannel;
  if (options.blockSize < 16 || options.blockSize % 16 != 0)
    return user_error("block size {} is not a multiple of 16", options.blockSize);
  settings.block_size = options.blockSize;
  const std::string_view device = options.device;
  if (device != "gpu" && device != "cpu")
    return user_error("device '{}' is not one of gpu, cpu", device);
  settings.groups = device == "cpu";
  settings.op_types = split(options.opTypes, ',');
  settings.op_types_left_out = split(options.opTypesToExclude, ',');
  TENON_ASSIGN(settings.nodes, patterns(options.nodesToQuantize, "nodes to quantize"));
  TENON_ASSIGN(settings.nodes_left_out, patterns(options.nodesToExclude, "nodes to exclude"));
  for (int32_t i = 0; i < options.dataCount; ++i) {
    TENON_ASSIGN(Tensor tensor, to_tensor(options.data[i]));
    settings.data[options.data[i].input] = std::move(tensor);
  }
  TENON_ASSIGN(settings.shapes, parse_shapes(options.shapes));
  settings.sensitivity = options.sensitivity;
  settings.weights_beside = options.externalData;
  if (options.maxDrop >= 0) settings.max_drop = options.maxDrop;
  return settings;
}

/// Ranges of the file; none where it does not exist.
Result<std::optional<CalibrationCache>> read_cache(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return std::optional<CalibrationCache>();
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  TENON_ASSIGN(CalibrationCache cache, CalibrationCache::parse(text));
  return std::optional(std::move(cache));
}

const char* algorithm_of(std::string_view method) {
  return method == "entropy" ? "EntropyCalibration2"
         : method == "max"   ? "MinMaxCalibration"
                             : "LegacyCalibration";
}

Status write_cache(const std::string& path, const QuantizeOptions& options,
                   const std::map<std::string, float>& ranges) {
  DraftFile file(path);
  file.stream() << CalibrationCache{algorithm_of(options.method), ranges}.text();
  return file.keep();
}

/// Ranges of a cache go ahead of the method, which may be another one than its.
void take_ranges(const CalibrationCache& cache, const QuantizeOptions& options,
                 QuantizeSettings& settings, Logger& logger) {
  settings.ranges = cache.ranges;
  const auto family = [](std::string_view algorithm) {
    return algorithm.substr(0, algorithm.find("Calibration"));
  };
  if (family(cache.algorithm) != family(algorithm_of(options.method)))
    logger.warning("Ranges come from '{}', which {} made, not by calibration method '{}'",
                   options.cachePath, cache.algorithm, options.method);
}

/// "conv1  Conv  quantized  error alone 1.2e-03"
std::string described(const QuantizeOutcome& outcome) {
  size_t width = 5;
  for (const LayerOutcome& layer : outcome.layers)
    width = std::max(width, short_name(layer.name).size());
  std::string text = fmt::format("{:<{}}  {:<8}  {:>11}  {}\n", "layer", width, "operator",
                                 "error alone", "becomes");
  for (const LayerOutcome& layer : outcome.layers)
    text += fmt::format("{:<{}}  {:<8}  {:>11}  {}\n", short_name(layer.name), width, layer.op_type,
                        layer.error < 0 ? "-" : fmt::format("{:.2e}", layer.error),
                        layer.quantized ? "quantized" : "stays: " + layer.reason);
  if (outcome.error >= 0)
    text += fmt::format("relative L2 error of the outputs, all together: {:.2e}\n", outcome.error);
  return text;
}

Result<int32_t> quantize(const QuantizeOptions& options, char* report, int64_t size,
                         Logger& logger) {
  TENON_ASSIGN(QuantizeSettings settings, settings_of(options));
  TENON_ASSIGN(auto cache, read_cache(options.cachePath));
  if (cache.has_value()) take_ranges(*cache, options, settings, logger);
  TENON_ASSIGN(const QuantizeOutcome outcome,
               quantize_onnx(options.onnxPath, options.outputPath, settings, logger));
  if (*options.cachePath != '\0' && !cache.has_value())
    TENON_TRY(write_cache(options.cachePath, options, outcome.ranges));
  const std::string text = described(outcome);
  if (report != nullptr && size > 0) {
    const std::string_view fitting = clipped(text, static_cast<size_t>(size) - 1);
    std::memcpy(report, fitting.data(), fitting.size());
    report[fitting.size()] = '\0';
  }
  return static_cast<int32_t>(std::ranges::count(outcome.layers, true, &LayerOutcome::quantized));
}

}  // namespace

TENON_EXPORT int32_t quantizeOnnx(const QuantizeOptions& options, char* report, int64_t size,
                                  nvinfer1::ILogger& logger) noexcept {
  network::Reporter reporter(&logger);
  const Result<int32_t> count =
      guarded("quantizeOnnx", [&] { return quantize(options, report, size, reporter); });
  if (count.ok()) return *count;
  reporter.report(count.error());
  return -1;
}

TENON_EXPORT bool setRandomCalibration(nvinfer1::IBuilderConfig& config, bool enabled) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->set_random_calibration(enabled);
  return true;
}

}  // namespace tenon
