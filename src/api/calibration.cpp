#include "api/calibration.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "api/optimization_profile.h"
#include "base/stopwatch.h"
#include "check/sample.h"
#include "ops/math.h"
#include "ops/structure.h"
#include "quantizer/activation_ranges.h"
#include "quantizer/calibration_cache.h"

namespace tenon::api {
namespace {

struct AlgorithmRow {
  CalibrationAlgoType type;
  const char* name;  ///< In caches.
  RangeMethod method;
};
constexpr AlgorithmRow kAlgorithms[] = {
    {CalibrationAlgoType::kLEGACY_CALIBRATION, "LegacyCalibration", RangeMethod::kPercentile},
    {CalibrationAlgoType::kENTROPY_CALIBRATION, "EntropyCalibration", RangeMethod::kEntropy},
    {CalibrationAlgoType::kENTROPY_CALIBRATION_2, "EntropyCalibration2", RangeMethod::kEntropy},
    {CalibrationAlgoType::kMINMAX_CALIBRATION, "MinMaxCalibration", RangeMethod::kMax},
};

const AlgorithmRow* row_of(CalibrationAlgoType type) {
  const auto* const found = std::ranges::find(kAlgorithms, type, &AlgorithmRow::type);
  return found == std::end(kAlgorithms) ? nullptr : found;
}

/// Between reals and the numbers of 8 bits that a plugin takes or gives: that says nothing of other
/// layers.
bool is_of_plugin(const Node& node) {
  const Node* producer = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
  if (node.is<Dequantize>()) return producer != nullptr && producer->is<Plugin>();
  const auto& uses = node.output()->uses();
  return node.is<Quantize>() && !uses.empty() &&
         std::ranges::all_of(uses, [](const Use& use) { return use.node->is<Plugin>(); });
}

/// Between the reals of the network and an input or output that the application has as INT8.
bool is_of_binding(const Graph& graph, const Node& node) {
  const Value* outside = node.is<Dequantize>() ? node.input(0) : node.output();
  const bool is_outside = node.is<Dequantize>() ? outside->producer() == nullptr
                                                : node.is<Quantize>() && graph.is_output(outside);
  return is_outside && node.name == fmt::format("reformat({})", outside->name);
}

bool is_quantized(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    const bool quantizes = node->template is<Quantize>() || node->template is<Dequantize>();
    return (quantizes && !is_of_plugin(*node) && !is_of_binding(graph, *node)) ||
           node->template is<DynamicQuantize>() ||
           std::ranges::any_of(node->bodies, [](const auto& body) { return is_quantized(*body); });
  });
}

/// The profile's usual extents alone.
Profile usual_of(const OptimizationProfile& profile) {
  Profile usual = profile.profile();
  for (auto& [name, range] : usual) {
    range.min = range.max = range.opt;
    range.min_values = range.max_values = range.opt_values;
  }
  return usual;
}

/// The calibration profile, else the first one; none where all extents are fixed.
Result<std::vector<Profile>> usual_profiles(const BuilderConfig& config) {
  const IOptimizationProfile* given = config.calibration_profile();
  if (given == nullptr && !config.profiles().empty()) given = config.profiles()[0];
  if (given == nullptr) return std::vector<Profile>{};
  const auto* profile = dynamic_cast<const OptimizationProfile*>(given);
  if (profile == nullptr || !profile->isValid())
    return user_error("the calibration profile is not valid: give it kOPT shapes of all inputs");
  return std::vector<Profile>{usual_of(*profile)};
}

/// Real inputs are larger and less mixed than random ones, and saturation costs more accuracy than
/// a coarser scale.
constexpr float kRoom = 2;

/// From the largest numbers of a run with the self-check's inputs.
Result<std::map<std::string, float>> ranges_of_random_inputs(const Graph& graph,
                                                             const BuilderConfig& config,
                                                             const Backend& backend, int threads) {
  TENON_ASSIGN(std::vector<Profile> profiles, usual_profiles(config));
  const std::unique_ptr<Graph> network = graph.clone();
  TENON_TRY(apply_profiles(*network, profiles));
  TENON_TRY(infer_graph(*network));
  TENON_ASSIGN(ActivationRanges found,
               ActivationRanges::create(*network, profiles, backend, threads));
  TENON_ASSIGN(const std::vector<Tensor> inputs, sample_inputs(*network, profiles[0]));
  TENON_TRY(found.add(inputs));
  std::map<std::string, float> ranges;
  for (const auto& [name, numbers] : found.histograms())
    ranges[name] = kRoom * range_of(numbers, RangeMethod::kMax, tenon::DataType::kInt8, 1);
  return ranges;
}

