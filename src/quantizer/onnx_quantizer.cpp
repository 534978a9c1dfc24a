#include "quantizer/onnx_quantizer.h"

#include <algorithm>
#include <cmath>

#include "check/processor_reference.h"
#include "onnx/importer.h"
#include "onnx/write_model.h"
#include "quantizer/activation_ranges.h"
#include "quantizer/calibration_batches.h"
#include "quantizer/onnx_pairs.h"
#include "select/compile.h"

namespace tenon {
namespace {

/// Batches that errors are taken from.
constexpr size_t kErrorBatches = 4;

Result<ImportedModel> imported(const OnnxModel& model) {
  ImportRequest request;
  request.model = model.proto();
  return import_model(request);
}

/// The numbers of all real outputs, batch by batch.
using Results = std::vector<double>;

double relative_error(const Results& actual, const Results& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

class OnnxQuantizer {
 public:
  OnnxQuantizer(OnnxModel model, const QuantizeSettings& settings, Logger& logger)
      : model_(std::move(model)), settings_(settings), logger_(logger) {}

  Result<QuantizeOutcome> run(const std::string& output) {
    TENON_TRY(raise_model());
    TENON_ASSIGN(const ImportedModel network, look_at_model());
    errors_.assign(layers_.size(), -1);
    note_unused(*network.graph);
    TENON_ASSIGN(batches_, calibration_batches(*network.graph, settings_));
    TENON_TRY(find_ranges(*network.graph));
    refuse_without_range();
    if (!any_is_left())
      logger_.warning("No layer of the model can be quantized; it is written as it is");
    if (settings_.sensitivity || settings_.max_drop.has_value()) {
      TENON_ASSIGN(expected_, results_of(model_));
      TENON_TRY(measure_layers());
      TENON_TRY(keep_within_budget());
    }
    TENON_ASSIGN(const OnnxModel quantized, with_layers(layers_));
    // A model that our own importer refuses is not handed out.
    if (auto again = imported(quantized); !again.ok()) return std::move(again).error();
    TENON_TRY(importer::write_model(*quantized.proto(), output,
                                    settings_.weights_beside
                                        ? importer::WeightPlace::kBeside
                                        : importer::WeightPlace::kWhereThereIsRoom));
    return outcome();
  }

 private:
  /// The network shares the model's weights.
  Result<ImportedModel> look_at_model() {
    TENON_ASSIGN(ImportedModel network, imported(model_));
    for (const auto& [name, value] : network.values) types_[name] = value->type;
    layers_ = find_layers(model_, settings_);
    return network;
  }

  /// To the versions that the quantized form needs, if anything is quantized.
  Status raise_model() {
    if (auto network = look_at_model(); !network.ok()) return std::move(network).error();
    return any_is_left() ? raise_versions(model_, layers_, types_, settings_) : Status();
  }

  bool any_is_left() const {
    return std::ranges::any_of(layers_, [](const auto& layer) { return layer.refusal.empty(); });
  }

  /// Layers that no sample reached, or whose samples were not finite.
  void refuse_without_range() {
    if (settings_.mode == QuantizeMode::kInt4) return;
    for (OnnxLayer& layer : layers_) {
      const std::string& operand = model_.graph().node(layer.node).input(0);
      if (layer.refusal.empty() && !ranges_.contains(operand))
        layer.refusal = fmt::format("the calibration data gave '{}' no finite number", operand);
    }
  }

  /// Words of the settings that name nothing in the model.
  void note_unused(const Graph& network) const {
    for (const std::string& pattern : unmatched_patterns(layers_, settings_))
      logger_.warning("No layer with weights is named '{}'", pattern);
    for (const std::string& type : unmatched_types(layers_, settings_))
      logger_.warning("No layer with weights has the type '{}'", type);
    if (const int64_t inner = count_inner_layers(model_); inner > 0)
      logger_.warning("{} layers in bodies of control flow stay as they are", inner);
    if (const int64_t inner = count_function_layers(model_); inner > 0)
      logger_.warning(
          "{} layers in local functions stay as they are: make them nodes of the model first "
          "(onnx.inliner.inline_local_functions)",
          inner);
    if (!settings_.data.empty() && !settings_.shapes.empty())
      logger_.warning("Shapes for the calibration are not used: the calibration data have theirs");
    const auto is_input = [&](const std::string& name) {
      return std::ranges::any_of(network.inputs(),
                                 [&](const Value* input) { return input->name == name; });
    };
    for (const auto& [name, data] : settings_.data)
      if (!is_input(name))
        logger_.warning("The model has no input '{}': its data is not used", name);
    for (const auto& [name, extents] : settings_.shapes)
      if (!is_input(name))
        logger_.warning("The model has no input '{}': its shape is not used", name);
  }

  Status find_ranges(const Graph& network) {
    ranges_ = settings_.ranges;
    if (settings_.mode == QuantizeMode::kInt4) return {};
    const auto wanted = place_pairs(model_, layers_, types_);
    if (!std::ranges::all_of(wanted, [&](const OnnxPair& pair) {
          return ranges_.contains(model_.graph().node(pair.node).input(pair.input));
        }))
      TENON_TRY(calibrate(network));
    share_ranges(model_, wanted, types_, ranges_);
    return {};
  }

  Status calibrate(const Graph& network) {
    if (settings_.data.empty())
      logger_.warning(
          "There is no calibration data: {} come from random numbers in [-1, 1]. "
          "Times of the result are meaningful, its accuracy is not",
          settings_.ranges.empty() ? "ranges" : "ranges that the cache does not have");
    const Backend backend = cpu_backend();
    TENON_ASSIGN(ActivationRanges activations,
                 ActivationRanges::create(network, {batches_.profile}, backend,
                                          backend.device->properties().compute_units));
    for (const std::vector<Tensor>& inputs : batches_.inputs)
      if (Status added = activations.add(inputs); !added.ok())
        return std::move(added).error().with_context("a run with the calibration data");
    for (const auto& [name, numbers] : activations.histograms()) {
      if (numbers.left_out() > 0)
        logger_.warning("'{}' had {} numbers that are not finite", name, numbers.left_out());
      ranges_.try_emplace(name, range_of(numbers, settings_.method, quantized_type(settings_.mode),
                                         settings_.percentile));
    }
    logger_.info("Ranges of {} tensors come from {} batches", ranges_.size(),
                 activations.batches());
    return {};
  }

  /// Layers whose activations have no range are not among them.
  Result<OnnxModel> with_layers(const std::vector<OnnxLayer>& layers) {
    return with_pairs(model_, layers, place_pairs(model_, layers, types_), types_, ranges_,
                      settings_);
  }

  Result<Results> results_of(const OnnxModel& model) {
    TENON_ASSIGN(const ImportedModel network, imported(model));
    Results results;
    for (size_t i = 0; i < std::min(batches_.inputs.size(), kErrorBatches); ++i) {
      TENON_ASSIGN(const std::vector<Tensor> outputs,
                   evaluate_on_processor(*network.graph, {batches_.profile}, batches_.inputs[i]));
      for (const Tensor& output : outputs)
        for (int64_t k = 0; is_real(output.type()) && k < output.count(); ++k)
          results.push_back(output.as_double(k));
    }
    return results;
  }

  Result<double> error_with(const std::vector<OnnxLayer>& layers) {
    TENON_ASSIGN(const OnnxModel model, with_layers(layers));
    TENON_ASSIGN(const Results results, results_of(model));
    return relative_error(results, expected_);
  }

  /// Each layer alone.
  Status measure_layers() {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (!layers_[i].refusal.empty()) continue;
      std::vector<OnnxLayer> alone = layers_;
      for (size_t k = 0; k < alone.size(); ++k)
        if (k != i) alone[k].refusal = "not now";
      TENON_ASSIGN(errors_[i], error_with(alone));
    }
    return {};
  }

  /// The layers but the `count` worst.
  std::vector<OnnxLayer> without_worst(const std::vector<size_t>& worst, size_t count) const {
    std::vector<OnnxLayer> layers = layers_;
    for (size_t i = 0; i < count; ++i)
      layers[worst[i]].refusal =
          fmt::format("its error alone is {:.2e}, and --max-drop allows {:.2e} in all",
                      errors_[worst[i]], settings_.max_drop.value_or(0));
    return layers;
  }

  /// As few of the worst as possible stay as they are.
  Status keep_within_budget() {
    std::vector<size_t> worst;
    for (size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].refusal.empty()) worst.push_back(i);
    std::ranges::stable_sort(worst, [&](size_t a, size_t b) { return errors_[a] > errors_[b]; });
    TENON_ASSIGN(error_, error_with(layers_));
    if (!settings_.max_drop.has_value() || error_ <= *settings_.max_drop) return {};
    size_t too_few = 0, enough = worst.size();
    error_ = 0;
    while (enough - too_few > 1) {
      const size_t middle = (too_few + enough) / 2;
      TENON_ASSIGN(const double error, error_with(without_worst(worst, middle)));
      const bool fits = error <= *settings_.max_drop;
      (fits ? enough : too_few) = middle;
      if (fits) error_ = error;
    }
    layers_ = without_worst(worst, enough);
    return {};
  }

  QuantizeOutcome outcome() const {
    QuantizeOutcome result;
    for (size_t i = 0; i < layers_.size(); ++i)
      result.layers.push_back({layers_[i].name, layers_[i].op_type, layers_[i].refusal.empty(),
                               layers_[i].refusal, errors_[i]});
    result.ranges = ranges_;
    result.error = error_;
    return result;
  }

  OnnxModel model_;
  const QuantizeSettings& settings_;
  Logger& logger_;
  OnnxTypes types_;
  std::vector<OnnxLayer> layers_;
  std::vector<double> errors_;  ///< By layer; -1: not measured.
  CalibrationBatches batches_;
  std::map<std::string, float> ranges_;
  Results expected_;
  double error_ = -1;
};

}  // namespace

Result<QuantizeOutcome> quantize_onnx(const std::string& path, const std::string& output,
                                      const QuantizeSettings& settings, Logger& logger) {
  TENON_ASSIGN(OnnxModel model, OnnxModel::read(path));
  return OnnxQuantizer(std::move(model), settings, logger).run(output);
}

}  // namespace tenon
