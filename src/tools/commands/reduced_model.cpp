#include "tools/commands/reduced_model.h"

#include <algorithm>
#include <optional>
#include <set>

#include "tenon/precision.h"
#include "tools/build.h"
#include "tools/build_progress.h"
#include "tools/commands/model_inputs.h"
#include "tools/exports.h"
#include "tools/interrupt.h"

namespace tenon::tools {
namespace {

using nvinfer1::BuilderFlag;
using nvinfer1::DataType;
using nvinfer1::ILayer;
using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;
using nvinfer1::LayerType;

bool is_real(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

/// The layer that makes each tensor.
class Producers {
 public:
  explicit Producers(const INetworkDefinition& network) {
    for (int32_t i = 0; i < network.getNbLayers(); ++i) {
      const ILayer* layer = network.getLayer(i);
      for (int32_t k = 0; k < layer->getNbOutputs(); ++k) layers_[layer->getOutput(k)] = layer;
    }
  }

  /// The tensor ahead of QuantizeLinear and DequantizeLinear; null where they do not give it, and
  /// for weights that are stored as integers.
  ITensor* ahead_of_pair(const ITensor* tensor) const {
    const ILayer* dequantize = find(tensor, LayerType::kDEQUANTIZE);
    const ILayer* quantize =
        dequantize == nullptr ? nullptr : find(dequantize->getInput(0), LayerType::kQUANTIZE);
    return quantize == nullptr ? nullptr : quantize->getInput(0);
  }

 private:
  const ILayer* find(const ITensor* tensor, LayerType type) const {
    const auto found = layers_.find(tensor);
    const bool is_there = found != layers_.end() && found->second->getType() == type;
    return is_there ? found->second : nullptr;
  }

  std::map<const ITensor*, const ILayer*> layers_;
};

bool is_pair(LayerType type) {
  return type == LayerType::kQUANTIZE || type == LayerType::kDEQUANTIZE;
}

/// Of constants and of pairs the precision is their readers'.
bool computes(const ILayer& layer) {
  return layer.getType() != LayerType::kCONSTANT && !is_pair(layer.getType()) &&
         layer.getNbOutputs() > 0 && is_real(layer.getOutput(0)->getType());
}

bool has_pairs(const INetworkDefinition& network) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    if (is_pair(network.getLayer(i)->getType())) return true;
  return false;
}

bool reads_pairs(const ILayer& layer, const Producers& producers) {
  for (int32_t i = 0; i < layer.getNbInputs(); ++i)
    if (producers.ahead_of_pair(layer.getInput(i)) != nullptr) return true;
  return false;
}

/// Each name once; with `reading_pairs` those of layers that read quantized numbers.
KeptLayers names_of_layers(const INetworkDefinition& network, bool reading_pairs) {
  const Producers producers(network);
  KeptLayers names;
  std::set<std::string> known;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const ILayer& layer = *network.getLayer(i);
    if (!computes(layer) || (reading_pairs && !reads_pairs(layer, producers))) continue;
    if (known.insert(layer.getName()).second) names.emplace_back(layer.getName());
  }
  return names;
}

bool is_strong(const INetworkDefinition& network) {
  return network.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
}

/// No budget takes layers out of the question, and kept ones do as they are told.
void leave_choice_to_search(const INetworkDefinition& network, nvinfer1::IBuilderConfig& config) {
  setPrecisionBudget(config, -1);
  setQuantizationBudget(config, -1);
  if (is_strong(network)) return;
  config.clearFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  config.setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
}

void take_exact_precision(nvinfer1::IBuilderConfig& config) {
  for (const BuilderFlag flag : {BuilderFlag::kFP16, BuilderFlag::kBF16, BuilderFlag::kINT8,
                                 BuilderFlag::kFP8, BuilderFlag::kINT4, BuilderFlag::kTF32})
    config.clearFlag(flag);
  config.setInt8Calibrator(nullptr);
}

class ByPlans final : public ReducedModel {
 public:
  ByPlans(Session& session, Arguments arguments, DataType high, std::string against)
      : session_(session),
        arguments_(std::move(arguments)),
        high_(high),
        against_(std::move(against)) {
    arguments_.give(OptionId::noSelfCheck, "");
  }

