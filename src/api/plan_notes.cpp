#include "api/plan_notes.h"

#include <filesystem>
#include <map>
#include <set>

#include "api/layer_metadata.h"
#include "api/plan_settings.h"
#include "api/recipe.h"
#include "base/mapped_file.h"
#include "kernels/algorithm.h"
#include "kernels/backend.h"
#include "ops/structure.h"

namespace tenon::api {
namespace {

using network::Network;

/// Which tensors debug listeners see, and which of them are outputs for their sake alone.
void add_debug_tensors(const Network& network, Plan& plan) {
  std::set<std::string> all, hidden;
  for (const network::TensorHandle* tensor : network.debug_tensors()) {
    all.insert(tensor->getName());
    if (!tensor->isNetworkOutput() && !tensor->isNetworkInput()) hidden.insert(tensor->getName());
  }
  if (network.shows_unfused()) plan.settings[kDebugUnfusedSetting] = "1";
  if (!all.empty()) plan.settings[kDebugSetting] = joined(all);
  if (!hidden.empty()) plan.settings[kDebugHiddenSetting] = joined(hidden);
}

/// Puts the plugin libraries that the configuration names into the plan.
Status carry_libraries(const BuilderConfig& config, Plan& plan) {
  if (config.getNbPluginsToSerialize() == 0) return {};
  plan.libraries = std::make_shared<CodeLibrary>();
  for (int32_t i = 0; i < config.getNbPluginsToSerialize(); ++i) {
    const std::filesystem::path path = config.getPluginToSerialize(i);
    TENON_ASSIGN(const MappedBytes file, map_file(path.string()));
    const std::string_view bytes(reinterpret_cast<const char*>(file.data), file.size);
    if (!bytes.starts_with("\177ELF"))
      return user_error("setPluginsToSerialize: '{}' is no shared library", path.string());
    plan.libraries->collect(fmt::format("{:06}/{}", i, path.filename().string()), bytes);
  }
  return {};
}

void count_algorithms(const Graph& graph, std::map<Algorithm, int>& counts) {
  for (const auto& node : graph.nodes()) {
    ++counts[algorithm_of(split_tactic(node->tactic).name)];
    if (!node->is<Fused>())
      for (const auto& body : node->bodies) count_algorithms(*body, counts);
  }
}

}  // namespace

Status note_settings(BuilderConfig& config, const Network& network,
                     const network::IoFormats& formats, Plan& plan) {
  plan.settings[kNameSetting] = network.getName();
  add_debug_tensors(network, plan);
  if (config.getFlag(BuilderFlag::kREFIT_INDIVIDUAL))
    plan.settings[kRefittableSetting] = joined(network.refittable_weights());
  plan.stripped = config.getFlag(BuilderFlag::kSTRIP_PLAN);
  for (const auto& [name, format] : formats)
    plan.settings[kFormatSetting + name] = network::to_text(format);
  plan.settings[kTacticSourcesSetting] = std::to_string(config.getTacticSources());
  if (config.getFlag(BuilderFlag::kWEIGHT_STREAMING)) plan.settings[kWeightStreamingSetting] = "1";
  if (config.getHardwareCompatibilityLevel() ==
      HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY)
    plan.settings[kSameCapabilitySetting] = "1";
  plan.settings[kProfilingVerbositySetting] =
      std::to_string(static_cast<int>(config.getProfilingVerbosity()));
  if (config.getProfilingVerbosity() == ProfilingVerbosity::kDETAILED) note_metadata(network, plan);
  return carry_libraries(config, plan);
}

void report_numerics(const Graph& graph, Logger& logger) {
  std::map<Algorithm, int> counts;
  count_algorithms(graph, counts);
  counts.erase(Algorithm::kPlain);
  for (const auto& [algorithm, count] : counts)
    logger.info(
        "Numerics: {} {} by {}'s transform, which rounds by more than sums of products do; "
        "--numerics=exact, or tenon::setNumerics, does without",
        count, count == 1 ? "layer multiplies" : "layers multiply", name_of(algorithm));
}

}  // namespace tenon::api