/// Where there are no ranges and the configuration wants some all the same.
std::map<std::string, float> made_up_ranges(const BuilderConfig& config, const Graph& graph,
                                            const Backend& backend, int threads, Logger& logger) {
  auto ranges = ranges_of_random_inputs(graph, config, backend, threads);
  if (!ranges.ok()) {
    logger.warning("INT8: there are no ranges, and none can be made up: {}",
                   ranges.error().message);
    return {};
  }
  logger.warning(
      "INT8: {} made-up ranges come from a run with random inputs, since there are no "
      "QuantizeLinear and DequantizeLinear, no calibrator (--calib) and no dynamic ranges: twice "
      "the largest numbers. Times are meaningful, results only as far as real inputs are like "
      "these",
      ranges->size());
  return std::move(ranges).value();
}

/// One run of the application's calibrator.
class Calibration {
 public:
  Calibration(IInt8Calibrator& calibrator, const AlgorithmRow& algorithm, Logger& logger)
      : calibrator_(calibrator), algorithm_(algorithm), logger_(logger) {}

  /// Ranges of the application's cache; nothing where it has none that fits.
  std::optional<CalibrationCache> cached() {
    size_t length = 0;
    const void* bytes = calibrator_.readCalibrationCache(length);
    if (bytes == nullptr || length == 0) return std::nullopt;
    auto cache = CalibrationCache::parse({static_cast<const char*>(bytes), length});
    if (!cache.ok()) {
      logger_.warning("{}; the network is calibrated again", cache.error().message);
      return std::nullopt;
    }
    if (cache->algorithm != algorithm_.name) {
      logger_.warning(
          "The calibration cache is of {}, the calibrator of {}: the network is "
          "calibrated again",
          cache->algorithm, algorithm_.name);
      return std::nullopt;
    }
    logger_.info("INT8: {} ranges come from the calibration cache", cache->ranges.size());
    return std::move(cache).value();
  }

  Result<CalibrationCache> calibrate(const Graph& graph, const BuilderConfig& config,
                                     const Backend& backend, int threads) {
    Stopwatch watch;
    TENON_ASSIGN(const std::vector<Profile> profiles, usual_profiles(config));
    TENON_ASSIGN(ActivationRanges ranges,
                 ActivationRanges::create(graph, profiles, backend, threads));
    TENON_ASSIGN(std::vector<Tensor> batch, room_for_batch(graph, profiles));
    while (true) {
      TENON_ASSIGN(const bool filled, next_batch(graph, backend, batch));
      if (!filled) break;
      TENON_TRY(ranges.add(batch));
    }
    if (ranges.batches() == 0)
      return user_error(
          "the INT8 calibrator gave neither a cache nor a batch: getBatch() must fill the bindings "
          "and return true, or readCalibrationCache() give a cache of {}",
          algorithm_.name);
    const auto* legacy = dynamic_cast<IInt8LegacyCalibrator*>(&calibrator_);
    const double share = legacy != nullptr ? std::clamp(legacy->getQuantile(), 0.5, 1.0) : 0.9999;
    CalibrationCache cache{algorithm_.name, {}};
    for (const auto& [name, numbers] : ranges.histograms()) {
      if (numbers.left_out() > 0)
        logger_.warning("Calibration: '{}' had {} numbers that are not finite", name,
                        numbers.left_out());
      cache.ranges[name] = range_of(numbers, algorithm_.method, tenon::DataType::kInt8, share);
    }
    logger_.info("INT8: {} ranges come from {} batches ({}, {:.2f} s)", cache.ranges.size(),
                 ranges.batches(), algorithm_.name, watch.lap());
    const std::string text = cache.text();
    calibrator_.writeCalibrationCache(text.data(), text.size());
    return cache;
  }

 private:
  static Result<std::vector<Tensor>> room_for_batch(const Graph& graph,
                                                    const std::vector<Profile>& profiles) {
    std::vector<Tensor> batch;
    for (const Value* input : graph.inputs()) {
      Extents extents;
      const auto found =
          profiles.empty() ? Profile::const_iterator() : profiles[0].find(input->name);
      if (is_constant(input->type.shape))
        extents = constants(input->type.shape);
      else if (!profiles.empty() && found != profiles[0].end())
        extents = found->second.opt;
      else
        return user_error(
            "calibration needs the extents of '{}': give a calibration profile "
            "(setCalibrationProfile) or an optimization profile",
            input->name);
      TENON_ASSIGN(Tensor room, Tensor::create(input->type.type, extents));
      batch.push_back(std::move(room));
    }
    return batch;
  }

  /// From where the application has it, which is the backend's device.
  Result<bool> next_batch(const Graph& graph, const Backend& backend, std::vector<Tensor>& batch) {
    std::vector<void*> bindings(batch.size(), nullptr);
    std::vector<const char*> names;
    for (const Value* input : graph.inputs()) names.push_back(input->name.c_str());
    if (!calibrator_.getBatch(bindings.data(), names.data(), static_cast<int32_t>(batch.size())))
      return false;
    for (size_t i = 0; i < batch.size(); ++i) {
      if (bindings[i] == nullptr)
        return user_error("the INT8 calibrator's getBatch() gave no address for '{}'", names[i]);
      // A tensor of its own: those of earlier batches may be shared.
      TENON_ASSIGN(batch[i], Tensor::create(batch[i].type(), batch[i].extents()));
      TENON_TRY(backend.device->download(batch[i].mutable_bytes(), bindings[i],
                                         static_cast<size_t>(batch[i].byte_count()), {}));
    }
    TENON_TRY(backend.device->synchronize({}));
    return true;
  }