  Status look() {
    session_.enter(Stage::kModel);
    TENON_ASSIGN(const PreparedBuild made, prepared(arguments_));
    is_quantized_ = has_pairs(*made.network);
    const bool lowers =
        made.config->getFlag(BuilderFlag::kFP16) || made.config->getFlag(BuilderFlag::kBF16);
    layers_ = names_of_layers(*made.network, is_quantized_ && !lowers);
    // Otherwise times decide which layers are quantized.
    constexpr const char* kUntimed = "2";
    if (!is_quantized_ && !arguments_.has(OptionId::builderOptimizationLevel) &&
        made.config->getFlag(BuilderFlag::kINT8))
      arguments_.give(OptionId::builderOptimizationLevel, kUntimed);
    cache_.reset(made.config->createTimingCache(nullptr, 0));
    return cache_ ? Status() : internal_error("the timing cache could not be made");
  }

  Result<TensorValues> exact() override {
    Arguments arguments = arguments_;
    if (!against_.empty()) arguments.give(OptionId::onnx, against_);
    TENON_ASSIGN(PreparedBuild made, prepared(arguments));
    take_exact_precision(*made.config);
    keep(*made.network, names_of_layers(*made.network, false), DataType::kFLOAT);
    return run(std::move(made));
  }

  Result<TensorValues> outputs(const KeptLayers& kept) override {
    TENON_ASSIGN(PreparedBuild made, prepared(arguments_));
    keep(*made.network, kept, high_);
    return run(std::move(made));
  }

  Status save(const KeptLayers& kept, const std::string& file) override {
    TENON_ASSIGN(PreparedBuild made, prepared(arguments_));
    keep(*made.network, kept, high_);
    TENON_ASSIGN(BuiltPlan plan, built(made));
    TENON_ASSIGN([[maybe_unused]] const PlanSource saved,
                 save_plan(std::move(plan), nullptr, file));
    return {};
  }

 private:
  Result<PreparedBuild> prepared(const Arguments& arguments) {
    TENON_ASSIGN(PreparedBuild made,
                 prepare_build(arguments, session_.console(), session_.logger(), nullptr));
    leave_choice_to_search(*made.network, *made.config);
    return made;
  }

  static void keep(INetworkDefinition& network, const KeptLayers& kept, DataType type) {
    const Producers producers(network);
    const std::set<std::string> names(kept.begin(), kept.end());
    for (int32_t i = 0; i < network.getNbLayers(); ++i) {
      ILayer& layer = *network.getLayer(i);
      if (!computes(layer) || !names.contains(layer.getName())) continue;
      for (int32_t k = 0; k < layer.getNbInputs(); ++k)
        if (ITensor* plain = producers.ahead_of_pair(layer.getInput(k)); plain != nullptr)
          layer.setInput(k, *plain);
      if (!is_strong(network)) layer.setPrecision(type);
    }
  }

  Result<BuiltPlan> built(PreparedBuild& made) {
    session_.enter(Stage::kBuild);
    made.config->setTimingCache(*cache_, true);
    BuildProgress progress(session_.console(), false);
    made.config->setProgressMonitor(&progress);
    BuiltPlan plan;
    plan.memory.reset(made.builder->buildSerializedNetwork(*made.network, *made.config));
    if (plan.memory) {
      plan.size = plan.memory->size();
      return plan;
    }
    if (interrupted()) return user_error("stopped: the engine is not built");
    return user_error("the engine could not be built from '{}'", arguments_.text(OptionId::onnx));
  }

