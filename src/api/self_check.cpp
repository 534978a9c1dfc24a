#include "tenon/self_check.h"

#include <algorithm>
#include <cstring>

#include "api/builder_config.h"
#include "api/engine.h"
#include "api/optimization_profile.h"
#include "base/guard.h"
#include "base/stop.h"
#include "check/non_finite.h"
#include "check/sample.h"
#include "network/network.h"
#include "select/compile.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

/// Contents from the caller's memory, or random ones.
Result<std::vector<Tensor>> contents_of(const Graph& graph, const Profile& profile,
                                        const void* const* given) {
  TENON_ASSIGN(std::vector<Tensor> tensors, sample_inputs(graph, profile));
  for (size_t i = 0; given != nullptr && i < tensors.size(); ++i)
    std::memcpy(tensors[i].mutable_bytes(), given[i], static_cast<size_t>(tensors[i].byte_count()));
  return tensors;
}

/// One line a precision that has such a node.
Result<std::vector<std::string>> hunt(nvinfer1::INetworkDefinition& network,
                                      const nvinfer1::IOptimizationProfile& profile,
                                      const void* const* inputs) {
  auto* definition = dynamic_cast<network::Network*>(&network);
  const auto* shapes = dynamic_cast<const api::OptimizationProfile*>(&profile);
  if (definition == nullptr || shapes == nullptr)
    return user_error("the network and the profile must come from this library's builder");
  TENON_ASSIGN(auto graph, definition->finished_graph());
  std::vector<Profile> profiles = {shapes->profile()};
  TENON_TRY(apply_profiles(*graph, profiles));
  TENON_ASSIGN(const std::vector<Tensor> tensors, contents_of(*graph, profiles[0], inputs));
  std::vector<std::string> lines;
  for (const std::optional<DataType> precision :
       {std::optional<DataType>(), std::optional(DataType::kFloat16),
        std::optional(DataType::kBFloat16)}) {
    TENON_ASSIGN(const auto found, find_non_finite(*graph, tensors, precision));
    const std::string_view name = precision.has_value() ? name_of(*precision) : "as it is";
    if (found.has_value()) lines.push_back(fmt::format("{}: {}", name, found->description));
  }
  return lines;
}

}  // namespace

TENON_EXPORT bool setSelfCheck(nvinfer1::IBuilderConfig& config, bool enabled,
                               int64_t maxCost) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->self_check().enabled = enabled;
  settings->self_check().max_cost = maxCost;
  return true;
}

TENON_EXPORT bool setRegionCheck(nvinfer1::IBuilderConfig& config, bool enabled) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->self_check().regions = enabled;
  return true;
}

TENON_EXPORT bool allowFailedSelfCheck(nvinfer1::IBuilderConfig& config, bool allowed) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->self_check().keep_failed = allowed;
  return true;
}

TENON_EXPORT const char* getSelfCheckResult(const nvinfer1::ICudaEngine& engine) noexcept {
  const auto* handle = dynamic_cast<const api::EngineHandle*>(&engine);
  if (handle == nullptr) return "";
  const auto& settings = handle->engine().plan().settings;
  const auto found = settings.find("self_check");
  return found == settings.end() ? "" : found->second.c_str();
}

TENON_EXPORT int32_t huntNonFinite(nvinfer1::INetworkDefinition& network,
                                   const nvinfer1::IOptimizationProfile& profile,
                                   const void* const* inputs, char* report, int64_t size,
                                   nvinfer1::ILogger& logger) noexcept {
  return huntNonFinite(network, profile, inputs, report, size, logger, nullptr, nullptr);
}

TENON_EXPORT int32_t huntNonFinite(nvinfer1::INetworkDefinition& network,
                                   const nvinfer1::IOptimizationProfile& profile,
                                   const void* const* inputs, char* report, int64_t size,
                                   nvinfer1::ILogger& logger, HuntStop asked,
                                   void* argument) noexcept {
  std::function<bool()> question;
  if (asked != nullptr) question = [=] { return asked(argument); };
  const StopScope stops(std::move(question));
  const auto lines = guarded("huntNonFinite", [&] { return hunt(network, profile, inputs); });
  if (!lines.ok()) {
    logger.log(nvinfer1::ILogger::Severity::kERROR, lines.error().message.c_str());
    return -1;
  }
  std::string text;
  for (const std::string& line : *lines) text += line + "\n";
  if (size > 0) {
    const size_t count = std::min(text.size(), static_cast<size_t>(size) - 1);
    std::memcpy(report, text.data(), count);
    report[count] = 0;
  }
  return static_cast<int32_t>(lines->size());
}

}  // namespace tenon