  IInt8Calibrator& calibrator_;
  const AlgorithmRow& algorithm_;
  Logger& logger_;
};

/// A cache of another network, or of another export of it, names few of its tensors: inputs are
/// often called the same.
void note_stale_cache(const CalibrationCache& cache, const Graph& graph, Logger& logger) {
  const auto is_known = [&](const Value* value) { return cache.ranges.contains(value->name); };
  auto known = std::ranges::count_if(graph.inputs(), is_known);
  for (const auto& node : graph.nodes()) known += std::ranges::count_if(node->outputs(), is_known);
  const size_t all = cache.ranges.size();
  constexpr auto kRemedy =
      "it is of another network, or the tensors have other names now; delete it and calibrate "
      "again";
  if (known == 0)
    logger.warning("The calibration cache names no tensor of this network: {}", kRemedy);
  else if (2 * static_cast<size_t>(known) < all)
    logger.warning("The calibration cache names {} tensors, of which this network has {}: {}", all,
                   known, kRemedy);
}

void note_range(const ITensor* tensor, std::map<std::string, float>& ranges) {
  if (tensor == nullptr || !tensor->dynamicRangeIsSet()) return;
  ranges[tensor->getName()] =
      std::max(std::abs(tensor->getDynamicRangeMin()), std::abs(tensor->getDynamicRangeMax()));
}

/// Ranges of INT8 inputs and outputs alone are for these.
bool has_ranges_inside(const network::Network& network, const std::map<std::string, float>& given) {
  std::set<std::string> outside;
  for (int32_t i = 0; i < network.getNbInputs(); ++i)
    if (network.getInput(i)->getType() == nvinfer1::DataType::kINT8)
      outside.insert(network.getInput(i)->getName());
  for (int32_t i = 0; i < network.getNbOutputs(); ++i)
    if (network.getOutput(i)->getType() == nvinfer1::DataType::kINT8)
      outside.insert(network.getOutput(i)->getName());
  return std::ranges::any_of(given,
                             [&](const auto& entry) { return !outside.contains(entry.first); });
}

}  // namespace

bool quantizes_implicitly(const BuilderConfig& config, const network::Network& network,
                          const Graph& graph) {
  return config.getFlag(BuilderFlag::kINT8) &&
         !network.getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED) && !is_quantized(graph);
}

std::map<std::string, float> dynamic_ranges(const network::Network& network) {
  std::map<std::string, float> ranges;
  for (int32_t i = 0; i < network.getNbInputs(); ++i) note_range(network.getInput(i), ranges);
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    for (int32_t o = 0; o < network.getLayer(i)->getNbOutputs(); ++o)
      note_range(network.getLayer(i)->getOutput(o), ranges);
  return ranges;
}

Result<std::map<std::string, float>> find_ranges(const BuilderConfig& config,
                                                 const network::Network& network,
                                                 const Graph& graph, const Backend& backend,
                                                 int threads, Logger& logger) {
  std::map<std::string, float> ranges;
  if (IInt8Calibrator* calibrator = config.getInt8Calibrator(); calibrator != nullptr) {
    const AlgorithmRow* algorithm = row_of(calibrator->getAlgorithm());
    if (algorithm == nullptr)
      return user_error("the INT8 calibrator's getAlgorithm() gives {}, which is no algorithm",
                        static_cast<int32_t>(calibrator->getAlgorithm()));
    Calibration calibration(*calibrator, *algorithm, logger);
    std::optional<CalibrationCache> cache = calibration.cached();
    if (cache.has_value()) {
      note_stale_cache(*cache, graph, logger);
    } else {
      TENON_ASSIGN(cache, calibration.calibrate(graph, config, backend, threads));
    }
    ranges = std::move(cache->ranges);
  }
  const std::map<std::string, float> given = dynamic_ranges(network);
  const bool has_inner_ranges = !ranges.empty() || has_ranges_inside(network, given);
  if (!has_inner_ranges && config.random_calibration())
    ranges = made_up_ranges(config, graph, backend, threads, logger);
  for (const auto& [name, range] : given) ranges[name] = range;
  return ranges;
}

void share_ranges_of_bindings(Graph& graph, std::map<std::string, float>& ranges) {
  for (const auto& node : graph.nodes()) {
    if (!node->is<Quantize>() && !node->is<Dequantize>()) continue;
    if (!is_of_binding(graph, *node)) continue;
    Value* inside = node->is<Dequantize>() ? node->output() : node->input(0);
    const Value* outside = node->is<Dequantize>() ? node->input(0) : node->output();
    const auto range = ranges.find(outside->name);
    if (range == ranges.end()) continue;
    if (inside->name.empty()) inside->name = node->name;
    ranges[inside->name] = range->second;
  }
}

}  // namespace tenon::api