  Result<TensorValues> run(PreparedBuild made) {
    TENON_ASSIGN(BuiltPlan plan, built(made));
    PlanSource source;
    source.memory = std::move(plan.memory);
    session_.enter(Stage::kRun);
    TENON_ASSIGN(const LoadedEngine engine,
                 load_engine(source, arguments_, session_.console(), session_.logger()));
    const Inputs* given = inputs_.has_value() ? &*inputs_ : nullptr;
    TENON_ASSIGN(Computed computed, compute_on(session_, *engine.engine, arguments_, given));
    if (!inputs_.has_value()) inputs_ = std::move(computed.inputs);
    return std::move(computed.tensors);
  }

  Session& session_;
  Arguments arguments_;
  const DataType high_;
  const std::string against_;
  std::unique_ptr<nvinfer1::ITimingCache> cache_;
  std::optional<Inputs> inputs_;  ///< Of the first run.
};

class ByRounding final : public ReducedModel {
 public:
  ByRounding(Session& session, const Arguments& arguments, DataType low)
      : session_(session), arguments_(arguments), low_(low) {}

  Status look() {
    session_.enter(Stage::kModel);
    TENON_ASSIGN(made_, prepare_build(arguments_, session_.console(), session_.logger(), nullptr,
                                      OpenExtents::kStay));
    layers_ = names_of_layers(*made_.network, false);
    std::vector<NamedShape> shapes;
    if (arguments_.has(OptionId::shapes)) {
      TENON_ASSIGN(shapes, parse_shape_list(arguments_.text(OptionId::shapes)));
    }
    TENON_ASSIGN(const auto files,
                 parse_map("--loadInputs", arguments_.text(OptionId::loadInputs)));
    profile_ = &usual_profile(*made_.builder, *made_.network, shapes);
    TENON_ASSIGN(contents_, read_inputs(*made_.network, shapes, files));
    return {};
  }

  Result<TensorValues> exact() override { return evaluate(DataType::kFLOAT, {}); }
  Result<TensorValues> outputs(const KeptLayers& kept) override { return evaluate(low_, kept); }
  Status save(const KeptLayers&, const std::string&) override {
    return internal_error("an evaluation without plans has none to save");
  }

 private:
  Result<TensorValues> evaluate(DataType type, const KeptLayers& kept) {
    session_.enter(Stage::kRun);
    if (interrupted()) return user_error("stopped before the evaluation");
    std::vector<const void*> inputs;
    for (const auto& bytes : contents_) inputs.push_back(bytes.data());
    std::vector<const char*> names;
    for (const std::string& name : kept) names.push_back(name.c_str());
    KeptValues keep;
    if (!evaluateLowered(*made_.network, *profile_, inputs.empty() ? nullptr : inputs.data(), type,
                         names.data(), static_cast<int32_t>(names.size()), keep, session_.logger()))
      return user_error("the model '{}' could not be evaluated", arguments_.text(OptionId::onnx));
    return std::move(keep.values);
  }

  Session& session_;
  const Arguments& arguments_;
  const DataType low_;
  PreparedBuild made_;
  nvinfer1::IOptimizationProfile* profile_ = nullptr;
  std::vector<std::vector<char>> contents_;
};

}  // namespace

Result<std::unique_ptr<ReducedModel>> reduced_by_plans(Session& session, const Arguments& arguments,
                                                       DataType high, const std::string& against) {
  auto model = std::make_unique<ByPlans>(session, arguments, high, against);
  TENON_TRY(model->look());
  return std::unique_ptr<ReducedModel>(std::move(model));
}

Result<std::unique_ptr<ReducedModel>> reduced_by_rounding(Session& session,
                                                          const Arguments& arguments,
                                                          DataType low) {
  auto model = std::make_unique<ByRounding>(session, arguments, low);
  TENON_TRY(model->look());
  return std::unique_ptr<ReducedModel>(std::move(model));
}

}  // namespace tenon::tools
